/** A folder that is gone after the test. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Makes an empty folder that is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
