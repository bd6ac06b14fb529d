/**
 * Nights under `schedule` with the incidents of an unattended machine. Each incident is reported once, the figures
 * equal the service's bill, and no event is missing at the end.
 */

import { expect, it } from 'vitest'
import type { Fault } from '../../src/simulator/faults.ts'
import { worldSightings } from '../../src/simulator/world.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { worldOf } from '../helpers/run-cli.ts'
import { rounds } from '../helpers/tier.ts'
import { openScheduleSite, type ScheduleSite } from './schedule-site.ts'

const NIGHTS = rounds('JOBTIDE_SCHEDULE_NIGHTS', 8, 30)
const WORLD = { companies: 100, events: 150_000 }
const FIRST_WINDOW_DAYS = 10
const WORKERS = 4
const PIPELINE = `name: test
organizations: organizations.csv
window: since-last
initial_window: ${FIRST_WINDOW_DAYS}
limits: { concurrency: ${WORKERS} }
snapshot: { to: snapshots, keep: 5 }
schedule: "15 2 * * *"
notify: { webhook: { url: "\${HOOK_URL}" } }
`
/** Once by the run, and again by `schedule` if a full disk kept the run from recording its message. */
const MOST_POSTS = 2

const SOON = { 'Retry-After': 1 }
const STORM: readonly Fault[] = [
  { nth: 8, status: 503, headers: { 'Retry-After': (3 * HOUR) / SECOND } },
  { status: 429, headers: SOON, probability: 0.2, seed: 1, times: 'always' },
  { status: 503, headers: SOON, probability: 0.2, seed: 2, times: 'always' },
  { cut: '50%', probability: 0.2, seed: 3, times: 'always' },
  { reset: true, probability: 0.1, seed: 4, times: 'always' },
]
const SLOWLY: Fault = { slow: { delay_ms: 200 }, times: 'always' }

/** An incident of a night. */
interface Incident {
  readonly name: string
  /** Its message. */
  readonly tells: RegExp
  /** Whether a run ends well before the next night. */
  readonly isCaughtUp?: true
  /** @param due when the pipeline is due in that night */
  readonly arrange: (site: ScheduleSite, due: number) => void
}
type Change = (site: ScheduleSite) => void

/** An incident from shortly before a run until it is fixed in the morning. */
function untilMorning(begin: Change, end: Change): Incident['arrange'] {
  return (site, due) => {
    site.machine.at(due - 5 * MINUTE, () => begin(site))
    site.machine.at(due + 7 * HOUR, () => end(site))
  }
}
function faulty(...faults: readonly Fault[]): Incident['arrange'] {
  return untilMorning(
    ({ simulator }) => simulator.setFaults(faults),
    ({ simulator }) => simulator.setFaults([]),
  )
}
function fullDisk(kilobytes: number): Incident['arrange'] {
  return untilMorning(
    ({ disk }) => disk?.leave(kilobytes),
    ({ disk }) => disk?.enlarge(),
  )
}
/** A SIGKILL in the middle of a run. @param then what happens at the same time */
function killed(then: (site: ScheduleSite, due: number) => void): Incident['arrange'] {
  return (site, due) => {
    faulty(SLOWLY)(site, due)
    site.machine.at(due - MINUTE, () => site.killAfter(3, () => then(site, due)))
  }
}

const INCIDENTS: readonly Incident[] = [
  {
    name: 'a storm of 429, 503, cut and reset connections, and then 3 hours of nothing',
    tells: /^failure: .* exit 5: the service asks for no request before/,
    arrange: faulty(...STORM),
  },
  {
    name: 'schedule is down when the run is due',
    tells: /^stale: test was due at .* and has not run since/,
    isCaughtUp: true,
    arrange: (site, due) => site.machine.at(due - HOUR, () => site.down(due + 7 * HOUR)),
  },
  {
    name: 'a full disk, on which no run can begin',
    tells: /^failure: .* exit 9 before it began: .*the disk is full/,
    arrange: fullDisk(0),
  },
  {
    name: 'a key that is revoked',
    tells: /^failure: .* exit 3: the service refused the API key/,
    arrange: faulty({ status: 401, times: 'always' }),
  },
  {
    name: 'the machine restarts in the middle of a run',
    tells: /^failure: the last run of test, .* was killed/,
    isCaughtUp: true,
    arrange: killed((site, due) => {
      site.down(due + 5 * MINUTE)
      site.machine.reboot()
    }),
  },
  {
    name: 'a disk that the run itself fills',
    tells: /^failure: .* exit 9: .*the disk is full/,
    arrange: fullDisk(20),
  },
  {
    name: 'a run is killed beside schedule, which goes on',
    tells: /^failure: the last run of test, .* was killed/,
    isCaughtUp: true,
    arrange: killed(() => undefined),
  },
]

it(`${NIGHTS} nights under schedule with ${INCIDENTS.length} incidents: each is reported once, metrics agree with ledger and bill, no night is lost`, async () => {
  const start = Math.floor(Date.now() / DAY) * DAY - (NIGHTS >> 1) * DAY
  const site = await openScheduleSite(start - 12 * HOUR, { ...WORLD, pipeline: PIPELINE })
  if (site.disk === null)
    process.stdout.write('skipped: no disk can be mounted here, so none is full\n')
  const incidents = INCIDENTS.filter(({ name }) => site.disk !== null || !name.includes('disk'))
  const due = (night: number) => start + (night - 1) * DAY + 2.25 * HOUR
  const every = Math.floor((NIGHTS - 1) / incidents.length)
  for (let night = 1; night <= NIGHTS; night += 1) {
    const incident = night > 1 ? incidents[(night - 1) / every - 1] : undefined
    incident?.arrange(site, due(night))
    site.machine.at(due(night) + (incident === undefined ? HOUR : 8 * HOUR), async () => {
      await expectFigures(site)
      // Nothing happens in the rest of the day, and each check takes a while.
      site.machine.suspend(due(night) + 22.5 * HOUR)
    })
  }
  const beganAt = performance.now()
  await site.live(due(NIGHTS) + 9 * HOUR)
  expectTold(site, incidents, every)
  const dues = Array.from({ length: NIGHTS }, (_, night) => due(night + 1))
  await expectNights(site, dues, every > 1 ? DAY : 2 * DAY)
  const events = await expectEvents(site, due(1) - FIRST_WINDOW_DAYS * DAY + HOUR, due(NIGHTS))
  const { requests, credits } = site.simulator.account()
  const seconds = Math.round((performance.now() - beganAt) / SECOND)
  process.stdout.write(
    `${NIGHTS} nights, ${incidents.length} incidents, ${requests} requests, ${credits} credits, ${events} events, ${site.hook.got.length} posts: ${seconds} s\n`,
  )
}, 1_800_000)

/** The figures of `/metrics` equal the journal's ledger, and the ledger agrees with the service's bill. */
async function expectFigures(site: ScheduleSite): Promise<void> {
  const metrics = await site.metrics()
  const [charged, inDoubt] = [metrics('credits_total'), metrics('credits_in_doubt')]
  const ledger = await site.json<{ total: { credits: number }; unloaded: number }>('credits')
  expect(charged + inDoubt).toBe(ledger.total.credits + ledger.unloaded)
  const { credits: bill, log } = site.simulator.account()
  const broken = log.filter(({ fault }) => fault === 'cut' || fault === 'reset')
  const cut = broken.reduce((sum, entry) => sum + entry.credits_used, 0)
  // Nothing is known of a page in flight to a killed process, or refused by the disk.
  expect(charged + cut).toBeLessThanOrEqual(bill)
  expect(charged + inDoubt).toBeGreaterThanOrEqual(bill)
  expect(inDoubt).toBeLessThanOrEqual(10 * (broken.length + 3 * WORKERS))
}

/** One message for each incident, one when it is over, and no other. */
function expectTold({ hook }: ScheduleSite, incidents: readonly Incident[], every: number): void {
  const posts = new Map<string | undefined, string[]>()
  for (const { key, body } of hook.got) {
    const text = `${String(body['kind'])}: ${String(body['text'])}`
    posts.set(key, [...(posts.get(key) ?? []), text])
  }
  const told = [...posts.values()].map(([first]) => first)
  const expected = incidents.flatMap(({ tells, isCaughtUp }) =>
    isCaughtUp || every > 1 ? [tells, /^recovered: /] : [tells],
  )
  expect(told).toEqual(expected.map((pattern) => expect.stringMatching(pattern) as string))
  const most = Math.max(...[...posts.values()].map(({ length }) => length))
  expect(most, JSON.stringify([...posts], null, 1)).toBeLessThanOrEqual(MOST_POSTS)
}

/** After each due time a run succeeded, at the latest in the next undisturbed night, and nothing is unread. */
async function expectNights(
  site: ScheduleSite,
  dues: readonly number[],
  latestMs: number,
): Promise<void> {
  const ends = await site.query<{ at: number }>(
    'select epoch_ms(finished_at)::double as at from ops.runs where exit_code = 0',
  )
  const lost = dues.filter((due) => !ends.some(({ at }) => at > due && at < due + latestMs + HOUR))
  expect(lost.map((due) => new Date(due).toISOString())).toEqual([])
  const metrics = site.metricsFile()
  expect([metrics('organizations_never_read'), metrics('organizations_with_gaps')]).toEqual([0, 0])
  expect(metrics('oldest_watermark_timestamp_seconds') * SECOND).toBeGreaterThanOrEqual(
    dues.at(-1) ?? 0,
  )
}

/** The warehouse holds every event that the service detected in this time once, and no other. */
async function expectEvents(site: ScheduleSite, from: number, to: number): Promise<number> {
  const rows = await site.query<{ name: string; at: number }>(
    `select concat_ws(' ', profile_id, organization_id, event_type, epoch_ms(changed_at),
         case when event_type = 'title_change' then title_current end) as name,
       epoch_ms(detected_at)::double as at
     from job_change_events`,
  )
  const held = new Set(rows.map(({ name }) => name))
  expect(held.size).toBe(rows.length)
  const [known, now] = [newestSightings(to), newestSightings(to + HOUR)]
  const missing = [...known].filter(([name, at]) => at >= from && !held.has(name))
  expect(missing).toEqual([])
  expect(rows.filter(({ name }) => !now.has(name))).toEqual([])
  return rows.length
}

/** From the world: each event detected by then, and its last detection. */
function newestSightings(by: number): Map<string, number> {
  const newest = new Map<string, number>()
  for (const { event } of worldSightings(worldOf(WORLD))) {
    const at = Date.parse(event.detected_at)
    if (at > by) continue
    const { person, organization, event_type: type, changed_at: changed, title } = event
    const key = [person.profile_id, organization.organization_id, type, Date.parse(changed)]
    if (type === 'title_change') key.push(title.current ?? '')
    const name = key.join(' ')
    newest.set(name, Math.max(at, newest.get(name) ?? 0))
  }
  return newest
}
