/** The difference between the rows a table has and those it should have, and writing only that. */

import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Temporaries } from './temporaries.ts'

/** A column of a delta: 1 for a new row, -1 for one that is gone; a row that changed is both. No model has such a name. */
export const DIFF_SIGN = '"diff sign"'

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
 * Replaces some rows of a table by `rows`, a temporary table.
 * @param replaced which: what follows `from <table> as old`: a semi join, or nothing for the whole table
 */
export async function applyDifference(
  temporaries: Temporaries,
  { name, columns, key }: ComparedTable,
  replaced: string,
  rows: string,
): Promise<Written> {
  const stored = temporaries.stored(name)
  const hashes = (alias: string) =>
    `hash(${listOf(key, alias)}) as key_hash, hash(${listOf(columns, alias)}) as row_hash`
  // Grouping by two numbers takes less than grouping by all columns. An old and a new row are taken for the same by mistake
  // when both hashes meet: once in 10 million nights of a million rows.
  const differences = await temporaries.keep(
    `select sum(sign) as sign, max(place) as place
     from (
         select ${hashes('old')}, -1 as sign, old.rowid as place from ${stored} as old ${replaced}
         union all
         select ${hashes('made')}, 1 as sign, made.rowid as place from ${rows} as made
     )
     group by key_hash, row_hash
     having sum(sign) <> 0`,
  )
  const gone = `select place from ${differences} where sign < 0`
  const fresh = `select place from ${differences} where sign > 0`
  // Every temporary table takes up to 2 MiB, however few its rows: rows that stay are not copied.
  const delta = await temporaries.keep(
    `select ${listOf(columns)}, -1 as ${DIFF_SIGN} from ${stored} where rowid in (${gone})
     union all
     select ${listOf(columns)}, 1 as ${DIFF_SIGN} from ${rows} where rowid in (${fresh})`,
  )
  const { warehouse } = temporaries
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
