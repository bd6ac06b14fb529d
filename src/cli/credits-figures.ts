/**
 * What was spent, added up by day, month, pipeline or run. The ledger comes from the journal, so that it is right also while
 * the warehouse is locked or behind; which events were new comes from the warehouse. Pure.
 */

import { PAGE_EVENTS } from '../journal/batch-history.ts'
import type { History } from '../journal/history.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { dayOf, type DaySpending } from '../journal/spending.ts'
import { isoInstant } from '../support/clock.ts'
import { sum } from '../support/numbers.ts'
import { countText, numberText } from './text.ts'

/** Which part of the ledger is looked at. */
export interface Scope {
  /** Null for all pipelines. */
  readonly pipeline: string | null
  /** The first UTC day, `2026-11-20`; null for all days. */
  readonly since: string | null
}

/** Events that were new on a day, by the run that received them first: sql/reports/credits_new_events.sql. */
export interface NewEvents {
  readonly day: string
  readonly pipeline: string
  readonly run_id: string
  readonly events: number
}

/** The ledger of a scope. */
export interface Ledger {
  readonly days: readonly DaySpending[]
  /** The newest first. */
  readonly runs: readonly RunHistory[]
  /** Null when the warehouse cannot be read. */
  readonly newEvents: readonly NewEvents[] | null
}

/** Spending of a group, or of all; the keys are those of JSON. */
export interface Spending {
  /** The day, month or pipeline. */
  readonly name: string
  /** Charged or in doubt. */
  readonly credits: number
  readonly charged: number
  /** Counted for requests that were sent and perhaps charged. */
  readonly in_doubt: number
  readonly requests: number
  /** Pages with events: those that cost. */
  readonly pages: number
  /** Events received, repeats included. */
  readonly events: number
  /** Events received for the first time; null when the warehouse cannot be read. */
  readonly new_events: number | null
  readonly credits_per_new_event: number | null
  /** Pages whose charge was not the expected one. */
  readonly unexpected_charges: number
}

type Place = Pick<NewEvents, 'day' | 'pipeline'>

/** The ledger of a part of the history. */
export function ledgerOf(
  { runs, spending }: Pick<History, 'runs' | 'spending'>,
  newEvents: readonly NewEvents[] | null,
  { pipeline, since }: Scope,
): Ledger {
  const isIn = (of: Place) =>
    (pipeline === null || of.pipeline === pipeline) && (since === null || of.day >= since)
  return {
    days: [...spending.values()].filter(isIn),
    runs: [...runs.values()]
      .filter(({ started }) => isIn({ day: dayOf(started.at), pipeline: started.pipeline }))
      .toSorted((a, b) => b.started.at - a.started.at),
    newEvents: newEvents?.filter(isIn) ?? null,
  }
}

/** What an organisation cost: sql/reports/credits_organizations.sql. */
export interface OrganizationSpending {
  /** Null for what no organisation is known to have caused. */
  readonly organization_id: string | null
  readonly asked_as: string
  readonly name: string | null
  readonly credits: number
  readonly new_events: number
  readonly credits_per_new_event: number | null
}

/** How well the pages that were charged were used: sql/reports/credits_page_use.sql. */
export interface PageUse {
  readonly pages_bought: number
  readonly events: number
  readonly events_known_before: number
}

/** All spending of a ledger as one row, or that of what `isIn` chooses. */
export function spendingOf(
  { days, newEvents }: Ledger,
  name = 'all',
  isIn: (of: Place) => boolean = () => true,
): Spending {
  const chosen = days.filter(isIn)
  const total = (of: (day: DaySpending) => number) => sum(chosen.map(of))
  const charged = total((day) => day.charged)
  const inDoubt = total((day) => day.inDoubt)
  const fresh = newEvents && sum(newEvents.filter(isIn).map(({ events }) => events))
  return {
    name,
    credits: charged + inDoubt,
    charged,
    in_doubt: inDoubt,
    requests: total(({ requests }) => requests),
    pages: total(({ pages }) => pages),
    events: total(({ events }) => events),
    new_events: fresh,
    credits_per_new_event: pricePerNewEvent(charged + inDoubt, fresh),
    unexpected_charges: total(({ unexpected }) => unexpected),
  }
}

/** Spending by the name of each day's group, in the order of names. */
export function spendingBy(nameOf: (of: Place) => string, ledger: Ledger): Spending[] {
  const names = new Set([...ledger.days, ...(ledger.newEvents ?? [])].map(nameOf))
  return [...names].toSorted().map((name) => spendingOf(ledger, name, (of) => nameOf(of) === name))
}

export type RunSpending = ReturnType<typeof spendingOfRuns>[number]

/** Spending of each run, the newest first; the keys are those of JSON. */
export function spendingOfRuns({ runs, newEvents }: Ledger) {
  return runs.map(({ started, finished, creditsCommitted: credits, requests, pages, events }) => {
    const received = newEvents?.filter(({ run_id: id }) => id === started.run_id) ?? null
    const fresh = received && sum(received.map((one) => one.events))
    return {
      run_id: started.run_id,
      pipeline: started.pipeline,
      kind: started.command,
      started_at: isoInstant(started.at),
      outcome: finished?.outcome ?? 'unfinished',
      credits,
      requests,
      pages,
      events,
      new_events: fresh,
      credits_per_new_event: pricePerNewEvent(credits, fresh),
    }
  })
}

function pricePerNewEvent(credits: number, newEvents: number | null): number | null {
  return newEvents === null || newEvents === 0 ? null : credits / newEvents
}

// Below this share a page is badly filled, judged from so many pages on.
const BADLY_FILLED = 0.5
const PAGES_TO_JUDGE = 10

/** What a payer might change, in whole sentences; none where there is nothing to say. */
export function adviceOn(
  organizations: readonly Pick<OrganizationSpending, 'credits' | 'new_events'>[],
  { pages_bought: bought, events }: Pick<PageUse, 'pages_bought' | 'events'>,
  inDays: string,
): string[] {
  const idle = organizations.filter((one) => one.new_events === 0 && one.credits > 0)
  const idleCredits = Math.round(sum(idle.map(({ credits }) => credits)))
  const filled = events / (bought * PAGE_EVENTS)
  return [
    ...(idleCredits < 1
      ? []
      : [
          `${countText(idle.length, 'organisation')} cost ${numberText(idleCredits)} credits and gave 0 new events ${inDays}: ask less often, or leave out`,
        ]),
    ...(bought < PAGES_TO_JUDGE || filled >= BADLY_FILLED
      ? []
      : [
          `pages were ${Math.round(filled * 100)} % full ${inDays}, and cost the same at any size: asking less often fills them better`,
        ]),
  ]
}
