/**
 * Runs checks: each is one select that returns the rows that break a rule, and is named after the rule. Some are files
 * in sql/checks, the others follow from the headers of the models (constraints.ts). A failed check stops none of the
 * others, so that an operator sees every problem at once.
 */

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { sqlFilesIn } from '../warehouse/catalog.ts'
import { SqlError } from '../warehouse/errors.ts'
import { asObjects } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { CheckOutcome } from './check-outcome.ts'
import { constraintsOf, loadedConstraints, type Check } from './constraints.ts'
import { namingFile } from './own/files.ts'

const SAMPLE_ROWS = 5

/** The checks in `folder`, by name; what they read is not known yet. */
export function readChecks(folder: string): Check[] {
  return sqlFilesIn(folder).map((path) => {
    const sql = withoutSemicolon(readFileSync(path, 'utf8'))
    return { name: basename(path, '.sql'), sql, reads: [] }
  })
}

/** The checks that follow from the descriptions of the loaded tables and of `tables`, by name. */
export function checksOfHeaders(tables: readonly Parameters<typeof constraintsOf>[0][]): Check[] {
  const checks = [...loadedConstraints, ...tables.flatMap(constraintsOf)]
  return checks.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** How many checks one statement asks: each statement is planned on one thread, and its parts run on all. */
const CHECKS_AT_ONCE = 16

/**
 * Runs checks, many in one statement.
 * @param finished called after each statement with the name of the last check and how many it asked
 */
export async function runChecks(
  warehouse: Warehouse,
  checks: readonly Check[],
  finished: (name: string, steps: number) => void,
): Promise<CheckOutcome[]> {
  const outcomes: CheckOutcome[] = []
  const shipped = checks.filter(({ file }) => file === undefined)
  for (let from = 0; from < shipped.length; from += CHECKS_AT_ONCE) {
    const some = shipped.slice(from, from + CHECKS_AT_ONCE)
    const suspects = await suspectsOf(warehouse, some)
    for (const [place, check] of some.entries()) {
      outcomes.push(suspects.has(place) ? await runCheck(warehouse, check) : passed(check))
    }
    finished(some.at(-1)?.name ?? '', some.length)
  }
  // A check that fails midway ends the transaction: run alone, its name is known.
  for (const check of checks.filter(({ file }) => file !== undefined)) {
    outcomes.push(await runCheck(warehouse, check))
    finished(check.name, 1)
  }
  return outcomes
}

/** The places of the checks that may have failed. */
async function suspectsOf(
  warehouse: Warehouse,
  checks: readonly Check[],
): Promise<ReadonlySet<number>> {
  const selects = checks.map(({ sql, suspicion }, place) => {
    const count = suspicion ?? `select count(*) as suspects from (${sql})`
    return `select ${place} as place, suspects from (${count})`
  })
  try {
    const { place = [], suspects = [] } = await warehouse.columns<number | bigint>(
      selects.join('\nunion all\n'),
    )
    return new Set(place.flatMap((one, row) => (Number(suspects[row]) > 0 ? Number(one) : [])))
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    // A statement may fail only while the engine plans it, and then the next one runs: the wrong check is then found by
    // its name.
    for (const check of checks) await runCheck(warehouse, check)
    throw error
  }
}

/** Runs one check; the sample is the same each time, also when rows are found in another order. */
function runCheck(warehouse: Warehouse, check: Check): Promise<CheckOutcome> {
  return namingFile(`check ${check.name}`, { file: check.file }, async () => {
    const offenders = await warehouse.number(`select count(*) from (${check.sql})`)
    if (offenders === 0) return passed(check)
    const sample = await warehouse.table(
      `select * from (${check.sql}) order by all limit ${SAMPLE_ROWS}`,
    )
    return { name: check.name, offenders, sample: asObjects(sample) }
  })
}

/** The result of a check that passes. */
export function passed({ name }: Check): CheckOutcome {
  return { name, offenders: 0, sample: [] }
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
