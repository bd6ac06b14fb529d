import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { acquireLock, holderOf, type LockRequest } from '../../src/run/lock.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT } from '../../src/support/errors.ts'
import { isProcessLockHeld, tryProcessLock } from '../../src/warehouse/process-lock.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

function take(dataDir: string, command: string, more: Partial<LockRequest> = {}) {
  return acquireLock(dataDir, { command, clock: realClock, ...more })
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('the lock of a data directory', () => {
  it('is held once, names its holder, and is free after its release', async () => {
    const dataDir = join(temporaryFolder(), 'data')
    const lock = await take(dataDir, 'run', { pipeline: 'nightly' })
    const says = `\`jobtide run\` of pipeline nightly (process ${process.pid} on `
    expect((await holderOf(dataDir))?.text).toContain(says)
    await expect(take(dataDir, 'load')).rejects.toMatchObject({
      exitCode: EXIT.locked,
      message: expect.stringContaining(`${dataDir} is in use by ${says}`) as unknown,
      hint: 'Wait until it ends, or use another folder with --data-dir.',
    })
    await lock.release()
    await lock.release()
    expect(await holderOf(dataDir)).toBeNull()
    const next = await take(dataDir, 'load')
    await next.release()
  })

  it.each(['scratch', 'published', 'reports', 'journal.salvage', 'jobtide.duckdb.new'])(
    'accepts no folder with a foreign %s as a data directory, and changes nothing there',
    async (name) => {
      const folder = temporaryFolder()
      for (const one of [name, 'journal', 'pipelines']) mkdirSync(join(folder, one))
      await expect(take(folder, 'run')).rejects.toMatchObject({
        exitCode: EXIT.usage,
        message: expect.stringContaining(
          `would remove its ${name}, which it did not make`,
        ) as unknown,
        hint: expect.stringContaining('Name an empty folder') as unknown,
      })
      expect(readdirSync(folder).toSorted()).toEqual([name, 'journal', 'pipelines'].toSorted())
    },
  )

  it.each(['jobtide.duckdb', 'jobtide.duckdb.wal', 'analyst.duckdb', 'suppressed.json'])(
    'accepts no folder in which %s is a symbolic link, and leaves both unchanged',
    async (name) => {
      const [folder, elsewhere] = [temporaryFolder(), join(temporaryFolder(), 'file')]
      writeFileSync(elsewhere, 'whole')
      symlinkSync(elsewhere, join(folder, name))
      await expect(take(folder, 'run')).rejects.toMatchObject({
        exitCode: EXIT.usage,
        message: expect.stringContaining(`${name} is a symbolic link`) as unknown,
      })
      expect([readdirSync(folder), readFileSync(elsewhere, 'utf8')]).toEqual([[name], 'whole'])
    },
  )

  it.each([
    ['.env', 'lost+found', 'pipelines', 'organizations.csv'],
    ['locks', 'scratch'],
    ['jobtide.duckdb', 'reports'],
    ['journal/01.journal', 'reports'],
  ])('accepts a data directory, or a folder in which it removes nothing: %s', async (...names) => {
    const folder = temporaryFolder()
    for (const one of names) mkdirSync(dirname(join(folder, one)), { recursive: true })
    for (const one of names) {
      if (one === 'locks') mkdirSync(join(folder, one))
      else writeFileSync(join(folder, one), '')
    }
    const lock = await take(folder, 'run')
    await lock.release()
    expect(readdirSync(folder)).toContain('locks')
  })

  it('does not depend on a file: the note of a killed process blocks no one', async () => {
    const dataDir = temporaryFolder()
    const first = await take(dataDir, 'run')
    await first.release()
    for (const note of ['{"command":"run","process":1,"host":"this"}', 'torn']) {
      writeFileSync(join(dataDir, 'locks', 'holder.json'), note)
      expect(await holderOf(dataDir)).toBeNull()
      const lock = await take(dataDir, 'run')
      await lock.release()
    }
  })

  it('records its holder in its own file: if a link replaces it, the target stays unchanged', async () => {
    const dataDir = temporaryFolder()
    await (await take(dataDir, 'run')).release()
    const theirs = join(dataDir, 'theirs')
    writeFileSync(theirs, 'mine')
    symlinkSync(theirs, join(dataDir, 'locks', 'holder.json'))
    const lock = await take(dataDir, 'run')
    expect(readFileSync(theirs, 'utf8')).toBe('mine')
    await lock.release()
  })

  it('is awaited until it is released, with one message', async () => {
    const dataDir = temporaryFolder()
    const backfill = await take(dataDir, 'backfill')
    const notices: string[] = []
    const nightly = take(dataDir, 'run', {
      maxWaitMs: 20_000,
      onWait: ({ message }) => notices.push(message),
    })
    await pause(500)
    await backfill.release()
    const lock = await nightly
    expect(notices).toEqual([expect.stringContaining('is in use by `jobtide backfill`')])
    expect((await holderOf(dataDir))?.text).toContain('`jobtide run`')
    await lock.release()
  })

  it('is awaited for at most max_wait, and never by a stopped command', async () => {
    const dataDir = temporaryFolder()
    const other = await take(dataDir, 'load')
    await expect(take(dataDir, 'run', { maxWaitMs: 300 })).rejects.toMatchObject({
      exitCode: EXIT.locked,
    })
    const stop = AbortSignal.abort(new Error('stopped'))
    await expect(take(dataDir, 'run', { maxWaitMs: 60_000, stop })).rejects.toThrow('stopped')
    await other.release()
  })

  it.each(['data', 'data/below'])('is refused with exit 2 if %s is a file', async (name) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'data'), '')
    const dataDir = join(folder, name)
    await expect(take(dataDir, 'run')).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: `the data directory ${dataDir} is not a folder, or lies below a file`,
      hint: 'Name a folder with --data-dir.',
    })
  })

  it.each(['damaged', ''])('recreates its file if work.duckdb is %j', async (damage) => {
    const dataDir = temporaryFolder()
    await (await take(dataDir, 'run')).release()
    writeFileSync(join(dataDir, 'locks', 'work.duckdb'), damage)
    expect(await holderOf(dataDir)).toBeNull()
    const held = await take(dataDir, 'run', { maxWaitMs: 1 })
    expect((await holderOf(dataDir))?.text).toContain('jobtide run')
    await held.release()
  })

  it('is free if its file is removed while another process checks it', async () => {
    const path = join(temporaryFolder(), 'lock')
    const lock = await tryProcessLock(path)
    await lock?.release()
    const isHeld = isProcessLockHeld(path)
    rmSync(path)
    expect(await isHeld).toBe(false)
  })

  it('says what is in its place if it cannot be recreated', async () => {
    const dataDir = temporaryFolder()
    const file = join(dataDir, 'locks', 'work.duckdb')
    mkdirSync(file, { recursive: true })
    await expect(take(dataDir, 'run')).rejects.toMatchObject({
      exitCode: EXIT.storage,
      message: expect.stringContaining(file) as unknown,
      hint: expect.stringContaining('fix what is named') as unknown,
    })
    expect(existsSync(file)).toBe(true)
  })
})
