/**
 * Checks: each file in sql/checks is one select that returns the rows that break a claim, and is named after the claim.
 * All of them run, so that an operator sees everything that is wrong at once.
 */

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { EXIT, JobtideError } from '../support/errors.ts'
import { sqlFilesIn } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

/** One claim and the select that returns what breaks it. */
export interface Check {
  readonly name: string
  readonly sql: string
}

/** What a check found. */
export interface CheckOutcome {
  readonly name: string
  /** Rows that break the claim; 0 is a pass. */
  readonly offenders: number
  /** Up to five of them. */
  readonly sample: readonly Readonly<Record<string, unknown>>[]
}

const SAMPLE_ROWS = 5

/** A check found offenders: nothing of the build became visible. */
export class CheckFailedError extends JobtideError {
  override readonly name = 'CheckFailedError'
  /** Every check of the build, the passed ones included. */
  readonly outcomes: readonly CheckOutcome[]

  constructor(outcomes: readonly CheckOutcome[]) {
    const failed = outcomes.filter((outcome) => outcome.offenders > 0)
    super(EXIT.checkFailed, failed.map(describeFailure).join('; '), {
      hint: 'The tables of the last good build stay live. ops.checks has the offending rows: `jobtide query "select * from ops.checks where offenders > 0"`.',
      context: { failed },
    })
    this.outcomes = outcomes
  }
}

function describeFailure({ name, offenders, sample }: CheckOutcome): string {
  const rows = offenders === 1 ? '1 row breaks' : `${offenders} rows break`
  return `check ${name}: ${rows} it; first: ${JSON.stringify(sample[0])}`
}

/** The checks in `folder`, by name. */
export function readChecks(folder: string): Check[] {
  return sqlFilesIn(folder).map((path) => ({
    name: basename(path, '.sql'),
    sql: withoutSemicolon(readFileSync(path, 'utf8')),
  }))
}

/** Runs one check; the sample is the same each time, also when rows are found in another order. */
export async function runCheck(warehouse: Warehouse, check: Check): Promise<CheckOutcome> {
  const [counted] = await warehouse.all<{ offenders: bigint }>(
    `select count(*) as offenders from (${check.sql})`,
  )
  const offenders = Number(counted?.offenders ?? 0)
  if (offenders === 0) return { name: check.name, offenders, sample: [] }
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
