/** Parquet objects as files that DuckDB can read. */

import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolders } from '../../support/atomic-file.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { PublishError } from '../errors.ts'
import type { ObjectStore } from '../store/object-store.ts'

export interface DeltaLogSource {
  readonly store: ObjectStore
  /** Reads and writes Parquet; its tables are not looked at. */
  readonly warehouse: Warehouse
  /** A folder for passing files; made where it is missing, and nothing is left in it. */
  readonly scratchFolder: string
  readonly signal?: AbortSignal
}

/** Runs `work` with the path of an object: its own in a folder, that of a passing copy elsewhere. */
export async function withLocalFile<T>(
  { store, scratchFolder, signal }: DeltaLogSource,
  key: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const ownPath = store.localPath(key)
  if (ownPath !== null && (await store.head(key)) !== null) return work(ownPath)
  return withScratchFile(scratchFolder, async (path) => {
    if (ownPath === null && (await store.download(key, path, signal))) return work(path)
    throw new PublishError(`${store.urlOf(key)} is not there`, {
      hint: 'Something other than Jobtide removed it: restore it from a backup.',
    })
  })
}

/** Runs `work` with the path of a file that is not there yet, and is gone afterwards. */
export async function withScratchFile<T>(
  scratchFolder: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  makeFolders(scratchFolder)
  const path = join(scratchFolder, `delta-${randomUUID()}`)
  try {
    return await work(path)
  } finally {
    rmSync(path, { force: true })
  }
}
