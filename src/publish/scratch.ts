/** Provides a folder for temporary files while a snapshot is written or read. */

import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolders } from '../support/atomic-file.ts'
import { asStorageError, onDisk } from '../support/errors.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { ObjectStore } from './store/object-store.ts'

export interface Step {
  readonly done: number
  readonly total: number
  readonly name: string
}

/** Runs `work` with its own folder: emptied before, removed after. */
export async function withScratch<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    rmSync(folder, { recursive: true, force: true })
    makeFolders(folder)
    return await work()
  } catch (error) {
    throw asStorageError(error, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** As {@link withScratch}, with an engine that spills to the folder. */
export function withScratchEngine<T>(folder: string, work: (warehouse: Warehouse) => Promise<T>) {
  const options = { path: ':memory:', mode: 'write', spillFolder: join(folder, 'spilled') } as const
  return withScratch(folder, () => withWarehouse(options, work))
}

/** Runs `work` with the path of a file that is not there yet, and is gone afterwards. */
export async function withScratchFile<T>(
  scratchFolder: string,
  work: (path: string) => Promise<T>,
) {
  const path = join(scratchFolder, randomUUID())
  onDisk(path, () => makeFolders(scratchFolder))
  try {
    return await work(path)
  } finally {
    rmSync(path, { force: true })
  }
}

export interface ObjectSource {
  readonly store: ObjectStore
  /** Where a bucket's objects pass through; made where it is missing, and nothing is left in it. */
  readonly scratchFolder: string
  readonly signal?: AbortSignal
}

/** Runs `work` with the path of an object: its own in a folder, that of a passing copy elsewhere; null where it is not there. */
export async function withObject<T>(
  { store, scratchFolder, signal }: ObjectSource,
  key: string,
  work: (path: string | null) => Promise<T>,
): Promise<T> {
  const own = store.localPath(key)
  if (own !== null) return work((await store.head(key)) === null ? null : own)
  return withScratchFile(scratchFolder, async (path) =>
    work((await store.download(key, path, signal)) ? path : null),
  )
}
