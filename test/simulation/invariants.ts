/** Invariants after every attempt of a simulation, and more after a quiet one. */

import { expect } from 'vitest'
import { canonicalName, payloadOf } from '../../src/journal/history.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import {
  EVENT_TYPES,
  type BatchFinished,
  type BatchRecord,
  type PageReceived,
} from '../../src/journal/records.ts'
import { monthlyCredits } from '../../src/journal/spending.ts'
import { coverageOf } from '../../src/plan/window.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { EXIT } from '../../src/support/errors.ts'
import { sum } from '../../src/support/numbers.ts'
import { MINUTE, SECOND } from '../../src/support/units.ts'
import type { Ended, Simulation } from './simulation.ts'
import { organizationOf, type Attempt, type Version } from './world.ts'

/** The content of the journal. */
export interface Held {
  readonly pages: readonly { readonly record: PageReceived; readonly nth: number }[]
  readonly finished: readonly { readonly record: BatchFinished; readonly batch: BatchRecord }[]
  /** Numbers of the versions in its pages. */
  readonly bought: ReadonlySet<number>
  /** Events in its pages that do not fit, repeats included. */
  readonly odd: number
  readonly sent: number
}

/** Reads the journal as it is. */
export function heldBy({ journal }: Simulation): Held {
  const pages: { record: PageReceived; nth: number }[] = []
  const finished: { record: BatchFinished; batch: BatchRecord }[] = []
  const bought = new Set<number>()
  let [sent, odd] = [0, 0]
  for (const segment of journal.segments()) {
    for (const frame of journal.read(segment)) {
      const { record } = frame
      if (record.kind === 'request_sent') sent += 1
      if (record.kind === 'batch_finished') finished.push({ record, batch: payloadOf(frame) })
      if (record.kind !== 'page_received') continue
      const body = JSON.parse(frame.payload().toString()) as {
        message: string
        data: JobChangeEvent[]
      }
      pages.push({ record, nth: Number(body.message) })
      for (const { person, detection_lag_days: days } of body.data) {
        bought.add(Number(person.handle))
        if (!Number.isInteger(days)) odd += 1
      }
    }
  }
  return { pages, finished, bought, odd, sent }
}

/** Checks after each attempt, with what it needs to know of earlier ones. */
export class Invariants {
  readonly #simulation: Simulation
  /** Pages that are certainly on the disk. */
  #durable: ReadonlySet<number> = new Set()
  #isPowerLost = false
  /** The most requests that can have been in flight when a process died. */
  #underWay = 0

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  /** After an attempt, however it ended. @param sentBefore requests before it */
  check({ job }: Attempt, ended: Ended, sentBefore: number): Held {
    const { service } = this.#simulation
    const own = service.account.slice(sentBefore)
    this.#expectKnownEnd(ended)
    if (ended.struck === 'power' || ended.struck === 'eio') this.#isPowerLost = true
    if (ended.struck !== null && ended.struck !== 'stop') {
      this.#underWay += job.concurrency
      service.forgetOrders(SECOND)
    }
    const held = heldBy(this.#simulation)
    this.#checkLedger(held, job)
    if (job.creditsLimit !== null) {
      const charged = sum(own.map((one) => one.charged))
      expect(charged, 'over the budget').toBeLessThanOrEqual(job.creditsLimit)
    }
    expect(missedBy(this.#simulation, held), 'covered, but not there').toEqual([])
    const kept = held.pages.filter(({ nth, record }) => nth > sentBefore && record.events > 0)
    expect(kept.length, 'pages said to be bought are lost').toBeGreaterThanOrEqual(ended.pages)
    const numbers = new Set(held.pages.map(({ nth }) => nth))
    expect(
      [...this.#durable].filter((nth) => !numbers.has(nth)),
      'durable pages are lost',
    ).toEqual([])
    if (ended.struck === null || ended.struck === 'stop') this.#durable = numbers
    const early = service.account.filter(({ sentAt }) =>
      service.orders.some(({ told, until }) => told < sentAt && sentAt < until),
    )
    expect(early, 'sent before the time that the service named').toEqual([])
    return held
  }

  // Every fault is reported with its exit code; an outage may come first.
  #expectKnownEnd({ error, struck }: Ended): void {
    if (error === null || struck === 'kill' || struck === 'power') return
    const { exitCode } = error as { exitCode?: number }
    const expected = {
      none: EXIT.unavailable,
      full: EXIT.storage,
      eio: EXIT.storage,
      stop: EXIT.terminated,
    }
    if (exitCode !== expected[struck ?? 'none'] && exitCode !== EXIT.unavailable) throw error
  }

  #checkLedger({ pages, sent }: Held, job: Attempt['job']): void {
    const { service, journal } = this.#simulation
    const { account } = service
    const history = readHistory(journal)
    const bill = service.charged()
    const ledger = sum([...history.runs.values()].map(({ creditsCommitted }) => creditsCommitted))
    const charged = sum(pages.map(({ record }) => record.credits_used))
    // The record of a sent request is durable only with the next sync: a power cut may lose it.
    const lost = account.length - sent
    expect(lost).toBeLessThanOrEqual(this.#isPowerLost ? this.#underWay : 0)
    expect(ledger + 10 * lost, 'ledger below the bill').toBeGreaterThanOrEqual(bill)
    const known = new Set(pages.map(({ nth }) => nth))
    expect(known.size, 'a page is there twice').toBe(pages.length)
    expect(charged, 'other charges').toBe(
      sum([...known].map((nth) => account[nth - 1]?.charged ?? NaN)),
    )
    const inDoubt = sum([...history.spending.values()].map((day) => day.inDoubt))
    expect(ledger, 'the bill but for doubts').toBe(charged + inDoubt)
    // Paid answers that are not in the journal: at most those in flight when a process died.
    const dropped = account.filter(
      ({ status, charged: credits }, place) =>
        status === 200 && credits > 0 && !known.has(place + 1),
    )
    const cut = this.#simulation.counts.get('fault: half a body') ?? 0
    expect(dropped.length, 'paid pages are lost').toBeLessThanOrEqual(this.#underWay + cut)
    if (job.creditsPerMonth === null) return
    for (const [month, credits] of monthlyCredits(history.spending, job.pipeline)) {
      expect(credits, `over the budget of ${month}`).toBeLessThanOrEqual(
        job.creditsPerMonth + 10 * lost,
      )
    }
  }
}

/** Versions that a finished batch claims to cover, that were always in the list, and that are on no page. */
function missedBy({ plan }: Simulation, { finished, bought }: Held): Version[] {
  return finished.flatMap(({ record, batch }) => {
    const asked = new Set(batch.organizations.map(({ value }) => organizationOf(value)))
    const { covered_from: from, covered_to: to, at } = record
    return plan.versions.filter(
      (one) =>
        asked.has(one.organization) &&
        batch.event_types.includes(one.type) &&
        one.detectedAt >= (from ?? 0) &&
        one.detectedAt <= to &&
        one.visibleAt <= to &&
        one.goneAt > at + Math.max(0, plan.aheadMs) &&
        !bought.has(one.number),
    )
  })
}

/** After a quiet night: exactly what the service shows, back to the start of each organisation's coverage. */
export function expectTruth(simulation: Simulation, { bought }: Held, beganAt: number): Version[] {
  const { plan, journal } = simulation
  const history = readHistory(journal)
  const truth: Version[] = []
  for (const organization of plan.organizations) {
    const number = organizationOf(organization.value)
    if (number < 0) continue
    const covered = history.coverage.get(canonicalName(history.ids, organization)) ?? []
    const own = plan.versions.filter((one) => one.organization === number)
    for (const type of EVENT_TYPES) {
      const intervals = coverageOf(type, covered)
      expect(intervals, `gaps of ${organization.value} ${type}`).toHaveLength(1)
      const [{ from, to } = { from: 0, to: 0 }] = intervals
      expect(to).toBeGreaterThanOrEqual(Math.min(beganAt, beganAt - plan.aheadMs) - 5 * MINUTE)
      truth.push(
        ...own.filter(
          (one) =>
            one.type === type &&
            one.goneAt === Infinity &&
            one.visibleAt <= beganAt &&
            one.detectedAt >= (from ?? 0),
        ),
      )
    }
  }
  expect(
    truth.filter(({ number }) => !bought.has(number)),
    'missing',
  ).toEqual([])
  return truth
}
