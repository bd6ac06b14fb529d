/**
 * Runs pipelines on their schedules. The runs in the journal, rather than a timer, decide which are due, so sleep, clock
 * jumps and restarts need no special case. One run at a time, because they share a data directory: schedules of several
 * processes take turns, and look again once it is their turn, so that no due time is bought twice.
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
  /** Takes the turn to run pipelines; null while a schedule of another process has it. */
  readonly takeTurn: () => Promise<{ release(): Promise<void> | void } | null>
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
  const { clock, logger, stop, look, takeTurn, run, onLook } = world
  const beganAt = clock.now()
  const settled = new Map<string, Settled>()
  let lookAt = clock.monotonic()
  let dueAt = beganAt
  const runIfDue = async ({ pipeline, time }: NonNullable<ReturnType<typeof nextOf>>) => {
    const { name } = pipeline
    // Another schedule may have run it since the first look.
    const isDue = isMissing(name, time.due, await look(), beganAt)
    settled.set(name, time)
    if (isDue && (await run(pipeline)) === 'killed' && !time.isSecond) {
      settled.set(name, { ...time, againAt: clock.monotonic() + AGAIN_AFTER_MS })
    }
  }
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
          const turn = await takeTurn()
          lookAt = clock.monotonic() + TICK_MS
          if (turn !== null) {
            try {
              await runIfDue(next)
            } finally {
              await turn.release()
            }
            // Check the result of the run at once.
            lookAt = clock.monotonic()
            continue
          }
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

/**
 * The pipeline to run now, which is not settled yet; each time of each pipeline is settled once, and once more where its run
 * was killed.
 */
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
    if (isMissing(name, due, freshness, beganAt)) return { pipeline, time }
    settled.set(name, time)
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
