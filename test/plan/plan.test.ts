import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CoveredInterval, Sightings } from '../../src/journal/coverage.ts'
import { EVENT_TYPES, type EventType, type OrganizationRef } from '../../src/journal/records.ts'
import { emptyHistory } from '../../src/journal/history.ts'
import { makePlan, questionSha256, type PlanHistory, type Question } from '../../src/plan/plan.ts'
import { neededWindow } from '../../src/plan/window.ts'
import { DAY } from '../../src/support/units.ts'
import { NOW, aPast, aQuestion, covered, ids, sightings } from './plan-fixture.ts'

const plan = (question: Partial<Question>, history: Partial<PlanHistory> = {}) =>
  makePlan(aQuestion(question), { ...emptyHistory(), ...history }, NOW)

describe('makePlan', () => {
  it.each([
    [1, [1]],
    [50, [50]],
    [51, [25, 26]],
    [150, [50, 50, 50]],
  ])('packs %i organisations into batches of %j', (count, sizes) => {
    const { batches, organizations } = plan({ organizations: ids(count) })
    expect(batches.map((batch) => batch.organizations.length)).toEqual(sizes)
    expect(organizations).toBe(count)
    expect(batches.map(({ batch_id }) => batch_id)).toEqual(sizes.map((_, i) => `000${i + 1}`))
  })

  it('asks for the initial window of new organisations, and for known ones from their watermark', () => {
    const coverage = new Map([
      ['org_1', [covered(400, 1)]],
      ['org_2', [covered(400, 8)]],
    ])
    const seen = new Map(['org_1', 'org_2'].map((name) => [name, sightings(20)]))
    const { batches } = plan({ organizations: ids(3) }, { coverage, seen })
    expect(
      batches.map(({ days_ago, organizations }) => [days_ago, organizations.map((o) => o.value)]),
    ).toEqual([
      [2, ['org_1']],
      [9, ['org_2']],
      [365, ['org_0']],
    ])
  })

  it('asks for a company by its learnt id, and once if the list names it by URL and by id', () => {
    const url = 'https://network.example/company/acme'
    const organizations: OrganizationRef[] = [
      { by: 'url', value: url },
      { by: 'id', value: 'org_9' },
      { by: 'url', value: 'globex' },
    ]
    const history = {
      ids: new Map([[url, 'org_9']]),
      coverage: new Map([['org_9', [covered(400, 1)]]]),
    }
    const known = plan({ organizations }, history)
    expect(known.organizations).toBe(2)
    expect(known.batches.map(({ days_ago, organizations: asked }) => [days_ago, asked])).toEqual([
      [2, [{ by: 'id', value: 'org_9' }]],
      [365, [{ by: 'url', value: 'globex' }]],
    ])
  })

  it('asks for 30 new URLs before 40 ids, in their own batch; known URLs, and lists that fit into one batch, as usual', () => {
    const urls = Array.from({ length: 30 }, (_, n) => ({ by: 'url' as const, value: `firm-${n}` }))
    const mixed = (count: number) => ids(count).flatMap((id, n) => [id, ...urls.slice(n, n + 1)])
    const sizes = (organizations: OrganizationRef[], history = {}) =>
      plan({ organizations }, history).batches.map((batch) =>
        ['url', 'id'].map((by) => batch.organizations.filter((one) => one.by === by).length),
      )
    expect(sizes(mixed(40))).toEqual([
      [30, 0],
      [0, 40],
    ])
    expect(sizes(mixed(20))).toEqual([[20, 20]])
    const coverage = new Map(urls.map(({ value }) => [value, [covered(300, 1)]]))
    expect(sizes([...urls, ...ids(40)], { coverage }).map(([url]) => url)).toEqual([30, 0])
    for (const one of ids(40)) coverage.set(one.value, [covered(300, 1)])
    expect(sizes(mixed(40), { coverage })).not.toContainEqual([30, 0])
  })

  it('a company that was refused under its id is also left out under its URL', () => {
    const quarantined = new Map([['org_9', { at: NOW, reason: 'not tracked' }]])
    const organizations: OrganizationRef[] = [{ by: 'url', value: 'acme' }, ...ids(1)]
    const { batches, quarantined: left } = plan(
      { organizations },
      { quarantined, ids: new Map([['acme', 'org_9']]) },
    )
    expect(left).toEqual([{ name: 'org_9', reason: 'not tracked' }])
    expect(batches.flatMap((batch) => batch.organizations)).toEqual(ids(1))
  })

  it('forecasts from earlier reads: 50 organisations with 10 events a day, two days back, are a page', () => {
    const organizations = ids(50)
    const known = aPast(Array<number>(50).fill(0.2))
    expect(plan({ organizations }, known).expectedCredits).toBe(10)
    // Each of the two requests has half of the events but still takes a page.
    const types = plan({ organizations, eventTypes: ['joined', 'left'] }, known)
    expect(types.expectedCredits).toBe(20)
    const silent = plan({ organizations }, aPast(Array<number>(50).fill(0)))
    expect(silent.expectedCredits).toBeLessThan(2)
    expect(plan({ organizations }).expectedCredits).toBeNull()
  })

  it('asks for each organisation once per event type, 50 at a time, at least as far back as needed, for any history', () => {
    const anyPast = fc.array(
      fc.record({
        edge: fc.option(fc.integer({ min: 0, max: 500 }), { nil: null }),
        rate: fc.double({ min: 0, max: 5, noNaN: true }),
      }),
      { minLength: 1, maxLength: 130 },
    )
    const anyTypes = fc.subarray([...EVENT_TYPES], { minLength: 1 })
    fc.assert(
      fc.property(
        anyPast,
        anyTypes,
        fc.constantFrom(365, 30, 'all' as const),
        (past, eventTypes, initialWindow) => {
          const organizations = ids(past.length)
          const history = {
            coverage: new Map<string, CoveredInterval[]>(),
            seen: new Map<string, Sightings>(),
          }
          for (const [place, { edge, rate }] of past.entries()) {
            if (edge === null) continue
            history.coverage.set(`org_${place}`, [covered(900, edge)])
            history.seen.set(`org_${place}`, sightings(rate))
          }
          const question = { organizations, eventTypes, initialWindow }
          const { batches } = plan(question, history)
          const asked = batches.flatMap((batch) => {
            expect(batch.organizations.length).toBeLessThanOrEqual(50)
            return batch.organizations.flatMap(({ value }) => {
              const needed = neededWindow(
                aQuestion(question),
                history.coverage.get(value) ?? [],
                NOW,
              )
              expect(batch.days_ago ?? Infinity).toBeGreaterThanOrEqual(
                needed === 'all' ? Infinity : needed,
              )
              return batch.event_types.map((type) => `${value} ${type}`)
            })
          })
          const wanted = organizations.flatMap(({ value }) =>
            eventTypes.map((type) => `${value} ${type}`),
          )
          expect(asked.toSorted()).toEqual(wanted.toSorted())
        },
      ),
      { numRuns: 150 },
    )
  })

  it('asks for two event types in two requests, for one or three in one', () => {
    const types = (eventTypes: EventType[]) =>
      plan({ eventTypes }).batches.map(({ event_types }) => event_types)
    expect(types(['joined'])).toEqual([['joined']])
    expect(types(['joined', 'left'])).toEqual([['joined'], ['left']])
    expect(types([...EVENT_TYPES])).toEqual([[...EVENT_TYPES]])
  })

  it('leaves a refused company out for 7 days, says so, and asks again on the 8th', () => {
    const refusedAt = (at: number) => new Map([['org_0', { at, reason: 'not tracked' }]])
    const organizations = ids(2)
    const early = plan({ organizations }, { quarantined: refusedAt(NOW - 7 * DAY + 1) })
    expect(early.quarantined).toEqual([{ name: 'org_0', reason: 'not tracked' }])
    expect(early.batches.flatMap((batch) => batch.organizations)).toEqual([organizations[1]])
    expect(early.organizations).toBe(1)
    const late = plan({ organizations }, { quarantined: refusedAt(NOW - 7 * DAY) })
    expect(late.quarantined).toEqual([])
    expect(late.organizations).toBe(2)
  })

  it('is the same for the same question, coverage and time, in any order of list and types', () => {
    const question = { organizations: ids(120), eventTypes: [...EVENT_TYPES] }
    expect(plan(question)).toEqual(plan(question))
    const turned = aQuestion({
      organizations: question.organizations.toReversed(),
      eventTypes: question.eventTypes.toReversed(),
    })
    expect(questionSha256(turned)).toBe(questionSha256(aQuestion(question)))
  })

  it.each<[string, Partial<Question>]>([
    ['another pipeline', { pipeline: 'weekly' }],
    ['another company', { organizations: ids(2) }],
    ['another window', { window: 30 }],
    ['another initial window', { initialWindow: 'all' }],
    ['another overlap', { overlapHours: 7 }],
    ['fewer types', { eventTypes: ['joined'] }],
  ])('%s is another question', (_, change) => {
    expect(questionSha256(aQuestion(change))).not.toBe(questionSha256(aQuestion()))
  })
})
