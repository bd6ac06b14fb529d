/**
 * `credits`: what was spent, on what, and what it brought. Without `--by` a summary with the month's limit and advice. Sums
 * come from the journal (credits-figures.ts); what was new, and the share of each organisation, from sql/reports/credits_*.sql.
 */

import { PAGE_EVENTS } from '../journal/batch-history.ts'
import { CREDITS_PER_PAGE, dayOf, monthOf, nextMonthAt } from '../journal/spending.ts'
import { readJob } from '../run/job.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import {
  adviceOn,
  ledgerOf,
  spendingBy,
  spendingOf,
  spendingOfRuns,
  type Ledger,
  type NewEvents,
  type OrganizationSpending,
  type PageUse,
  type RunSpending,
  type Scope,
  type Spending,
} from './credits-figures.ts'
import type { CreditGroup } from './options.ts'
import { historyShown } from './refuse-empty.ts'
import { queryReport } from './report-query.ts'
import { table, type Cell, type Column, type Report } from './report.ts'
import { companyText, countText, creditsText, numberText } from './text.ts'
import { readWarehouse } from './warehouse-reader.ts'

/** Options of `credits`. */
export interface CreditsOptions {
  /** Absent shows the summary. */
  readonly by?: CreditGroup
  /** Only the last so many UTC days, today included. */
  readonly days?: number
  /** Shows every row instead of the first ones. */
  readonly all?: boolean
}

// Organisations and advice of the summary are about recent days.
const RECENT_DAYS = 90
const DAYS_SHOWN = 7
const ROWS_SHOWN = 20
const MOST_EXPENSIVE_SHOWN = 5
const UNEXPECTED_SHOWN = 5

/** Shows what was spent, by one pipeline or by all. */
export async function creditsCommand(
  context: Context,
  pipeline: string | undefined,
  { by, days, all = false }: CreditsOptions,
): Promise<ExitCode> {
  const { directory, clock, output } = context
  const job = pipeline === undefined ? null : await readJob(pipeline, {}, directory.root)
  const history = historyShown(context)
  const now = clock.now()
  const firstDayOf = (count: number) => dayOf(now - (count - 1) * DAY)
  const scope: Scope = {
    pipeline: job?.pipeline ?? null,
    since: days === undefined ? null : firstDayOf(days),
  }
  const recentDays = days ?? RECENT_DAYS
  const recent = by === undefined ? { ...scope, since: firstDayOf(recentDays) } : scope
  const { value: additions, why } = await readWarehouse(directory.warehouse, (warehouse) =>
    readAdditions(warehouse, scope, recent),
  )
  const ledger = ledgerOf(history, additions?.newEvents ?? null, scope)
  const found: Found = { ledger, additions, why, recentDays }
  const ofMonth = ledgerOf(history, null, { ...scope, since: `${monthOf(now)}-01` })
  const thisMonth = monthValues(spendingOf(ofMonth), now, job?.creditsPerMonth ?? null)
  const { values, ...report } =
    by === undefined ? summary(found, thisMonth, scope.pipeline) : breakdown(by, all, found)
  output.report({
    ...report,
    values: {
      data_dir: directory.root,
      ...scope,
      ...values,
      warehouse: why === null ? null : { unavailable: why },
    },
  })
  return EXIT.done
}

/** What the warehouse adds. */
interface Additions {
  readonly newEvents: readonly NewEvents[]
  /** The most expensive first. */
  readonly organizations: readonly OrganizationSpending[]
  readonly pageUse: PageUse
  /** Pages whose charge was not the expected one: sql/reports/credits_unexpected.sql. */
  readonly unexpected: readonly Readonly<Record<string, Cell>>[]
}

interface Found {
  readonly ledger: Ledger
  readonly additions: Additions | null
  /** Why the warehouse adds nothing; null where it does. */
  readonly why: string | null
  readonly recentDays: number
}

async function readAdditions(
  warehouse: Warehouse,
  scope: Scope,
  recent: Scope,
): Promise<Additions> {
  const read = <Row extends object>(name: string, of: Scope) =>
    queryReport<Row>(warehouse, name, { ...of, credits_per_page: CREDITS_PER_PAGE })
  const [pageUse] = await read<PageUse>('credits_page_use', recent)
  return {
    newEvents: await read('credits_new_events', scope),
    organizations: await read('credits_organizations', recent),
    pageUse: pageUse ?? { pages_bought: 0, events: 0, events_known_before: 0 },
    unexpected: await read('credits_unexpected', scope),
  }
}

/** A row of a table of credits: how it is named, and its figures. */
type Row = Partial<Omit<Spending, 'name'>> &
  Partial<Pick<RunSpending, 'run_id' | 'pipeline'>> &
  Partial<Pick<OrganizationSpending, 'organization_id' | 'asked_as' | 'name'>>

interface Group {
  readonly names: readonly Column<Row>[]
  readonly rows: (ledger: Ledger, additions: Additions | null) => readonly Row[]
}

const GROUPS: Readonly<Record<CreditGroup, Group>> = {
  day: {
    names: [['day (UTC)', 'name']],
    rows: (ledger) => spendingBy(({ day }) => day, ledger).toReversed(),
  },
  month: {
    names: [['month (UTC)', 'name']],
    rows: (ledger) => spendingBy(({ day }) => day.slice(0, 7), ledger).toReversed(),
  },
  pipeline: {
    names: [['pipeline', 'name']],
    rows: (ledger) => spendingBy(({ pipeline }) => pipeline, ledger),
  },
  run: {
    names: [
      ['run', (row) => row.run_id ?? row.name, 'id'],
      ['pipeline', ({ pipeline = '' }) => pipeline],
    ],
    rows: spendingOfRuns,
  },
  organization: { names: [['organisation', companyOf]], rows: organizationRows },
}
const FIGURES: readonly Column<Row>[] = [
  ['credits', 'credits', 'credits'],
  ['pages', 'pages', 'number'],
  ['events', 'events', 'number'],
  ['new', 'new_events', 'number'],
  ['per new', 'credits_per_new_event', 'price'],
]

function companyOf({ asked_as: askedAs, name = null }: Row): string | null {
  if (askedAs === undefined) return name
  return name === null ? companyText(askedAs) : `${name} (${companyText(askedAs)})`
}

function breakdown(by: CreditGroup, isAll: boolean, { ledger, additions, why }: Found): Report {
  const { names, rows } = GROUPS[by]
  const total = spendingOf(ledger)
  const shown = table<Row>('rows', rows(ledger, additions), [...names, ...FIGURES], {
    ...(isAll ? {} : { shown: ROWS_SHOWN }),
    total,
    notes: why === null ? [] : [`without what was new, and by whom: ${why}`],
  })
  return { sections: [shown], values: { by, total } }
}

// Shares are fractions; less than this is left of adding them up, and no credit.
const NO_CREDIT = 0.01

/** With a last row for what no organisation is known to have caused: in doubt, or not loaded yet. */
function organizationRows(ledger: Ledger, additions: Additions | null): readonly Row[] {
  if (additions === null) return []
  const { organizations } = additions
  const credits = spendingOf(ledger).credits - sum(organizations.map((one) => one.credits))
  const askedAs = '(unattributed: in doubt, or not loaded)'
  return Math.abs(credits) < NO_CREDIT
    ? organizations
    : [...organizations, { organization_id: null, asked_as: askedAs, name: null, credits }]
}

function summary(
  { ledger, additions, why, recentDays }: Found,
  thisMonth: Month,
  pipeline: string | null,
): Report {
  const total = spendingOf(ledger)
  const { pageUse, organizations = [], unexpected = [] } = additions ?? {}
  const { new_events: newEvents, credits_per_new_event: price } = total
  const inDays = `in ${countText(recentDays, 'day')}`
  const days = GROUPS.day.rows(ledger, null)
  const runs = ledger.runs.length
  const ofPipeline = pipeline === null ? '' : ` of ${pipeline}`
  const perPage = (events = 0) => (events / (pageUse?.pages_bought ?? 1)).toFixed(1)
  const advice = pageUse === undefined ? [] : adviceOn(organizations, pageUse, inDays)
  return {
    sections: [
      [
        [
          'charged',
          `${creditsText(total.charged)} credits in ${countText(runs, 'run')}${ofPipeline} since ${days.at(-1)?.name ?? 'never'}`,
        ],
        total.in_doubt > 0 && [
          'in doubt',
          `${creditsText(total.in_doubt)} credits: sent, no whole answer, perhaps billed`,
        ],
        ['this month', monthText(thisMonth)],
        newEvents !== null && [
          'new events',
          price === null ? 'none' : `${numberText(newEvents)} at ${price.toFixed(2)} credits each`,
        ],
        pageUse !== undefined &&
          pageUse.pages_bought > 0 && [
            'a page held',
            `${perPage(pageUse.events)} of ${PAGE_EVENTS} events, ${perPage(pageUse.events_known_before)} of them known before (${countText(recentDays, 'day')})`,
          ],
        total.unexpected_charges > 0 && [
          'unexpected',
          `${countText(total.unexpected_charges, 'page')} not charged 10, or 0 when empty`,
        ],
        why !== null && ['new events', `unknown: ${why}`],
      ],
      table('unexpected_charges', unexpected, UNEXPECTED, {
        shown: UNEXPECTED_SHOWN,
        more: 'all with --json',
      }),
      table<Row>('days', days, [...GROUPS.day.names, ...FIGURES], {
        shown: DAYS_SHOWN,
        more: 'all with --by day --all',
      }),
      table<Row>(null, mostExpensive(organizations), [
        [`most expensive ${inDays}`, companyOf],
        ...FIGURES.filter(([head]) => head !== 'pages'),
      ]),
    ],
    notes: [
      '',
      ...advice.map((sentence) => `→ ${sentence}`),
      'more: jobtide credits --by day, month, pipeline, run or organization',
    ],
    values: {
      runs,
      total,
      this_month: thisMonth,
      recent: pageUse
        ? { days: recentDays, ...pageUse, organizations: organizations.length }
        : null,
      advice,
    },
  }
}

const UNEXPECTED: readonly Column<Readonly<Record<string, Cell>>>[] = [
  ['unexpected (UTC)', 'requested_at', 'instant'],
  ['pipeline', 'pipeline'],
  ['batch', 'batch_id'],
  ['page', 'page', 'number'],
  ['events', 'events', 'number'],
  ['credits', 'credits_used', 'credits'],
  ['sent', 'credits_sent'],
]

type Month = ReturnType<typeof monthValues>

function monthValues(ofMonth: Spending, now: number, limit: number | null) {
  const { charged, in_doubt: inDoubt, credits } = ofMonth
  const left = limit === null ? null : limit - credits
  const renewsOn = dayOf(nextMonthAt(now))
  return { month: monthOf(now), charged, in_doubt: inDoubt, limit, left, renews_on: renewsOn }
}

function monthText({ month, limit, charged, in_doubt: inDoubt, renews_on: day }: Month): string {
  const spent = creditsText(charged + inDoubt)
  if (limit === null) return `${spent} credits in ${month}`
  const share = Math.round(((charged + inDoubt) / limit) * 100)
  return `${spent} of ${numberText(limit)} credits (${share} %) in ${month}; starts again on ${day}`
}

function mostExpensive(organizations: readonly OrganizationSpending[]): OrganizationSpending[] {
  // Without a new event the price has no bound; a number keeps such organisations comparable.
  const price = (one: OrganizationSpending) => one.credits_per_new_event ?? Number.MAX_VALUE
  return organizations
    .filter(({ credits }) => credits >= 1)
    .toSorted((a, b) => price(b) - price(a) || b.credits - a.credits)
    .slice(0, MOST_EXPENSIVE_SHOWN)
}
