/**
 * Runs the checks. Each is one select that returns the rows that break a rule, and is named after the rule. Some are
 * files in sql/checks; the others follow from the headers of the models: keys, accepted values, references.
 */

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { EVENT_TYPES } from '../journal/records.ts'
import { sqlFilesIn, type ModelFile, type TableDefinition } from '../warehouse/catalog.ts'
import { SqlError } from '../warehouse/errors.ts'
import { appendRows, asObjects } from '../warehouse/rows.ts'
import { quoteIdentifier, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { namingFile } from './own/files.ts'

/** One rule and the select that returns the rows that break it. */
export interface Check {
  readonly name: string
  readonly sql: string
  readonly reads: readonly string[]
  /** The file of a check of the user's own, such as `checks/mine.sql`. */
  readonly file?: string
  /** Whether the last build did not run it in this form. */
  readonly isNew?: boolean
}

type Described = Pick<TableDefinition, 'kind'> &
  Pick<ModelFile, 'name' | 'key' | 'values' | 'references'>

const NATURAL_KEY = ['profile_id', 'organization_id', 'event_type', 'changed_at']
const KNOWN_TYPES = { column: 'event_type', values: EVENT_TYPES, orNull: false }

const loadedConstraints: readonly Check[] = [
  keyCheck('job_change_events', ['event_key']),
  {
    ...keyCheck(
      'job_change_events',
      NATURAL_KEY,
      `case when event_type = 'title_change' then title_current end`,
    ),
    name: 'job_change_events_natural_key_is_unique',
  },
  valuesCheck({ name: 'job_change_events', key: ['event_key'] }, KNOWN_TYPES),
  keyCheck('job_change_event_versions', ['event_key', 'version_key']),
]

/** The checks of a table. A view has none: its key follows from the checked keys of the tables that it reads. */
export function constraintsOf(table: Described): Check[] {
  const { name, key, kind, values, references } = table
  if (kind === 'view') return []
  return [
    ...(key.length === 0 ? [] : [keyCheck(name, key)]),
    ...values.map((accepted) => valuesCheck(table, accepted)),
    ...references.map((reference) => referenceCheck(table, reference)),
  ]
}

// Grouping the keys of ten million rows takes gigabytes; grouping their 64-bit hashes, a tenth. Only rows whose hash is
// repeated are then grouped by the key itself.
/** @param nullable an expression that is a further column of the key, and may be null */
function keyCheck(table: string, columns: readonly string[], nullable?: string): Check {
  const names = columns.map(quoteIdentifier)
  const grouped = nullable === undefined ? names : [...names, nullable]
  const shown = nullable === undefined ? names : [...names, `${nullable} as distinguished_by`]
  const isNull = names.map((name) => `${name} is null`).join(' or ')
  const hash = `hash(${grouped.join(', ')})`
  const source = quoteIdentifier(table)
  return {
    name: `${table}_key_is_unique_and_not_null`,
    sql: `select ${shown.join(', ')}, count(*) as copies
      from ${source}
      where ${isNull} or ${hash} in (select ${hash} from ${source} group by 1 having count(*) > 1)
      group by ${grouped.join(', ')}
      having count(*) > 1 or ${isNull}`,
    reads: [table],
  }
}

type Keyed = Pick<Described, 'name' | 'key'>

function valuesCheck(table: Keyed, { column, values, orNull }: ModelFile['values'][number]) {
  const name = quoteIdentifier(column)
  const unknown = `${name} not in (${values.map(quoteText).join(', ')})`
  const fault = orNull ? unknown : `${name} is null or ${unknown}`
  return columnCheck(table, column, 'has_known_values', fault)
}

function referenceCheck(table: Keyed, reference: ModelFile['references'][number]) {
  const { column, targetTable, targetColumn } = reference
  const [name, target, found] = [column, targetTable, targetColumn].map(quoteIdentifier)
  const known = `select ${found} from ${target} where ${found} is not null`
  const fault = `${name} is not null and ${name} not in (${known})`
  return columnCheck(table, column, `is_found_in_${targetTable}`, fault, [targetTable])
}

/** @param fault SQL that is true for an offending row @param others tables that it reads */
function columnCheck(
  { name, key }: Keyed,
  column: string,
  rule: string,
  fault: string,
  others: readonly string[] = [],
): Check {
  const shown = [...new Set([...key, column])].map(quoteIdentifier).join(', ')
  const sql = `select ${shown} from ${quoteIdentifier(name)} where ${fault}`
  return { name: `${name}_${column}_${rule}`, sql, reads: [name, ...others] }
}

const SAMPLE_ROWS = 5

/** By name; `reads` stays empty. */
export function readChecks(folder: string): Check[] {
  return sqlFilesIn(folder).map((path) => {
    const sql = withoutSemicolon(readFileSync(path, 'utf8'))
    return { name: basename(path, '.sql'), sql, reads: [] }
  })
}

/** The checks that follow from the descriptions of the loaded tables and of `tables`, by name. */
export function checksOfHeaders(tables: readonly Described[]): Check[] {
  const checks = [...loadedConstraints, ...tables.flatMap(constraintsOf)]
  return checks.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** How many checks one statement runs: it is planned on one thread, and its parts run on all threads. */
const CHECKS_AT_ONCE = 16

/** Runs checks, many in one statement. @param finished gets the last name and the count of each statement */
export async function runChecks(
  warehouse: Warehouse,
  checks: readonly Check[],
  finished: (name: string, steps: number) => void,
): Promise<CheckOutcome[]> {
  const outcomes: CheckOutcome[] = []
  const shipped = checks.filter(({ file }) => file === undefined)
  for (let from = 0; from < shipped.length; from += CHECKS_AT_ONCE) {
    const some = shipped.slice(from, from + CHECKS_AT_ONCE)
    const failed = await failedOf(warehouse, some)
    for (const [place, check] of some.entries())
      outcomes.push(failed.has(place) ? await runCheck(warehouse, check) : passed(check))
    finished(some.at(-1)?.name ?? '', some.length)
  }
  // A check that fails midway ends the transaction. Run alone, it can be named.
  for (const check of checks.filter(({ file }) => file !== undefined)) {
    outcomes.push(await runCheck(warehouse, check))
    finished(check.name, 1)
  }
  return outcomes
}

/** The indexes of the checks that failed. */
async function failedOf(warehouse: Warehouse, checks: readonly Check[]) {
  const selects = checks.map(
    ({ sql }, place) => `select ${place} as place from (${sql}) having count(*) > 0`,
  )
  try {
    const { place = [] } = await warehouse.columns<number>(selects.join('\nunion all\n'))
    return new Set(place)
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    // A statement that fails while the engine plans it does not end the transaction, so each check can run alone to
    // find the wrong one.
    for (const check of checks) await runCheck(warehouse, check)
    throw error
  }
}

/** Runs one check. The sample is the same each time, even if rows are found in another order. */
function runCheck(warehouse: Warehouse, check: Check): Promise<CheckOutcome> {
  return namingFile(`check ${check.name}`, check.file, async () => {
    const offenders = await warehouse.number(`select count(*) from (${check.sql})`)
    if (offenders === 0) return passed(check)
    const sample = await warehouse.table(
      `select * from (${check.sql}) order by all limit ${SAMPLE_ROWS}`,
    )
    return { name: check.name, offenders, sample: asObjects(sample) }
  })
}

export function passed({ name }: Check): CheckOutcome {
  return { name, offenders: 0, sample: [] }
}

/** Replaces the content of ops.checks with the outcomes of one build. */
export async function recordChecks(
  warehouse: Warehouse,
  build_id: string,
  checked_at: Date,
  outcomes: readonly CheckOutcome[],
): Promise<void> {
  await warehouse.run('delete from ops.checks')
  const rows = outcomes.map(({ name, offenders, sample: found }) => {
    const sample = found.length === 0 ? null : JSON.stringify(found)
    return { check_name: name, build_id, checked_at, offenders, sample }
  })
  await appendRows(warehouse, 'ops.checks', rows)
}

/** SQL for parentheses: no last semicolon, and a line break, so that no comment swallows the closing one. */
export function withoutSemicolon(sql: string): string {
  return `${sql.trim().replace(/;$/, '')}\n`
}
