/**
 * A simulation: one data directory with complete runs on a virtual clock, a service and a disk that fail, and processes
 * that die. The same seed gives the same steps.
 */

import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '../../src/journal/journal.ts'
import { dataDirectory } from '../../src/run/data-directory.ts'
import { runJob, type RunReport } from '../../src/run/run.ts'
import type { RunWorld } from '../../src/run/stages.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { EXIT, JobtideError } from '../../src/support/errors.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { SECOND } from '../../src/support/units.ts'
import { systemError } from '../helpers/faulty-disk.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { ProcessEnded, type VolatileDisk } from '../helpers/volatile-disk.ts'
import { serviceOf } from './service.ts'
import { planOf, type Attempt, type Fate } from './world.ts'

/** How an attempt ended. */
export interface Ended {
  readonly report: RunReport | null
  readonly error: Error | null
  /** The fault; null if it ended before the fault came. */
  readonly struck: Fate['kind'] | null
  /** Pages with events that it reported as bought. */
  readonly pages: number
}

/** A data directory and its surroundings. */
export type Simulation = ReturnType<typeof simulationOf>

/** A running process. */
interface Running {
  readonly fate: Fate
  readonly stop: AbortController
  readonly abort: AbortController
  points: number
  struck: boolean
  /** Whether it is past the journal. */
  loads: boolean
  pages: number
}

/** The name of its counter. */
const STRUCK = {
  none: '',
  kill: 'kills',
  power: 'power losses',
  full: 'full disks',
  eio: 'failed syncs',
  stop: 'stops',
}

/**
 * The simulation of a seed.
 * @param isDeep whether some runs continue with load, build and publish
 */
export function simulationOf(seed: number, isDeep: boolean, disk: VolatileDisk) {
  const plan = planOf(seed, isDeep)
  const random = seededRandom(seed + 2 ** 30)
  const clock = virtualClock(plan.startAt)
  const beganAt = clock.monotonic()
  const steps: string[] = []
  const counts = new Map<string, number>()
  const count = (what: string, n = 1) => counts.set(what, (counts.get(what) ?? 0) + n)
  const step = (what: string) => {
    steps.push(`${((clock.monotonic() - beganAt) / SECOND).toFixed(3)} s  ${what}`)
  }
  const service = serviceOf(plan, clock, random, { step, count })
  const base = temporaryFolder()
  const folders = dataDirectory(join(base, 'disk', 'data'))
  // The engine writes them itself, and continues when its process counts as dead.
  const warehouse = [folders.warehouse, `${folders.warehouse}.wal`]
  const target = {
    to: join(base, 'lake'),
    keep: { last: 3, daily: 0, weekly: 0, monthly: 0 },
    s3: {},
  }
  let running: Running | null = null

  function die({ stop, abort }: Running, partly?: () => void): never {
    partly?.()
    const error = new ProcessEnded('the process ended')
    keepWarehouse(warehouse, 'aside')
    disk.cut()
    abort.abort(error)
    stop.abort(error)
    throw error
  }

  /** A point at which the process may meet its fate. */
  function point(name: string, partly?: () => void): void {
    if (running === null) return
    if (running.abort.signal.aborted) throw new ProcessEnded('the process ended')
    const { fate, struck, stop } = running
    if (name === fate.when) running.points += 1
    const { points } = running
    if (!struck && fate.kind !== 'none' && points >= fate.at) {
      running.struck = true
      count(STRUCK[fate.kind])
      step(`STRUCK by ${fate.kind} at point ${points}, ${name}`)
      if (fate.kind === 'stop') stop.abort(new JobtideError(EXIT.terminated, 'stopped'))
      else if (fate.kind === 'eio') disk.failSyncAt(1)
      else if (fate.kind !== 'full') die(running, partly)
    }
    if (fate.kind !== 'full' || !running.struck || partly === undefined) return
    partly()
    throw systemError('ENOSPC', 'write')
  }

  mkdirSync(join(base, 'disk'))
  disk.begin(join(base, 'disk'))
  disk.onStep = (partly) => {
    // The engine and the publisher take real time.
    if (running?.loads === false) point('disk', partly)
  }
  disk.syncTakes = () => clock.sleep(1 + Math.floor(random() * 20))

  const worldOf = ({ stop, abort }: Pick<Running, 'stop' | 'abort'>): RunWorld => ({
    directory: folders,
    clock,
    random,
    logger: silentLogger,
    version: 'test',
    s3Endpoint: undefined,
    stop: stop.signal,
    abort: abort.signal,
    onProgress: (progress) => {
      if (running === null) return
      if (progress.stage === 'extract') {
        running.pages = progress.pages
        return
      }
      running.loads = true
      point(progress.stage)
    },
  })

  /** Runs until it is done, or its fate has come. */
  async function attempt({ at, job, fate, isWhole }: Attempt): Promise<Ended> {
    await clock.advance(Math.max(0, at - clock.now()))
    const [stop, abort] = [new AbortController(), new AbortController()]
    const mine: Running = {
      fate,
      stop,
      abort,
      points: 0,
      struck: false,
      loads: false,
      pages: 0,
    }
    running = mine
    const { window } = job.question
    step(
      `RUN ${job.pipeline}, window ${window}, ${job.creditsLimit} credits, ${job.concurrency} workers`,
    )
    const transport = {
      ...service,
      send: async (path: string, body: object | null, signal: AbortSignal) => {
        const answer = await service.send(path, body, AbortSignal.any([signal, abort.signal]))
        point('answer')
        return answer
      },
    }
    const result = await clock.run(
      runJob(
        { ...job, snapshot: isWhole ? target : null },
        isWhole ? 'run' : 'extract',
        { transport, baseUrl: 'https://service.example' },
        worldOf(mine),
      ).then(
        (report) => ({ report, error: null }),
        (error: Error) => ({ report: null, error }),
      ),
    )
    running = null
    // Requests in flight reach the service.
    await clock.runUntilIdle()
    const isDead = disk.isEnded
    disk.restart()
    if (isDead) keepWarehouse(warehouse, 'back')
    if (isDead && fate.kind === 'power') disk.powerLoss(random)
    count('runs')
    const said = result.error?.message ?? 'well'
    step(`ENDED ${said.replaceAll(base, '').replace(/[0-9A-Z]{26}/g, '…')}`)
    return { ...result, struck: mine.struck ? fate.kind : null, pages: mine.pages }
  }

  return {
    isDeep,
    plan,
    clock,
    service,
    folders,
    target,
    steps,
    counts,
    count,
    attempt,
    journal: openJournal(folders.journal, clock),
    world: () => worldOf({ stop: new AbortController(), abort: new AbortController() }),
    end() {
      disk.end()
      rmSync(base, { recursive: true })
    },
  }
}

function keepWarehouse(files: readonly string[], where: 'aside' | 'back'): void {
  for (const file of files) {
    const [from, to] = where === 'aside' ? [file, asideOf(file)] : [asideOf(file), file]
    if (existsSync(from)) copyFileSync(from, to)
    else rmSync(to, { force: true })
  }
}

// Bypasses the disk, which ended with its process.
const asideOf = (file: string) =>
  join(file, '..', '..', '..', `${file.endsWith('.wal') ? 'wal' : 'warehouse'}`)
