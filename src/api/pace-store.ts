/** Where the pace is kept: in memory, for one process, or in a file (pace-file.ts), for all of one data directory. */

import { thisProcess, type ProcessIdentity } from '../support/lock-file.ts'
import { FRESH_PACE, type PaceState } from './pace-state.ts'

/** The pace that several pacers share. */
export interface PaceStore {
  /** The process that uses the store. */
  readonly owner: ProcessIdentity
  /**
   * Replaces the pace by what `change` makes of it; nobody else changes it in between. Where somebody did all the same,
   * `change` is called again, with the pace as it is then.
   * @returns what `change` returned last
   * @throws StorageError when the disk refuses
   */
  update<Result extends { readonly pace: PaceState }>(change: (pace: PaceState) => Result): Result
}

/** A pace for the pacers of this process. */
export function createMemoryPaceStore(): PaceStore {
  let current = FRESH_PACE
  return {
    owner: thisProcess(),
    update(change) {
      const result = change(current)
      current = result.pace
      return result
    },
  }
}
