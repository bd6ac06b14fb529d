/** What changed between the rows a table has and the rows it should have, and bringing it there by writing only that. */

import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import type { Temporaries } from './temporaries.ts'

/** In a table of changed rows: true for rows that are new, false for rows that are gone. No column of a model has a space. */
export const IS_NEW = '"is new"'
const PLACE = '"row id"'

/** What `applyDifference` wrote. */
export interface Difference {
  /** Temporary table: the rows that are gone and those that are new, with `IS_NEW`; SQL. */
  readonly changed: string
  readonly inserted: number
  readonly deleted: number
}

/**
 * Makes `rows` (a temporary table) the content of `table`, where `only` leaves the rest of it alone.
 * @param only what follows `from <table> as old`: a semi join, or nothing for the whole table
 */
export async function applyDifference(
  warehouse: Warehouse,
  temporaries: Temporaries,
  table: { readonly name: string; readonly columns: readonly string[] },
  rows: string,
  only: string,
): Promise<Difference> {
  const main = temporaries.main(table.name)
  const columns = table.columns.map(quoteIdentifier)
  const of = (alias: string) => columns.map((column) => `${alias}.${column}`).join(', ')
  const same = columns.map((column) => `old.${column} is not distinct from new.${column}`)
  const before = await temporaries.keep(
    `select old.rowid as ${PLACE}, ${of('old')} from ${main} as old ${only}`,
  )
  const changed = await temporaries.keep(
    `select old.${PLACE}, ${of('old')}, false as ${IS_NEW}
     from ${before} as old anti join ${rows} as new on ${same.join(' and ')}
     union all
     select null as ${PLACE}, ${of('new')}, true as ${IS_NEW}
     from ${rows} as new anti join ${before} as old on ${same.join(' and ')}`,
  )
  await temporaries.drop(before)
  const [counted] = await warehouse.all<{ inserted: bigint; deleted: bigint }>(
    `select count(*) filter (${IS_NEW}) as inserted, count(*) filter (not ${IS_NEW}) as deleted from ${changed}`,
  )
  const inserted = Number(counted?.inserted ?? 0)
  const deleted = Number(counted?.deleted ?? 0)
  if (deleted > 0) {
    await warehouse.run(
      `delete from ${main} where rowid in (select ${PLACE} from ${changed} where not ${IS_NEW})`,
    )
  }
  if (inserted > 0) {
    await warehouse.run(
      `insert into ${main} (${columns.join(', ')})
       select ${columns.join(', ')} from ${changed} where ${IS_NEW}`,
    )
  }
  return { changed, inserted, deleted }
}

/** `semi join` of `alias` with `groups` over `columns`, where null is a value like others; SQL. */
export function semiJoin(alias: string, groups: string, columns: readonly string[]): string {
  const same = columns
    .map(quoteIdentifier)
    .map((column) => `${alias}.${column} is not distinct from wanted.${column}`)
  return `semi join ${groups} as wanted on ${same.join(' and ')}`
}
