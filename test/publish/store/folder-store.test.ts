import fc from 'fast-check'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import { isoInstant, realClock, type Clock } from '../../../src/support/clock.ts'
import { packageRoot } from '../../../src/support/assets.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { LockFile, type LockHolder } from '../../../src/support/lock-file.ts'
import { DAY, MINUTE } from '../../../src/support/units.ts'
import { newFolder } from '../fixtures.ts'

const bytesOf = (text: string) => Buffer.from(text)

/** A clock on which sleeping takes no time. */
function jumpingClock(startMs: number): Clock {
  let nowMs = startMs
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    async sleep(ms) {
      nowMs += ms
    },
  }
}

const DEAD_PID = 2 ** 22 + 1 // above the highest process id Linux gives

/** A lock as this process writes it, with other fields. */
function lockFile(folder: string, owner: Partial<LockHolder>): string {
  const path = join(folder, '.incoming', 'latest.json.lock')
  const lock = new LockFile(path, { command: 'publish', clock: realClock })
  lock.take()
  writeFileSync(path, JSON.stringify({ ...lock.holder(), ...owner }))
  return path
}

const minutesAgo = (minutes: number) => isoInstant(realClock.now() - minutes * MINUTE)

describe('objects in a folder', () => {
  it('writes an object once: the second put of the same 3 bytes finds it there', async () => {
    const store = openFolderStore(newFolder(), realClock)
    expect(await store.put('tables/a/1.parquet', bytesOf('abc'))).toBe('written')
    expect(await store.put('tables/a/1.parquet', bytesOf('abc'))).toBe('already-there')
    expect(await store.head('tables/a/1.parquet')).toEqual({ bytes: 3 })
    expect(await store.list('tables/')).toMatchObject([{ key: 'tables/a/1.parquet', bytes: 3 }])
  })

  it('refuses to put 4 bytes where 3 are', async () => {
    const store = openFolderStore(newFolder(), realClock)
    await store.put('a.txt', bytesOf('abc'))
    await expect(store.put('a.txt', bytesOf('abcd'))).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining('a.txt exists with 3 bytes where 4 belong'),
    })
  })

  it('stores one object and no leftovers when 20 writers put the same key', async () => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    const source = join(newFolder(), 'source')
    writeFileSync(source, 'x'.repeat(100_000))
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => store.putFile('tables/x.parquet', source)),
    )
    expect(outcomes.filter((outcome) => outcome === 'written')).toHaveLength(1)
    expect(readFileSync(join(folder, 'tables/x.parquet'), 'utf8')).toBe('x'.repeat(100_000))
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

  it('sweeps what a killed publisher left 2 days ago and keeps what is 1 hour old', () => {
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
    const module = (path: string) => JSON.stringify(join(packageRoot, 'dist', path))
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
    expect(readdirSync(join(folder, '.incoming'))).toEqual([])
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

  it('abandons 1 temporary file that is 2 hours old and keeps a lock and one of 1 minute', async () => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    const incoming = join(folder, '.incoming')
    for (const [name, ageMs] of [
      ['old', 120 * MINUTE],
      ['old.lock', 120 * MINUTE],
      ['young', MINUTE],
    ] as const) {
      writeFileSync(join(incoming, name), '')
      const seconds = (realClock.now() - ageMs) / 1_000
      utimesSync(join(incoming, name), seconds, seconds)
    }
    const purge = { uploadsBegunBefore: realClock.now() - 60 * MINUTE }
    expect(await store.purge(purge)).toBe(1)
    expect(await store.purge({ ...purge, versions: true })).toBe(0)
    expect(readdirSync(incoming)).toEqual(['old.lock', 'young'])
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
  it.each([
    ['its process is gone', { pid: DEAD_PID }],
    ['it is 11 minutes old', { since: minutesAgo(11) }],
    ['it is 11 minutes old, of another host', { host: 'elsewhere', since: minutesAgo(11) }],
  ])('is taken over by exactly one of 5 writers when %s', async (_, owner) => {
    const folder = newFolder()
    const store = openFolderStore(folder, realClock)
    lockFile(folder, owner)
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, (_value, writer) =>
        store.replace('latest.json', bytesOf(`writer ${writer}`), null),
      ),
    )
    expect(outcomes.filter((won) => won)).toHaveLength(1)
    expect(readdirSync(join(folder, '.incoming'))).toEqual([])
  })

  it.each([
    ['a living process', {}],
    [
      'a process of another host, 9 minutes ago',
      { host: 'elsewhere', pid: DEAD_PID, since: minutesAgo(9) },
    ],
  ])('of %s is respected: after 10 seconds the writer names lock and owner', async (_, owner) => {
    const folder = newFolder()
    const store = openFolderStore(folder, jumpingClock(realClock.now()))
    const path = lockFile(folder, owner)
    await expect(store.replace('latest.json', bytesOf('1'), null)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringMatching(
        /the pointer is locked by process \d+ on .*latest\.json\.lock/,
      ),
    })
    expect(existsSync(path)).toBe(true)
    expect(existsSync(join(folder, 'latest.json'))).toBe(false)
  })
})
