import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { describe, expect, it } from 'vitest'
import { StorageError, asStorageError } from '../../src/support/errors.ts'
import { systemError } from '../helpers/faulty-disk.ts'

describe('asStorageError', () => {
  it.each([
    ['ENOSPC', 'the disk is full', /^Free space, or inodes if `df -i` shows none/],
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
