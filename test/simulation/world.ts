/**
 * What a simulation is about: what the service shows and when, and what is done to a data directory night after night. All
 * of it follows from a seed.
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
  /** What the list is ordered by: fresh events first. */
  readonly lagDays: number
}

/** What ends an attempt, at which of its steps: disk calls, answers, and steps of the stages after the journal. */
export interface Fate {
  readonly kind: 'none' | 'kill' | 'power' | 'full' | 'eio' | 'stop'
  readonly at: number
}

/** A run that is begun, however it ends. */
export interface Attempt {
  /** Our time, unless the one before took longer. */
  readonly at: number
  readonly job: Job
  readonly fate: Fate
  /** It ends with the journal. */
  readonly extractsOnly: boolean
}

/** Everything that follows from a seed before it runs. */
export interface Plan {
  readonly startAt: number
  /** How far the service's clock is ahead of ours. */
  readonly aheadMs: number
  readonly organizations: readonly OrganizationRef[]
  readonly versions: readonly Version[]
  readonly attempts: readonly Attempt[]
  /** Share of requests that fail in some way. */
  readonly trouble: number
  /** Most milliseconds that a request takes each way. */
  readonly latency: number
  readonly creditsPerMonth: number | null
}

const OVERLAP_HOURS = 6

/** The event of a version, as the service sends it: `handle` is the version's number. */
export function wireEvent({
  number,
  event,
  organization,
  type,
  ...times
}: Version): JobChangeEvent {
  const { detectedAt, lagDays } = times
  const wire = anEvent({
    // Few people, so that they have careers.
    person: `per_${event % 60}`,
    organization: `org_${organization}`,
    type,
    detectedAt,
    lagDays,
    title: pick(seededRandom(event), ['Engineer', 'Senior Engineer', 'Head of Sales', 'CFO']),
  })
  // The natural key does not change with a correction.
  const changed_at = new Date(Date.UTC(2024, 0, 1) + event * HOUR).toISOString()
  return { ...wire, changed_at, person: { ...wire.person, handle: String(number) } }
}

/** The organisation that a name stands for; -1 for one that is not tracked. */
export function organizationOf(value: string): number {
  const [, number] = /^(?:org_|company-)(\d+)$/.exec(value) ?? []
  return Number(number ?? -1)
}

/** The job that asks for everything since the last time, without any limit. */
export function quietJob(plan: Pick<Plan, 'organizations'>): Job {
  const { organizations } = plan
  return jobOver([], { organizations, overlapHours: OVERLAP_HOURS, initialWindow: 60 })
}

/** What follows from a seed. */
export function planOf(seed: number): Plan {
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
  for (let at = startAt; attempts.length < 2 + below(5);) {
    attempts.push({
      at,
      job: aJob(random, named, creditsPerMonth),
      fate: aFate(random),
      extractsOnly: random() < 0.6,
    })
    at += pick(random, [SECOND, MINUTE, HOUR, 20 * HOUR, DAY, 3 * DAY])
  }
  const latency = pick(random, [1, 40, 400, 1_500])
  const times = attempts.map(({ at }) => at + aheadMs)
  return {
    startAt,
    aheadMs,
    organizations: named,
    versions: versionsOf(random, times, organizations.length, latency),
    attempts,
    trouble: pick(random, [0, 0, 0.05, 0.3]),
    latency,
    creditsPerMonth,
  }
}

const UNTRACKED: OrganizationRef = { by: 'url', value: 'company-unknown' }

function aFate(random: Random): Fate {
  const kind = pickWeighted(random, { none: 30, kill: 30, power: 20, full: 8, eio: 6, stop: 6 })
  return { kind, at: 1 + Math.floor(random() ** 2 * 120) }
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
  const some = organizations.filter(() => random() < 0.6)
  const question = {
    ...quiet.question,
    pipeline: kind,
    organizations: some.length === 0 ? organizations : some,
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

/** The versions of all events. Much happens while pages are read. @param times when attempts begin, service time */
function versionsOf(
  random: Random,
  times: readonly number[],
  organizations: number,
  latency: number,
): Version[] {
  const [startAt = 0] = times
  const between = (from: number, to: number) => Math.floor(from + random() * (to - from))
  const versions: Version[] = []
  const add = (fields: Omit<Version, 'number' | 'event' | 'organization' | 'type' | 'goneAt'>) => {
    const { length } = versions
    versions.push({
      number: length,
      event: length,
      organization: Math.floor(random() ** 2 * organizations),
      type: pick(random, EVENT_TYPES),
      goneAt: Infinity,
      ...fields,
    })
  }
  const lag = () => Math.floor(random() ** 2 * 200)
  const events = between(0, pick(random, [60, 330]))
  const activeMs = (Math.ceil(events / 50) + 2) * latency * 2
  const busy = () => pick(random, times) + between(0, activeMs)
  for (let i = 0; i < events; i += 1) {
    // Some leave a window while it is read.
    const leaves = random() < 0.05
    const detectedAt = leaves
      ? Math.min(busy() - pick(random, [1, 2, 7, 60]) * DAY, startAt - DAY)
      : between(startAt - 80 * DAY, startAt - OVERLAP_HOURS * HOUR)
    add({ detectedAt, visibleAt: 0, lagDays: lag() })
  }
  for (let i = between(0, 25); i > 0; i -= 1) {
    const visibleAt = random() < 0.7 ? busy() : between(startAt, (times.at(-1) ?? 0) + DAY)
    for (let j = i === 1 ? pick(random, [1, 3, 60, 120]) : 1; j > 0; j -= 1) {
      const late = random() < 0.5 ? 0 : between(0, OVERLAP_HOURS * HOUR - SECOND)
      add({ detectedAt: visibleAt - late, visibleAt, lagDays: lag() })
    }
  }
  const keepsVersions = random() < 0.5
  for (let i = between(0, 8); i > 0 && versions.length > 0; i -= 1) {
    const old = pick(random, versions)
    const visibleAt = busy()
    if (old.goneAt !== Infinity || old.visibleAt >= visibleAt) continue
    const detectedAt = Math.max(old.detectedAt + SECOND, visibleAt - between(0, 9 * MINUTE))
    if (detectedAt > visibleAt) continue
    // An old version that stays beside the new one is not marked as gone; it is corrected once.
    if (!keepsVersions) old.goneAt = visibleAt
    const lagDays = old.lagDays + between(0, 100)
    const { length: number } = versions
    versions.push({ ...old, number, detectedAt, visibleAt, lagDays, goneAt: Infinity })
  }
  return versions
}
