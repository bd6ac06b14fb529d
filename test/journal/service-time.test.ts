import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ServiceClock } from '../../src/extract/service-clock.ts'
import { emptyHistory, foldRecord, serviceTime, type History } from '../../src/journal/history.ts'
import type { JournalRecord } from '../../src/journal/records.ts'
import { agreeOnTime } from '../../src/journal/service-time.ts'
import { coveredTime, newBatchHistory, type BatchHistory } from '../../src/journal/batch-history.ts'
import { takeRecord } from '../../src/journal/page-drift.ts'
import { neededWindow, type Window } from '../../src/plan/window.ts'
import { DAY, HOUR, SECOND } from '../../src/support/units.ts'
import { rounds } from '../helpers/tier.ts'
import { aQuestion } from '../plan/plan-fixture.ts'
import { RUN, aBatch, aFinish, aPage, aStart } from './journal-fixture.ts'

const NOW = Date.UTC(2028, 1, 28, 2)

// With a Date, what two of three clocks say: the nights below, and the Date headers of answers.test.ts.
describe('agreeOnTime', () => {
  it.each([
    ['without a Date and before any, our clock is all there is', null, 0, null, 0, null],
    ['without a Date the course of those before it is gone on with', null, 9 * DAY, 0, 0, [0, 9]],
    ['three clocks, three times: all of them count', 30 * DAY, -5 * DAY, 0, 0, [-5, 30]],
  ] as const)('%s', (_, date, ours, expected, at, days) => {
    const moved = (ms: number | null) => (ms === null ? null : NOW + ms)
    const time = agreeOnTime({ date: moved(date), ours: NOW + ours, expected: moved(expected) })
    expect(time.at).toBe(NOW + at)
    const { dispute } = time
    expect(dispute === null).toBe(days === null)
    if (dispute === null || days === null) return
    expect(Math.round((dispute.earliest - NOW) / DAY)).toBe(days[0])
    expect(Math.round((dispute.latest - NOW) / DAY)).toBe(days[1])
  })
})

const QUESTION = aQuestion({ initialWindow: 3, overlapHours: 0 })

/** A service with one organisation, of which something is detected every two hours, and nights that read it. */
class World {
  /** Milliseconds that pass for everybody. */
  time = NOW
  serviceAhead = 0
  oursAhead = 0
  history: History = emptyHistory()
  /** When events happened, and the service's time then. */
  readonly events: { readonly at: number; readonly stamp: number; got: boolean }[] = []
  nights = 0

  constructor() {
    this.#fold(aStart({ at: NOW }), JSON.stringify([aBatch()]))
  }

  pass(ms: number): void {
    for (let left = ms; left > 0; left -= 2 * HOUR) {
      this.time += Math.min(left, 2 * HOUR)
      this.events.push({ at: this.time, stamp: this.time + this.serviceAhead, got: false })
    }
  }

  /** @param lies how far each page's Date is wrong; as many pages as there are */
  night(lies: readonly number[]): Window {
    const { history } = this
    const name = `s${(this.nights += 1)}`
    const needed = neededWindow(
      QUESTION,
      history.coverage.get('org_1') ?? [],
      serviceTime(history, this.time + this.oursAhead),
    )
    const batch = aBatch({ batch_id: name, days_ago: needed === 'all' ? null : needed })
    history.runs.get(RUN)!.batches.set(name, newBatchHistory(batch))
    const clock = new ServiceClock({
      clock: { monotonic: () => this.time },
      logger: { warn: () => undefined },
      serverAheadMs: history.serverAheadMs,
    })
    const read: BatchHistory = newBatchHistory(batch)
    const seen = this.events.filter(({ got }) => !got)
    const isIn = (stamp: number) =>
      needed === 'all' || stamp >= this.time + this.serviceAhead - needed * DAY
    let inAll = seen
    for (const [index, lie] of lies.entries()) {
      this.time += 3 * SECOND
      inAll = inAll.filter(({ stamp }) => isIn(stamp))
      const date = new Date(this.time + this.serviceAhead + lie).toUTCString()
      const at = this.time + this.oursAhead
      const { at: server_at, dispute } = clock.read({ date }, at)
      const page = aPage(index + 1, {
        batch_id: name,
        request_id: `${name}-${index}`,
        requested_at: at,
        at,
        server_at,
        ...(dispute === null ? {} : { clocks: dispute }),
        has_more: index + 1 < lies.length,
      })
      this.#fold(page)
      takeRecord(read, page)
    }
    for (const event of inAll) event.got = true
    const covered = coveredTime(read, this.time)
    this.#fold(
      aFinish({
        batch_id: name,
        at: this.time + this.oursAhead,
        pages: lies.length,
        covered_from: covered.from,
        covered_to: covered.to,
      }),
      JSON.stringify(batch),
    )
    return needed
  }

  missed(): number {
    return this.events.filter(({ got }) => !got).length
  }

  #fold(record: JournalRecord, payload = ''): void {
    foldRecord(this.history, { record, size: 0, end: 0, payload: () => Buffer.from(payload) })
  }
}

/** What happens to clocks before a night: a step of one, or a Date that lies in all pages or in one. */
const trouble = fc.oneof(
  fc.constant({ kind: 'none' as const, ms: 0 }),
  fc.record({
    kind: fc.constantFrom('service', 'ours', 'ours-right', 'lie', 'lies'),
    ms: fc.oneof(
      fc.integer({ min: -40 * DAY, max: 40 * DAY }),
      fc.constantFrom(400 * DAY, -400 * DAY, HOUR, -HOUR, 3_650 * DAY),
    ),
  }),
)
const nights = fc.array(
  fc.record({
    passed: fc.integer({ min: 4 * HOUR, max: 6 * DAY }),
    trouble,
    pages: fc.integer({ min: 1, max: 4 }),
    liar: fc.nat(3),
  }),
  { minLength: 1, maxLength: 12 },
)

const HISTORIES = rounds('JOBTIDE_HISTORIES', 1_000, 10_000)

// Our clock was set back by 10 hours, and then a Date lies by 11: only what was remembered of the service is right.
const lieUnderASlowClock = [
  { passed: 4 * HOUR, trouble: { kind: 'ours' as const, ms: -36_003_001 }, pages: 1, liar: 0 },
  { passed: 4 * HOUR, trouble: { kind: 'lies' as const, ms: -39_603_002 }, pages: 1, liar: 0 },
  { passed: 439_197_001, trouble: { kind: 'none' as const, ms: 0 as const }, pages: 1, liar: 0 },
]

describe('nights under clocks that go wrong', () => {
  it(`miss no event: ${HISTORIES} histories of steps, jumps and lies, each night that follows on steady clocks has read all`, () => {
    fc.assert(
      fc.property(nights, (history) => {
        const world = new World()
        world.pass(DAY)
        world.night([0])
        let liedBefore = false
        // Time that comes twice at the service is known by our clock alone, which then has to stand.
        let wentBack = false
        let oursMoved = false
        for (const { passed, trouble: what, pages, liar } of history) {
          const half = Math.floor(passed / 2)
          world.pass(half)
          const isStep: boolean = !wentBack && (what.ms > 0 || !oursMoved)
          if (what.kind === 'service' && isStep) world.serviceAhead += what.ms
          if (what.kind === 'ours' && !wentBack) world.oursAhead += what.ms
          if (what.kind === 'ours-right' && !wentBack) world.oursAhead = world.serviceAhead
          wentBack ||= what.kind === 'service' && isStep && what.ms < 0
          oursMoved ||= what.kind === 'ours'
          world.pass(passed - half)
          // Nor can a lie be told that says the very time of our wrong clock.
          const isTold = Math.abs(what.ms + world.serviceAhead - world.oursAhead) > HOUR
          const isLie: boolean = ['lie', 'lies'].includes(what.kind) && isTold && !liedBefore
          const lies = Array.from({ length: pages }, (__, page) =>
            isLie && (what.kind === 'lies' || page === liar % pages) ? what.ms : 0,
          )
          world.night(lies)
          // The clock of one side cannot be known to have moved before the other side is asked: the night after it reads on.
          if (what.kind === 'none' || isLie) expect(world.missed()).toBe(0)
          liedBefore = isLie
        }
        world.pass(DAY)
        world.night([0])
        expect(world.missed()).toBe(0)
      }),
      { numRuns: HISTORIES, examples: [[lieUnderASlowClock]] },
    )
  })
})
