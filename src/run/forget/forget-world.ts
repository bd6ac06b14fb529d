/** What a forgetting is asked for, what it may touch, and how it tells where it is. */

import type { DataDirectory } from '../data-directory.ts'
import type { SnapshotTarget } from '../job.ts'
import type { RunWorld } from '../stages.ts'

/** Whom or what to forget. */
export interface ForgetRequest {
  readonly profileIds: readonly string[]
  /** Events that changed and were detected before this, milliseconds since 1970 UTC; null for none. */
  readonly eventsBefore: number | null
}

/** Where snapshots were published, and how to reach it. */
export type ForgetTarget = Pick<SnapshotTarget, 'to' | 's3'>

/** The world of a forgetting. */
export type ForgetWorld = Pick<
  RunWorld,
  'directory' | 'clock' | 'logger' | 'version' | 's3Endpoint' | 'stop'
> & {
  /** Where to forget besides the data directory, given the destinations that the warehouse knows of. */
  readonly targets: (known: readonly string[]) => readonly ForgetTarget[]
  /** Called before each step and within it; what it throws ends the forgetting, which can go on later. */
  readonly onStep: (step: ForgetStep) => void
}

/** A step of a forgetting that goes on; `done` of `total` where it can be counted. */
export interface ForgetStep {
  readonly step:
    'list' | 'search' | 'journal' | 'warehouse' | 'build' | 'rewrite' | 'copies' | 'store' | 'proof'
  readonly done?: number
  readonly total?: number
  /** Of `store`: which one. */
  readonly destination?: string
}

/** Tells of a step, unless the process is to stop. @throws the reason to stop */
export function tell(
  { stop, onStep }: Pick<ForgetWorld, 'stop' | 'onStep'>,
  step: ForgetStep,
): void {
  stop.throwIfAborted()
  onStep(step)
}

/**
 * The folder for files that a forgetting passes through. Its own, because looking needs no lock: a run may be using the
 * scratch folder of the data directory at the same time.
 */
export function passingFolder({ scratch }: Pick<DataDirectory, 'scratch'>): string {
  return `${scratch}.forget-${process.pid}`
}
