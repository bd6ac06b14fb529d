/**
 * Checks of books that reconciliation: the same facts are counted in two tables, row by row, in one as more and in the other as
 * less; for each organisation, or whatever they are counted by, the sums are zero. As they were zero after the last build,
 * a night asks only whether the rows that are new, less those that are gone, sum up to zero, too. Pure.
 */

import { EXIT, JobtideError } from '../support/errors.ts'
import { headerOf, incrementalColumns } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/warehouse.ts'
import { DIFF_SIGN } from './difference.ts'

/** What the header of such a check says: `-- reconciles: sums by columns`. */
export interface Reconciliation {
  /** Columns whose sums are zero. */
  readonly sums: readonly string[]
  /** Columns by which they are summed up. */
  readonly by: readonly string[]
  /**
   * A select of the entries: each branch of its union reads one table, and what it returns for a row depends on that row
   * alone.
   */
  readonly entries: string
}

const EXAMPLE = '-- reconciles: moves, people by organization_id'

/**
 * Reads the header of a check; several such lines name sums by the same columns.
 * @param check its name, for the message
 * @returns null when it is no reconciliation
 * @throws JobtideError when a line is not `sums by columns`, the lines differ in columns, or the check has a scope as well
 */
export function reconciliationIn(check: string, sql: string): Reconciliation | null {
  const wrong = (problem: string) =>
    new JobtideError(EXIT.defect, `check ${check}: ${problem}`, { hint: `Such as: ${EXAMPLE}` })
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

/** Returns the groups that do not reconciliation, with what they are short of or over. */
export function differencesSql({ sums, by }: Reconciliation, entries: string): string {
  const groups = by.map(quoteIdentifier)
  const names = sums.map(quoteIdentifier)
  return `select ${[...groups, ...names.map((name) => `sum(${name}) as ${name}`)].join(', ')}
    from (${entries}) as entries
    group by ${groups.join(', ')}
    having ${names.map((name) => `sum(${name}) <> 0`).join(' or ')}`
}

/** The entries of rows that are new and, the other way round, those of rows that are gone: `kept` has both, with `DIFF_SIGN`; SQL. */
export function changedEntries({ sums, by }: Reconciliation, kept: string): string {
  const groups = by.map(quoteIdentifier)
  const signed = sums.map(quoteIdentifier).map((name) => `${name} * ${DIFF_SIGN} as ${name}`)
  return `select ${[...groups, ...signed].join(', ')} from ${kept}`
}
