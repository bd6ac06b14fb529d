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

/** Events that were new on a day, by the run that received them first. */
export interface NewEvents {
  readonly day: string
  readonly pipeline: string
  readonly run_id: string
  readonly events: number
}

/** What a grouping works on. */
export interface Ledger {
  readonly history: Pick<History, 'runs' | 'spending'>
  /** Null when the warehouse cannot be read. */
  readonly newEvents: readonly NewEvents[] | null
  readonly scope: Scope
}

const GROUP_NAMES = {
  day: ({ day }: { day: string }) => day,
  month: ({ day }: { day: string }) => day.slice(0, 7),
  pipeline: ({ pipeline }: { pipeline: string }) => pipeline,
} as const

/** Spending by day or month, the newest first, or by pipeline in the order of names. */
export function spendingBy(by: keyof typeof GROUP_NAMES, ledger: Ledger): Spending[] {
  const nameOf = GROUP_NAMES[by]
  const spent = [...ledger.history.spending.values()].filter((one) => isIn(ledger.scope, one))
  const received = ledger.newEvents?.filter((one) => isIn(ledger.scope, one)) ?? null
  const names = [...new Set([...spent, ...(received ?? [])].map(nameOf))].toSorted()
  const groups = names.map((name) =>
    addedUp(
      name,
      spent.filter((one) => nameOf(one) === name),
      received?.filter((one) => nameOf(one) === name) ?? null,
    ),
  )
  return by === 'pipeline' ? groups : groups.toReversed()
}

/** All spending of the ledger's scope, as one row. */
export function totalSpending({ history, newEvents, scope }: Ledger): Spending {
  return addedUp(
    'all',
    [...history.spending.values()].filter((one) => isIn(scope, one)),
    newEvents?.filter((one) => isIn(scope, one)) ?? null,
  )
}

function addedUp(
  name: string,
  spent: readonly DaySpending[],
  received: readonly NewEvents[] | null,
): Spending {
  const charged = sum(spent.map((one) => one.charged))
  const inDoubt = sum(spent.map((one) => one.inDoubt))
  const newEvents = received && sum(received.map(({ events }) => events))
  return {
    name,
    credits: charged + inDoubt,
    charged,
    in_doubt: inDoubt,
    requests: sum(spent.map(({ requests }) => requests)),
    pages: sum(spent.map(({ pages }) => pages)),
    events: sum(spent.map(({ events }) => events)),
    new_events: newEvents,
    credits_per_new_event: pricePerNewEvent(charged + inDoubt, newEvents),
    unexpected_charges: sum(spent.map(({ unexpected }) => unexpected)),
  }
}

/** Runs in the ledger's scope, the newest first; the keys are those of JSON. */
export function spendingOfRuns({ history, newEvents, scope }: Ledger) {
  const received = new Map<string, number>()
  for (const { run_id: id, events } of newEvents ?? []) {
    received.set(id, (received.get(id) ?? 0) + events)
  }
  return runsIn(history, scope).map(({ started, finished, ...run }) => {
    const credits = run.creditsCommitted
    const fresh = newEvents === null ? null : (received.get(started.run_id) ?? 0)
    return {
      run_id: started.run_id,
      pipeline: started.pipeline,
      kind: started.command,
      started_at: isoInstant(started.at),
      outcome: finished?.outcome ?? 'unfinished',
      credits,
      requests: run.requests,
      pages: run.pages,
      events: run.events,
      new_events: fresh,
      credits_per_new_event: pricePerNewEvent(credits, fresh),
    }
  })
}

/** Runs in the scope, the newest first. */
export function runsIn({ runs }: Pick<History, 'runs'>, scope: Scope): RunHistory[] {
  return [...runs.values()]
    .filter(({ started }) => isIn(scope, { day: dayOf(started.at), pipeline: started.pipeline }))
    .toSorted((a, b) => b.started.at - a.started.at)
}

function isIn({ pipeline, since }: Scope, of: { day: string; pipeline: string }): boolean {
  return (pipeline === null || of.pipeline === pipeline) && (since === null || of.day >= since)
}

function pricePerNewEvent(credits: number, newEvents: number | null): number | null {
  return newEvents === null || newEvents === 0 ? null : credits / newEvents
}

/** What an organisation cost, as sql/reports/credits_organizations.sql returns it. */
export interface OrganizationSpending {
  readonly organization_id: string
  readonly asked_as: string
  readonly name: string | null
  readonly credits: number
  /** Pages with its events in them. */
  readonly pages: number
  readonly events: number
  readonly new_events: number
  readonly credits_per_new_event: number | null
}

/** How well the pages that were charged were used. */
export interface PageUse {
  readonly bought: number
  readonly events: number
  /** Events in them that had been received before. */
  readonly known: number
}

// Below this share a page is badly filled, judged from so many pages on.
const BADLY_FILLED = 0.5
const PAGES_TO_JUDGE = 10

/** What a payer might change, in whole sentences; none where there is nothing to say. */
export function adviceOn(
  organizations: readonly OrganizationSpending[],
  pageUse: PageUse,
  days: number,
): string[] {
  const idle = organizations.filter((one) => one.new_events === 0 && one.credits > 0)
  const idleCredits = Math.round(sum(idle.map(({ credits }) => credits)))
  const filled = pageUse.events / (pageUse.bought * PAGE_EVENTS)
  const inDays = `in ${countText(days, 'day')}`
  const advice: string[] = []
  if (idleCredits >= 1) {
    advice.push(
      `${countText(idle.length, 'organisation')} cost ${numberText(idleCredits)} credits and gave 0 new events ${inDays}: ask less often, or leave out`,
    )
  }
  if (pageUse.bought >= PAGES_TO_JUDGE && filled < BADLY_FILLED) {
    advice.push(
      `pages were ${Math.round(filled * 100)} % full ${inDays}, and cost the same at any size: fewer nights fill them better; see \`jobtide plan <pipeline> --cadence\``,
    )
  }
  return advice
}
