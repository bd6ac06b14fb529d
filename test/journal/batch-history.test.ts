import { describe, expect, it } from 'vitest'
import {
  coveredTime,
  isStale,
  newBatchHistory,
  cutMarks,
  decodeMarks,
  encodeMarks,
  takeRecord,
  type BatchHistory,
  type MarkedEvent,
} from '../../src/journal/batch-history.ts'
import { emptyHistory, foldRecord } from '../../src/journal/history.ts'
import type { JournalRecord, PageReceived } from '../../src/journal/records.ts'
import { DAY, HOUR, SECOND } from '../../src/support/units.ts'
import { RUN, aBatch as aBatchRecord, aFinish, aPage, aStart } from './journal-fixture.ts'

const NOW = Date.UTC(2026, 10, 20)
const WINDOW = 30 * DAY

const aBatch = () => newBatchHistory(aBatchRecord({ days_ago: 30 }))

/** 50 events from number `from` on; the first ones as given. */
function marks(from: number, first: readonly MarkedEvent[] = []): string {
  const others = Array.from({ length: 50 - first.length }, (_, i) => ({
    identity: String(from + i),
    detectedAt: NOW - 5 * DAY,
  }))
  return encodeMarks([...first, ...others])
}

/** Page `page` of the original list, read this many seconds after NOW. */
function read(
  batch: BatchHistory,
  page: number,
  seconds = 0,
  fields: Partial<PageReceived> & { first?: readonly MarkedEvent[] } = {},
): void {
  const { first = [], ...others } = fields
  const keys = marks(page * 50, first)
  takeRecord(batch, aPage(page, { server_at: NOW + seconds * SECOND, keys, ...others }))
}

/** An event that leaves the window this many seconds after NOW. */
const leaves = (seconds: number, identity = `leaves ${seconds}`): MarkedEvent => ({
  identity,
  detectedAt: NOW + seconds * SECOND - WINDOW,
})

describe('an event that leaves the window', () => {
  it('while the clock of the service stands still is looked for twice, not forever', () => {
    const batch = aBatch()
    for (let time = 0; time < 3; time += 1) {
      read(batch, 1, 0, { first: [leaves(0.5)] })
      read(batch, 2, 0, { has_more: false })
      expect(batch.pages).toBe(time < 2 ? 0 : 2)
    }
  })

  it('later than it should does not make a page be read forever', () => {
    const batch = aBatch()
    read(batch, 1, 0, { first: [leaves(-HOUR / SECOND)] })
    read(batch, 2, 1)
    expect(batch.pages).toBe(2)
  })
})

describe('an event that appears again as corrected', () => {
  const old: MarkedEvent = { identity: 'one', detectedAt: NOW - 5 * DAY }

  it.each([
    ['a week before', [old, { ...old, detectedAt: NOW - 2 * DAY }]],
    ['with the older version below it', [{ ...old, detectedAt: NOW + SECOND }, old]],
  ])('%s: the service shows both, and nothing is read again', (_, [first, second]) => {
    const batch = aBatch()
    read(batch, 1, 0, { first: [first!] })
    read(batch, 2, 3, { first: [second!] })
    expect(batch.pages).toBe(2)
    expect(batch.drift.keepsVersions).toBe(true)
  })
})

describe('a batch that is resumed', () => {
  it('continues while it is known which events leave, and begins with page 1 after that', () => {
    const batch = aBatch()
    read(batch, 1)
    const known = NOW + 30 * DAY - 6 * HOUR
    expect([isStale(batch, known), isStale(batch, known + 1)]).toEqual([false, true])
    const later = { server_at: NOW + 30 * DAY }
    read(batch, 1, 0, later)
    read(batch, 2, 0, { ...later, has_more: false })
    expect(coveredTime(batch, 0)).toEqual({ from: NOW + SECOND, to: NOW + 30 * DAY })
  })

  it('covers up to its first page and back from its last one', () => {
    const batch = aBatch()
    read(batch, 1)
    read(batch, 2, 3_600, { has_more: false })
    expect(coveredTime(batch, 0)).toEqual({ from: NOW + HOUR + SECOND - WINDOW, to: NOW })
  })
})

describe('pages that an older version read again', () => {
  it('count in the order in which they last came', () => {
    const batch = aBatch()
    read(batch, 1, 0, { first: [leaves(10)] })
    for (const page of [2, 3]) read(batch, page)
    for (const page of [1, 2, 3]) read(batch, page, 20)
    read(batch, 4, 21, { has_more: false })
    expect(batch.pages).toBeLessThan(4)
    expect(batch.row).toBe(4)
  })

  it('do not drop later pages if one was only compared', () => {
    const batch = aBatch()
    for (const page of [1, 2]) read(batch, page)
    read(batch, 3, -HOUR / SECOND)
    for (const page of [4, 2]) read(batch, page, 1)
    expect(batch.row).toBe(4)
  })

  it('cover only if they are of one reading, where records may be lost', () => {
    const history = { ...emptyHistory(), hasGaps: true }
    const add = (record: JournalRecord, payload: unknown = '') => {
      const body = () => Buffer.from(JSON.stringify(payload))
      foldRecord(history, { record, payload: body, size: 0, end: 0 })
    }
    add(aStart(), [aBatchRecord({ days_ago: 30 })])
    const page = (number: number, seconds: number, first: readonly MarkedEvent[] = []) =>
      add(aPage(number, { server_at: NOW + seconds * SECOND, keys: marks(number * 50, first) }))
    page(1, 0, [leaves(10)])
    page(2, 0)
    // Goes back to page 1; the first pages 1 and 2 are lost.
    page(3, 20)
    page(3, 21)
    add(aFinish({ pages: 3, covered_from: NOW - WINDOW, covered_to: NOW, at: NOW }))
    expect([...history.notRead]).toEqual([`${RUN} s1`])
    expect(history.coverage.size).toBe(0)
  })
})

describe('the marks of events that are erased', () => {
  it('keep the time but no key; a second erasure counts the remaining events', () => {
    const events = ['a', 'b', 'c'].map((identity) => ({ identity, detectedAt: NOW }))
    const once = cutMarks(encodeMarks(events), [1], 3)
    const twice = decodeMarks(cutMarks(once, [1], 2))
    expect(twice.map(({ key }) => key > 0)).toEqual([true, false, false])
    expect(twice.every(({ detectedAt }) => detectedAt === NOW)).toBe(true)
    expect(cutMarks(once, [0], 3)).toBe(once)
  })
})
