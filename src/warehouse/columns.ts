/** The tables and columns that are there. */

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
export async function columnsOfAll(warehouse: Warehouse) {
  const rows = await warehouse.all<{ table: string; columns: StoredColumn[] }>(
    `select table_name as table, list({name: column_name, type: data_type, comment: comment} order by column_index) as columns
     from duckdb_columns()
     where database_name = current_database() and schema_name in ${IN_BUILT}
     group by table_name`,
  )
  return new Map<string, readonly StoredColumn[]>(
    rows.map(({ table, columns }) => [table, columns]),
  )
}

/** Every table and view, with the number of its columns: listing these takes the engine ten times as long. */
export function relationsIn(warehouse: Warehouse) {
  const ofAll = 'schema_name as schema, comment, column_count::int as columns'
  const here = 'where database_name = current_database() and not internal'
  type Relation = { kind: 'table' | 'view'; name: string; schema: string; columns: number }
  return warehouse.all<Relation & { comment: string | null }>(
    `select 'table' as kind, table_name as name, ${ofAll} from duckdb_tables() ${here}
     union all select 'view', view_name, ${ofAll} from duckdb_views() ${here}`,
  )
}
