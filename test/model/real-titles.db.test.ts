/**
 * Careers at random whose titles people really wrote, alone, two at once, and for the time being: every check passes. In
 * such careers the seats at the top are taken, kept with another one, and left in every way. People and organisations
 * share pages and names, and some employers are none.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { CheckFailedError } from '../../src/model/check-outcome.ts'
import { DAY } from '../../src/support/units.ts'
import { insertEvents, memoryWarehouse, naturalKey, type GivenEvent } from '../helpers/warehouse.ts'
import { rounds, seedOf } from '../helpers/tier.ts'

const ROUNDS = rounds('JOBTIDE_REAL_TITLES_ROUNDS', 2, 100)
const PEOPLE = 400
const SEEN = '2024-12-01T02:15:00Z'
const FIRST_DAY = Date.UTC(2019, 0, 1)
const DAYS = 2_100

const labelled = join(import.meta.dirname, '..', 'titles', 'labelled')
const WRITTEN = (
  parse(readFileSync(join(labelled, 'titles.dev.csv')), { columns: true }) as { title: string }[]
).map(({ title }) => title)
const ORGANIZATIONS = [
  ['Acme', 'acme'],
  ['Acme GmbH', 'acme'],
  ['Bolt', 'bolt'],
  ['Bolt Labs', 'bolt-labs'],
  ['Self-employed', null],
  ['Stealth Startup', null],
  ['Career Break', null],
  ['Crane', null],
  ['crane', null],
  ['Delta', 'delta'],
  ['Echo', 'echo'],
  ['Echo (acquired by Delta)', null],
] as const
const AT_THE_TOP = ['CEO', 'CFO', 'COO', 'CTO', 'VP Sales', 'Director of Finance', 'Chairman']

const anyPlainTitle = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...WRITTEN) },
  { weight: 2, arbitrary: fc.constantFrom(...AT_THE_TOP) },
)
const joined = (by: string) => (parts: readonly string[]) => parts.join(by)
const anyTitle = fc.oneof(
  { weight: 5, arbitrary: anyPlainTitle },
  { weight: 1, arbitrary: anyPlainTitle.map((title) => `Interim ${title}`) },
  { weight: 1, arbitrary: anyPlainTitle.map((title) => `Former ${title}`) },
  ...[' & ', ' and ', ', ', ' / '].map((by) => ({
    weight: 1,
    arbitrary: fc.tuple(anyPlainTitle, anyPlainTitle).map(joined(by)),
  })),
)

const anyStep = fc.record({
  event_type: fc.constantFrom('joined', 'left', 'title_change', 'title_change', 'title_change'),
  organization: fc.constantFrom(0, 0, 0, 1),
  title: anyTitle,
  /** How the title is made from the one before, where it is. */
  keeps: fc.constantFrom('no', 'no', 'before', 'after', 'again', 'back'),
  /** Whether a change names the title before. */
  isChained: fc.constantFrom(true, true, true, false),
  afterDays: fc.constantFrom(0, 1, 20, 31, 100, 400),
  lagDays: fc.constantFrom(0, 3, 60, -20),
})

/** A person's events, in which most changes begin with the title before. */
const anyCareer = fc
  .tuple(fc.integer({ min: 0, max: DAYS }), fc.array(anyStep, { minLength: 1, maxLength: 9 }))
  .map(([from, steps]) => {
    let day = from
    let last: string | null = null
    let earlier: string | null = null
    return steps.map((step) => {
      day = Math.min(day + step.afterDays, DAYS)
      const { title: named, keeps } = step
      const before: string | null = last
      const titles: Record<string, string> = {
        before: `${before} & ${named}`,
        after: `${named} & ${before}`,
        again: `Interim ${before}`,
        back: earlier ?? named,
      }
      const title = before === null ? named : (titles[keeps] ?? named)
      if (step.event_type !== 'left') [earlier, last] = [before, title]
      const current = step.event_type === 'left' ? (before ?? title) : title
      return {
        ...step,
        at: FIRST_DAY + day * DAY,
        current,
        previous:
          step.event_type === 'title_change' ? (step.isChained ? before : step.title) : null,
      }
    })
  })

const anyWorld = fc.array(anyCareer, { minLength: PEOPLE, maxLength: PEOPLE })

/** Each event once: of events with one key, the first. */
function eventsOf(careers: typeof anyWorld extends fc.Arbitrary<infer T> ? T : never) {
  const events = new Map<string, GivenEvent>()
  for (const [person, career] of careers.entries()) {
    for (const { event_type, organization, at, lagDays, current, previous } of career) {
      const place = (person + organization) % ORGANIZATIONS.length
      const [name, slug] = ORGANIZATIONS[place] ?? []
      const event = {
        profile_id: `person_${person}`,
        person_full_name: `Person ${person % 150}`,
        person_network_url: person % 3 === 0 ? `https://network.example/in/${person % 90}` : null,
        organization_id: `org_${place}`,
        organization_name: name ?? null,
        organization_slug: slug ?? null,
        event_type,
        changed_at: new Date(at).toISOString(),
        detected_at: new Date(at + lagDays * DAY).toISOString(),
        title_current: current,
        title_previous: previous,
        first_seen_at: SEEN,
      }
      const key = naturalKey(event)
      if (!events.has(key)) events.set(key, { ...event, event_key: key })
    }
  }
  return [...events.values()]
}

it(`pass all checks of a build: ${ROUNDS} times ${PEOPLE} careers`, async () => {
  const seed = seedOf('JOBTIDE_REAL_TITLES_SEED')
  const worlds = fc.sample(anyWorld, { numRuns: ROUNDS, seed })
  let seats = 0
  for (const [nth, world] of worlds.entries()) {
    const warehouse = await memoryWarehouse({ threads: 1 })
    onTestFinished(() => warehouse.close())
    const events = eventsOf(world)
    expect(events.length).toBeGreaterThan(PEOPLE)
    await insertEvents(warehouse, events)
    const covered = ORGANIZATIONS.flatMap((_, place) => (place % 3 === 2 ? [] : [`org_${place}`]))
    await warehouse.append('ops.coverage', {
      organization_id: covered,
      event_types: covered.map(() => 'joined,left,title_change'),
      covered_to: covered.map(() => new Date(SEEN)),
    })
    const built = buildModels(warehouse, { buildId: `round ${nth}`, builtAt: new Date(SEEN) })
    const failed = await built.then(
      () => [],
      (error: unknown) => (error instanceof CheckFailedError ? error.failed : error),
    )
    expect(failed, `seed ${seed}, round ${nth}`).toEqual([])
    seats += await warehouse.number('select count(*) from executive_seats')
    warehouse.close()
  }
  expect(seats).toBeGreaterThan(ROUNDS * 100)
}, 7_200_000)
