import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { IDENTITY_FILE, journalIdentity } from '../../src/journal/journal.ts'
import { EXIT } from '../../src/support/errors.ts'
import { ulidTime } from '../../src/support/ulid.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const NOW = Date.UTC(2026, 10, 22)

describe('the identity of a journal', () => {
  it('is created once, moves with the folder, and is lost with it', () => {
    const folder = temporaryFolder()
    const journal = join(folder, 'journal')
    const identity = journalIdentity(journal, NOW)
    expect(ulidTime(identity)).toBe(NOW)
    expect(readFileSync(join(journal, IDENTITY_FILE), 'utf8')).toBe(`${identity}\n`)
    expect(journalIdentity(journal, NOW + 1)).toBe(identity)
    renameSync(journal, join(folder, 'moved'))
    expect(journalIdentity(join(folder, 'moved'), NOW + 2)).toBe(identity)
    rmSync(join(folder, 'moved'), { recursive: true })
    expect(journalIdentity(join(folder, 'moved'), NOW + 3)).not.toBe(identity)
  })

  it.each(['', 'garbage', '01M82GZFCDS2H9RXZ13JAAZES'])(
    'is not guessed if the file contains %j: exit 9',
    (text) => {
      const folder = temporaryFolder()
      writeFileSync(join(folder, IDENTITY_FILE), text)
      expect(() => journalIdentity(folder, NOW)).toThrow(
        expect.objectContaining({
          exitCode: EXIT.storage,
          message: `${join(folder, IDENTITY_FILE)} does not hold the identity of a journal`,
        }),
      )
    },
  )
})
