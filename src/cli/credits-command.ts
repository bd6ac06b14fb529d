/**
 * `credits`: shows the credits spent, on what, and what they bought, from the queries sql/reports/credits_*.sql on the
 * ledger.
 */

import { existsSync } from 'node:fs'
import { PAGE_EVENTS } from '../journal/batch-history.ts'
import { openJournal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import { dayOf, monthOf, monthlyCredits, nextMonthAt } from '../journal/spending.ts'
import { load } from '../load/load.ts'
import { readJob } from '../run/job.ts'
import { countText, counted, creditsText, numberText, sum } from '../support/numbers.ts'
import { companyText } from '../support/text.ts'
import { DAY } from '../support/units.ts'
import { queryReport } from '../warehouse/query-report.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import type { Bill, OrganizationBill, ThisMonth } from './documents.ts'
import { refuseEmpty, whileReading } from './reading.ts'
import { facts, table, type Cell, type Column, type Report } from './report.ts'

/** The cost of a day, month, pipeline, run or organisation: sql/reports/credits_by.sql, credits_organizations.sql. */
type Row = Omit<OrganizationBill, 'organization_id' | 'asked_as'> & {
  readonly asked_as?: string
  readonly pipeline?: string
}

const RECENT_DAYS = 90
const DAYS_SHOWN = 7
const ROWS_SHOWN = 20
const FEW_SHOWN = 5
// A service with other prices charges differently for every page.
const MOST_UNEXPECTED = 1_000

export async function creditsCommand(
  context: Context,
  pipeline: string | undefined,
  { by, days, all = false }: OptionsOf<'credits'>,
): Promise<Report> {
  const { directory, clock } = context
  const job = pipeline === undefined ? null : await readJob(pipeline, {}, directory.root)
  const name = job?.pipeline ?? null
  const journal = openJournal(directory.journal, clock)
  await refuseEmpty(journal, directory)
  const history = readHistory(journal)
  const months = monthlyCredits(history.spending, name)
  const firstDay = (count: number) => dayOf(clock.now() - (count - 1) * DAY)
  const since = days === undefined ? null : firstDay(days)
  const recentDays = days ?? RECENT_DAYS
  const scope = { pipeline: name, since, by: by ?? 'day' }
  const recently = by === undefined ? firstDay(recentDays) : since
  const read = (warehouse: Warehouse) => readBills(warehouse, scope, recently)
  // `extract` loads nothing.
  const found = await (existsSync(directory.warehouse)
    ? whileReading(context, read)
    : withWarehouse({ path: ':memory:', mode: 'write' }, async (warehouse) => {
        await load({ warehouse, journal, history })
        return read(warehouse)
      }))
  const month = monthOf(clock.now())
  const thisMonth = {
    month,
    credits: months.get(month) ?? 0,
    limit: job?.creditsPerMonth ?? null,
    renews_on: dayOf(nextMonthAt(clock.now())),
  }
  const { total, rows } = found
  // A warehouse that is behind the journal has fewer charges, as has one rebuilt after an accepted loss.
  const unloaded = days === undefined ? sum([...months.values()]) - total.credits : 0
  const shown = all ? Number.POSITIVE_INFINITY : ROWS_SHOWN
  const { notes = [], ...report } =
    by === undefined
      ? summary(found, thisMonth, recentDays)
      : { sections: [table('rows', rows, [...NAMES[by], ...FIGURES], { shown, total })] }
  const behind = `without ${creditsText(unloaded)} credits in the journal that are not loaded yet: jobtide load`
  return {
    ...report,
    notes: [...(unloaded > 0 ? [behind] : []), ...notes],
    values: {
      data_dir: directory.root,
      pipeline: name,
      since,
      total,
      this_month: thisMonth,
      unloaded,
    },
  }
}

/** @param recently the first day for organisations */
async function readBills(warehouse: Warehouse, scope: { by: string }, recently: string | null) {
  const read = <Of extends object>(query: string, choices: object = {}) =>
    queryReport<Of>(warehouse, query, { ...scope, ...choices })
  const organizations = await read<Row>('credits_organizations', { since: recently })
  const [total, ...bills] = (await read('credits_by')) as [Bill, ...Bill[]]
  const rows: readonly Row[] = scope.by === 'organization' ? organizations : bills
  const most = { limit: MOST_UNEXPECTED }
  const unexpected = await read<Record<string, Cell>>('credits_unexpected', most)
  return { total, rows, organizations, unexpected }
}

type Found = Awaited<ReturnType<typeof readBills>>

const NAMES = {
  day: [['day (UTC)', 'name']],
  month: [['month (UTC)', 'name']],
  pipeline: [['pipeline', 'name']],
  run: [
    ['run', 'name', 'id'],
    ['pipeline', 'pipeline'],
  ],
  organization: [['organisation', companyOf]],
} satisfies Readonly<Record<string, readonly Column<Row>[]>>
const FIGURES: readonly Column<Row>[] = [
  ['credits', 'credits', 'credits'],
  ['pages', 'pages', 'number'],
  ['events', 'events', 'number'],
  ['new', 'new_events', 'number'],
  ['per new', 'credits_per_new_event', 'price'],
]

function companyOf({ asked_as: askedAs, name }: Row): string | null {
  if (askedAs === undefined) return name
  return name === null ? companyText(askedAs) : `${name} (${companyText(askedAs)})`
}

function summary(found: Found, month: ThisMonth, days: number): Report {
  const { total, rows, organizations, unexpected } = found
  const { credits, in_doubt: inDoubt, new_events: newEvents } = total
  const { change_pages: pages, change_events: events } = total
  const price = total.credits_per_new_event?.toFixed(2)
  const perPage = (count: number) => (Math.max(0, count) / pages).toFixed(1)
  const known = organizations.filter((one) => one.name !== null)
  const idle = known.filter((one) => one.new_events === 0)
  const idleCredits = Math.round(sum(idle.map((one) => one.credits)))
  const recently = `in ${countText(days, 'day')}`
  // The price per new event is unbounded without new events; a number keeps such organisations comparable.
  const priceOf = (one: Row) => one.credits_per_new_event ?? Number.MAX_VALUE
  const mostExpensive = known
    .filter((one) => one.credits >= 1)
    .toSorted((a, b) => priceOf(b) - priceOf(a) || b.credits - a.credits)
  return {
    sections: [
      facts({
        charged: `${creditsText(credits - inDoubt)} credits since ${rows.at(-1)?.name ?? 'never'}`,
        'in doubt':
          inDoubt > 0 &&
          `${creditsText(inDoubt)} credits: sent, no complete answer, perhaps billed`,
        'this month': monthText(month),
        'new events': price ? `${numberText(newEvents)} at ${price} credits each` : 'none',
        'a page held':
          pages > 0 &&
          `${perPage(events)} of ${PAGE_EVENTS} events, ${perPage(events - newEvents - total.rejects)} of them known before`,
        unexpected: counted(total.unexpected_charges, 'page', 'not charged by the price list'),
        'nothing new':
          idleCredits > 0 &&
          `${countText(idle.length, 'organisation')} cost ${numberText(idleCredits)} credits and gave 0 new events ${recently}: ask less often, or leave out`,
      }),
      table('unexpected_charges', unexpected, UNEXPECTED, {
        shown: FEW_SHOWN,
        more: 'the newest 1,000 with --json',
      }),
      table('days', rows, [...NAMES.day, ...FIGURES], {
        shown: DAYS_SHOWN,
        more: 'all with --by day --all',
      }),
      table<Row>(null, mostExpensive.slice(0, FEW_SHOWN), [
        [`most expensive ${recently}`, companyOf],
        ...FIGURES.filter(([head]) => head !== 'pages'),
      ]),
    ],
    notes: ['', 'more: jobtide credits --by day, month, pipeline, run or organization'],
  }
}

const UNEXPECTED: readonly Column<Record<string, Cell>>[] = [
  ['unexpected (UTC)', 'requested_at', 'instant'],
  ['pipeline', 'pipeline'],
  ['batch', 'batch_id'],
  ['page', 'page', 'number'],
  ['events', 'events', 'number'],
  ['credits', 'credits_used', 'credits'],
  ['sent', 'credits_sent'],
]

function monthText({ month, credits, limit, renews_on: day }: ThisMonth): string {
  if (limit === null) return `${creditsText(credits)} credits in ${month}`
  const share = Math.round((credits / limit) * 100)
  return `${creditsText(credits)} of ${numberText(limit)} credits (${share} %) in ${month}; starts again on ${day}`
}
