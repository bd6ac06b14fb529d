import { describe, expect, it } from 'vitest'
import {
  ConfigError,
  JobtideError,
  LockedError,
  StorageError,
  asStorageError,
  messageOf,
  systemCode,
} from '../../src/support/errors.ts'
import { systemError } from '../helpers/faulty-disk.ts'

describe('asStorageError', () => {
  it.each([
    ['ENOSPC', 'the disk is full'],
    ['EDQUOT', 'the disk quota is used up'],
    ['EROFS', 'the file system is read-only'],
    ['EIO', 'the disk reports an input/output error'],
    ['EACCES', 'permission denied'],
    ['EPERM', 'permission denied'],
  ])('says of %s that %s, and exits with 9', (code, meaning) => {
    const cause = systemError(code, 'write')
    const error = asStorageError(cause, 'journal data/journal') as StorageError
    expect(error).toBeInstanceOf(StorageError)
    expect(error.message).toBe(`journal data/journal: ${meaning} (${code})`)
    expect(error.exitCode).toBe(9)
    expect(error.hint).toBe(
      'Make room or fix the permissions, then run the same command again: it goes on where it stopped.',
    )
    expect(error.context).toEqual({ code })
    expect(error.cause).toBe(cause)
  })

  it.each([
    systemError('ENOENT', 'open'),
    new Error('no code'),
    new StorageError('said already'),
    { code: 5 },
    'text',
    null,
    undefined,
  ])('gives %s back as it is', (value) => {
    expect(asStorageError(value, 'anything')).toBe(value)
  })
})

describe('expected errors', () => {
  it.each([
    [new ConfigError('x'), 'ConfigError', 2],
    [new LockedError('x'), 'LockedError', 8],
    [new StorageError('x'), 'StorageError', 9],
    [new JobtideError(6, 'x'), 'JobtideError', 6],
  ])('%s carries its name and exit code %#', (error, name, exitCode) => {
    expect(error).toBeInstanceOf(JobtideError)
    expect(error).toMatchObject({ name, exitCode, context: {} })
    expect(error.hint).toBeUndefined()
    expect('cause' in error).toBe(false)
  })
})

describe('systemCode', () => {
  it.each([
    [systemError('ENOENT', 'open'), 'ENOENT'],
    [{ code: 7 }, undefined],
    [null, undefined],
    ['ENOENT', undefined],
  ])('of %s is %s', (value, code) => {
    expect(systemCode(value)).toBe(code)
  })
})

describe('messageOf', () => {
  it('is the message of an error and the text of anything else', () => {
    expect(messageOf(new Error('why'))).toBe('why')
    expect(messageOf(5)).toBe('5')
    expect(messageOf(undefined)).toBe('undefined')
  })
})
