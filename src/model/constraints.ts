/**
 * Checks that follow from what the headers of models say: keys, accepted values, references. Each is SQL for whole tables
 * and, where that costs much, a cheaper query first: while that finds nothing the full one is not run. Pure.
 */

import type { AcceptedValues, DescribedTable, ModelFile, Reference } from '../warehouse/catalog.ts'
import { quoteIdentifier, quoteText } from '../warehouse/sql-text.ts'

/** Something that a header says of a table. */
export type Constraint = KeyConstraint | ValuesConstraint | ReferenceConstraint

/** These columns are unique together and never null. */
export interface KeyConstraint {
  readonly kind: 'key'
  readonly name: string
  readonly table: string
  readonly columns: readonly string[]
  /** An expression that stands for the columns, where null is a value of one of them. */
  readonly nullable?: string
}

/** A column holds only certain values. */
export interface ValuesConstraint extends AcceptedValues {
  readonly kind: 'values'
  readonly name: string
  readonly table: string
  readonly key: readonly string[]
}

/** Every value of a column is found in another table. */
export interface ReferenceConstraint extends Reference {
  readonly kind: 'reference'
  readonly name: string
  readonly table: string
  readonly key: readonly string[]
}

/** What to ask the warehouse about a constraint. */
export interface ConstraintSql {
  /** Returns the rows that break the constraint. */
  readonly sql: string
  /** Returns one row, `suspects`: 0 proves that `sql` returns nothing. Null: `sql` is cheap. */
  readonly suspicion: string | null
}

const NATURAL_KEY = ['profile_id', 'organization_id', 'event_type', 'changed_at'] as const

/** What holds of the tables that `load` fills. */
export const loadedConstraints: readonly Constraint[] = [
  keyConstraint('job_change_events', ['event_key']),
  {
    kind: 'key',
    name: 'job_change_events_natural_key_is_unique',
    table: 'job_change_events',
    columns: NATURAL_KEY,
    nullable: `case when event_type = 'title_change' then title_current end`,
  },
  {
    kind: 'values',
    name: 'job_change_events_event_type_has_known_values',
    table: 'job_change_events',
    key: ['event_key'],
    column: 'event_type',
    values: ['joined', 'left', 'title_change'],
    orNull: false,
  },
  keyConstraint('job_change_event_versions', ['event_key', 'version_key']),
]

/**
 * The constraints of a table: its key, and the values and references that the header of a model names. A view without
 * `incremental_by` has none: its rows are those of tables with constraints of their own, and to check it is to compute all of it.
 */
export function constraintsOf(described: DescribedTable | ModelFile): Constraint[] {
  const { name: table, key } = described
  if (!('values' in described)) return [keyConstraint(table, key)]
  if (described.kind === 'view' && described.incrementalBy.length === 0) return []
  return [
    keyConstraint(table, key),
    ...described.values.map((values): Constraint => ({
      ...values,
      kind: 'values',
      name: `${table}_${values.column}_has_known_values`,
      table,
      key,
    })),
    ...described.references.map((reference): Constraint => ({
      ...reference,
      kind: 'reference',
      name: `${table}_${reference.column}_is_found_in_${reference.targetTable}`,
      table,
      key,
    })),
  ]
}

function keyConstraint(table: string, columns: readonly string[]): KeyConstraint {
  return { kind: 'key', name: `${table}_key_is_unique_and_not_null`, table, columns }
}

/** What to ask about a constraint where the rows of its table are `source` (SQL of a table, or a select in brackets). */
export function constraintSql(constraint: Constraint, source: string): ConstraintSql {
  switch (constraint.kind) {
    case 'key':
      return keySql(constraint, source)
    case 'values':
      return { sql: valuesSql(constraint, source), suspicion: null }
    case 'reference':
      return referenceSql(constraint, source)
  }
}

// Grouping whole keys of ten million rows takes gigabytes; of their 64-bit hashes, a tenth. Two keys with one hash are only
// a suspicion, which the exact question then clears.
function keySql({ columns, nullable }: KeyConstraint, source: string): ConstraintSql {
  const names = columns.map(quoteIdentifier)
  const grouped = nullable === undefined ? names : [...names, nullable]
  const isNull = names.map((name) => `${name} is null`).join(' or ')
  const hash = `hash(${grouped.join(', ')})`
  const repeated = `select ${hash} from ${source} as rows_of group by 1 having count(*) > 1`
  const shown = nullable === undefined ? names : [...names, `${nullable} as distinguished_by`]
  return {
    suspicion: `select
        (select count(*) from (${repeated}))
        + (select count(*) from ${source} as rows_of where ${isNull}) as suspects`,
    sql: `select ${shown.join(', ')}, count(*) as copies
      from ${source} as rows_of
      where ${isNull} or ${hash} in (${repeated})
      group by ${grouped.join(', ')}
      having count(*) > 1 or ${isNull}`,
  }
}

function valuesSql({ key, column, values, orNull }: ValuesConstraint, source: string): string {
  const name = quoteIdentifier(column)
  const unknown = `${name} not in (${values.map(quoteText).join(', ')})`
  return `select ${shownColumns(key, column)}
    from ${source} as rows_of
    where ${orNull ? unknown : `${name} is null or ${unknown}`}`
}

// A hash says too rarely that something is missing, by one chance in 10^12 for each row: it would have to meet another one.
function referenceSql(constraint: ReferenceConstraint, source: string): ConstraintSql {
  const { key, column, targetTable, targetColumn } = constraint
  const name = quoteIdentifier(column)
  const target = quoteIdentifier(targetTable)
  const targetName = quoteIdentifier(targetColumn)
  return {
    suspicion: `select count(*) as suspects
      from (select hash(${name}) as value from ${source} as rows_of where ${name} is not null) as here
      anti join (select hash(${targetName}) as value from ${target}) as there on here.value = there.value`,
    sql: `select ${shownColumns(key, column)}
      from ${source} as rows_of
      where ${name} is not null and ${name} not in (
          select ${targetName} from ${target} where ${targetName} is not null
      )`,
  }
}

function shownColumns(key: readonly string[], column: string): string {
  return [...new Set([...key, column])].map(quoteIdentifier).join(', ')
}
