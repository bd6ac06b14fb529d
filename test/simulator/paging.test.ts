import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EVENT_TYPES, sourceOf } from '../../src/simulator/events.ts'
import { jobChanges } from '../../src/simulator/endpoints/job-changes.ts'
import { ServedWorld, WorldBehind } from '../../src/simulator/endpoints/world.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import {
  anEvent,
  manyEvents,
  NOW,
  peopleOf,
  simulate,
  standingClock,
  type TestAnswer,
} from './simulator-fixture.ts'

describe('pages', () => {
  it('of any size hold the same events as a plain filter and sort, for any question', () => {
    const choices = fc.record({
      organization: fc.constantFrom('org_a', 'org_b', 'org_c'),
      type: fc.constantFrom(...EVENT_TYPES),
      detectedAt: fc.integer({ min: -30, max: 5 }).map((hours) => NOW + hours * 12 * HOUR),
      lagDays: fc.integer({ min: 0, max: 4 }),
    })
    const question = fc.record({
      limit: fc.integer({ min: 1, max: 50 }),
      days_ago: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
      event_type: fc.option(fc.constantFrom(...EVENT_TYPES), { nil: undefined }),
      organizations: fc.subarray(['org_a', 'org_b', 'org_c']),
    })
    // Times go up and down: a cached answer must not become stale.
    const times = fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(fc.array(choices, { maxLength: 60 }), question, times, (all, asked, moments) => {
        const events = all.map((choice, i) => anEvent({ ...choice, person: `per_${i}` }))
        const behind = new WorldBehind(sourceOf(events))
        const { organizations, ...parameters } = asked
        // Without an event an organisation is not tracked, and its id finds nothing.
        const named = organizations.length > 0 ? { organization_ids: organizations } : {}
        for (const moment of moments) {
          const now = NOW + moment * 12 * HOUR
          const found: string[] = []
          for (let page = 1, more = true; more; page += 1) {
            const request = { ...parameters, ...named, page }
            const answer = jobChanges.answer(request, new ServedWorld(behind, now))
            const { data, pagination } = JSON.parse(answer.body as string) as TestAnswer['body']
            expect(data.length).toBeLessThanOrEqual(asked.limit)
            found.push(...data.map(({ person }) => person.profile_id))
            more = pagination.has_more
          }
          const expected = events
            .filter(
              (e) =>
                !organizations.length || organizations.includes(e.organization.organization_id),
            )
            .filter((e) => asked.event_type === undefined || e.event_type === asked.event_type)
            .filter((e) => Date.parse(e.detected_at) <= now)
            .filter((e) => Date.parse(e.detected_at) >= now - (asked.days_ago ?? 9_999) * DAY)
            .toSorted(
              (a, b) =>
                a.detection_lag_days - b.detection_lag_days ||
                Date.parse(b.detected_at) - Date.parse(a.detected_at),
            )
          expect(found).toEqual(expected.map((e) => e.person.profile_id))
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('a list', () => {
  it('shifts while it is paged: a new first event pushes one to the next page', async () => {
    const events = [
      ...manyEvents(4),
      anEvent({ person: 'new', lagDays: 0, detectedAt: NOW + HOUR }),
    ]
    const clock = standingClock()
    const simulator = await simulate(events, { clock })
    const first = await simulator.post({ limit: 2 })
    clock.nowMs += HOUR
    const second = await simulator.post({ limit: 2, page: 2 })
    expect([peopleOf(first), peopleOf(second)]).toEqual([
      ['per_1', 'per_2'],
      ['per_2', 'per_3'],
    ])
  })
})
