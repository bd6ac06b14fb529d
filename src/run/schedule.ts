/**
 * Runs pipelines on their schedules. The runs in the journal, rather than a timer, decide which are due, so sleep, clock
 * jumps and restarts need no special case. One run at a time, because they share a data directory.
 */

import { lastDue, nextDue } from '../plan/due.ts'
import { ranAt, runState, runsOf } from '../plan/judge.ts'
import type { Clock } from '../support/clock.ts'
import { messageOf } from '../support/errors.ts'
import type { Logger } from '../support/logger.ts'
import { MINUTE } from '../support/units.ts'
import type { Freshness, KnownPipeline } from './pipelines.ts'

export interface ScheduleWorld {
  readonly clock: Clock
  readonly logger: Logger
  /** Ends the schedule when the run in flight has ended. */
  readonly stop: AbortSignal
  /** Reads the journal and the pipeline files as they are now. */
  readonly look: () => Promise<Freshness>
  readonly run: (pipeline: KnownPipeline) => Promise<'ended' | 'killed'>
  /** Called with what was read, at least every ten minutes. */
  readonly onLook?: (freshness: Freshness) => Promise<void>
}

// A machine that slept, or whose clock was set, is seen within this time.
const TICK_MS = MINUTE
// A file that changed, or that can be read again, is seen within this time.
const LOOK_EVERY_MS = 10 * MINUTE
// The cause that killed a run, such as another process that took all memory, may be gone by then.
const AGAIN_AFTER_MS = 10 * MINUTE

/** Pipelines that a schedule runs: those with a time whose files can be read, Jobtide's own examples apart. */
export function scheduled({ pipelines }: Pick<Freshness, 'pipelines'>): KnownPipeline[] {
  return pipelines.filter(
    ({ schedule, isExpected, problem }) => schedule !== null && isExpected && problem === null,
  )
}

/** Keeps the schedule until `stop`. A failed check or run is logged, and the schedule continues. */
export async function keepSchedule(world: ScheduleWorld): Promise<void> {
  const { clock, logger, stop, look, run, onLook } = world
  const beganAt = clock.now()
  const settled = new Map<string, Settled>()
  let lookAt = clock.monotonic()
  let dueAt = beganAt
  while (!stop.aborted) {
    try {
      if (clock.monotonic() >= lookAt || clock.now() >= dueAt) {
        lookAt = clock.monotonic() + LOOK_EVERY_MS
        const freshness = await look()
        await onLook?.(freshness)
        const known = scheduled(freshness)
        dueAt = Math.min(
          ...known.map(
            ({ schedule }) => (schedule && nextDue(schedule, freshness.nowMs)) ?? Infinity,
          ),
        )
        const next = nextOf(known, settled, freshness, { beganAt, uptime: clock.monotonic() })
        if (next !== null) {
          const { pipeline, time } = next
          if ((await run(pipeline)) === 'killed' && !time.isSecond) {
            settled.set(pipeline.name, { ...time, againAt: clock.monotonic() + AGAIN_AFTER_MS })
          }
          // Check the result of the run at once.
          lookAt = clock.monotonic()
          continue
        }
      }
    } catch (error) {
      lookAt = clock.monotonic()
      logger.error({ reason: messageOf(error) }, 'schedule_failed')
    }
    const untilDue = dueAt - clock.now()
    const wait = untilDue > 0 ? Math.min(TICK_MS, untilDue) : TICK_MS
    await clock.sleep(wait, stop).catch(() => undefined)
  }
}

/** The last time of a pipeline for which a run was tried, or is recorded: it needs nothing more. */
interface Settled {
  readonly due: number
  /** When it is tried a second time because its run was killed, by the monotonic clock; null for never. */
  readonly againAt: number | null
  readonly isSecond: boolean
}

/** The pipeline that runs now; each time of each pipeline is settled once, and once more where its run was killed. */
function nextOf(
  known: readonly KnownPipeline[],
  settled: Map<string, Settled>,
  freshness: Freshness,
  { beganAt, uptime }: { readonly beganAt: number; readonly uptime: number },
): { readonly pipeline: KnownPipeline; readonly time: Settled } | null {
  for (const pipeline of known) {
    const { name, schedule } = pipeline
    const due = schedule === null ? null : lastDue(schedule, freshness.nowMs)
    const before = settled.get(name)
    const isSecond = before?.due === due
    if (due === null || (isSecond && uptime < (before.againAt ?? Number.POSITIVE_INFINITY)))
      continue
    const time = { due, againAt: null, isSecond }
    settled.set(name, time)
    if (isMissing(name, due, freshness, beganAt)) return { pipeline, time }
  }
  return null
}

/** Whether no run has been there for the time `due`; one that was killed or stopped is resumed. */
function isMissing(name: string, due: number, freshness: Freshness, beganAt: number): boolean {
  const runs = runsOf(freshness.history, name)
  const { last } = runs
  // The first run may cost much: it waits for its time.
  if (last === null) return due > beganAt
  const state = runState(last, freshness.working)
  if (state === 'running') return false
  if (state === 'killed' || state === 'interrupted') return true
  const at = ranAt(runs)
  // That run had a clock that was ahead: it did not run for a time that is due since this schedule began.
  return at < due || (at > freshness.nowMs && due > beganAt)
}
