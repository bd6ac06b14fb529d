/**
 * Finds how much memory this process may use: the configured limit, else the limit of the machine and its control group. A
 * container that uses more is killed. src/warehouse/engine-settings.ts decides the engine's share.
 */

import { totalmem } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | null = null

/**
 * Collects JavaScript's garbage, which the runtime otherwise lets grow regardless of the limit: by 100 MB after a delivery of
 * 12 MB. Takes some 20 ms.
 */
export function collectGarbage(): void {
  if (collect === null) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}

let told: number | null = null

/** Sets what {@link memoryOfProcess} says. @param bytes null: what machine and control group say */
export function limitMemory(bytes: number | null): void {
  told = bytes
}

/** The memory that this process may take in all, in bytes: the engine, Node itself, and what lies in between. */
export function memoryOfProcess(): number {
  // 0 where there is no control group, a number beyond all memory where it has no limit.
  return told ?? Math.min(totalmem(), process.constrainedMemory() || Infinity)
}
