/**
 * Derives checks from the headers of models: keys, accepted values, references. Where a check costs much, a cheaper
 * query goes first: while it finds nothing, the full one is not run. Pure.
 */

import { EVENT_TYPES } from '../journal/records.ts'
import type { ModelFile } from '../warehouse/catalog.ts'
import { quoteIdentifier, quoteText } from '../warehouse/sql-text.ts'

/** One rule and the select that returns the rows that break it. */
export interface Check {
  readonly name: string
  readonly sql: string
  /** A cheaper select of one number, `suspects`; 0 proves that `sql` returns nothing. Absent: `sql` is cheap. */
  readonly suspicion?: string
  /** Tables that it reads. */
  readonly reads: readonly string[]
  /** The file of one of the user's own, such as `checks/mine.sql`. */
  readonly file?: string
  /** Whether the last build did not run it as it is. */
  readonly isNew?: boolean
}

/** The source of a table's checks. */
type Described = Pick<ModelFile, 'name' | 'key' | 'values' | 'references'> & {
  readonly kind: string
}

const NATURAL_KEY = ['profile_id', 'organization_id', 'event_type', 'changed_at']

/** The constraints of the tables that `load` fills. */
export const loadedConstraints: readonly Check[] = [
  keyCheck('job_change_events', ['event_key']),
  {
    ...keyCheck(
      'job_change_events',
      NATURAL_KEY,
      `case when event_type = 'title_change' then title_current end`,
    ),
    name: 'job_change_events_natural_key_is_unique',
  },
  valuesCheck('job_change_events', ['event_key'], {
    column: 'event_type',
    values: EVENT_TYPES,
    orNull: false,
  }),
  keyCheck('job_change_event_versions', ['event_key', 'version_key']),
]

/**
 * The checks of a table: its key, and the values and references that its header names. A view has none: to check it is to
 * compute all of it, and its key follows from those of the tables that it reads, which are checked.
 */
export function constraintsOf({ name, key, kind, ...header }: Described): Check[] {
  if (kind === 'view') return []
  return [
    ...(key.length === 0 ? [] : [keyCheck(name, key)]),
    ...header.values.map((values) => valuesCheck(name, key, values)),
    ...header.references.map((reference) => referenceCheck(name, key, reference)),
  ]
}

// Grouping whole keys of ten million rows takes gigabytes; of their 64-bit hashes, a tenth. Two keys with one hash are only
// a suspicion, which the exact question then clears.
/** @param nullable an expression that is one more column of the key, and may be null */
function keyCheck(table: string, columns: readonly string[], nullable?: string): Check {
  const names = columns.map(quoteIdentifier)
  const grouped = nullable === undefined ? names : [...names, nullable]
  const shown = nullable === undefined ? names : [...names, `${nullable} as distinguished_by`]
  const isNull = names.map((name) => `${name} is null`).join(' or ')
  const hash = `hash(${grouped.join(', ')})`
  const source = quoteIdentifier(table)
  const repeated = `select ${hash} from ${source} group by 1 having count(*) > 1`
  return {
    name: `${table}_key_is_unique_and_not_null`,
    suspicion: `select
        (select count(*) from (${repeated}))
        + (select count(*) from ${source} where ${isNull}) as suspects`,
    sql: `select ${shown.join(', ')}, count(*) as copies
      from ${source}
      where ${isNull} or ${hash} in (${repeated})
      group by ${grouped.join(', ')}
      having count(*) > 1 or ${isNull}`,
    reads: [table],
  }
}

function valuesCheck(
  table: string,
  key: readonly string[],
  { column, values, orNull }: ModelFile['values'][number],
): Check {
  const name = quoteIdentifier(column)
  const unknown = `${name} not in (${values.map(quoteText).join(', ')})`
  return {
    name: `${table}_${column}_has_known_values`,
    sql: `select ${shownColumns(key, column)}
      from ${quoteIdentifier(table)}
      where ${orNull ? unknown : `${name} is null or ${unknown}`}`,
    reads: [table],
  }
}

// A hash misses a missing row rarely, by one chance in 10^12 for each row: it would have to meet another one.
function referenceCheck(
  table: string,
  key: readonly string[],
  reference: ModelFile['references'][number],
): Check {
  const { column, targetTable, targetColumn } = reference
  const [source, name] = [table, column].map(quoteIdentifier)
  const [target, targetName] = [targetTable, targetColumn].map(quoteIdentifier)
  return {
    name: `${table}_${column}_is_found_in_${targetTable}`,
    suspicion: `select count(*) as suspects
      from (select hash(${name}) as value from ${source} where ${name} is not null) as here
      anti join (select hash(${targetName}) as value from ${target}) as there on here.value = there.value`,
    sql: `select ${shownColumns(key, column)}
      from ${source}
      where ${name} is not null and ${name} not in (
          select ${targetName} from ${target} where ${targetName} is not null
      )`,
    reads: [table, targetTable],
  }
}

function shownColumns(key: readonly string[], column: string): string {
  return [...new Set([...key, column])].map(quoteIdentifier).join(', ')
}
