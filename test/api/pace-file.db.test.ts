import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openPaceFile } from '../../src/api/pace-file.ts'
import { createPacer } from '../../src/api/pacer.ts'
import type { Priority } from '../../src/api/pace-rules.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { createWorld } from '../../src/simulator/world.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { realClock, type Clock } from '../../src/support/clock.ts'
import { StorageError } from '../../src/support/errors.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { disk } from '../helpers/faulty-disk.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'

vi.mock('node:fs', async () => (await import('../helpers/faulty-disk.ts')).faultyFs())
afterEach(() => disk.heal())

const { signal } = new AbortController()
const built = (path: string) => JSON.stringify(pathToFileURL(join(packageRoot, 'dist', path)).href)

function paceFile(): string {
  return join(temporaryFolder(), 'pace.json')
}

function openPacer(file: string, clock: Clock, priority: Priority = 'nightly') {
  return createPacer(clock, 10, undefined, { store: openPaceFile(file, clock), priority })
}

/** Runs `work` as a process of its own, with a pacer at hand; resolves when it prints something. */
async function startProcess(file: string, work: string) {
  const script = `
    import { openPaceFile } from ${built('api/pace-file.js')}
    import { createPacer } from ${built('api/pacer.js')}
    import { realClock } from ${built('support/clock.js')}
    import { LockFile } from ${built('support/lock-file.js')}
    const file = ${JSON.stringify(file)}
    const open = (perSecond) => createPacer(realClock, perSecond, undefined, {
      store: openPaceFile(file, realClock), priority: 'nightly',
    })
    const { signal } = new AbortController()
    ${work}
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdout.setEncoding('utf8')
  const [said] = (await once(child.stdout, 'data')) as [string]
  return {
    said,
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

describe('the pace file', () => {
  it('holds the pace of all who open it: 6 requests of one and 6 of another take more than 1 s at 10/s', async () => {
    const file = paceFile()
    const clock = virtualClock()
    const pacers = [openPacer(file, clock), openPacer(file, clock)]
    const began = clock.monotonic()
    for (const pacer of [...pacers, ...pacers, ...pacers, ...pacers, ...pacers, ...pacers]) {
      const turn = await clock.run(pacer.permit(signal))
      turn.release('answered')
    }
    expect(clock.monotonic() - began).toBeGreaterThanOrEqual(SECOND)
    expect(clock.monotonic() - began).toBeLessThan(1.3 * SECOND)
  })

  const contents = [
    ['empty', ''],
    ['cut in the middle', '{"version":1,"boot_id":"x","saved_at":12,"pa'],
    ['of another version', '{"version":2,"pace":{}}'],
    ['somebody else’s', '[1, 2, 3]'],
    ['of the right shape but for one number', '{"version":1,"boot_id":"x","saved_at":"12"}'],
    ['no text at all', '\u0000\u0001\ufffd'],
  ]

  it.each(contents)('that is %s is replaced', async (_, content) => {
    const file = paceFile()
    writeFileSync(file, content)
    const turn = await openPacer(file, virtualClock()).permit(signal)
    turn.release('answered')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: 1 })
  })

  it('that a process left between its two steps, under its other name, is read all the same', async () => {
    const file = paceFile()
    const clock = virtualClock()
    openPacer(file, clock).pause(MINUTE)
    renameSync(file, `${file}.next`)
    const began = clock.monotonic()
    await clock.run(openPacer(file, clock).permit(signal))
    expect(clock.monotonic() - began).toBe(MINUTE)
    expect(readdirSync(join(file, '..'))).toEqual(['pace.json'])
  })

  it('leaves neither locks nor temporary files', async () => {
    const file = paceFile()
    const turn = await openPacer(file, realClock).permit(signal)
    turn.release('answered')
    expect(readdirSync(join(file, '..'))).toEqual(['pace.json'])
  })

  it('stays below 32 KB after 150 requests at 50/s', async () => {
    const file = paceFile()
    const clock = virtualClock()
    const pacer = createPacer(clock, 50, undefined, {
      store: openPaceFile(file, clock),
      priority: 'nightly',
    })
    for (let i = 0; i < 150; i += 1) {
      const turn = await clock.run(pacer.permit(signal))
      turn.release('answered')
    }
    expect(readFileSync(file).length).toBeLessThan(32 * 1024)
  })

  it('of a machine that was restarted keeps a pause by the wall clock, and nothing else', async () => {
    const file = paceFile()
    const clock = virtualClock()
    const pacer = openPacer(file, clock)
    for (let i = 0; i < 6; i += 1) (await clock.run(pacer.permit(signal))).release('failed')
    pacer.pause(HOUR)
    const saved = readFileSync(file, 'utf8')
    writeFileSync(file, saved.replace(/"boot_id":"[^"]+"/, '"boot_id":"before"'))
    const later = virtualClock(clock.now() + 20 * MINUTE)
    const began = later.monotonic()
    const turn = await later.run(openPacer(file, later).permit(signal))
    expect(turn.isHalfOpen).toBe(true)
    expect(later.monotonic() - began).toBeCloseTo(40 * MINUTE, 0)
  })

  it.each(['ENOSPC', 'EROFS', 'EIO'])(
    'on a disk that says %s ends a turn and a pause with StorageError',
    async (code) => {
      const file = paceFile()
      const pacer = openPacer(file, virtualClock())
      disk.renameFails = code
      await expect(pacer.permit(signal)).rejects.toThrow(StorageError)
      expect(() => pacer.pause(1)).toThrow(StorageError)
      disk.heal()
      await pacer.permit(signal)
      expect(readdirSync(join(file, '..'))).toEqual(['pace.json'])
    },
  )

  it('says so when its lock is held for too long by something that is no lock', () => {
    const file = paceFile()
    mkdirSync(join(file, '..', 'elsewhere'))
    writeFileSync(`${file}.lock`, '{"not": "ours"}')
    expect(() => openPacer(file, virtualClock()).pause(1)).toThrow(/held for too long/)
    expect(existsSync(`${file}.lock`)).toBe(true)
  })
})

describe('a process that is stopped', () => {
  it('for 3 s in the middle of a change does not undo the pause of 1 min that another one made meanwhile', async () => {
    const file = paceFile()
    const clock = virtualClock()
    const meanwhile = virtualClock(clock.now() + 3 * SECOND)
    let changes = 0
    openPaceFile(file, clock).update((pace) => {
      changes += 1
      // Whoever looks 3 s later takes the lock away from the one that holds it here.
      if (changes === 1) openPacer(file, meanwhile).pause(MINUTE)
      return { pace: { ...pace, failuresInARow: 1 } }
    })
    expect(changes).toBe(2)
    const began = clock.monotonic()
    await clock.run(openPacer(file, clock).permit(signal))
    expect(clock.monotonic() - began).toBe(MINUTE)
    expect(readdirSync(join(file, '..'))).toEqual(['pace.json'])
  })
})

describe('a process that is killed', () => {
  it('while it holds the lock stops nobody for longer than 1 s', async () => {
    const file = paceFile()
    const other = await startProcess(
      file,
      `new LockFile(file + '.lock', { command: 'pace', clock: realClock }).take()
       console.log('held')
       setInterval(() => {}, 1000)`,
    )
    expect(other.said).toBe('held\n')
    await other.kill()
    const began = realClock.monotonic()
    const turn = await openPacer(file, realClock).permit(signal)
    turn.release('answered')
    expect(realClock.monotonic() - began).toBeLessThan(SECOND)
  })

  it('while its probe is in flight and 3 workers wait stops nobody for longer than 5 s', async () => {
    const file = paceFile()
    const other = await startProcess(
      file,
      `const pacer = open(10)
       pacer.pause(1)
       await pacer.permit(signal)
       for (let i = 0; i < 3; i++) void pacer.permit(signal)
       console.log('probing')
       setInterval(() => {}, 1000)`,
    )
    const backfill = openPacer(file, realClock, 'backfill')
    const waiting = backfill.permit(signal)
    const early = await Promise.race([waiting, realClock.sleep(500)])
    expect(early).toBeUndefined()
    await other.kill()
    const began = realClock.monotonic()
    expect((await waiting).isHalfOpen).toBe(true)
    expect(realClock.monotonic() - began).toBeLessThan(5 * SECOND)
  })
})

describe('two processes', () => {
  it('together send at most 25 requests in any second to a strict service: of 150 it refuses 0, as far as they arrive in time', async () => {
    const file = paceFile()
    const simulator = await startSimulator({
      source: createWorld({
        seed: 1,
        organizations: 1,
        startAt: realClock.now() - DAY,
        endAt: realClock.now(),
      }),
      clock: realClock,
      rateLimit: { requests: 25, windowMs: SECOND },
    })
    onTestFinished(() => simulator.close())
    const work = `
      const store = openPaceFile(file, realClock)
      const sentAt = [], tookMs = []
      const update = (change) => {
        const result = store.update(change)
        if (result.kind === 'turn') sentAt.push(result.turn.sentAt)
        return result
      }
      const sharing = { store: { ...store, update }, priority: 'nightly' }
      const pacer = createPacer(realClock, 25, undefined, sharing)
      let left = 75
      const worker = async () => {
        while (left-- > 0) {
          const turn = await pacer.permit(signal)
          const at = realClock.monotonic()
          const answer = await fetch(${JSON.stringify(simulator.url)} + '/api/v1/job-changes/search', {
            method: 'POST',
            headers: { authorization: 'Bearer simulator-key', 'content-type': 'application/json' },
            body: '{"page": 9999}',
          })
          await answer.arrayBuffer()
          tookMs.push(realClock.monotonic() - at)
          const header = (name) => Number(answer.headers.get('x-ratelimit-' + name))
          turn.learn({ limit: header('limit'), remaining: header('remaining'), resetMs: header('reset') * 1000 })
          turn.release(answer.status === 429 ? 'refused' : 'answered')
        }
      }
      await Promise.all([worker(), worker(), worker(), worker()])
      console.log(JSON.stringify({ sentAt, tookMs }))
    `
    const ends = await Promise.all([startProcess(file, work), startProcess(file, work)])
    const sent = ends.map(({ said }) => JSON.parse(said) as { sentAt: number[]; tookMs: number[] })
    const sentAt = sent.flatMap((one) => one.sentAt).toSorted((a, b) => a - b)
    // Without the first ones, which load the client and open its connections.
    const tookMs = sent.flatMap((one) => one.tookMs.slice(8))
    const lateMs = Math.max(...tookMs) - Math.min(...tookMs)
    const use = (149 * SECOND) / 25 / ((sentAt.at(-1) ?? 0) - (sentAt[0] ?? 0))
    const refused = simulator.account().by_status[429] ?? 0
    process.stdout.write(
      `pace: 2 real processes: ${(100 * use).toFixed(1)} % of the rate used, ${refused} refused, round trips differ by ${lateMs.toFixed(0)} ms\n`,
    )
    expect(sentAt).toHaveLength(150)
    expect(sentAt.filter((at, i) => at - (sentAt[i - 25] ?? -Infinity) < SECOND)).toEqual([])
    // On a machine with more to do than it can, requests arrive later than the margin allows for; that is no defect.
    const isKeepingUp = lateMs < 50
    expect(refused).toBeLessThanOrEqual(isKeepingUp ? 0 : 3)
    expect(use).toBeGreaterThan(isKeepingUp ? 0.9 : 0.3)
  })
})
