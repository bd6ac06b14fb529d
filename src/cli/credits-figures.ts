/**
 * What was spent, added up by day, month, pipeline, run or organisation. Pure: the ledger comes from the journal's
 * history, new events from the warehouse where it can be read.
 */

import type { History } from '../journal/history.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { PAGE_EVENTS } from '../journal/batch-history.ts'
import { dayOf, nextMonthAt, type DaySpending } from '../journal/spending.ts'
import { DAY } from '../support/units.ts'
import { countText, numberText } from './text.ts'

/** Which part of the ledger is looked at. */
export interface Scope {
  /** Null looks at all pipelines. */
  readonly pipeline: string | null
  /** The first UTC day, `2026-11-20`; null looks at all of them. */
  readonly sinceDay: string | null
}

/** Spending of one group. */
export interface Spending {
  /** The day, month or pipeline. */
  readonly name: string
  readonly requests: number
  /** Pages with events: those that cost. */
  readonly pages: number
  /** Events received, repeats included. */
  readonly events: number
  /** Charged by the service. */
  readonly charged: number
  /** Counted for requests that were sent and perhaps charged. */
  readonly inDoubt: number
  /** Pages whose charge was not the expected one. */
  readonly unexpected: number
  /** Events received for the first time; null when the warehouse cannot be read. */
  readonly newEvents: number | null
}

/** Events that were new on a day, by the pipeline of the run that received them first. */
export interface NewEvents {
  readonly day: string
  readonly pipeline: string
  readonly events: number
}

/** Spending by day, month or pipeline, in the order of their names. */
export function groupSpending(
  by: 'day' | 'month' | 'pipeline',
  history: Pick<History, 'spending'>,
  newEvents: readonly NewEvents[] | null,
  scope: Scope,
): Spending[] {
  const nameOf = ({ day, pipeline }: Pick<DaySpending, 'day' | 'pipeline'>) =>
    ({ day, month: day.slice(0, 7), pipeline })[by]
  const groups = new Map<string, Spending>()
  const add = (name: string, added: Partial<Spending>) =>
    groups.set(name, addSpending(groups.get(name) ?? noSpending(name, newEvents !== null), added))
  for (const spending of history.spending.values()) {
    if (isIn(scope, spending)) add(nameOf(spending), spending)
  }
  for (const row of newEvents ?? []) {
    if (isIn(scope, row)) add(nameOf(row), { newEvents: row.events })
  }
  return [...groups.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Spending in all. */
export function totalSpending(groups: readonly Spending[], isNewKnown: boolean): Spending {
  return groups.reduce(addSpending, noSpending('all', isNewKnown))
}

function noSpending(name: string, isNewKnown: boolean): Spending {
  const nothing = { requests: 0, pages: 0, events: 0, charged: 0, inDoubt: 0, unexpected: 0 }
  return { name, ...nothing, newEvents: isNewKnown ? 0 : null }
}

function addSpending(known: Spending, added: Partial<Spending>): Spending {
  return {
    name: known.name,
    requests: known.requests + (added.requests ?? 0),
    pages: known.pages + (added.pages ?? 0),
    events: known.events + (added.events ?? 0),
    charged: known.charged + (added.charged ?? 0),
    inDoubt: known.inDoubt + (added.inDoubt ?? 0),
    unexpected: known.unexpected + (added.unexpected ?? 0),
    newEvents: known.newEvents === null ? null : known.newEvents + (added.newEvents ?? 0),
  }
}

/** Runs in the scope, the newest first. */
export function runsIn({ runs }: Pick<History, 'runs'>, scope: Scope): RunHistory[] {
  return [...runs.values()]
    .filter(({ started }) => isIn(scope, { day: dayOf(started.at), pipeline: started.pipeline }))
    .toSorted((a, b) => b.started.at - a.started.at)
}

function isIn(
  { pipeline, sinceDay }: Scope,
  of: { readonly day: string; readonly pipeline: string },
): boolean {
  return (
    (pipeline === null || of.pipeline === pipeline) && (sinceDay === null || of.day >= sinceDay)
  )
}

/** Credits charged or in doubt for each new event; null where there is none, or nobody knows. */
export function creditsPerNewEvent(credits: number, newEvents: number | null): number | null {
  return newEvents === null || newEvents === 0 ? null : credits / newEvents
}

/** The first of the last `days` UTC days, today included. */
export function firstDayOf(days: number, nowMs: number): string {
  return dayOf(nowMs - (days - 1) * DAY)
}

/** The first day of the month after that of `nowMs`: when a monthly limit begins anew. */
export function nextMonth(nowMs: number): string {
  return dayOf(nextMonthAt(nowMs))
}

/** What an organisation cost, as the warehouse has it. */
export interface OrganizationSpending {
  readonly organization_id: string
  readonly asked_as: string
  readonly name: string | null
  /** Pages with its events in them. */
  readonly pages: number
  readonly events: number
  readonly new_events: number
  /** Its share of the charges of those pages. */
  readonly credits: number
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
  const idleCredits = Math.round(sumOfCredits(idle))
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

// Shares are fractions; less than this is left of adding them up, and no credit.
const NO_CREDIT = 0.01

/** Of a sum, what no organisation is known to have caused: in doubt, or not loaded yet. */
export function creditsOfNobody(
  total: number,
  organizations: readonly OrganizationSpending[],
): number {
  const rest = total - sumOfCredits(organizations)
  return Math.abs(rest) < NO_CREDIT ? 0 : rest
}

function sumOfCredits(organizations: readonly OrganizationSpending[]): number {
  return organizations.reduce((sum, { credits }) => sum + credits, 0)
}
