/** The rows of a table's files that do not count, as deletion vectors. */

import { quoteText } from '../../warehouse/warehouse.ts'
import { PublishError } from '../errors.ts'
import type { ManifestTable } from '../manifest.ts'
import type { DeletionVector } from './actions.ts'
import { deletionVectorOf } from './deletion-vector.ts'
import { withLocalFile, type DeltaLogSource } from './local-file.ts'

/**
 * Reads a table's file of deleted rows: key of the data file → the rows of it that are no longer so.
 * @throws PublishError when it is not there, or holds other rows than the manifest says
 */
export async function readDeletionVectors(
  source: DeltaLogSource,
  table: ManifestTable,
): Promise<ReadonlyMap<string, DeletionVector>> {
  const vectors = new Map<string, DeletionVector>()
  const { deletion_vector: deleted } = table
  if (deleted === null) return vectors
  await withLocalFile(source, deleted.key, async (path) => {
    // One file at a time, so that memory holds the numbers of one.
    for (const file of table.files.filter(({ deletes: rows }) => rows > 0)) {
      const [row] = await source.warehouse.all<{ positions: number[] | null }>(
        `select list(cast(position as double) order by position) as positions
         from read_parquet(${quoteText(path)}) where file = $1`,
        [file.sha256],
      )
      const positions = row?.positions ?? []
      if (positions.length !== file.deletes || (positions.at(-1) ?? 0) >= file.rows) {
        throw new PublishError(
          `${source.store.urlOf(deleted.key)} does not name ${file.deletes} rows of ${file.key}`,
        )
      }
      vectors.set(file.key, deletionVectorOf(positions))
    }
  })
  return vectors
}
