/** `views.sql`: one view for each table over exactly the files of one snapshot. Pure. */

import { quoteIdentifier, quoteText } from '../warehouse/warehouse.ts'
import type { Manifest } from './manifest.ts'

/**
 * SQL that any DuckDB takes as it is.
 * @param urlOf the absolute address of a key
 */
export function viewsSql(manifest: Manifest, urlOf: (key: string) => string): string {
  const head = `-- Jobtide snapshot ${manifest.snapshot_id} of ${manifest.created_at}. Paste it into DuckDB.\n`
  const views = manifest.tables.map((table) => {
    const files = table.files.map((file) => `  ${quoteText(urlOf(file.key))}`).join(',\n')
    // Paths such as changed_year=2019 would otherwise add a column that the table does not have.
    return [
      `-- ${table.grain.replaceAll(/\s+/g, ' ')}`,
      `create or replace view ${quoteIdentifier(table.name)} as select * from read_parquet([`,
      files,
      `], hive_partitioning = false);`,
    ].join('\n')
  })
  return `${[head, ...views].join('\n')}\n`
}
