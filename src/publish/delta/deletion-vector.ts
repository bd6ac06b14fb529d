/** Deletion vectors as the Delta log holds them: inline, so that no further object is needed. */

import { quoteText } from '../../warehouse/sql-text.ts'
import { PublishError } from '../errors.ts'
import type { ManifestTable } from '../manifest.ts'
import type { DeletionVector } from './actions.ts'
import { withLocalFile, type DeltaLogSource } from './local-file.ts'
import { encodePositions } from './row-positions.ts'
import { encodeZ85 } from './z85.ts'

/** The deletion vector of `positions`: row numbers from 0, ascending, at least one. */
export function deletionVectorOf(positions: readonly number[]): DeletionVector {
  const bytes = encodePositions(positions)
  return {
    storageType: 'i',
    pathOrInlineDv: encodeZ85(bytes),
    sizeInBytes: bytes.length,
    cardinality: positions.length,
  }
}

/**
 * Reads the deletion vector of a table: key of the data file → the rows of it that are deleted.
 * @throws PublishError when it is not there, or holds other rows than the manifest says
 */
export async function readDeletionVectors(
  source: DeltaLogSource,
  { files, deletion_vector: stored }: ManifestTable,
): Promise<ReadonlyMap<string, DeletionVector>> {
  const vectors = new Map<string, DeletionVector>()
  if (stored === null) return vectors
  await withLocalFile(source, stored.key, async (path) => {
    // One file at a time, so that memory holds the numbers of one.
    for (const { key, sha256, rows, deletes } of files.filter((file) => file.deletes > 0)) {
      const [row] = await source.warehouse.all<{ positions: number[] | null }>(
        `select list(cast(position as double) order by position) as positions
         from read_parquet(${quoteText(path)}) where file = $1`,
        [sha256],
      )
      const positions = row?.positions ?? []
      if (positions.length !== deletes || (positions.at(-1) ?? 0) >= rows) {
        throw new PublishError(
          `${source.store.urlOf(stored.key)} does not name ${deletes} rows of ${key}`,
        )
      }
      vectors.set(key, deletionVectorOf(positions))
    }
  })
  return vectors
}
