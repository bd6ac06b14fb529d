/** A data file of a table, written to the scratch folder, and what the manifest will say of it. */

import type { Warehouse } from '../warehouse/warehouse.ts'
import { fileKey } from './keys.ts'
import type { ManifestFile } from './manifest.ts'
import { writeParquet, type ParquetSource, type ScratchFile } from './parquet.ts'

/** A data file to write. */
export interface DataFileSource extends ParquetSource {
  readonly table: string
  readonly partition: string
}

/** A data file that was written. */
export interface DataFile {
  readonly entry: ManifestFile
  readonly file: ScratchFile
}

/** Writes a whole data file to `path`. @throws StorageError when the disk refuses */
export async function writeDataFile(
  warehouse: Warehouse,
  source: DataFileSource,
  path: string,
): Promise<DataFile> {
  const { table, partition } = source
  const { rows, bytes, sha256, min, max, nulls } = await writeParquet(warehouse, source, path)
  const key = fileKey(table, partition, sha256)
  return {
    entry: {
      rows,
      bytes,
      sha256,
      min: { ...min },
      max: { ...max },
      nulls: { ...nulls },
      key,
      partition,
      deletes: 0,
    },
    file: { key, path, bytes, rows },
  }
}
