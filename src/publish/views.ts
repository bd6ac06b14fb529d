/** `views.sql`: one view for each table over exactly the files of one snapshot. Pure. */

import { quoteIdentifier } from '../warehouse/warehouse.ts'
import { liveRowsSql } from './live-rows.ts'
import type { Manifest } from './manifest.ts'

/**
 * SQL that any DuckDB takes as it is.
 * @param urlOf the absolute address of a key
 */
export function viewsSql(manifest: Manifest, urlOf: (key: string) => string): string {
  const head = `-- Jobtide snapshot ${manifest.snapshot_id} of ${manifest.created_at}. Paste it into DuckDB.\n`
  const views = manifest.tables.map((table) =>
    [
      `-- ${table.grain.replaceAll(/\s+/g, ' ')}`,
      `create or replace view ${quoteIdentifier(table.name)} as`,
      `${liveRowsSql({ table, urlOf })};`,
    ].join('\n'),
  )
  return `${[head, ...views].join('\n')}\n`
}
