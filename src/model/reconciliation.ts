/**
 * Reconciliation checks: the same facts are counted in two tables, in one with a plus and in the other with a minus; summed up by
 * organisation, or by other columns, they are zero. As they were zero after the last build, an incremental build asks only
 * whether the rows that are new, less those that are gone, sum up to zero, too. Pure.
 */

import { EXIT, JobtideError } from '../support/errors.ts'
import { headerOf, incrementalColumns } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import { listOf } from './difference.ts'

/** What the header of such a check says: `-- reconciles: sums by columns`. */
export interface Reconciliation {
  /** Columns whose sums are zero. */
  readonly sums: readonly string[]
  /** Columns by which they are summed up. */
  readonly by: readonly string[]
  /** A select of the entries: each branch of its union reads one table and computes each row by itself. */
  readonly entries: string
}

/**
 * Reads the header of a check; several such lines name sums by the same columns.
 * @param check its name, for the message
 * @returns null when it is no reconciliation
 * @throws JobtideError when a line is not `sums by columns`, the lines differ in columns, or the check has an incremental_by
 */
export function reconciliationIn(check: string, sql: string): Reconciliation | null {
  const wrong = (problem: string) =>
    new JobtideError(EXIT.defect, `check ${check}: ${problem}`, {
      hint: 'Such as: -- reconciles: moves, people by organization_id',
    })
  const lines = headerOf(sql, 'reconciles').map((line) => {
    const [sums, by, ...more] = line.split(' by ').map((names) => names.split(', '))
    if (sums === undefined || by === undefined || more.length > 0) {
      throw wrong(`"-- reconciles: ${line}" is not "sums by columns"`)
    }
    return { sums, by }
  })
  const [first] = lines
  if (first === undefined) return null
  if (lines.some(({ by }) => by.join() !== first.by.join()))
    throw wrong('sums by different columns')
  if (incrementalColumns(sql).length > 0)
    throw wrong('a reconciliation is computed from differences: it has no incremental_by')
  return { sums: lines.flatMap(({ sums }) => sums), by: first.by, entries: sql }
}

/** Returns the groups whose sums are not zero, with the sums. */
export function differencesSql({ sums, by }: Reconciliation, entries: string): string {
  const groups = listOf(by)
  const totals = sums.map(quoteIdentifier).map((name) => `sum(${name})`)
  const shown = totals.map((total, place) => `${total} as ${quoteIdentifier(sums[place] ?? '')}`)
  return `select ${groups}, ${shown.join(', ')} from (${entries}) as entries
    group by ${groups}
    having ${totals.map((total) => `${total} <> 0`).join(' or ')}`
}

/** The entries of new rows and, with the other sign, those of rows that are gone; SQL. */
export function differenceEntries(
  { sums, by }: Reconciliation,
  added: string,
  removed: string,
): string {
  const negative = sums.map(quoteIdentifier).map((name) => `-${name} as ${name}`)
  return `select ${listOf([...by, ...sums])} from ${added}
    union all select ${[listOf(by), ...negative].join(', ')} from ${removed}`
}
