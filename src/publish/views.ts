/** `views.sql`: one view for each table over exactly the files of one snapshot. Pure. */

import { quoteIdentifier } from '../warehouse/sql-text.ts'
import { liveRowsSql } from './live-rows.ts'
import type { Manifest } from './manifest.ts'

/** SQL that any DuckDB takes as it is. It names every file by its address at the destination that it was published to. */
export function viewsSql(manifest: Manifest): string {
  const urlOf = (key: string) => `${manifest.destination}/${key}`
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
