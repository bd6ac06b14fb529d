import fc from 'fast-check'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import { packageRoot } from '../../../src/support/assets.ts'
import { realClock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { DAY, MINUTE } from '../../../src/support/units.ts'
import { newFolder } from '../fixtures.ts'

const bytesOf = (text: string) => Buffer.from(text)
const module = (path: string) => JSON.stringify(join(packageRoot, 'dist', path))

describe('objects in a folder', () => {
  it('stores one whole object and no leftovers when 20 writers put the same key', async () => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    const source = join(newFolder(), 'source')
    writeFileSync(source, 'x'.repeat(100_000))
    await Promise.all(Array.from({ length: 20 }, () => store.putFile('tables/x.parquet', source)))
    expect(readFileSync(join(folder, 'tables/x.parquet'), 'utf8')).toBe('x'.repeat(100_000))
    expect(await store.head('tables/x.parquet')).toEqual({ bytes: 100_000 })
    await store.put('tables/x.parquet', bytesOf('abc'))
    expect(String((await store.get('tables/x.parquet'))?.bytes)).toBe('abc')
    expect(readdirSync(join(folder, '.incoming'))).toEqual([])
  })

  it.each([
    '../x',
    '/etc/x',
    'a/../../x',
    'a//b',
    '.hidden',
    'a/',
    '',
    'a b',
    'a\\b',
    'ä',
    'a\0b',
    '~x',
    'a?b',
    `a${'b'.repeat(900)}`,
  ])('refuses the key %j', async (key) => {
    const store = openFolderStore(newFolder(), realClock)
    const refusal = {
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining('cannot be the key'),
    }
    await expect(store.put(key, bytesOf('x'))).rejects.toMatchObject(refusal)
    await expect(store.get(key)).rejects.toMatchObject(refusal)
    await expect(store.replace(key, bytesOf('x'), null)).rejects.toMatchObject(refusal)
  })

  it('says so with exit 7 when the folder cannot be made', () => {
    const file = join(newFolder(), 'file')
    writeFileSync(file, '')
    expect(() => openFolderStore(join(file, 'below'), realClock)).toThrow(
      expect.objectContaining({ exitCode: EXIT.publishFailed }),
    )
  })

  it('removes what a killed publisher left 2 days ago and keeps what is 1 hour old', () => {
    const folder = newFolder()
    openFolderStore(folder, realClock)
    const incoming = join(folder, '.incoming')
    for (const [name, ageMs] of [
      ['old', 2 * DAY],
      ['young', 60 * MINUTE],
    ] as const) {
      writeFileSync(join(incoming, name), '')
      const seconds = (realClock.now() - ageMs) / 1_000
      utimesSync(join(incoming, name), seconds, seconds)
    }
    openFolderStore(folder, realClock)
    expect(readdirSync(incoming)).toEqual(['young'])
  })
})

describe('compare-and-swap in a folder', () => {
  it('lets exactly one of any number of writers with the same expectation win', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 5 }),
        async (rounds) => {
          const store = openFolderStore(newFolder(), realClock)
          for (const [round, writers] of rounds.entries()) {
            const expected = (await store.get('latest.json'))?.version ?? null
            const outcomes = await Promise.all(
              Array.from({ length: writers }, (_, writer) =>
                store.replace('latest.json', bytesOf(`${round} ${writer}`), expected),
              ),
            )
            expect(outcomes.filter((won) => won)).toHaveLength(1)
            const stored = await store.get('latest.json')
            expect(String(stored?.bytes)).toBe(`${round} ${outcomes.indexOf(true)}`)
          }
        },
      ),
      { numRuns: 25 },
    )
  })

  it('loses against an expectation that is 1 version old, and against none where there is one', async () => {
    const store = openFolderStore(newFolder(), realClock)
    expect(await store.replace('latest.json', bytesOf('1'), null)).toBe(true)
    const first = (await store.get('latest.json'))?.version ?? null
    expect(await store.replace('latest.json', bytesOf('2'), first)).toBe(true)
    expect(await store.replace('latest.json', bytesOf('3'), first)).toBe(false)
    expect(await store.replace('latest.json', bytesOf('3'), null)).toBe(false)
    expect(String((await store.get('latest.json'))?.bytes)).toBe('2')
  })

  it('counts to 100 when 4 processes add 1 each 25 times', async () => {
    const folder = newFolder()
    const script = `
      const { openFolderStore } = await import(${module('publish/store/folder-store.js')})
      const { realClock } = await import(${module('support/clock.js')})
      const store = openFolderStore(${JSON.stringify(folder)}, realClock)
      for (let added = 0; added < 25; ) {
        const now = await store.get('count')
        const next = Number(now === null ? 0 : Buffer.from(now.bytes).toString()) + 1
        if (await store.replace('count', Buffer.from(String(next)), now?.version ?? null)) added += 1
      }`
    const run = promisify(execFile)
    await Promise.all(
      Array.from({ length: 4 }, () => run(process.execPath, ['--input-type=module', '-e', script])),
    )
    expect(readFileSync(join(folder, 'count'), 'utf8')).toBe('100')
    expect(readdirSync(join(folder, '.incoming'))).toEqual(['pointer.lock'])
  })
})

describe('upkeep of a folder', () => {
  it('lists objects with size and time, and only under the prefix', async () => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    for (const key of ['tables/a/1', 'tables/ab/1', 'tables/a/2/3', 'other']) {
      await store.put(key, bytesOf(key))
    }
    const seconds = 1_700_000_000
    utimesSync(join(folder, 'tables/a/1'), seconds, seconds)
    const found = await store.list('tables/a')
    expect(found.map(({ key }) => key)).toEqual(['tables/a/1', 'tables/a/2/3', 'tables/ab/1'])
    expect(found[0]).toEqual({ key: 'tables/a/1', bytes: 10, modifiedAt: seconds * 1_000 })
    expect(await store.list('none/')).toEqual([])
  })

  it('removes objects with the folders that become empty, and what is not there is no error', async () => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    for (const key of ['tables/a/1', 'tables/b/1', 'tables/b/2']) await store.put(key, bytesOf('x'))
    await store.remove(['tables/a/1', 'tables/b/1', 'tables/c/none'])
    expect((await store.list('')).map(({ key }) => key)).toEqual(['tables/b/2'])
    expect(readdirSync(join(folder, 'tables'))).toEqual(['b'])
    await store.remove(['tables/b/2'])
    expect(readdirSync(folder)).toEqual(['.incoming'])
  })

  it('loses no object when 300 puts and removals meet in the same folders', async () => {
    const store = openFolderStore(newFolder(), realClock)
    const keys = Array.from({ length: 150 }, (_, index) => `t${index % 5}/p/${index}`)
    await Promise.all(keys.map((key) => store.put(`${key}-old`, bytesOf('x'))))
    await Promise.all(
      keys.flatMap((key) => [store.put(key, bytesOf('x')), store.remove([`${key}-old`])]),
    )
    expect((await store.list('')).map(({ key }) => key)).toEqual(keys.toSorted())
  })

  it('downloads an object whole, over an older file, and finds nothing where nothing is', async () => {
    const store = openFolderStore(newFolder(), realClock)
    const target = newFolder()
    const path = join(target, 'copy')
    await store.put('tables/a', bytesOf('abc'))
    writeFileSync(path, 'older')
    expect(await store.download('tables/a', path)).toBe(true)
    expect(readFileSync(path, 'utf8')).toBe('abc')
    expect(await store.download('tables/none', path)).toBe(false)
    expect(readFileSync(path, 'utf8')).toBe('abc')
    expect(readdirSync(target)).toEqual(['copy'])
  })

  it('tells where an object lies, whether or not it is there', () => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    expect(store.localPath('tables/a')).toBe(join(folder, 'tables', 'a'))
    expect(() => store.localPath('../a')).toThrow('cannot be the key')
  })

  it('shows no object while one is being replaced, and no temporary file in its place', async () => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    await store.replace('tables/a/_delta_log/00.json', bytesOf('1'), null)
    expect(readdirSync(join(folder, 'tables/a/_delta_log'))).toEqual(['00.json'])
    expect(await store.replace('tables/a/_delta_log/00.json', bytesOf('2'), null)).toBe(false)
    expect(readdirSync(join(folder, '.incoming'))).toEqual([])
  })
})

describe('the lock of the pointer', () => {
  /** Another process that holds the lock of `folder` until it is killed. */
  async function holder(folder: string) {
    const lock = JSON.stringify(join(folder, '.incoming', 'pointer.lock'))
    const script = `
      const { tryProcessLock } = await import(${module('warehouse/process-lock.js')})
      if ((await tryProcessLock(${lock})) === null) throw new Error('held')
      console.log('held')
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    return child
  }

  it('is respected for 10 seconds, and free at once when its holder is killed', async () => {
    const folder = newFolder()
    let slept = 0
    const jumping = {
      ...realClock,
      monotonic: () => slept,
      sleep: async (ms: number) => void (slept += ms),
    }
    const store = openFolderStore(folder, jumping)
    await store.replace('latest.json', bytesOf('1'), null)
    const version = (await store.get('latest.json'))?.version ?? null
    const child = await holder(folder)
    await expect(store.replace('latest.json', bytesOf('2'), version)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringMatching(/another publisher holds the lock of the pointer: .*\.lock$/),
    })
    expect(slept).toBe(10_000)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await store.replace('latest.json', bytesOf('2'), version)).toBe(true)
  })
})
