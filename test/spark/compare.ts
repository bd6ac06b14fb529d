/** Two snapshots, table by table and row by row. */

import type { Manifest, ManifestTable } from '../../src/publish/manifest.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { realClock } from '../../src/support/clock.ts'
import { quotePath } from '../../src/warehouse/sql-text.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { manifestIn } from '../publish/fixtures.ts'

/** The manifest of the snapshot in a folder. */
export const manifestAt = (lake: string) => manifestIn(openFolderStore(lake, realClock))

/** The differences of two snapshots in folders, one phrase for each table; empty if all rows and types are equal. */
export async function differences(a: Manifest, b: Manifest): Promise<string[]> {
  const found: string[] = []
  const names = [...new Set([...a.tables, ...b.tables].map(({ name }) => name))]
  const warehouse = await memoryWarehouse()
  try {
    for (const name of names) {
      const [one, other] = [a, b].map(({ tables }) => tables.find((table) => table.name === name))
      if (one === undefined || other === undefined) {
        found.push(`${name} is in one only`)
        continue
      }
      const types = ({ schema }: ManifestTable) =>
        schema.map(({ name: of, type }) => `${of} ${type}`).join()
      if (types(one) !== types(other)) {
        found.push(`${name}: ${types(one)} and ${types(other)}`)
        continue
      }
      // Sums of fractions depend on the order of the rows.
      const columns = one.schema.map(({ name: of, type }) =>
        type === 'DOUBLE' ? `round("${of}", 9)` : `"${of}"`,
      )
      const rows = (table: ManifestTable, { destination }: Manifest) =>
        `select ${columns.join(', ')} from read_parquet([${table.files.map(({ key }) => quotePath(`${destination}/${key}`)).join(', ')}], hive_partitioning = false)`
      const count = async (of: string, less: string) =>
        warehouse.number(`select count(*) from (${of} except all ${less})`)
      const [rowsA, rowsB] = [rows(one, a), rows(other, b)]
      const [more, fewer] = [await count(rowsA, rowsB), await count(rowsB, rowsA)]
      if (more + fewer > 0)
        found.push(`${name}: ${more} rows are only in the first, ${fewer} only in the second`)
      if (one.rows !== other.rows) found.push(`${name}: ${one.rows} and ${other.rows} rows`)
    }
  } finally {
    warehouse.close()
  }
  return found
}
