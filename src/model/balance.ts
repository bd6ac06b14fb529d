/**
 * Checks of books that balance: the same facts are counted in two tables, row by row, in one as more and in the other as
 * less; for each organisation, or whatever they are counted by, the sums are zero. As they were zero after the last build,
 * a night asks only whether the rows that are new, less those that are gone, sum up to zero, too. Pure.
 */

import { EXIT, JobtideError } from '../support/errors.ts'
import { headerOf, scopeOf } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/warehouse.ts'
import { MORE } from './difference.ts'

/** What the header of such a check says: `-- balanced: sums by columns`. */
export interface Balance {
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

const EXAMPLE = '-- balanced: moves, people by organization_id'

/**
 * Reads the header of a check; several such lines name sums by the same columns.
 * @param check its name, for the message
 * @returns null when it is no balance
 * @throws JobtideError when a line is not `sums by columns`, the lines differ in columns, or the check has a scope as well
 */
export function balanceIn(check: string, sql: string): Balance | null {
  const wrong = (problem: string) =>
    new JobtideError(EXIT.defect, `check ${check}: ${problem}`, { hint: `Such as: ${EXAMPLE}` })
  const lines = headerOf(sql, 'balanced').map((line) => {
    const [sums, by, ...more] = line.split(' by ').map((names) => names.split(', '))
    if (sums === undefined || by === undefined || more.length > 0) {
      throw wrong(`"-- balanced: ${line}" is not "sums by columns"`)
    }
    return { sums, by }
  })
  const [first] = lines
  if (first === undefined) return null
  if (lines.some(({ by }) => by.join() !== first.by.join()))
    throw wrong('sums by different columns')
  if (scopeOf(sql).length > 0)
    throw wrong('what is balanced has no scope: it is asked of differences')
  return { sums: lines.flatMap(({ sums }) => sums), by: first.by, entries: sql }
}

/** Returns the groups that do not balance, with what they are short of or over. */
export function imbalanceSql({ sums, by }: Balance, entries: string): string {
  const groups = by.map(quoteIdentifier)
  const names = sums.map(quoteIdentifier)
  return `select ${[...groups, ...names.map((name) => `sum(${name}) as ${name}`)].join(', ')}
    from (${entries}) as entries
    group by ${groups.join(', ')}
    having ${names.map((name) => `sum(${name}) <> 0`).join(' or ')}`
}

/** The entries of rows that are new and, the other way round, those of rows that are gone: `kept` has both, with `MORE`; SQL. */
export function changedEntries({ sums, by }: Balance, kept: string): string {
  const groups = by.map(quoteIdentifier)
  const signed = sums.map(quoteIdentifier).map((name) => `${name} * ${MORE} as ${name}`)
  return `select ${[...groups, ...signed].join(', ')} from ${kept}`
}
