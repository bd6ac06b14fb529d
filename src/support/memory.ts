/**
 * Finds how much memory this process may use: the configured limit, else the limit of the machine and its control group. A
 * container that uses more is killed. src/warehouse/engine-settings.ts decides the engine's share.
 */

import { totalmem } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | null = null

/** Takes 20 ms. Garbage otherwise grows regardless of the limit: by 100 MB after a delivery of 12 MB. */
export function collectGarbage(): void {
  if (collect === null) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}

let told: number | null = null

/** Sets the result of {@link memoryOfProcess}. @param bytes null: the limit of machine and control group */
export function limitMemory(bytes: number | null): void {
  told = bytes
}

/** The memory that this process may take in total, in bytes: the engine, Node, and everything between them. */
export function memoryOfProcess(): number {
  // 0 without a control group, and a number beyond all memory if it has no limit.
  return told ?? Math.min(totalmem(), process.constrainedMemory() || Infinity)
}
