/** Schedules of what happens to a list while it is read in two nights, and the proof that nothing is missing after. */

import fc from 'fast-check'
import { expect } from 'vitest'
import { seededRandom } from '../../src/simulator/random.ts'
import type { RunHistory } from '../../src/journal/run-history.ts'
import type { BatchRecord } from '../../src/journal/records.ts'
import { BudgetReachedError } from '../../src/extract/budget.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'
import { batchesOf } from './extract-fixture.ts'
import { listServer, nameOf, type ListServer, type Version } from './list-server.ts'
import { memoryRun, type MemoryRun } from './memory-run.ts'

const OVERLAP = 6 * HOUR

/** Everything that happens in two nights; all times are relative to the first. */
export interface Schedule {
  readonly seed: number
  readonly daysAgo: number | null
  readonly events: number
  /** Most milliseconds that a request takes each way. */
  readonly latency: number
  readonly concurrency: number
  readonly arrivals: number
  /** Events that come in together, next to each other in time. */
  readonly burst: number
  readonly corrections: number
  readonly keepsVersions: boolean
  readonly leaving: number
  /** How attempts end before the one that finishes. */
  readonly stops: readonly {
    readonly how: 'kill' | 'budget'
    readonly after: number
    readonly gapMs: number
  }[]
}

export const schedules: fc.Arbitrary<Schedule> = fc.record({
  seed: fc.integer({ min: 1, max: 1_000_000_000 }),
  daysAgo: fc.constantFrom(null, 1, 2, 3, 7, 30),
  events: fc.oneof(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 90, max: 320 })),
  latency: fc.constantFrom(1, 40, 400, 1_500),
  concurrency: fc.integer({ min: 1, max: 6 }),
  arrivals: fc.integer({ min: 0, max: 25 }),
  burst: fc.constantFrom(1, 1, 3, 60),
  corrections: fc.integer({ min: 0, max: 6 }),
  keepsVersions: fc.boolean(),
  leaving: fc.integer({ min: 0, max: 8 }),
  stops: fc.array(
    fc.record({
      how: fc.constantFrom('kill' as const, 'budget' as const),
      after: fc.integer({ min: 1, max: 6 }),
      gapMs: fc.constantFrom(SECOND, MINUTE, HOUR, 20 * HOUR),
    }),
    { maxLength: 3 },
  ),
})

/** The versions of all events that a schedule speaks of. */
function versionsOf(schedule: Schedule, startMs: number): Version[] {
  const random = seededRandom(schedule.seed)
  const between = (from: number, to: number) => from + random() * (to - from)
  const windowMs = (schedule.daysAgo ?? 60) * DAY
  const gapsMs = schedule.stops.reduce((sum, { gapMs }) => sum + gapMs, 0)
  const pages = Math.ceil(schedule.events / 50) + 2
  const activeMs = pages * schedule.latency * 2
  // Something happens while pages are read, rather than while nobody looks.
  const instant = () =>
    startMs + (random() < 0.7 ? between(0, activeMs) : between(0, gapsMs + activeMs))
  const versions: Version[] = []
  const add = (fields: Omit<Version, 'id' | 'version' | 'organization' | 'goneAt'>) => {
    const { length } = versions
    versions.push({ id: length, version: 0, organization: 'org_a', goneAt: Infinity, ...fields })
  }
  const lag = () => Math.floor(random() ** 2 * 200)
  for (let i = 0; i < schedule.events; i += 1) {
    const isLeaving = i < schedule.leaving
    const detectedAt = isLeaving
      ? instant() - windowMs
      : between(startMs - 0.95 * windowMs, startMs - OVERLAP)
    add({ detectedAt: Math.floor(detectedAt), visibleAt: 0, lagDays: lag() })
  }
  for (let i = 0; i < schedule.arrivals; i += 1) {
    const visibleAt = Math.floor(instant())
    for (let j = 0; j < (i === 0 ? schedule.burst : 1); j += 1) {
      const lateMs = random() < 0.5 ? 0 : between(0, OVERLAP - 1_000)
      add({ detectedAt: Math.floor(visibleAt - lateMs), visibleAt, lagDays: lag() })
    }
  }
  for (let i = 0; i < schedule.corrections && i < schedule.events; i += 1) {
    const index = Math.floor(random() * schedule.events)
    const old = versions[index]
    if (old === undefined || old.goneAt !== Infinity || index < schedule.leaving) continue
    const visibleAt = Math.floor(instant())
    const lateMs = random() < 0.5 ? 0 : between(0, 9.9 * MINUTE)
    const detectedAt = Math.max(old.detectedAt + SECOND, Math.floor(visibleAt - lateMs))
    if (!schedule.keepsVersions) versions[index] = { ...old, goneAt: visibleAt }
    const lagDays = old.lagDays + Math.floor(random() * 100)
    versions.push({ ...old, version: 1, detectedAt, visibleAt, lagDays, goneAt: Infinity })
  }
  return versions
}

interface Night {
  readonly run: MemoryRun
  readonly beganAt: number
  readonly endedAt: number
}

async function readNight(
  schedule: Schedule,
  batch: BatchRecord,
  server: ListServer,
  clock: VirtualClock,
  stops: Schedule['stops'],
): Promise<Night> {
  const run = memoryRun([batch], server, clock)
  const { concurrency } = schedule
  const before = server.account.charged
  for (const { how, after, gapMs } of stops) {
    const history = run.history()
    if (history.batchesDone > 0) break
    if (how === 'budget') {
      const spent = history.creditsCommitted - history.creditsAtLastStop
      await run
        .extract({ concurrency, creditsLimit: spent + after * 10 })
        .catch((error: unknown) => expect(error).toBeInstanceOf(BudgetReachedError))
      expectSameState(run)
    } else {
      let pages = 0
      const onProgress = (progress: { pages: number }) => {
        if (progress.pages > pages && progress.pages >= after) run.kill()
        ;({ pages } = progress)
      }
      await run.extract({ concurrency, onProgress }).catch((error: Error) => {
        expect(error.message).toContain('killed')
      })
    }
    await clock.advance(gapMs)
  }
  await run.extract({ concurrency })
  expectSameState(run)
  // Whatever was charged is known; what a killed process had asked for is counted, whether it came to be charged or not.
  const { creditsCommitted } = run.history()
  expect(creditsCommitted).toBeGreaterThanOrEqual(server.account.charged - before)
  const finished = run.finished()
  expect(finished).toHaveLength(1)
  return { run, beganAt: finished[0]?.covered_to ?? 0, endedAt: server.now() }
}

/** The journal, read again, stands where the process stood that wrote it. */
function expectSameState(run: MemoryRun): void {
  const standing = (of: RunHistory) =>
    [...of.batches.values()].map(({ state, pages, hasMore, read }) => ({
      state,
      pages,
      hasMore,
      read,
    }))
  expect(standing(run.live())).toEqual(standing(run.history()))
}

/** Names of versions that were in the list all the time and are claimed to be covered, but were not bought. */
function missed(
  { run }: Night,
  versions: readonly Version[],
  fromPageOneMs: number,
  endedAt: number,
): string[] {
  const [finished] = run.finished()
  const from = finished?.covered_from ?? 0
  const to = finished?.covered_to ?? 0
  return versions
    .filter(
      ({ detectedAt, visibleAt, goneAt }) =>
        visibleAt <= fromPageOneMs && goneAt > endedAt && detectedAt >= from && detectedAt <= to,
    )
    .filter((version) => !run.bought.has(nameOf(version)))
    .map((version) => `${nameOf(version)} lag ${version.lagDays}`)
}

/** Reads two nights and expects that nothing is missing. */
export async function twoNights(schedule: Schedule): Promise<void> {
  // Every other run reads over midnight, and every third service's clock is ahead.
  const clock = virtualClock(Date.UTC(2026, 10, 19, 23, schedule.seed % 2 === 0 ? 0 : 59, 58))
  const aheadMs = schedule.seed % 3 === 0 ? 1.5 * HOUR : 0
  const startMs = clock.now() + aheadMs
  const versions = versionsOf(schedule, startMs)
  const random = seededRandom(schedule.seed + 1)
  const latency = () => Math.ceil(random() * schedule.latency)
  const server = listServer({ clock, versions, latency, aheadMs })
  const [batch] = batchesOf(['org_a'], { days_ago: schedule.daysAgo })
  if (batch === undefined) throw new Error('no batch')

  const first = await readNight(schedule, batch, server, clock, schedule.stops)
  expect(missed(first, versions, first.beganAt, first.endedAt)).toEqual([])

  await clock.advance(12 * HOUR)
  const needed = Math.ceil((server.now() - (first.beganAt - OVERLAP)) / DAY)
  const second = await readNight(schedule, { ...batch, days_ago: needed }, server, clock, [])
  expect(missed(second, versions, second.beganAt, second.endedAt)).toEqual([])

  const from = first.run.finished()[0]?.covered_from ?? 0
  const bought = new Set([...first.run.bought, ...second.run.bought])
  const lost = versions.filter(
    (version) =>
      version.goneAt === Infinity &&
      version.detectedAt >= from &&
      version.visibleAt <= second.beganAt &&
      !bought.has(nameOf(version)),
  )
  expect(lost.map(nameOf)).toEqual([])
}
