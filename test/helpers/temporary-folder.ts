/** Folders that are removed after the test. */

import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/** Registers a callback for the end of a test, or of all tests of a file that share something. */
export type OnEnd = (end: () => Promise<void> | void) => void

/** Calls it once all tests of this file, or of this `describe`, have ended. */
export function onTestsFinished(): OnEnd {
  const ends: Parameters<OnEnd>[0][] = []
  afterAll(async () => {
    for (const end of ends) await end()
  })
  return (end) => void ends.push(end)
}

/**
 * Creates an empty folder that is removed when the test ends, with everything next to it, such as a journal's seals.
 * @param onEnd when instead, for a folder that tests share
 */
export function temporaryFolder(onEnd: OnEnd = onTestFinished): string {
  const around = mkdtempSync(join(tmpdir(), 'jobtide-test-'))
  onEnd(() => rmSync(around, { recursive: true, force: true }))
  // Another user who gets the folder from a test must be able to reach it.
  chmodSync(around, 0o711)
  const folder = join(around, 'f')
  mkdirSync(folder, { mode: 0o700 })
  return folder
}
