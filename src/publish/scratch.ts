/** A folder for what is only needed while a snapshot is written or read. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolders } from '../support/atomic-file.ts'
import { asStorageError } from '../support/errors.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'

/** `done` of `total` parts of the work are finished; the last one was `name`. */
export interface Step {
  readonly done: number
  readonly total: number
  readonly name: string
}

/** Runs `work` with a folder of its own: emptied before, removed after. */
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

/** As {@link withScratch}, with an engine that keeps in the folder what does not fit into memory. */
export function withScratchEngine<T>(
  folder: string,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const options = { path: ':memory:', mode: 'write', spillFolder: join(folder, 'spilled') } as const
  return withScratch(folder, () => withWarehouse(options, work))
}
