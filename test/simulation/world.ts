/**
 * The plan of a simulation: what the service shows and when, and what happens to a data directory night after night.
 * Everything follows from a seed.
 */

import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { pick, pickWeighted, seededRandom, type Random } from '../../src/simulator/random.ts'
import { EVENT_TYPES, type EventType, type OrganizationRef } from '../../src/journal/records.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import type { Job } from '../../src/run/job.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'
import { jobOver } from '../run/nights-fixture.ts'

/** One version of an event. Times are the service's, milliseconds since 1970 UTC. */
export interface Version {
  /** Its place in the world: no two versions have the same. */
  readonly number: number
  /** The event; all its versions have the same. */
  readonly event: number
  readonly organization: number
  readonly type: EventType
  readonly detectedAt: number
  readonly visibleAt: number
  /** When a correction takes its place; Infinity for never. */
  goneAt: number
  /** The sort key of the list: fresh events first. */
  readonly lagDays: number
}

/** What ends an attempt, and when: at a call of the disk or an answer before the load, or at a step after it. */
export interface Fate {
  readonly kind: 'none' | 'kill' | 'power' | 'full' | 'eio' | 'stop'
  readonly when: 'disk' | 'answer' | 'load' | 'build' | 'publish'
  readonly at: number
}

/** A run, however it ends. */
export interface Attempt {
  /** Our time, unless the one before took longer. */
  readonly at: number
  readonly job: Job
  readonly fate: Fate
  /** Whether load, build and publish follow. */
  readonly isWhole: boolean
}

/** Everything that follows from a seed before it runs. */
export interface Plan {
  readonly startAt: number
  /** How far the service's clock is ahead of ours. */
  readonly aheadMs: number
  readonly organizations: readonly OrganizationRef[]
  /** The service adds versions that come while a list is read. */
  readonly versions: Version[]
  readonly attempts: readonly Attempt[]
  /** Share of requests that fail in some way. */
  readonly trouble: number
  /** The share of pages of a longer list with which the list begins to move. */
  readonly drift: number
  /** Whether an event is shown next to its correction. */
  readonly keepsVersions: boolean
  /** The longest time of a request in each direction, in milliseconds. */
  readonly latency: number
  readonly creditsPerMonth: number | null
}

const OVERLAP_HOURS = 6

/** Whether an event does not fit, in all its versions. */
export const isOdd = ({ event }: Pick<Version, 'event'>) => event % 40 === 7

/** The event of a version, as the service sends it: `handle` is the version's number. */
export function wireEvent(version: Version): JobChangeEvent {
  const { number, event, organization, type, detectedAt, lagDays } = version
  const wire = anEvent({
    // Few people, so that they have careers.
    person: `per_${event % 100}`,
    organization: `org_${organization}`,
    type,
    detectedAt,
    lagDays,
    title: pick(seededRandom(event), ['Engineer', 'Senior Engineer', 'Head of Sales', 'CFO']),
  })
  return {
    ...wire,
    // The natural key does not change with a correction.
    changed_at: new Date(Date.UTC(2024, 0, 1) + event * HOUR).toISOString(),
    detection_lag_days: isOdd(version) ? lagDays + 0.5 : lagDays,
    person: { ...wire.person, handle: String(number) },
  }
}

/** Adds an event, or with `event` a version of one. */
export function addVersion(
  versions: Version[],
  fields: Omit<Version, 'number' | 'event' | 'goneAt'> & Partial<Version>,
): void {
  const { length } = versions
  versions.push({ event: length, goneAt: Infinity, ...fields, number: length })
}

/** Corrects an event that was there from the beginning, at most once, so that it moves down in the list. */
export function correct(
  { versions, keepsVersions }: Pick<Plan, 'versions' | 'keepsVersions'>,
  old: Version,
  at: number,
  random: Random,
): void {
  const detectedAt = Math.max(old.detectedAt + SECOND, at - Math.floor(random() * 9 * MINUTE))
  const isCorrected = versions.some((one) => one.event === old.event && one !== old)
  if (old.visibleAt !== 0 || isCorrected || isOdd(old) || detectedAt > at) return
  if (!keepsVersions) old.goneAt = at
  const lagDays = old.lagDays + Math.floor(random() * 100)
  addVersion(versions, { ...old, detectedAt, visibleAt: at, lagDays, goneAt: Infinity })
}

/** The organisation that a name stands for; -1 for one that is not tracked. */
export function organizationOf(value: string): number {
  const [, number] = /^(?:org_|company-)(\d+)$/.exec(value) ?? []
  return Number(number ?? -1)
}

/** The job that asks for everything since the last run, without a limit. */
export function quietJob(plan: Pick<Plan, 'organizations'>): Job {
  const { organizations } = plan
  return jobOver([], { organizations, overlapHours: OVERLAP_HOURS, initialWindow: 60 })
}

/**
 * The plan of a seed.
 * @param isDeep whether the last attempt continues after the journal and meets its fate there
 */
export function planOf(seed: number, isDeep: boolean): Plan {
  const random = seededRandom(seed)
  const below = (n: number) => Math.floor(random() * n)
  const startAt = pick(random, [
    Date.UTC(2026, 10, 19, 23, 59, 58),
    Date.UTC(2026, 10, 30, 23, 59, 30),
    Date.UTC(2028, 1, 28, 22),
    Date.UTC(2026, 2, 10, 2, 15),
  ])
  const aheadMs = pick(random, [0, 0, 0, 2 * MINUTE, -3 * MINUTE, 1.5 * HOUR])
  const organizations = Array.from({ length: 1 + below(pick(random, [1, 6, 30])) }, (_, i) =>
    random() < 0.2
      ? ({ by: 'url', value: `company-${i}` } as const)
      : ({ by: 'id', value: `org_${i}` } as const),
  )
  const named = random() < 0.2 ? [...organizations, UNTRACKED] : organizations
  const creditsPerMonth = random() < 0.25 ? 10 * (3 + below(30)) : null
  const attempts: Attempt[] = []
  for (let at = startAt; attempts.length < 2 + below(4);) {
    const job = aJob(random, named, creditsPerMonth)
    attempts.push({ at, job, fate: aFate(random), isWhole: false })
    at += pick(random, [SECOND, MINUTE, HOUR, 20 * HOUR, DAY, 3 * DAY])
  }
  const last = attempts.pop()
  if (last !== undefined) {
    const whole = { ...last, job: quietJob({ organizations: named }), fate: aLateFate(random) }
    attempts.push(isDeep ? { ...whole, isWhole: true } : last)
  }
  const keepsVersions = random() < 0.3
  const times = attempts.map(({ at }) => at + aheadMs)
  return {
    startAt,
    aheadMs,
    organizations: named,
    versions: versionsOf(random, times, organizations.length, isDeep, keepsVersions),
    attempts,
    trouble: pick(random, [0, 0, 0.05, 0.3]),
    drift: pick(random, [0, 0.5, 0.9]),
    keepsVersions,
    latency: pick(random, [1, 40, 400, 1_500]),
    creditsPerMonth,
  }
}

const UNTRACKED: OrganizationRef = { by: 'url', value: 'company-unknown' }

function aFate(random: Random): Fate {
  const kind = pickWeighted(random, { none: 30, kill: 30, power: 20, full: 8, eio: 6, stop: 6 })
  if (random() < 0.5) return { kind, when: 'answer', at: 1 + Math.floor(random() * 6) }
  return { kind, when: 'disk', at: 1 + Math.floor(random() ** 2 * 120) }
}

function aLateFate(random: Random): Fate {
  const when = pickWeighted(random, { load: 1, build: 1, publish: 3 })
  const steps = { load: 2, build: 160, publish: 50 }
  const kind = pickWeighted(random, { none: 1, kill: 6, power: 3, stop: 1 })
  return { kind, when, at: 1 + Math.floor(random() * steps[when]) }
}

function aJob(
  random: Random,
  organizations: readonly OrganizationRef[],
  creditsPerMonth: number | null,
): Job {
  const quiet = quietJob({ organizations })
  const limits = {
    creditsLimit: random() < 0.3 ? 10 * Math.floor(random() * 12) : null,
    creditsPerMonth,
    requestsPerSecond: pick(random, [null, 5]),
    concurrency: 1 + Math.floor(random() * 5),
    maxWaitMs: pick(random, [MINUTE, 15 * MINUTE]),
  }
  const kind = pickWeighted(random, { nightly: 70, weekly: 15, backfill: 15 })
  if (kind === 'nightly') return { ...quiet, ...limits }
  const some = organizations.filter((_, place) => place === 0 || random() < 0.6)
  const question = {
    ...quiet.question,
    pipeline: kind,
    organizations: some,
    eventTypes: pick(random, [
      EVENT_TYPES,
      EVENT_TYPES,
      EVENT_TYPES.slice(0, 1),
      EVENT_TYPES.slice(1),
    ]),
    window: kind === 'weekly' ? 7 : pick(random, [90, 'all' as const]),
  }
  return { ...quiet, ...limits, pipeline: kind, question }
}

/** The versions of all events before anything is read. @param times when attempts begin, service time */
function versionsOf(
  random: Random,
  times: readonly number[],
  organizations: number,
  isDeep: boolean,
  keepsVersions: boolean,
): Version[] {
  const [startAt = 0] = times
  const endAt = times.at(-1) ?? 0
  const between = (from: number, to: number) => Math.floor(from + random() * (to - from))
  const versions: Version[] = []
  const add = (visibleAt: number, detectedAt: number) =>
    addVersion(versions, {
      organization: Math.floor(random() ** 2 * organizations),
      type: pick(random, EVENT_TYPES),
      detectedAt,
      visibleAt,
      lagDays: Math.floor(random() ** 2 * 200),
    })
  // Builds are incremental if few people changed.
  const atFirst = isDeep ? between(120, 200) : between(0, pick(random, [100, 400, 400]))
  for (let i = 0; i < atFirst; i += 1) {
    add(0, between(startAt - 80 * DAY, startAt - OVERLAP_HOURS * HOUR))
  }
  const come = (count: number, time: () => number) => {
    for (let i = 0; i < count; i += 1) {
      const at = time()
      add(at, at - (random() < 0.5 ? 0 : between(0, OVERLAP_HOURS * HOUR - SECOND)))
    }
  }
  come(between(0, 6), () => between(startAt, endAt + DAY))
  for (const at of isDeep ? [] : times) {
    come(pick(random, [0, 3, 60, 120]), () => at - between(0, HOUR))
  }
  for (let i = between(isDeep ? 3 : 0, 8); i > 0 && atFirst > 0; i -= 1) {
    const at = between(isDeep ? endAt + HOUR : startAt, endAt + DAY)
    correct({ versions, keepsVersions }, pick(random, versions), at, random)
  }
  return versions
}
