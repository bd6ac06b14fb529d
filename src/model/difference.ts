/** The difference between the rows a table has and those it should have, and writing only that. */

import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Temporaries } from './temporaries.ts'

/** A column of a delta: 1 for a new row, -1 for one that is gone; a row that changed is both. No model has such a name. */
export const DIFF_SIGN = '"diff sign"'
// Of a row that is gone its place in the table, of a new one its place among the rows that were made.
const PLACE = '"row id"'

export interface ComparedTable {
  readonly name: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
}

export interface Written {
  /** Temporary table with the rows that are gone and those that are new, and `DIFF_SIGN`; SQL. */
  readonly delta: string
  readonly rowsChanged: number
}

/**
 * Keeps the rows that a table has, for `applyDifference`.
 * @param only what follows `from <table> as old`: a semi join, or nothing for the whole table
 */
export async function keepBefore(
  temporaries: Temporaries,
  { name, columns }: ComparedTable,
  only: string,
): Promise<string> {
  return temporaries.keep(
    `select old.rowid as ${PLACE}, ${listOf(columns, 'old')}
     from ${temporaries.stored(name)} as old ${only}`,
  )
}

/**
 * Replaces the rows of a table that stand in `before` by `rows`, a temporary table.
 * @param before what `keepBefore` returned; dropped
 */
export async function applyDifference(
  temporaries: Temporaries,
  { name, columns, key }: ComparedTable,
  before: string,
  rows: string,
): Promise<Written> {
  // Grouping by two numbers takes less than grouping by all columns. An old and a new row are taken for the same by mistake
  // when both hashes meet: once in 10 million nights of a million rows.
  const hashes = `hash(${listOf(key)}) as key_hash, hash(${listOf(columns)}) as row_hash`
  const differences = await temporaries.keep(
    `select sum(sign) as sign, max(place) as place
     from (
         select ${hashes}, -1 as sign, ${PLACE} as place from ${before}
         union all
         select ${hashes}, 1 as sign, rowid as place from ${rows}
     )
     group by key_hash, row_hash
     having sum(sign) <> 0`,
  )
  const gone = `select place from ${differences} where sign < 0`
  const fresh = `select place from ${differences} where sign > 0`
  const delta = await temporaries.keep(
    `select ${listOf(columns)}, -1 as ${DIFF_SIGN} from ${before} where ${PLACE} in (${gone})
     union all
     select ${listOf(columns)}, 1 as ${DIFF_SIGN} from ${rows} where rowid in (${fresh})`,
  )
  await temporaries.drop(before)
  const { warehouse } = temporaries
  const stored = temporaries.stored(name)
  const deleted = await warehouse.number(`delete from ${stored} where rowid in (${gone})`)
  const inserted = await warehouse.number(
    `insert into ${stored} (${listOf(columns)})
     select ${listOf(columns)} from ${delta} where ${DIFF_SIGN} > 0`,
  )
  await temporaries.drop(differences)
  return { delta, rowsChanged: inserted + deleted }
}

/** Columns, of `alias` where one is given, as a select lists them; SQL. */
export function listOf(columns: readonly string[], alias?: string): string {
  const prefix = alias === undefined ? '' : `${alias}.`
  return columns.map((column) => `${prefix}${quoteIdentifier(column)}`).join(', ')
}
