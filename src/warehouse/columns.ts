/** The current columns of the warehouse's tables. */

import { IN_BUILT } from './catalog.ts'
import type { Warehouse } from './warehouse.ts'

export interface TypedColumn {
  readonly name: string
  /** As DuckDB writes it. */
  readonly type: string
}

export interface StoredColumn extends TypedColumn {
  readonly comment: string | null
}

/** The columns of every table and view that a build or a load makes, by its name, in order. */
export async function columnsOfAll(
  warehouse: Warehouse,
): Promise<ReadonlyMap<string, readonly StoredColumn[]>> {
  const rows = await warehouse.all<{ table: string; columns: StoredColumn[] }>(
    `select table_name as table, list({name: column_name, type: data_type, comment: comment} order by column_index) as columns
     from duckdb_columns()
     where database_name = current_database() and schema_name in ${IN_BUILT}
     group by table_name`,
  )
  return new Map(rows.map(({ table, columns }) => [table, columns]))
}
