/**
 * A service that gives empty answers for a while, over HTTP and complete runs: no event is missing once it works again.
 */

import { describe, expect, it } from 'vitest'
import { readHistory } from '../../src/journal/read-history.ts'
import { coverageReport, gapsOf, wantedOf } from '../../src/plan/coverage-report.ts'
import type { Question } from '../../src/plan/plan.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { NOW, anEvent } from '../simulator/simulator-fixture.ts'
import { jobOver, nightsOf, servePages, type Asked } from './nights-fixture.ts'

/** A service with these events that gives empty answers while `isIll` says so. */
async function service(events: readonly JobChangeEvent[]) {
  const people = new Set<string>()
  const health: { isIll: (asked: Asked) => boolean } = { isIll: () => false }
  const served = await servePages((asked) => {
    const { page, days_ago: days = Infinity, organization_ids: ids, event_type: type } = asked
    const { nowMs } = served.clock
    const found = events
      .filter(({ organization }) => ids?.includes(organization.organization_id))
      .filter(({ event_type }) => type === undefined || event_type === type)
      .filter(({ detected_at: at }) => Date.parse(at) <= nowMs)
      .filter(({ detected_at: at }) => Date.parse(at) > nowMs - days * DAY)
    const shown = health.isIll(asked) ? [] : found
    const data = shown.slice(page * 50 - 50, page * 50)
    for (const { person } of data) people.add(person.profile_id)
    return { data, has_more: shown.length > page * 50 }
  })
  const missing = () => events.filter(({ person: { profile_id: id } }) => !people.has(id)).length
  return { ...served, health, missing }
}

/** Events of an organisation, one for each of these days before NOW. */
const eventsOf = (organization: string, daysAgo: readonly number[]) =>
  daysAgo.map((days) =>
    anEvent({ organization, person: `${organization} ${days}`, detectedDaysAgo: days }),
  )

const A_YEAR = Array.from({ length: 70 }, (_, n) => 5 * n + 1.5)
const NAMES = ['org_0', 'org_1', 'org_2']
const HISTORY = NAMES.flatMap((name) => eventsOf(name, A_YEAR))

describe('a list that was never read, with empty answers', () => {
  it.each<[what: string, ill: Partial<Question>, well: Partial<Question>, nights: number]>([
    ['run, and run again', {}, {}, 1],
    ['run for a week of nights', {}, {}, 7],
    ['run with a short initial window', { initialWindow: 400 - 36 }, { initialWindow: 364 }, 1],
    ['backfill, and run', { window: 364 }, {}, 1],
    ['backfill of everything, and run', { window: 'all' }, { initialWindow: 30 }, 1],
    ['backfill, and backfill again', { window: 364 }, { window: 364 }, 1],
    ['two event types', { eventTypes: ['joined', 'left'] }, { eventTypes: ['joined', 'left'] }, 2],
  ])('%s: no event is missing once the service works again', async (_, ill, well, nights) => {
    const { health, missing, ...of } = await service(HISTORY)
    const runs = nightsOf(of, jobOver(NAMES))
    const night = (at: number, question: Partial<Question>) =>
      runs.night(at, { job: jobOver(NAMES, question) })
    health.isIll = () => true
    // The last night works: the year before it still contains the oldest event.
    const first = NOW + 12 * DAY
    for (let n = nights; n > 0; n -= 1) await night(first - n * DAY, ill)
    expect(missing()).toBe(HISTORY.length)
    health.isIll = () => false
    await night(first, well)
    expect(missing()).toBe(0)
    const { credits } = of.account
    expect(credits).toBe(50)
    await night(first + HOUR, well)
    expect(of.account.credits).toBe(credits)
  })
})

/** The output of `coverage --prove` and `status` an hour later. */
function proof(runs: ReturnType<typeof nightsOf>, names: readonly string[], now: number) {
  const wanted = wantedOf(jobOver(names).question)
  const report = coverageReport(wanted, readHistory(runs.journal), now + HOUR)
  const { neverRead, oldestWatermark } = report
  return { neverRead, oldestWatermark, gaps: report.organizations.flatMap(gapsOf) }
}

const readUpTo = (now: number) => ({ neverRead: 0, gaps: [], oldestWatermark: now })

it('one of three batches of a first read gets empty answers: the next night reads it, and buys nothing else', async () => {
  const names = Array.from({ length: 150 }, (_, n) => `org_${n}`)
  const events = names.flatMap((name) => eventsOf(name, [300, 200, 20]))
  const { health, missing, account, ...of } = await service(events)
  const runs = nightsOf(of, jobOver(names))
  health.isIll = ({ organization_ids: ids }) => ids?.includes('org_7') === true
  const { unknownList, endedEarly } = await runs.night(NOW)
  expect([unknownList, endedEarly]).toEqual([null, null])
  expect(missing()).toBe(150)
  expect(account.credits).toBe(60)
  health.isIll = () => false
  await runs.night(NOW + DAY)
  expect(missing()).toBe(0)
  expect(account.credits).toBe(90)
})

it('a backfill of known organisations with empty answers is repeated by the next one', async () => {
  const { health, missing, account, ...of } = await service(HISTORY)
  const runs = nightsOf(of, jobOver(NAMES, { initialWindow: 30 }))
  const backfill = { job: jobOver(NAMES, { window: 364 }) }
  await runs.night(NOW)
  health.isIll = () => true
  await runs.night(NOW + HOUR, backfill)
  health.isIll = () => false
  await runs.night(NOW + 2 * HOUR, backfill)
  expect(missing()).toBe(0)
  const { credits } = account
  await runs.night(NOW + 3 * HOUR, backfill)
  expect(account.credits).toBe(credits)
})

describe('known organisations', () => {
  it.each([1, 2, 10])('with empty answers for %i nights lose no event', async (nights) => {
    const later = NAMES.flatMap((name) =>
      eventsOf(
        name,
        Array.from({ length: 12 }, (_, n) => -n - 0.5),
      ),
    )
    const { health, missing, account, ...of } = await service([...HISTORY, ...later])
    const runs = nightsOf(of, jobOver(NAMES))
    await runs.night(NOW)
    health.isIll = () => true
    for (let n = 1; n <= nights; n += 1) {
      await runs.night(NOW + n * DAY)
      expect(proof(runs, NAMES, NOW + n * DAY)).toEqual(readUpTo(NOW + n * DAY))
    }
    health.isIll = () => false
    const { credits } = account
    await runs.night(NOW + (nights + 1) * DAY)
    expect(account.credits).toBe(credits + 10)
    await runs.night(NOW + 12 * DAY)
    expect(missing()).toBe(0)
  })

  it('without changes for 500 nights cost nothing, are read up to each night, and get later events', async () => {
    const { missing, account, ...of } = await service([...HISTORY, ...eventsOf('org_0', [-502.5])])
    const runs = nightsOf(of, jobOver(NAMES))
    await runs.night(NOW)
    const { credits } = account
    for (const n of [1, 2, 30, 300, 360, 400, 450, 500]) {
      await runs.night(NOW + n * DAY)
      expect(account.asked.at(-1)?.days_ago).toBeLessThanOrEqual(365)
      expect(proof(runs, NAMES, NOW + n * DAY)).toEqual(readUpTo(NOW + n * DAY))
    }
    expect(account.credits).toBe(credits)
    await runs.night(NOW + 503 * DAY)
    expect(missing()).toBe(0)
    expect(account.credits).toBe(credits + 10)
  })
})

it('organisations without any event are read up to each night, without a gap, for 0 credits', async () => {
  const names = Array.from({ length: 120 }, (_, n) => `org_${n}`)
  const { account, ...of } = await service(eventsOf('org_0', [3, -4.5]))
  const runs = nightsOf(of, jobOver(names))
  for (let n = 0; n <= 5; n += 1) {
    const { unknownList, endedEarly } = await runs.night(NOW + n * DAY)
    expect([unknownList, endedEarly]).toEqual([null, null])
    expect(proof(runs, names, NOW + n * DAY)).toEqual(readUpTo(NOW + n * DAY))
  }
  expect(account.credits).toBe(20)
})
