/** Folders for what a command needs only while it runs. */

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asStorageError } from '../support/errors.ts'

/** A new folder, away from all data: who only reads may have none. Whoever asked for it sees to it that it goes. */
export function passingFolder(command: string): string {
  try {
    return mkdtempSync(join(tmpdir(), `jobtide-${command}-`))
  } catch (error) {
    throw asStorageError(error, tmpdir())
  }
}
