/** Folders for what a command needs only while it runs. */

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asStorageError } from '../support/errors.ts'

/** A new folder away from all data, which may be read-only; the caller removes it. */
export function temporaryFolder(command: string): string {
  try {
    return mkdtempSync(join(tmpdir(), `jobtide-${command}-`))
  } catch (error) {
    throw asStorageError(error, tmpdir())
  }
}
