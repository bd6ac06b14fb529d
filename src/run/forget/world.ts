/** What an erasure is asked for, what it may touch, and how it tells where it is. */

import type { SnapshotTarget } from '../job.ts'
import type { RunWorld } from '../stages.ts'

/** The world of an erasure. */
export type ErasureWorld = RunWorld & {
  /** Where snapshots are erased, given the destinations that the warehouse knows of. */
  readonly targets: (known: readonly string[]) => readonly SnapshotTarget[]
  /** Called before each step and within it; what it throws ends the erasure, which can go on later. */
  readonly onStep: (step: ErasureStep) => void
}

/** A step of an erasure that goes on; `done` of `total` where it can be counted. */
export interface ErasureStep {
  readonly name: string
  readonly done?: number
  readonly total?: number
}

/** Tells of a step, unless the process is to stop. @throws the reason to stop */
export function tell({ stop, onStep }: ErasureWorld, step: ErasureStep): void {
  stop.throwIfAborted()
  onStep(step)
}

/** What searches in this world share; their folder is their own, because looking needs no lock. */
export function searchIn(world: ErasureWorld, name: string) {
  return {
    scratchFolder: `${world.directory.scratch}.forget-${process.pid}`,
    signal: world.stop,
    onFile: (done: number, total: number) => tell(world, { name, done, total }),
  }
}
