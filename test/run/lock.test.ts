/** Two tests are skipped where the system has no /proc to tell when a process began. */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import {
  acquireLock,
  acquireRunLock,
  isRunGoingOn,
  recoverJournal,
  waitForLock,
} from '../../src/run/lock.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT } from '../../src/support/errors.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { aStart } from '../journal/journal-fixture.ts'

const hasProc = existsSync('/proc/self/stat')

type Holder = Record<string, unknown>

/** The lock file as this process writes it, with other fields. */
function heldBy(dataDir: string, fields: (mine: Holder) => Holder): void {
  const lock = acquireLock(dataDir, 'run', realClock)
  const mine = JSON.parse(readFileSync(join(dataDir, 'lock'), 'utf8')) as Holder
  lock.release()
  writeFileSync(join(dataDir, 'lock'), JSON.stringify({ ...mine, ...fields(mine) }))
}

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  return child.pid ?? 0
}

describe('the lock of a data directory', () => {
  it('is held once, names its holder, and leaves nothing behind when it is given back', () => {
    const dataDir = join(temporaryFolder(), 'data')
    const lock = acquireLock(dataDir, 'run', realClock)
    expect(() => acquireLock(dataDir, 'load', realClock)).toThrow(
      new RegExp(`data is in use by \`jobtide run\` \\(process ${process.pid} on .+, since 20`),
    )
    lock.release()
    expect(readdirSync(dataDir)).toEqual([])
    acquireLock(dataDir, 'load', realClock).release()
  })

  it('of a process that is gone is taken over', async () => {
    const dataDir = temporaryFolder()
    const pid = await deadPid()
    heldBy(dataDir, () => ({ pid }))
    const lock = acquireLock(dataDir, 'run', realClock)
    expect(JSON.parse(readFileSync(join(dataDir, 'lock'), 'utf8'))).toMatchObject({
      pid: process.pid,
    })
    lock.release()
  })

  it.runIf(hasProc)('of a living process is refused', async () => {
    const dataDir = temporaryFolder()
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    onTestFinished(() => void child.kill())
    await once(child, 'spawn')
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    heldBy(dataDir, () => ({ pid: child.pid, started }))
    expect(() => acquireLock(dataDir, 'run', realClock)).toThrow(`process ${child.pid}`)
  })

  it.runIf(hasProc)('of a process whose number another process has now is taken over', () => {
    const dataDir = temporaryFolder()
    heldBy(dataDir, () => ({ started: '1' }))
    acquireLock(dataDir, 'run', realClock).release()
  })

  it('from before the machine was started anew is taken over, from another host never', () => {
    const dataDir = temporaryFolder()
    heldBy(dataDir, () => ({ boot_id: 'another' }))
    acquireLock(dataDir, 'run', realClock).release()
    heldBy(dataDir, () => ({ boot_id: 'another', host: 'another-host' }))
    expect(() => acquireLock(dataDir, 'run', realClock)).toThrow(
      expect.objectContaining({
        exitCode: EXIT.locked,
        message: expect.stringContaining('on another-host') as unknown,
        hint: expect.stringContaining(`surely gone, remove ${join(dataDir, 'lock')}.`) as unknown,
      }),
    )
  })

  it('that something else wrote is respected, and the hint names the file to remove', () => {
    const dataDir = temporaryFolder()
    writeFileSync(join(dataDir, 'lock'), '{"pid":1}')
    expect(() => acquireLock(dataDir, 'run', realClock)).toThrow(
      expect.objectContaining({
        message: `${dataDir} is in use by another process`,
        hint: expect.stringContaining(`remove ${join(dataDir, 'lock')}.`) as unknown,
      }),
    )
  })

  it.each(['', 'by a process that is gone'])(
    'whose takeover was killed halfway %s is taken over all the same',
    async (how) => {
      const dataDir = temporaryFolder()
      const path = join(dataDir, 'lock')
      const pid = await deadPid()
      heldBy(dataDir, () => ({ pid }))
      const text = readFileSync(path, 'utf8')
      const { nonce } = JSON.parse(text) as { nonce: string }
      writeFileSync(`${path}.${nonce}.stale`, how === '' ? '' : text)
      const lock = acquireLock(dataDir, 'run', realClock)
      expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid })
      lock.release()
      expect(readdirSync(dataDir)).toEqual([])
    },
  )

  it('that holds no JSON counts as nobody’s', () => {
    const dataDir = temporaryFolder()
    writeFileSync(join(dataDir, 'lock'), 'torn')
    acquireLock(dataDir, 'run', realClock).release()
  })

  it('is not given back by a process that lost it', () => {
    const dataDir = temporaryFolder()
    const lock = acquireLock(dataDir, 'run', realClock)
    writeFileSync(join(dataDir, 'lock'), JSON.stringify({ pid: 1 }))
    lock.release()
    expect(existsSync(join(dataDir, 'lock'))).toBe(true)
  })

  it('has never 2 holders when 4 processes start on one stale lock, in 25 rounds', async () => {
    const folder = temporaryFolder()
    const pid = await deadPid()
    const rounds = Array.from({ length: 25 }, (_, round) => join(folder, String(round)))
    for (const round of rounds) {
      mkdirSync(round)
      heldBy(round, () => ({ pid }))
    }
    const module = (path: string) => JSON.stringify(join(packageRoot, 'dist', path))
    const script = `
      import { rmSync, writeFileSync } from 'node:fs'
      import { join } from 'node:path'
      import { acquireLock } from ${module('run/lock.js')}
      import { realClock } from ${module('support/clock.js')}
      const waitUntil = (ms) => { while (Date.now() < ms); }
      const startAt = Number(process.argv[1])
      const taken = []
      for (const [index, round] of ${JSON.stringify(rounds)}.entries()) {
        waitUntil(startAt + index * 60)
        do {
          let lock
          try {
            lock = acquireLock(round, 'run', realClock)
          } catch (error) {
            if (error.exitCode === 8) continue
            throw error
          }
          // Fails where another holder stands.
          writeFileSync(join(round, 'holder'), '', { flag: 'wx' })
          taken.push(index)
          waitUntil(Date.now() + 3)
          rmSync(join(round, 'holder'))
          lock.release()
        } while (Date.now() < startAt + index * 60 + 40)
      }
      process.stdout.write(JSON.stringify(taken))`
    const startAt = String(Date.now() + 1_500)
    const args = ['--input-type=module', '-e', script, startAt]
    const taken = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const { stdout } = await promisify(execFile)(process.execPath, args)
        return JSON.parse(stdout) as number[]
      }),
    )
    expect(new Set(taken.flat()).size).toBe(25)
    expect(rounds.flatMap((round) => readdirSync(round))).toEqual([])
  })

  it.each(['data', 'data/below'])('is refused with exit 2 where %s is a file', (name) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'data'), '')
    const dataDir = join(folder, name)
    expect(() => acquireLock(dataDir, 'run', realClock)).toThrow(
      expect.objectContaining({
        exitCode: EXIT.usage,
        message: `the data directory ${dataDir} is not a folder, or lies below a file`,
        hint: 'Name a folder with --data-dir.',
      }),
    )
  })
})

describe('the locks of two processes in one data directory', () => {
  it('let two pipelines run side by side, and one pipeline only once', () => {
    const dataDir = temporaryFolder()
    const nightly = acquireRunLock(dataDir, 'nightly', 'run', realClock)
    const backfill = acquireRunLock(dataDir, 'backfill', 'backfill', realClock)
    expect(() => acquireRunLock(dataDir, 'nightly', 'backfill', realClock)).toThrow(
      `pipeline nightly of ${dataDir} is in use by \`jobtide run\``,
    )
    expect(isRunGoingOn(dataDir, realClock)).toBe(true)
    nightly.release()
    backfill.release()
    expect(isRunGoingOn(dataDir, realClock)).toBe(false)
    expect(readdirSync(dataDir)).toEqual([])
  })

  it('start no run while 0.1.0, which holds only the lock of the directory, may be buying; a load stops nobody', async () => {
    const dataDir = temporaryFolder()
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    onTestFinished(() => void child.kill())
    await once(child, 'spawn')
    const stat = existsSync('/proc/self/stat')
      ? readFileSync(`/proc/${child.pid}/stat`, 'utf8')
      : ''
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? 'unknown'
    const alive = { pid: child.pid, started }
    const start = () => acquireRunLock(dataDir, 'nightly', 'run', realClock).release()
    heldBy(dataDir, () => alive)
    expect(start).toThrow(`${dataDir} is in use by \`jobtide run\` (process ${child.pid} `)
    expect(readdirSync(dataDir)).toEqual(['lock'])
    rmSync(join(dataDir, 'lock'))
    heldBy(dataDir, () => ({ ...alive, command: 'load' }))
    expect(start).not.toThrow()
    // A run of this version that has come to its load: it holds the lock of its pipeline, too.
    rmSync(join(dataDir, 'lock'))
    heldBy(dataDir, () => alive)
    writeFileSync(join(dataDir, 'lock.run.other'), readFileSync(join(dataDir, 'lock')))
    expect(start).not.toThrow()
    rmSync(join(dataDir, 'lock.run.other'))
    child.kill()
    await once(child, 'exit')
    expect(start).not.toThrow()
  })

  it('waits for the lock of the warehouse until it is given back, and says so once', async () => {
    const dataDir = temporaryFolder()
    const other = acquireLock(dataDir, 'load', realClock)
    const notices: string[] = []
    setTimeout(() => other.release(), 450)
    const lock = await waitForLock(dataDir, 'run', realClock, {
      maxWaitMs: 10_000,
      stop: new AbortController().signal,
      onWait: ({ message }) => notices.push(message),
    })
    expect(notices).toEqual([expect.stringContaining('is in use by `jobtide load`')])
    lock.release()
  })

  it('gives up after the longest wait, and at once when it is told to stop', async () => {
    const dataDir = temporaryFolder()
    const other = acquireLock(dataDir, 'load', realClock)
    const wait = (maxWaitMs: number, stop: AbortSignal) =>
      waitForLock(dataDir, 'run', realClock, { maxWaitMs, stop, onWait: () => undefined })
    await expect(wait(300, new AbortController().signal)).rejects.toMatchObject({
      exitCode: EXIT.locked,
    })
    await expect(wait(60_000, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped')
    other.release()
  })

  it('leaves the journal alone while a run is going on, and seals what a killed one left after it', async () => {
    const dataDir = temporaryFolder()
    const journal = openJournal(join(dataDir, 'journal'), realClock)
    const writer = journal.writer()
    await writer.append(aStart(), '[]')
    const [segment = ''] = journal.segments()
    const size = () => statSync(join(journal.folder, segment)).size
    const before = size()
    const run = acquireRunLock(dataDir, 'nightly', 'run', realClock)
    const mine = acquireRunLock(dataDir, 'backfill', 'backfill', realClock)
    await recoverJournal(dataDir, journal, mine, realClock)
    expect(size()).toBe(before)
    run.release()
    await recoverJournal(dataDir, journal, mine, realClock)
    expect(size()).toBeGreaterThan(before)
    expect([...journal.read(segment)].at(-1)?.record.kind).toBe('seal')
    mine.release()
  })
})
