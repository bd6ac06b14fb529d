/** Tests of folders only; the shared suite tests every store. */

import promises, { copyFile } from 'node:fs/promises'
import { existsSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import { realClock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { DAY, HOUR } from '../../../src/support/units.ts'
import { replaceBuiltins, systemError } from '../../helpers/faulty-disk.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

let fault: string | null = null
const real = copyFile
replaceBuiltins(promises, {
  copyFile: async (...args) => {
    if (fault !== null) throw systemError(fault, 'copyfile')
    return real(...args)
  },
})

const bytesOf = (text: string) => Buffer.from(text)

describe('a folder of objects', () => {
  it('holds one whole object and no leftovers when 20 writers put the same key', async () => {
    const folder = temporaryFolder()
    const store = openFolderStore(folder, realClock)
    const source = join(temporaryFolder(), 'source')
    writeFileSync(source, 'x'.repeat(100_000))
    await Promise.all(Array.from({ length: 20 }, () => store.putFile('tables/x.parquet', source)))
    await store.replace('tables/_delta_log/00.json', bytesOf('1'), null)
    expect(readFileSync(join(folder, 'tables/x.parquet'), 'utf8')).toBe('x'.repeat(100_000))
    expect(readdirSync(join(folder, 'tables')).toSorted()).toEqual(['_delta_log', 'x.parquet'])
    expect(readdirSync(join(folder, '.incoming'))).toEqual([])
  })

  it.each([
    ['ENOSPC', 'the disk is full', undefined],
    ['EACCES', 'permission denied', undefined],
    ['ENOENT', 'its folder is gone', undefined],
    ['EMFILE', 'this process has too many files open', /^Raise the limit of open files/],
  ])('exits with 7 on %s, says %s, and keeps nothing of the object', async (code, words, hint) => {
    const folder = temporaryFolder()
    const store = openFolderStore(folder, realClock)
    const source = join(temporaryFolder(), 'source')
    writeFileSync(source, 'x')
    fault = code
    onTestFinished(() => void (fault = null))
    await expect(store.putFile('tables/x.parquet', source)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: `the snapshot folder refused ${join(folder, 'tables/x.parquet')}: ${words} (${code})`,
      hint: hint && expect.stringMatching(hint),
    })
    expect([readdirSync(folder), readdirSync(join(folder, '.incoming'))]).toEqual([
      ['.incoming'],
      [],
    ])
  })

  it('refuses keys that could lead outside, or mean something else in a URL or SQL', async () => {
    const store = openFolderStore(temporaryFolder(), realClock)
    const wrong = ['../x', '/etc/x', 'a/../../x', 'a//b', '.hidden', 'a/', '', 'a b', 'a\\b', 'ä']
    for (const key of [...wrong, 'a\0b', '~x', 'a?b', `a${'b'.repeat(900)}`]) {
      const refusal = {
        exitCode: EXIT.publishFailed,
        message: expect.stringContaining('cannot be the key'),
      }
      await expect(store.put(key, bytesOf('x'))).rejects.toMatchObject(refusal)
      await expect(store.get(key)).rejects.toMatchObject(refusal)
      await expect(store.replace(key, bytesOf('x'), null)).rejects.toMatchObject(refusal)
    }
  })

  it('exits with 7 if it cannot be created, or for reading if it is missing, without creating it', () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    const refusal = expect.objectContaining({ exitCode: EXIT.publishFailed }) as Error
    expect(() => openFolderStore(join(file, 'below'), realClock)).toThrow(refusal)
    const none = join(temporaryFolder(), 'none')
    expect(() => openFolderStore(none, realClock, 'read')).toThrow(`there is no folder ${none}`)
    expect(existsSync(none)).toBe(false)
  })

  it('removes what a killed publisher left 2 days ago and keeps what is 1 hour old', () => {
    const folder = temporaryFolder()
    openFolderStore(folder, realClock)
    const incoming = join(folder, '.incoming')
    for (const [name, ageMs] of Object.entries({ old: 2 * DAY, young: HOUR })) {
      writeFileSync(join(incoming, name), '')
      const seconds = (realClock.now() - ageMs) / 1_000
      utimesSync(join(incoming, name), seconds, seconds)
    }
    openFolderStore(folder, realClock)
    expect(readdirSync(incoming)).toEqual(['young'])
  })

  it('removes empty folders, and loses no object when 60 puts and removals meet in them', async () => {
    const folder = temporaryFolder()
    const store = openFolderStore(folder, realClock)
    const keys = Array.from({ length: 30 }, (_, index) => `t${index % 3}/p/${index}`)
    await Promise.all(keys.map((key) => store.put(`${key}-old`, bytesOf('x'))))
    await Promise.all(
      keys.flatMap((key) => [store.put(key, bytesOf('x')), store.remove([`${key}-old`])]),
    )
    expect((await store.list('')).map(({ key }) => key)).toEqual(keys.toSorted())
    await store.remove(keys)
    expect(readdirSync(folder)).toEqual(['.incoming'])
  })
})
