import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addInterval, type CoveredInterval } from '../../src/journal/coverage.ts'
import { emptyHistory, type History } from '../../src/journal/history.ts'
import { EVENT_TYPES, type OrganizationRef } from '../../src/journal/records.ts'
import {
  coverageReport,
  isNeverRead,
  unreadBetween,
  type Wanted,
} from '../../src/plan/coverage-report.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { NOW, covered } from './plan-fixture.ts'

const ALL = EVENT_TYPES
const byId = (value: string): OrganizationRef => ({ by: 'id', value })
const byUrl = (value: string): OrganizationRef => ({ by: 'url', value })

/** A history in which each organisation has these intervals, given in days ago. */
function historyOf(coverage: Readonly<Record<string, readonly CoveredInterval[]>>): History {
  const history = emptyHistory()
  for (const [id, intervals] of Object.entries(coverage)) {
    history.coverage.set(id, intervals.reduce<CoveredInterval[]>(addInterval, []))
  }
  return history
}

function wanted(organizations: readonly OrganizationRef[], fields: Partial<Wanted> = {}): Wanted {
  return { organizations, eventTypes: ALL, window: 365, ...fields }
}

/** Stretches as days ago, for reading. */
function inDays(stretches: readonly { from: number | null; to: number }[]) {
  return stretches.map(({ from, to }) => [
    from === null ? null : (NOW - from) / DAY,
    (NOW - to) / DAY,
  ])
}

describe('unread time', () => {
  it('and read time add up to the wanted time without overlap, in 300 random cases', () => {
    const anyInterval = fc
      .tuple(fc.option(fc.integer({ min: -5, max: 30 })), fc.integer({ min: 1, max: 8 }))
      .map(([from, length]) => ({ eventTypes: ALL, from, to: (from ?? 0) + length }))
    fc.assert(
      fc.property(
        fc.array(anyInterval, { maxLength: 6 }),
        fc.option(fc.integer({ min: 0, max: 10 })),
        fc.integer({ min: 10, max: 25 }),
        (intervals, from, to) => {
          const apart = intervals.reduce<CoveredInterval[]>(addInterval, [])
          const unread = unreadBetween(apart, from, to)
          // Half days distinguish touching from overlapping; -20 stands for the beginning.
          for (let at = (from ?? -20) + 0.5; at < to; at += 1) {
            const isIn = (one: { from: number | null; to: number }) =>
              (one.from ?? Number.NEGATIVE_INFINITY) < at && at < one.to
            expect(unread.filter(isIn).length + apart.filter(isIn).length, `${at}`).toBe(1)
          }
          expect(unread.every((one) => one.to <= to && (one.from ?? -Infinity) < one.to)).toBe(true)
        },
      ),
      { numRuns: 300 },
    )
  })

  it.each([
    { what: 'nothing was ever read', intervals: [], unread: [[365, 0]], place: ['never'] },
    { what: 'all was read an hour from now', intervals: [covered(null, -1 / 24)], unread: [] },
    {
      what: 'read up to 1 day ago',
      intervals: [covered(400, 1)],
      unread: [[1, 0]],
      place: ['since'],
    },
    {
      what: '2 nights missed, first read 30 days back',
      intervals: [covered(30, 10), covered(8, 1)],
      unread: [
        [365, 30],
        [10, 8],
        [1, 0],
      ],
      place: ['before', 'between', 'since'],
    },
    {
      what: 'a gap that lies before the window',
      intervals: [covered(500, 450), covered(400, 0)],
      unread: [],
    },
  ])('$what', ({ intervals, unread, place = [] }) => {
    const report = coverageReport(wanted([byId('org_1')]), historyOf({ org_1: intervals }), NOW)
    const [organization] = report.organizations
    expect(inDays(organization?.unread ?? [])).toEqual(unread)
    expect(organization?.unread.map((stretch) => stretch.place)).toEqual(place)
  })

  it('is listed by event type if the types were not read together', () => {
    const history = historyOf({ org_1: [covered(365, 5), covered(5, 0, ['joined'])] })
    const [organization] = coverageReport(wanted([byId('org_1')]), history, NOW).organizations
    expect(organization?.unread).toEqual([
      { eventTypes: ['left', 'title_change'], from: NOW - 5 * DAY, to: NOW, place: 'since' },
    ])
    expect(organization?.watermark).toBe(NOW - 5 * DAY)
  })

  it('has no entry for a type that the pipeline does not ask for', () => {
    const history = historyOf({ org_1: [covered(365, 0, ['left'])] })
    const report = coverageReport(wanted([byId('org_1')], { eventTypes: ['left'] }), history, NOW)
    expect(report.organizations[0]?.unread).toEqual([])
  })
})

describe('the report', () => {
  const history = historyOf({
    org_fresh: [covered(365, 0.5)],
    org_old: [covered(365, 3)],
    org_gap: [covered(365, 20), covered(18, 1)],
    org_half: [covered(365, 1, ['joined'])],
    org_elsewhere: [covered(365, 9)],
  })
  history.ids.set('acme', 'org_old')
  history.quarantined.set('nobody', { at: NOW - HOUR, reason: 'not tracked' })
  history.seen.set('org_old', { total: 12, lastAt: NOW - DAY, events: 0, days: 0, at: 0 })
  history.seen.set('org_fresh', { total: 0, lastAt: 0, events: 0, days: 0, at: 0 })
  const list = [
    ...['org_fresh', 'org_gap', 'org_old', 'org_half', 'org_new'].map(byId),
    byUrl('acme'),
    byUrl('nobody'),
  ]

  it('of a pipeline counts a company that its list names twice once, and as never read if one type never was', () => {
    const report = coverageReport(wanted(list), history, NOW)
    expect(report.organizations.map(({ askedAs }) => askedAs).join(' ')).toBe(
      'nobody org_half org_new org_old org_gap org_fresh',
    )
    expect(report.organizations.filter(isNeverRead).map(({ askedAs }) => askedAs)).toEqual([
      'org_half',
      'org_new',
    ])
    expect(report).toMatchObject({ read: 3, neverRead: 2, quarantined: 1, withGaps: 1 })
  })

  it('without a pipeline has every organisation that was read or refused, under its requested name, since its first read', () => {
    const report = coverageReport(null, history, NOW)
    expect(report.organizations.map(({ askedAs }) => askedAs).join(' ')).toBe(
      'nobody org_elsewhere acme org_gap org_half org_fresh',
    )
    expect(report).toMatchObject({ read: 5, neverRead: 0, quarantined: 1, withGaps: 1 })
    const half = report.organizations.find(({ askedAs }) => askedAs === 'org_half')
    expect(half?.unread).toEqual([
      { eventTypes: ['joined'], from: NOW - DAY, to: NOW, place: 'since' },
    ])
  })
})
