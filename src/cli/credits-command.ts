/**
 * `credits`: what was spent, on what, and what it brought. Without `--by` a summary with the month's limit and advice. Sums
 * come from the journal (credits-figures.ts); what was new, and the share of each organisation, from sql/reports/credits_*.sql.
 */

import { PAGE_EVENTS } from '../journal/batch-history.ts'
import { openJournal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import { CREDITS_PER_PAGE, dayOf, monthOf, nextMonthAt } from '../journal/spending.ts'
import { readJob } from '../run/job.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import {
  adviceOn,
  runsIn,
  spendingBy,
  spendingOfRuns,
  totalSpending,
  type Ledger,
  type NewEvents,
  type OrganizationSpending,
  type PageUse,
  type Scope,
  type Spending,
} from './credits-figures.ts'
import type { CreditGroup } from './options.ts'
import { refuseEmpty } from './refuse-empty.ts'
import { queryReport } from './report-query.ts'
import { table, type Column, type Fact, type Report, type Table } from './report.ts'
import {
  countText,
  creditsText,
  minuteText,
  namedCompanyText,
  numberText,
  printable,
} from './text.ts'
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

const ADVICE_DAYS = 90
const DAYS_SHOWN = 7
const ROWS_SHOWN = 20
const MOST_EXPENSIVE_SHOWN = 5
const UNEXPECTED_SHOWN = 5

/** Shows what was spent, by one pipeline or by all. */
export async function creditsCommand(
  context: Context,
  pipeline: string | undefined,
  options: CreditsOptions,
): Promise<ExitCode> {
  const { directory, clock, output } = context
  const job = pipeline === undefined ? null : await readJob(pipeline, {}, directory.root)
  const journal = openJournal(directory.journal, clock)
  refuseEmpty(journal, directory)
  const history = readHistory(journal)
  const now = clock.now()
  const since = options.days === undefined ? null : firstDayOf(options.days, now)
  const scope: Scope = { pipeline: job?.pipeline ?? null, since }
  // Organisations and advice of the summary are about recent days.
  const adviceSince = since ?? (options.by === undefined ? firstDayOf(ADVICE_DAYS, now) : null)
  const recent: Scope = { ...scope, since: adviceSince }
  const reading = await readWarehouse(directory.warehouse, (warehouse) =>
    readAdditions(warehouse, scope, recent),
  )
  const additions = reading.kind === 'read' ? reading.value : null
  const why = reading.kind === 'read' ? null : reading.why
  const ledger: Ledger = { history, newEvents: additions?.newEvents ?? null, scope }
  const found: Found = { ledger, additions, why, now, adviceSince }
  const { values, ...report } =
    options.by === undefined
      ? summary(found, job?.creditsPerMonth ?? null)
      : breakdown(found, options.by, options.all ?? false)
  const unavailable = why === null ? null : { unavailable: why }
  const where = { data_dir: directory.root, pipeline: scope.pipeline, since }
  output.report({ ...report, values: { ...where, ...values, warehouse: unavailable } })
  return EXIT.done
}

interface Found {
  readonly ledger: Ledger
  readonly additions: Additions | null
  /** Why the warehouse adds nothing; null where it does. */
  readonly why: string | null
  /** Milliseconds since 1970 UTC. */
  readonly now: number
  readonly adviceSince: string | null
}

/** What the warehouse adds. */
interface Additions {
  readonly newEvents: readonly NewEvents[]
  /** The most expensive first. */
  readonly organizations: readonly OrganizationSpending[]
  readonly pageUse: PageUse
  readonly unexpected: readonly UnexpectedCharge[]
}

interface UnexpectedCharge {
  readonly requested_at: Date
  readonly pipeline: string
  readonly batch_id: string
  readonly page: number
  readonly events: number
  /** What it is counted with. */
  readonly credits_used: number
  /** What was sent, where that cannot be a price; else null. */
  readonly credits_sent: string | null
}

async function readAdditions(
  warehouse: Warehouse,
  scope: Scope,
  recent: Scope,
): Promise<Additions> {
  const [pageUse = { bought: 0, events: 0, known: 0 }] = await queryReport<PageUse>(
    warehouse,
    'credits_page_use',
    { ...recent },
  )
  return {
    newEvents: await queryReport(warehouse, 'credits_new_events'),
    organizations: await queryReport(warehouse, 'credits_organizations', { ...recent }),
    pageUse,
    unexpected: await queryReport(warehouse, 'credits_unexpected', {
      ...scope,
      credits_per_page: CREDITS_PER_PAGE,
    }),
  }
}

/** The first of the last `days` UTC days, today included. */
function firstDayOf(days: number, nowMs: number): string {
  return dayOf(nowMs - (days - 1) * DAY)
}

/** A row of a table of credits: how it is named, and its figures. */
interface Row {
  readonly name?: string | null
  readonly run_id?: string
  readonly pipeline?: string
  readonly asked_as?: string
  readonly credits: number
  readonly pages?: number
  readonly events?: number
  readonly new_events?: number | null
  readonly credits_per_new_event?: number | null
}

const companyOf = ({ asked_as: asked = '', name = null }: Row) => namedCompanyText(asked, name)
const NAMES: Readonly<Record<CreditGroup, readonly Column<Row>[]>> = {
  day: [['day (UTC)', 'name']],
  month: [['month (UTC)', 'name']],
  pipeline: [['pipeline', 'name']],
  run: [
    ['run', 'run_id', 'id'],
    ['pipeline', ({ pipeline = '' }) => pipeline],
  ],
  organization: [['organisation', companyOf]],
}
const FIGURES: readonly Column<Row>[] = [
  ['credits', 'credits', 'credits'],
  ['pages', 'pages', 'number'],
  ['events', 'events', 'number'],
  ['new', 'new_events', 'number'],
  ['per new', 'credits_per_new_event', 'price'],
]

function breakdown({ ledger, additions, why }: Found, by: CreditGroup, isAll: boolean): Report {
  const total = totalSpending(ledger)
  const rowsBy = (): readonly Row[] => {
    if (by === 'run') return spendingOfRuns(ledger)
    if (by !== 'organization') return spendingBy(by, ledger)
    return additions === null ? [] : organizationRows(additions.organizations, total)
  }
  const totalRow: Row =
    by === 'organization'
      ? { ...total, asked_as: total.name, name: null }
      : { ...total, run_id: total.name }
  const rows = table('rows', rowsBy(), [...NAMES[by], ...FIGURES], {
    ...(isAll ? {} : { shown: ROWS_SHOWN }),
    total: totalRow,
    notes: why === null ? [] : [`without what was new, and by whom: ${why}`],
  })
  return { sections: [rows], values: { by, total } }
}

// Shares are fractions; less than this is left of adding them up, and no credit.
const NO_CREDIT = 0.01

/** With a last row for what no organisation is known to have caused: in doubt, or not loaded yet. */
function organizationRows(organizations: readonly OrganizationSpending[], total: Spending) {
  const credits = total.credits - sum(organizations.map((one) => one.credits))
  if (Math.abs(credits) < NO_CREDIT) return organizations
  const name = null
  const askedAs = '(unattributed: in doubt, or not loaded)'
  return [...organizations, { organization_id: null, asked_as: askedAs, name, credits }]
}

function summary(
  { ledger, additions, why, now, adviceSince }: Found,
  limit: number | null,
): Report {
  const total = totalSpending(ledger)
  const days = spendingBy('day', ledger)
  const runs = runsIn(ledger.history, ledger.scope).length
  const month = monthOf(now)
  const { charged, in_doubt: inDoubt } = totalSpending({
    ...ledger,
    scope: { ...ledger.scope, since: `${month}-01` },
  })
  const renewsOn = dayOf(nextMonthAt(now))
  const recentDays = Math.round((Date.parse(dayOf(now)) - Date.parse(adviceSince ?? '')) / DAY) + 1
  const advice =
    additions === null ? [] : adviceOn(additions.organizations, additions.pageUse, recentDays)
  const ofPipeline = ledger.scope.pipeline === null ? '' : ` of ${ledger.scope.pipeline}`
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
        ['this month', monthText(month, charged + inDoubt, limit, renewsOn)],
        ...newEventFacts(total, additions?.pageUse ?? null, recentDays),
        total.unexpected_charges > 0 && [
          'unexpected',
          unexpectedText(total.unexpected_charges, additions?.unexpected ?? []),
        ],
        why !== null && ['new events', `unknown: ${why}`],
      ],
      table<Row>('days', days, [...NAMES.day, ...FIGURES], {
        shown: DAYS_SHOWN,
        more: 'all with --by day --all',
      }),
      mostExpensive(additions?.organizations ?? [], recentDays),
    ],
    notes: [
      '',
      ...advice.map((sentence) => `→ ${sentence}`),
      'more: jobtide credits --by day, month, pipeline, run or organization',
    ],
    values: {
      runs,
      total,
      this_month: {
        month,
        charged,
        in_doubt: inDoubt,
        limit,
        left: limit === null ? null : limit - charged - inDoubt,
        renews_on: renewsOn,
      },
      recent: additions && {
        days: recentDays,
        pages_bought: additions.pageUse.bought,
        events: additions.pageUse.events,
        events_known_before: additions.pageUse.known,
        organizations: additions.organizations.length,
      },
      unexpected_charges: additions && additions.unexpected,
      advice,
    },
  }
}

function monthText(month: string, spent: number, limit: number | null, renewsOn: string): string {
  if (limit === null) return `${creditsText(spent)} credits in ${month}`
  const share = Math.round((spent / limit) * 100)
  return `${creditsText(spent)} of ${numberText(limit)} credits (${share} %) in ${month}; starts again on ${renewsOn}`
}

function newEventFacts(total: Spending, use: PageUse | null, days: number): Fact[] {
  const { new_events: newEvents, credits_per_new_event: price } = total
  if (newEvents === null) return []
  const perPage = (events: number) => (events / (use?.bought ?? 1)).toFixed(1)
  return [
    [
      'new events',
      price === null ? 'none' : `${numberText(newEvents)} at ${price.toFixed(2)} credits each`,
    ],
    use !== null &&
      use.bought > 0 && [
        'a page held',
        `${perPage(use.events)} of ${PAGE_EVENTS} events, ${perPage(use.known)} of them known before (${countText(days, 'day')})`,
      ],
  ]
}

function unexpectedText(count: number, charges: readonly UnexpectedCharge[]): string {
  const lines = charges.slice(0, UNEXPECTED_SHOWN).map((charge) => {
    const { requested_at: at, credits_used: used, credits_sent: sent } = charge
    const credits = `${creditsText(used)} credits`
    const charged = sent === null ? credits : `${printable(sent)} sent, counted as ${credits}`
    return `${minuteText(at.getTime())} ${charge.pipeline} ${charge.batch_id} page ${charge.page}: ${countText(charge.events, 'event')}, ${charged}`
  })
  return [`${countText(count, 'page')} not charged 10, or 0 when empty:`, ...lines].join('\n')
}

function mostExpensive(organizations: readonly OrganizationSpending[], days: number): Table {
  // Without a new event the price has no bound; a number keeps such organisations comparable.
  const price = (one: OrganizationSpending) => one.credits_per_new_event ?? Number.MAX_VALUE
  const rows = organizations
    .filter(({ credits }) => credits >= 1)
    .toSorted((a, b) => price(b) - price(a) || b.credits - a.credits)
    .slice(0, MOST_EXPENSIVE_SHOWN)
  return table<Row>(null, rows, [
    [`most expensive in ${countText(days, 'day')}`, companyOf],
    ...FIGURES.filter(([head]) => head !== 'pages'),
  ])
}
