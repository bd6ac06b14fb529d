/** `credits` without more: this month and its limit, what it brought, what is odd about the bill, and what could be saved. */

import { PAGE_EVENTS } from '../journal/batch-history.ts'
import { dayOf, monthOf } from '../journal/spending.ts'
import { isoInstant } from '../support/clock.ts'
import { DAY } from '../support/units.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import {
  adviceOn,
  creditsPerNewEvent,
  firstDayOf,
  groupSpending,
  nextMonth,
  runsIn,
  totalSpending,
  type NewEvents,
  type OrganizationSpending,
  type PageUse,
  type Scope,
  type Spending,
} from './credits-figures.ts'
import {
  readNewEvents,
  readOrganizationSpending,
  readPageUse,
  readUnexpectedCharges,
  type UnexpectedCharge,
} from './credits-queries.ts'
import { spendingDocument, spendingTable, type Ledger, type Shown } from './credits-table.ts'
import {
  countText,
  creditsText,
  minuteText,
  namedCompanyText,
  numberText,
  printable,
  tableText,
} from './text.ts'
import { readWarehouse, type Reading } from './warehouse-reader.ts'

/** What a summary needs besides the ledger. */
export interface SummaryOptions {
  /** Limit of the pipeline for a calendar month; null for none. */
  readonly creditsPerMonth: number | null
  /** Characters in a line. */
  readonly columns: number
}

const DAYS_SHOWN = 7
const ADVICE_DAYS = 90
const DEAREST_SHOWN = 5
const UNEXPECTED_SHOWN = 5

/** What the warehouse adds. */
interface Additions {
  readonly newEvents: readonly NewEvents[]
  /** Of the days that advice is about. */
  readonly organizations: readonly OrganizationSpending[]
  readonly pageUse: PageUse
  readonly unexpected: readonly UnexpectedCharge[]
}

interface Summary {
  readonly scope: Scope
  readonly reading: Reading<Additions>
  readonly runs: number
  /** Days with spending, the newest first. */
  readonly days: readonly Spending[]
  readonly total: Spending
  readonly month: Month
  /** Days that organisations and advice are about. */
  readonly recentDays: number
  readonly advice: readonly string[]
}

/** A calendar month (UTC) and its limit. */
interface Month {
  readonly month: string
  readonly charged: number
  readonly inDoubt: number
  readonly limit: number | null
  /** The day on which the limit begins anew. */
  readonly renewsOn: string
}

/** The summary of what was spent. */
export async function creditsSummary(ledger: Ledger, options: SummaryOptions): Promise<Shown> {
  const { history, scope, now } = ledger
  const recent: Scope = { ...scope, sinceDay: scope.sinceDay ?? firstDayOf(ADVICE_DAYS, now) }
  const reading = await readWarehouse(ledger.warehouse, (warehouse) =>
    readAdditions(warehouse, scope, recent),
  )
  const additions = reading.kind === 'read' ? reading.value : null
  const days = groupSpending('day', history, additions?.newEvents ?? null, scope).toReversed()
  const recentDays = daysSince(recent.sinceDay ?? '', now)
  const summary: Summary = {
    scope,
    reading,
    runs: runsIn(history, scope).length,
    days,
    total: totalSpending(days, additions !== null),
    month: thisMonth(ledger, options.creditsPerMonth),
    recentDays,
    advice:
      additions === null ? [] : adviceOn(additions.organizations, additions.pageUse, recentDays),
  }
  return { text: summaryText(summary, options.columns), document: summaryDocument(summary) }
}

async function readAdditions(
  warehouse: Warehouse,
  scope: Scope,
  recent: Scope,
): Promise<Additions> {
  return {
    newEvents: await readNewEvents(warehouse),
    organizations: await readOrganizationSpending(warehouse, recent),
    pageUse: await readPageUse(warehouse, recent),
    unexpected: await readUnexpectedCharges(warehouse, scope),
  }
}

function daysSince(day: string, now: number): number {
  return Math.round((Date.parse(dayOf(now)) - Date.parse(day)) / DAY) + 1
}

function thisMonth({ history, scope, now }: Ledger, limit: number | null): Month {
  const month = monthOf(now)
  const wholeMonth = { pipeline: scope.pipeline, sinceDay: `${month}-01` }
  const { charged, inDoubt } = totalSpending(
    groupSpending('month', history, null, wholeMonth),
    false,
  )
  return { month, charged, inDoubt, limit, renewsOn: nextMonth(now) }
}

function summaryDocument(summary: Summary): Record<string, unknown> {
  const { scope, reading, month } = summary
  const additions = reading.kind === 'read' ? reading.value : null
  return {
    pipeline: scope.pipeline,
    since: scope.sinceDay,
    runs: summary.runs,
    total: spendingDocument(summary.total),
    this_month: {
      month: month.month,
      charged: month.charged,
      in_doubt: month.inDoubt,
      limit: month.limit,
      left: month.limit === null ? null : month.limit - month.charged - month.inDoubt,
      renews_on: month.renewsOn,
    },
    days: summary.days.slice(0, DAYS_SHOWN).map(spendingDocument),
    recent: additions && {
      days: summary.recentDays,
      pages_bought: additions.pageUse.bought,
      events: additions.pageUse.events,
      events_known_before: additions.pageUse.known,
      organizations: additions.organizations.length,
    },
    unexpected_charges:
      additions &&
      additions.unexpected.map((charge) => ({
        ...charge,
        requested_at: isoInstant(charge.requested_at.getTime()),
      })),
    advice: summary.advice,
    warehouse: reading.kind === 'read' ? null : { unavailable: reading.why },
  }
}

function summaryText(summary: Summary, columns: number): string {
  const { reading, total, days, advice } = summary
  const additions = reading.kind === 'read' ? reading.value : null
  return [
    ...totalLines(summary),
    monthLine(summary.month),
    ...newEventsLines(total, additions?.pageUse ?? null, summary.recentDays),
    ...unexpectedLines(total, additions?.unexpected ?? []),
    ...(reading.kind === 'read' ? [] : [line('new events', `unknown: ${reading.why}`)]),
    '',
    spendingTable('day (UTC)', days.slice(0, DAYS_SHOWN), columns),
    ...dearestLines(additions?.organizations ?? [], summary.recentDays, columns),
    '',
    ...advice.map((sentence) => `→ ${sentence}`),
    'more: jobtide credits --by day, month, pipeline, run or organization',
  ].join('\n')
}

const LABEL = 13

function line(label: string, text: string): string {
  return `${label.padEnd(LABEL)}${text}`
}

function totalLines({ scope, total, runs, days }: Summary): string[] {
  const since = days.at(-1)?.name ?? 'never'
  const of = scope.pipeline === null ? '' : ` of ${scope.pipeline}`
  return [
    line(
      'charged',
      `${creditsText(total.charged)} credits in ${countText(runs, 'run')}${of} since ${since}`,
    ),
    ...(total.inDoubt === 0
      ? []
      : [
          line(
            'in doubt',
            `${creditsText(total.inDoubt)} credits: sent, no whole answer, perhaps billed`,
          ),
        ]),
  ]
}

function monthLine({ month, charged, inDoubt, limit, renewsOn }: Month): string {
  const spent = charged + inDoubt
  if (limit === null) return line('this month', `${creditsText(spent)} credits in ${month}`)
  const share = Math.round((spent / limit) * 100)
  return line(
    'this month',
    `${creditsText(spent)} of ${numberText(limit)} credits (${share} %) in ${month}; begins anew on ${renewsOn}`,
  )
}

function newEventsLines(total: Spending, use: PageUse | null, days: number): string[] {
  const { newEvents } = total
  if (newEvents === null) return []
  const each = creditsPerNewEvent(total.charged + total.inDoubt, newEvents)
  const lines = [
    line(
      'new events',
      each === null ? 'none' : `${numberText(newEvents)} at ${each.toFixed(2)} credits each`,
    ),
  ]
  if (use === null || use.bought === 0) return lines
  const perPage = (events: number) => (events / use.bought).toFixed(1)
  return [
    ...lines,
    line(
      'a page held',
      `${perPage(use.events)} of ${PAGE_EVENTS} events, ${perPage(use.known)} of them known before (${countText(days, 'day')})`,
    ),
  ]
}

function unexpectedLines(total: Spending, charges: readonly UnexpectedCharge[]): string[] {
  if (total.unexpected === 0) return []
  return [
    line('unexpected', `${countText(total.unexpected, 'page')} not charged 10, or 0 when empty:`),
    ...charges
      .slice(0, UNEXPECTED_SHOWN)
      .map((charge) =>
        line(
          '',
          `${minuteText(charge.requested_at.getTime())} ${charge.pipeline} ${charge.batch_id} page ${charge.page}: ${countText(charge.events, 'event')}, ${chargeText(charge)}`,
        ),
      ),
  ]
}

function dearestLines(
  organizations: readonly OrganizationSpending[],
  days: number,
  columns: number,
): string[] {
  if (organizations.length === 0) return []
  // Without a new event the price has no bound; a number keeps such organisations comparable.
  const price = (one: OrganizationSpending) =>
    creditsPerNewEvent(one.credits, one.new_events) ?? Number.MAX_VALUE
  const dearest = organizations
    .filter(({ credits }) => credits >= 1)
    .toSorted((a, b) => price(b) - price(a) || b.credits - a.credits)
    .slice(0, DEAREST_SHOWN)
  return [
    '',
    tableText(
      [`dearest in ${countText(days, 'day')}`, 'credits', 'events', 'new', 'per new'],
      dearest.map((one) => [
        namedCompanyText(one.asked_as, one.name),
        creditsText(one.credits),
        numberText(one.events),
        numberText(one.new_events),
        creditsPerNewEvent(one.credits, one.new_events)?.toFixed(2) ?? '-',
      ]),
      { width: columns, numeric: [false, true, true, true, true] },
    ),
  ]
}

function chargeText({ credits_used: counted, credits_sent: sent }: UnexpectedCharge): string {
  const credits = `${creditsText(counted)} credits`
  return sent === null ? credits : `${printable(sent)} sent, counted as ${credits}`
}
