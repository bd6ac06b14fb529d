import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  linkOnce,
  makeFolders,
  removeFile,
  writeFileAtomic,
  readNamedFile,
} from '../../src/support/atomic-file.ts'
import { StorageError } from '../../src/support/errors.ts'
import { disk, useFaultyDisk } from '../helpers/faulty-disk.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

useFaultyDisk()

describe('makeFolders', () => {
  it('returns the first folder that it created, creates none twice, and refuses a file in its place', () => {
    const root = temporaryFolder()
    expect(makeFolders(join(root, 'a', 'b', 'c'))).toBe(join(root, 'a'))
    expect(makeFolders(join(root, 'a', 'b', 'c'))).toBeNull()
    writeFileSync(join(root, 'file'), '')
    expect(() => makeFolders(join(root, 'file'))).toThrow(/EEXIST/)
    expect(() => makeFolders(join(root, 'file', 'd'))).toThrow(/EEXIST|ENOTDIR/)
  })

  it('fails if a folder accepts no subfolder, like a mount without its source', () => {
    expect(() => makeFolders('/proc/jobtide/a/b')).toThrow(/ENOENT|EACCES|EROFS/)
  })
})

describe('writeFileAtomic', () => {
  it('writes text and bytes, and creates the folders above', () => {
    const folder = join(temporaryFolder(), 'a', 'b')
    writeFileAtomic(join(folder, 'text'), 'Zoë')
    writeFileAtomic(join(folder, 'bytes'), new Uint8Array([0, 255]))
    expect(readFileSync(join(folder, 'text'), 'utf8')).toBe('Zoë')
    expect([...readFileSync(join(folder, 'bytes'))]).toEqual([0, 255])
    expect(readdirSync(folder)).toEqual(['bytes', 'text'])
  })

  it('syncs the file before and the folder after the rename', () => {
    writeFileAtomic(join(temporaryFolder(), 'file'), 'new')
    expect(disk.syncs).toBe(2)
  })

  it.each([['EINVAL'], ['ENOTSUP']])(
    'tolerates %s from the fsync of a folder: a network share cannot do better',
    (code) => {
      const path = join(temporaryFolder(), 'file')
      disk.folderSyncFails = code
      writeFileAtomic(path, 'new')
      expect(readFileSync(path, 'utf8')).toBe('new')
      disk.folderSyncFails = 'EIO'
      expect(() => writeFileAtomic(path, 'newer')).toThrow(StorageError)
    },
  )

  it('continues after writes of 3 bytes at a time', () => {
    const path = join(temporaryFolder(), 'file')
    disk.longestWrite = 3
    writeFileAtomic(path, 'ten bytes!')
    expect(readFileSync(path, 'utf8')).toBe('ten bytes!')
  })

  it.each([
    ['the disk is full at the first byte', () => (disk.roomBytes = 0), 'ENOSPC'],
    ['the disk is full in the middle', () => (disk.roomBytes = 5), 'ENOSPC'],
    ['the fsync fails', () => (disk.syncFails = 'EIO'), 'EIO'],
    ['the rename is not allowed', () => (disk.renameFails = 'EACCES'), 'EACCES'],
    ['the folder is on two file systems', () => (disk.renameFails = 'EXDEV'), 'EXDEV'],
  ])('leaves the old content and nothing else when %s', (_case, breakDisk, code) => {
    const folder = temporaryFolder()
    const path = join(folder, 'file')
    writeFileAtomic(path, 'old')
    breakDisk()
    expect(() => writeFileAtomic(path, 'a longer new content')).toThrow(
      expect.objectContaining({ name: 'StorageError', exitCode: 9, context: { code } }),
    )
    disk.heal()
    expect(readFileSync(path, 'utf8')).toBe('old')
    expect(readdirSync(folder)).toEqual(['file'])
  })

  it('throws the original error if the path cannot be a file', () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'taken'))
    expect(() => writeFileAtomic(join(folder, 'taken'), 'x')).toThrow(/EISDIR|ENOTEMPTY/)
    writeFileSync(join(folder, 'file'), '')
    expect(() => writeFileAtomic(join(folder, 'file', 'below'), 'x')).toThrow(/ENOTDIR|EEXIST/)
    expect(readdirSync(folder)).toEqual(['file', 'taken'])
  })

  it('names the file in its message', () => {
    const path = join(temporaryFolder(), 'pointer.json')
    disk.roomBytes = 0
    expect(() => writeFileAtomic(path, 'x')).toThrow(StorageError)
    expect(() => writeFileAtomic(path, 'x')).toThrow(`${path}: the disk is full (ENOSPC)`)
  })
})

describe('removeFile', () => {
  // Only a privileged account on a file system with that attribute can make one.
  const immutable = (path: string, sign: '+' | '-') =>
    spawnSync('chattr', [`${sign}i`, path]).status === 0

  it('accepts a missing file, and says that an immutable one may not be removed', (context) => {
    const path = join(temporaryFolder(), 'file')
    expect(() => removeFile(path)).not.toThrow()
    writeFileSync(path, '')
    if (!immutable(path, '+')) context.skip('no file can be made immutable here')
    try {
      expect(() => removeFile(path)).toThrow(`${path}: permission denied (EPERM)`)
    } finally {
      immutable(path, '-')
    }
    removeFile(path)
    expect(existsSync(path)).toBe(false)
  })
})

describe('linkOnce', () => {
  it('links a file once, and reports a file system without hard links', () => {
    const folder = temporaryFolder()
    const [file, name] = [join(folder, 'file'), join(folder, 'name')]
    writeFileSync(file, '')
    expect([linkOnce(file, name), linkOnce(file, name)]).toEqual([true, false])
    for (const code of ['EPERM', 'EOPNOTSUPP', 'ENOSYS']) {
      disk.linkFails = code
      expect(() => linkOnce(file, join(folder, 'other'))).toThrow(
        expect.objectContaining({
          exitCode: 9,
          message: expect.stringContaining('no hard links') as unknown,
        }),
      )
    }
  })
})

it('a folder or a device in the place of a list is named as what it is', () => {
  const read = (path: string) => () => readNamedFile('list', path, 'Check it.')
  expect(read(temporaryFolder())).toThrow(/^list \S+: it is a folder$/)
  expect(read('/dev/zero')).toThrow('list /dev/zero: it is a device')
})
