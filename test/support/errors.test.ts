import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { getSystemErrorName } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { StorageError, asStorageError, onDisk } from '../../src/support/errors.ts'
import { asWarehouseError } from '../../src/warehouse/errors.ts'
import { systemError } from '../helpers/faulty-disk.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

// Skips tests that mount a file system unless root runs them.
describe('asStorageError', () => {
  it.each([
    ['ENOSPC', 'the disk is full'],
    ['EDQUOT', 'the disk quota is used up'],
    ['UNKNOWN', 'the file system refuses'],
    [getSystemErrorName(-constants.errno.ESTALE), 'the file system refuses'],
    ['EFBIG', 'the file is larger than it may be'],
    ['EISDIR', 'a folder is in the place of a file'],
    ['ENOTDIR', 'a file is in the place of a folder'],
    ['EMFILE', 'this process has too many files open', /^Raise .* \(`ulimit -n`, /],
    ['ENFILE', 'this machine has too many files open', /^Raise .* \(`sysctl fs.file-max`\)/],
    ['EROFS', 'the file system is read-only', /^Mount it for writing/],
    ['EIO', 'the disk reports an input/output error'],
    ['EACCES', 'permission denied', /^Check the owner/],
    ['EPERM', 'permission denied', /^Check the owner/],
  ])('says of %s that %s, and exits with 9', (code, meaning, fix = /^Free space, or fix/) => {
    const cause = systemError(code, 'write')
    expect(asStorageError(cause, 'journal data/journal')).toMatchObject({
      name: 'StorageError',
      message: `journal data/journal: ${meaning} (${code})`,
      exitCode: 9,
      hint: expect.stringMatching(fix) as unknown,
      context: { code },
      cause,
    })
  })

  it.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)(
    'distinguishes a disk without inodes from a full one',
    ({ skip }) => {
      const folder = temporaryFolder()
      const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=3', 'tmpfs', folder])
      if (mounted.status !== 0) skip('no file system can be mounted here')
      onTestFinished(() => void spawnSync('umount', ['-l', folder]))
      const write = () => {
        for (let n = 0; n < 5; n++) writeFileSync(join(folder, `${n}`), 'x')
      }
      expect(() => onDisk('journal', write)).toThrow(
        'journal: the disk has no inodes left, so no file can be created (ENOSPC)',
      )
      const room = 'the disk has no inodes left, so no file can be created (ENOSPC)'
      const makeFolders = () => mkdirSync(join(folder, 'a', 'b'), { recursive: true })
      expect(() => onDisk('journal', makeFolders)).toThrow(`journal: ${room}`)
      // The engine's own message.
      const engine = `IO Error: Cannot open file "${join(folder, 'a', 'x')}": No space left on device`
      expect(asWarehouseError(new Error(engine), 'jobtide.duckdb')).toMatchObject({
        message: `jobtide.duckdb: ${room}`,
      })
    },
  )

  it('recognises a quota by its number, because Node has no name for it', () => {
    const errno = -constants.errno.EDQUOT
    const cause = Object.assign(systemError('UNKNOWN', 'write'), { errno })
    const message = 'journal: the disk quota is used up (EDQUOT)'
    expect(asStorageError(cause, 'journal')).toMatchObject({ exitCode: 9, message })
  })

  it.each([
    systemError('ENOENT', 'open'),
    new StorageError('said already'),
    { code: 5 },
    'text',
    null,
    undefined,
  ])('returns %s unchanged', (value) => {
    expect(asStorageError(value, 'anything')).toBe(value)
  })
})
