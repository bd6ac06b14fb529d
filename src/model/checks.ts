/**
 * Checks: each is one select that returns the rows that break a rule, and is named after the rule. Some stand as files in
 * sql/checks, the others follow from the headers of the models (constraints.ts). All of them run, so that an operator sees
 * everything that is wrong at once.
 */

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import {
  incrementalColumns,
  sqlFilesIn,
  type DescribedTable,
  type ModelFile,
} from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { reconciliationIn, differencesSql, type Reconciliation } from './reconciliation.ts'
import { constraintSql, constraintsOf, loadedConstraints, type Constraint } from './constraints.ts'

/** One rule and the select that returns what breaks it. */
export interface Check {
  readonly name: string
  readonly sql: string
  /** A cheaper select of one number, `suspects`; 0 proves that `sql` returns nothing. */
  readonly suspicion: string | null
  /** Columns by which it can be run on changed keys only, or `row`: on new rows only; none: on all. */
  readonly incrementalBy: readonly string[]
  /** The constraint of a header that it checks; null for a file of its own. */
  readonly constraint: Constraint | null
  /** What sums up to zero, for a reconciliation; else null. */
  readonly reconciliation: Reconciliation | null
}

const SAMPLE_ROWS = 5

/**
 * The checks in `folder`, by name.
 * @throws JobtideError naming a check whose header is wrong
 */
export function readChecks(folder: string): Check[] {
  return sqlFilesIn(folder).map((path) => {
    const text = withoutSemicolon(readFileSync(path, 'utf8'))
    const name = basename(path, '.sql')
    const reconciliation = reconciliationIn(name, text)
    const sql =
      reconciliation === null ? text : differencesSql(reconciliation, reconciliation.entries)
    return {
      name,
      sql,
      suspicion: null,
      incrementalBy: incrementalColumns(text),
      constraint: null,
      reconciliation,
    }
  })
}

/** The checks that follow from what is said of the loaded tables and of `tables`, by name. */
export function checksOfHeaders(tables: readonly (DescribedTable | ModelFile)[]): Check[] {
  const constraints = [...loadedConstraints, ...tables.flatMap(constraintsOf)]
  return constraints
    .map((constraint) => checkOf(constraint, quoteIdentifier(constraint.table)))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** The check of one constraint, asked of `source`: its table, or some rows of it. */
export function checkOf(constraint: Constraint, source: string): Check {
  return {
    name: constraint.name,
    ...constraintSql(constraint, source),
    incrementalBy: [],
    constraint,
    reconciliation: null,
  }
}

/** Runs one check; the sample is the same each time, also when rows are found in another order. */
export async function runCheck(warehouse: Warehouse, check: Check): Promise<CheckOutcome> {
  const passed = { name: check.name, offenders: 0, sample: [] }
  if (check.suspicion !== null) {
    const [suspected] = await warehouse.all<{ suspects: bigint }>(check.suspicion)
    if (Number(suspected?.suspects ?? 0) === 0) return passed
  }
  const [counted] = await warehouse.all<{ offenders: bigint }>(
    `select count(*) as offenders from (${check.sql})`,
  )
  const offenders = Number(counted?.offenders ?? 0)
  if (offenders === 0) return passed
  const { columns, rows } = await warehouse.table(
    `select * from (${check.sql}) order by all limit ${SAMPLE_ROWS}`,
  )
  const sample = rows.map((row) =>
    Object.fromEntries(columns.map((column, index) => [column.name, row[index]])),
  )
  return { name: check.name, offenders, sample }
}

/** Replaces the content of ops.checks by the outcomes of one build. */
export async function recordChecks(
  warehouse: Warehouse,
  buildId: string,
  checkedAt: Date,
  outcomes: readonly CheckOutcome[],
): Promise<void> {
  await warehouse.run('delete from ops.checks')
  await warehouse.append('ops.checks', {
    check_name: outcomes.map((outcome) => outcome.name),
    build_id: outcomes.map(() => buildId),
    checked_at: outcomes.map(() => checkedAt),
    offenders: outcomes.map((outcome) => outcome.offenders),
    sample: outcomes.map(({ sample }) => (sample.length === 0 ? null : JSON.stringify(sample))),
  })
}

/** SQL text that can be put into brackets: the last semicolon is gone, a trailing comment cannot swallow the bracket. */
export function withoutSemicolon(sql: string): string {
  return `${sql.trim().replace(/;$/, '')}\n`
}
