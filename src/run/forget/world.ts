/** The effects that an erasure may have, and its progress reports. */

import type { BackupTarget } from '../backup/backup-target.ts'
import type { SnapshotTarget } from '../job.ts'
import type { RunWorld } from '../stages.ts'

/** The world of an erasure. What its `onProgress` throws ends it; it can go on later. */
export type ErasureWorld = RunWorld & {
  /** Where snapshots are erased, given the destinations that the warehouse knows of. */
  readonly targets: (known: readonly string[]) => readonly SnapshotTarget[]
  /** Where pipelines and the environment say that the journal is backed up. */
  readonly declaredBackups: () => readonly BackupTarget[]
}

/** Reports a step, unless the process is to stop. @throws the reason to stop */
export function tell({ stop, onProgress }: ErasureWorld, name: string, done = 0, total = 1): void {
  stop.throwIfAborted()
  onProgress({ stage: 'forget', name, done, total })
}

/** The shared options of searches; each has its own folder, because searching needs no lock. */
export function searchIn(world: ErasureWorld, name: string) {
  return {
    scratchFolder: `${world.directory.scratch}.forget-${process.pid}`,
    signal: world.stop,
    onFile: (done: number, total: number) => tell(world, name, done, total),
  }
}
