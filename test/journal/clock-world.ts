/** Nights that read a service with a detection every two hours, under clocks that a test sets. */

import { ServiceClock } from '../../src/extract/service-clock.ts'
import {
  coveredTime,
  newBatchHistory,
  takeRecord,
  type BatchHistory,
} from '../../src/journal/batch-history.ts'
import { serviceTime } from '../../src/journal/clock-history.ts'
import { emptyHistory, foldRecord, type History } from '../../src/journal/history.ts'
import type { JournalRecord } from '../../src/journal/records.ts'
import { neededWindow, type Window } from '../../src/plan/window.ts'
import { DAY, HOUR, SECOND } from '../../src/support/units.ts'
import { aQuestion } from '../plan/plan-fixture.ts'
import { RUN, aBatch, aFinish, aPage, aStart } from './journal-fixture.ts'

export const NOW = Date.UTC(2028, 1, 28, 2)

const QUESTION = aQuestion({ initialWindow: 3, overlapHours: 0 })

/**
 * How time passes: a sleeping machine stops its monotonic clock, and a frozen virtual machine stops all three clocks.
 */
export type Passing = 'awake' | 'asleep' | 'frozen'

/** A page of a night. */
export interface NightPage {
  /** How far its `Date` is from the service's clock; null without a `Date`. */
  readonly lie: number | null
  /** The time before the page. */
  readonly after?: { readonly ms: number; readonly how: Passing }
}

export class ClockWorld {
  /** Milliseconds that pass for all clocks. */
  time = NOW
  serviceAhead = 0
  oursAhead = 0
  history: History = emptyHistory()
  /** When events happened, and the service's time then. */
  readonly events: { readonly at: number; readonly stamp: number; got: boolean }[] = []
  /** The log, in order. */
  readonly log: string[] = []
  #nights = 0
  #monotonic = 0

  constructor() {
    this.#fold(aStart({ at: NOW }), JSON.stringify([aBatch()]))
  }

  pass(ms: number, how: Passing = 'awake'): void {
    if (how === 'frozen') this.oursAhead -= ms
    if (how === 'awake') this.#monotonic += ms
    for (let left = ms; left > 0; left -= 2 * HOUR) {
      this.time += Math.min(left, 2 * HOUR)
      if (left >= 2 * HOUR) this.#detect()
    }
  }

  night(pages: readonly NightPage[], days: Window | null = null): Window {
    const { history } = this
    const name = `s${(this.#nights += 1)}`
    const ours = this.time + this.oursAhead
    const known = history.coverage.get('org_1') ?? []
    const needed = days ?? neededWindow(QUESTION, known, serviceTime(history, ours))
    const batch = aBatch({ batch_id: name, days_ago: needed === 'all' ? null : needed })
    history.runs.get(RUN)!.batches.set(name, newBatchHistory(batch))
    const clock = this.#serviceClock()
    const read: BatchHistory = newBatchHistory(batch)
    let inAll: typeof this.events | null = null
    for (const [index, { lie, after }] of pages.entries()) {
      this.pass(3 * SECOND)
      // The list stays as it was at the first page: later events come above it.
      inAll ??= [...this.events]
      if (after !== undefined && index > 0) this.pass(after.ms, after.how)
      const start = needed === 'all' ? -Infinity : this.time + this.serviceAhead - needed * DAY
      inAll = inAll.filter(({ stamp }) => stamp >= start)
      const at = this.time + this.oursAhead
      const date = new Date(this.time + this.serviceAhead + (lie ?? 0)).toUTCString()
      const { at: server_at, dispute } = clock.read(lie === null ? {} : { date }, at)
      const page = aPage(index + 1, {
        batch_id: name,
        request_id: `${name}-${index}`,
        requested_at: at,
        at,
        server_at,
        ...(dispute === null ? {} : { clocks: dispute }),
        has_more: index + 1 < pages.length,
      })
      this.#fold(page)
      takeRecord(read, page)
    }
    for (const event of inAll ?? []) event.got = true
    const at = this.time + this.oursAhead
    const { from: covered_from, to: covered_to } = coveredTime(read, at)
    const events = inAll?.length ?? 0
    const finish = { batch_id: name, at, pages: pages.length, events, covered_from, covered_to }
    this.#fold(aFinish(finish), JSON.stringify(batch))
    return needed
  }

  /** Events since `from` that were not read. */
  missed(from = NOW): number {
    return this.events.filter(({ at, got }) => !got && at >= from).length
  }

  /** Events since `from` that were not read but are in the coverage. */
  claimed(from = NOW): number {
    const covered = this.history.coverage.get('org_1') ?? []
    return this.events.filter(
      ({ at, stamp, got }) =>
        !got && at >= from && covered.some((one) => stamp >= (one.from ?? 0) && stamp <= one.to),
    ).length
  }

  #serviceClock(): ServiceClock {
    const { serverAheadMs, reached } = this.history
    return new ServiceClock({
      clock: {
        now: () => this.time,
        monotonic: () => this.#monotonic,
      },
      logger: { warn: (_: unknown, message?: string) => void this.log.push(message ?? '') },
      clocksBefore: { serverAheadMs, reached },
    })
  }

  #detect(): void {
    this.events.push({ at: this.time, stamp: this.time + this.serviceAhead, got: false })
  }

  #fold(record: JournalRecord, payload = ''): void {
    foldRecord(this.history, { record, size: 0, end: 0, payload: () => Buffer.from(payload) })
  }
}
