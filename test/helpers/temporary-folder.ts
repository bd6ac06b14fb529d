/** A folder that is gone after the test. */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Makes an empty folder that is removed when the test ends, with all that was put beside it, such as a journal's seals. */
export function temporaryFolder(): string {
  const around = mkdtempSync(join(tmpdir(), 'jobtide-test-'))
  onTestFinished(() => rmSync(around, { recursive: true, force: true }))
  const folder = join(around, 'f')
  mkdirSync(folder, { mode: 0o700 })
  return folder
}
