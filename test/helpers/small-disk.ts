/** A real file system that a test can fill, for `node:fs` and the engine. */

import { spawnSync } from 'node:child_process'
import { statfsSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from './temporary-folder.ts'

const LARGE = '2g'

/** A disk whose size can be changed. */
export interface SmallDisk {
  readonly folder: string
  /** Leaves this many kilobytes free. */
  leave(kilobytes: number): void
  enlarge(): void
  makeReadOnly(): void
}

/**
 * A file system that is removed with the test; null if this machine does not let us mount one.
 * @param kilobytes its size; default: large
 * @param folder where it is mounted; default: a new folder
 */
export function smallDisk(
  kilobytes: number | null = null,
  folder = temporaryFolder(),
): SmallDisk | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return null
  const mount = (options: string) =>
    spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0
  const again = (options: string) => {
    if (!mount(`remount,${options}`)) throw new Error(`no remount with ${options}`)
  }
  if (!mount(`size=${kilobytes === null ? LARGE : `${kilobytes}k`}`)) return null
  onTestFinished(() => {
    spawnSync('umount', ['-l', folder])
  })
  return {
    folder,
    leave(room) {
      const { bsize, blocks, bfree } = statfsSync(folder)
      again(`size=${((blocks - bfree) * bsize) / 1024 + room}k`)
    },
    enlarge: () => again(`size=${LARGE}`),
    makeReadOnly: () => again('ro'),
  }
}
