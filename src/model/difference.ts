/** What changed between the rows a table has and those it should have, and bringing it there by writing only that. */

import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import type { Temporaries } from './temporaries.ts'

/**
 * In a table of differences: 1 for a row that is new, -1 for one that is gone; a row that changed is both. No column of a
 * model has a space.
 */
export const DIFF_SIGN = '"diff sign"'
// Of a row that is gone its place in the table, of a new one that among the rows that were made.
const PLACE = '"row id"'
const KEY_HASH = '"key hash"'
const HASH = '"row hash"'

/** A table, and which columns of a changed row anything further on reads. */
export interface Compared {
  readonly name: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
  readonly compared: readonly string[]
}

/** What `applyDifferences` wrote. */
export interface Written {
  /** Temporary table: the rows that are gone and those that are new, in the compared columns, with `DIFF_SIGN`; SQL. */
  readonly changed: string
  readonly inserted: number
  readonly deleted: number
}

/**
 * Keeps the rows that a table has, for `applyDifferences`. Of most columns a hash is enough: to keep all of a wide table, and
 * to compare them one by one, takes several times as long.
 * @param only what follows `from <table> as old`: a semi join, or nothing for the whole table
 */
export async function keepBefore(
  temporaries: Temporaries,
  { name, columns, key, compared }: Compared,
  only: string,
): Promise<string> {
  return temporaries.keep(
    `select old.rowid as ${PLACE}, ${listOf(compared, 'old')},
        hash(${listOf(key, 'old')}) as ${KEY_HASH}, hash(${listOf(columns, 'old')}) as ${HASH}
     from ${temporaries.stored(name)} as old ${only}`,
  )
}

/**
 * Replaces the rows of a table that stand in `before` by `rows`, a temporary table.
 * @param before what `keepBefore` returned; dropped
 */
export async function applyDifferences(
  warehouse: Warehouse,
  temporaries: Temporaries,
  { name, columns, key, compared }: Compared,
  before: string,
  rows: string,
): Promise<Written> {
  // An old and a new row are taken for the same by mistake when their hashes meet: for each pair of rows at most one chance in
  // 10^19, of which a night has a trillion where it has a million rows: one in 10 million nights. Grouping by two numbers takes
  // less than grouping by keys.
  const differences = await temporaries.keep(
    `select sum(more) as ${DIFF_SIGN}, max(${PLACE}) as ${PLACE}
     from (
         select ${KEY_HASH}, ${HASH}, -1 as more, ${PLACE} from ${before}
         union all
         select hash(${listOf(key)}) as ${KEY_HASH}, hash(${listOf(columns)}) as ${HASH}, 1 as more, rowid as ${PLACE}
         from ${rows}
     )
     group by ${KEY_HASH}, ${HASH}
     having sum(more) <> 0`,
  )
  const gone = `select ${PLACE} from ${differences} where ${DIFF_SIGN} < 0`
  const fresh = `select ${PLACE} from ${differences} where ${DIFF_SIGN} > 0`
  const changed = await temporaries.keep(
    `select ${listOf(compared)}, -1 as ${DIFF_SIGN} from ${before} where ${PLACE} in (${gone})
     union all
     select ${listOf(compared)}, 1 as ${DIFF_SIGN} from ${rows} where rowid in (${fresh})`,
  )
  await temporaries.drop(before)
  const main = temporaries.stored(name)
  const deleted = await countOf(warehouse, `delete from ${main} where rowid in (${gone})`)
  const inserted = await countOf(
    warehouse,
    `insert into ${main} (${listOf(columns)})
     select ${listOf(columns)} from ${rows} where rowid in (${fresh})`,
  )
  await temporaries.drop(differences)
  return { changed, inserted, deleted }
}

/** Columns, of `alias` where one is given, as a select lists them; SQL. */
export function listOf(columns: readonly string[], alias?: string): string {
  const prefix = alias === undefined ? '' : `${alias}.`
  return columns.map((column) => `${prefix}${quoteIdentifier(column)}`).join(', ')
}

async function countOf(warehouse: Warehouse, statement: string): Promise<number> {
  const [row] = await warehouse.all<{ Count: bigint }>(statement)
  return Number(row?.Count ?? 0)
}
