/** Finds the differences between new rows of a table and its old ones. */

import type { TypedColumn } from '../warehouse/columns.ts'
import { yearSql } from '../warehouse/changed-tables.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { ProjectNode } from './project.ts'
import type { Temporaries } from './temporaries.ts'

/** A hash of a row, 64 bits; SQL. */
export function rowHashSql(columns: readonly TypedColumn[]): string {
  const hashed = columns.map(({ name, type }) =>
    // The engine gives null, an empty list and a list of one null the same hash.
    type.endsWith(']') ? `to_json(${quoteIdentifier(name)})` : quoteIdentifier(name),
  )
  return `hash(${hashed.join(', ')})`
}

/** The changes that {@link writeDifference} wrote. */
export interface Written {
  /** Rows that it deleted and inserted. */
  readonly rows: number
  /** The years of these rows; null for a row without one, and for all rows where the table has no years. */
  readonly years: readonly (number | null)[]
  /** A temporary table with the keys of these rows, if they were asked for and there are any; SQL. */
  readonly keys: string | null
}

/**
 * Replaces rows of a table, and writes only the differences: the log of the warehouse, and so the commit, grows by
 * these.
 * @param before which rows they replace: what follows `from <stored> as kept`, such as a semi join
 * @param made a table with the rows that belong there; SQL
 * @param key the column whose values in these rows are kept; null: none
 */
export async function writeDifference(
  temporaries: Temporaries,
  { partitionByYearOf }: Pick<ProjectNode, 'partitionByYearOf'>,
  columns: readonly TypedColumn[],
  stored: string,
  before: string,
  made: string,
  key: string | null,
): Promise<Written> {
  const { warehouse } = temporaries
  const year = partitionByYearOf === null ? 'cast(null as integer)' : yearSql(partitionByYearOf)
  const hashed = (sign: number, from: string) =>
    `select ${rowHashSql(columns)} as row_hash, ${year} as year, ${sign} as sign, kept.rowid as place from ${from}`
  // An old and a new row are taken for the same by mistake when their hashes meet: once in 10 million nights of a million rows.
  const { name: differing, rows: count } = await temporaries.keepCounted(
    `select any_value(year) as year, sum(sign) as sign, max(place) as place
     from (${hashed(-1, `${stored} as kept ${before}`)} union all ${hashed(1, `${made} as kept`)})
     group by row_hash having sum(sign) <> 0`,
  )
  const years: (number | null)[] = []
  let rows = 0
  let keys: string | null = null
  if (count > 0) {
    const found = await warehouse.columns<number | null>(`select distinct year from ${differing}`)
    years.push(...(found['year'] ?? []))
    const names = columns.map(({ name }) => quoteIdentifier(name)).join(', ')
    const old = `from ${stored} where rowid in (select place from ${differing} where sign < 0)`
    const fresh = `from ${made} where rowid in (select place from ${differing} where sign > 0)`
    if (key !== null) {
      keys = await temporaries.keep(`select ${key} ${old} union select ${key} ${fresh}`)
    }
    rows += await warehouse.number(`delete ${old}`)
    rows += await warehouse.number(`insert into ${stored} (${names}) select ${names} ${fresh}`)
  }
  await temporaries.drop(differing)
  return { rows, years, keys }
}
