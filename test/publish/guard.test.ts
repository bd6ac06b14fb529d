/** When a publish is refused because readers would see less than before: the rule, tested on manifests alone. */

import { describe, expect, it } from 'vitest'
import type { Manifest } from '../../src/publish/manifest.ts'
import { assertNoDataLoss, type LossChoices } from '../../src/publish/guard.ts'
import { EXIT } from '../../src/support/errors.ts'
import { aManifest, aTable } from './manifests.ts'

const OURS = '01M82GZFCDS2H9RXZ13JAAZES0'
const OTHER = '01M831ZFCDS2H9RXZ13JAAZES0'

interface Facts {
  readonly journal?: string
  readonly rows?: Readonly<Record<string, number>>
  readonly organizations?: number
  /** The end of coverage; null if nothing is covered. */
  readonly to?: string | null
  readonly notKept?: Pick<Manifest['not_kept'], 'people' | 'events_before'>
  /** The suppression list and its predecessors. */
  readonly lists?: readonly string[]
  readonly credits?: number
  /** The time of the snapshot. */
  readonly at?: string
}

/** A manifest of 35,496 rows, 4,807 of them events, of 60 organisations, except where it says otherwise. */
function snapshot({
  journal = OURS,
  rows = {},
  organizations = 60,
  to = '2026-11-22T21:00:00.000Z',
  notKept = { people: 0, events_before: null },
  lists = [],
  credits = 980,
  at = '2026-11-23T02:15:00Z',
}: Facts = {}): Manifest {
  const counts = { job_change_events: 4_807, stints: 30_670, promotions: 19, ...rows }
  const edge = { min: to, max: to }
  return aManifest({
    snapshot_id: '01M82H07EJETJB7E3T2SCCDB6S',
    destination: 's3://lake',
    journal_id: journal,
    not_kept: { ...notKept, list: lists.at(-1) ?? null },
    tables: Object.entries(counts).map(([name, count]) => aTable({ name, rows: count })),
    coverage: { ...aManifest().coverage, organizations, covered_to: edge },
    credits: { total: credits, of_run: 0 },
    created_at: at,
  })
}

/** The refusal; null for none. */
function refused(before: Facts, now: Facts, choices: LossChoices = {}) {
  try {
    const { lists = [] } = now
    assertNoDataLoss(snapshot(before), snapshot(now), { ...choices, lists })
    return null
  } catch (error) {
    return error as Error & { exitCode: number; hint: string }
  }
}

describe('a snapshot of another journal', () => {
  const poor = {
    journal: OTHER,
    rows: { job_change_events: 250, stints: 1_500, promotions: 0 },
    organizations: 8,
  }

  it('is refused with exit 7, its owner and the counts of both sides, until it is adopted', () => {
    const error = refused({}, poor, { acceptShrink: true })
    expect(error).toMatchObject({
      exitCode: EXIT.publishFailed,
      message: `s3://lake is fed from another journal: ${OURS} of 2026-11-22, 35,496 rows (4,807 of them events), 60 organisations covered; this data directory is ${OTHER} of 2026-11-23, 1,750 rows (250 of them events), 8 organisations covered`,
      context: { destination: 's3://lake', snapshot_id: '01M82H07EJETJB7E3T2SCCDB6S' },
    })
    expect(error?.hint).toMatch(/Check that this is the right data directory.* --adopt-destination/)
    expect(refused({}, poor, { adoptDestination: true })).toBeNull()
  })

  it('from a restored warehouse, without bill and coverage, gets a hint how to continue', () => {
    const restored = { journal: OTHER, organizations: 0, to: null, credits: 0 }
    expect(refused({}, restored)?.hint).toMatch(
      /A restored warehouse has no journal: .* --adopt-destination\.$/,
    )
  })
})

describe('a snapshot of the same journal, or of one that was adopted', () => {
  it('under an older suppression list is refused with any option, because erased people would come back', () => {
    const day = '2026-01-01T00:00:00.000Z'
    const before = { notKept: { people: 2, events_before: day } }
    for (const notKept of [
      { people: 1, events_before: day },
      { people: 2, events_before: null },
      { people: 3, events_before: '2025-12-01T00:00:00.000Z' },
    ]) {
      for (const journal of [OURS, OTHER]) {
        const accepted = { acceptShrink: true, adoptDestination: true }
        expect(refused(before, { notKept, journal }, accepted)).toMatchObject({
          exitCode: EXIT.publishFailed,
          message: expect.stringMatching(/would come back: .* knows of 2 erased/) as string,
          hint: expect.stringContaining('Put the newest suppressed.json back') as string,
        })
      }
    }
    expect(refused(before, { ...before, rows: { promotions: 18 } })).toBeNull()
  })

  it('under an unrelated list of as many people is refused until it is adopted', () => {
    const notKept = { people: 2, events_before: null }
    const before = { notKept, lists: ['a', 'b'] }
    const forked = { notKept, lists: ['a', 'c'] }
    expect(refused(before, forked, { acceptShrink: true })).toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining('does not follow that of the snapshot') as string,
      hint: expect.stringContaining('publish once with --adopt-destination') as string,
    })
    expect(refused(before, { notKept }, { acceptShrink: true })?.message).toContain('come back')
    expect(refused(before, forked, { adoptDestination: true })).toBeNull()
    expect(refused(before, { notKept, lists: ['a', 'b', 'd'] })).toBeNull()
  })

  it.each<[string, Facts]>([
    ['5 % of the events fewer', { rows: { job_change_events: 4_567 } }],
    ['5 % of the organisations fewer', { organizations: 57 }],
    ['a table of 19 rows that is empty', { rows: { promotions: 0 } }],
    ['a derived table with half of its rows', { rows: { stints: 15_000 } }],
    ['coverage that ends a day later', { to: '2026-11-23T21:00:00.000Z' }],
  ])('with %s is accepted', (_, now) => {
    expect(refused({}, now)).toBeNull()
  })

  it('may cover less than a void future time that fast clocks reported', () => {
    const to = '2026-11-22T21:00:00.000Z'
    const ahead = { to: '2026-12-22T21:00:00.000Z' }
    expect(refused(ahead, { to })).toBeNull()
    const fiveMinutesAhead = { to: '2026-11-23T02:20:00.000Z' }
    expect(refused(fiveMinutesAhead, { to })?.message).toContain('covered up to')
    expect(refused(fiveMinutesAhead, { to, at: '2026-11-23T02:14:59Z' })).toBeNull()
    expect(refused(ahead, { to, organizations: 3 })?.message).toMatch(/see: organisations[^;]*$/)
  })

  it.each<[string, Facts, string]>([
    [
      'a little over 5 % of the events fewer',
      { rows: { job_change_events: 4_566 } },
      'rows of job_change_events 4,807 → 4,566',
    ],
    ['4 of 60 organisations fewer', { organizations: 56 }, 'organisations covered 60 → 56'],
    ['a table of 30,670 rows that is empty', { rows: { stints: 0 } }, 'rows of stints 30,670 → 0'],
    [
      'coverage that ends a second earlier',
      { to: '2026-11-22T20:59:59.000Z' },
      'covered up to 2026-11-22T21:00:00.000Z → 2026-11-22T20:59:59.000Z',
    ],
    [
      'nothing in it',
      { rows: { job_change_events: 0, stints: 0, promotions: 0 }, organizations: 0, to: null },
      'rows of job_change_events 4,807 → 0; rows of stints 30,670 → 0; organisations covered 60 → 0; covered up to 2026-11-22T21:00:00.000Z → nothing',
    ],
  ])('with %s is refused until the loss is accepted', (_, now, losses) => {
    expect(refused({}, now, { adoptDestination: true })).toMatchObject({
      exitCode: EXIT.publishFailed,
      message: `this warehouse holds less than readers of s3://lake see: ${losses}`,
      hint: expect.stringContaining('publish once with --accept-shrink') as string,
    })
    expect(refused({}, now, { acceptShrink: true })).toBeNull()
  })

  it('may have lost any rows after Jobtide erased people or old events, but no coverage', () => {
    const few = { job_change_events: 100, stints: 0 }
    const people = { people: 3, events_before: null }
    const old = { people: 3, events_before: '2026-01-01T00:00:00.000Z' }
    expect(refused({}, { rows: few, notKept: people })).toBeNull()
    expect(refused({ notKept: people }, { rows: few, notKept: old })).toBeNull()
    expect(refused({ notKept: people }, { rows: few, notKept: people })?.message).toMatch(
      / → 100; /,
    )
    expect(refused({}, { rows: few, notKept: people, organizations: 3 })?.message).toMatch(
      /see: organisations covered 60 → 3$/,
    )
  })
})
