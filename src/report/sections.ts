/** The sections of a report: rates and trends, weeks, bursts, flows, organisations, people, coverage. */

import { countText, numberText } from '../support/numbers.ts'
import { GRADES, gradeText, noRateYet, roleText } from './answer.ts'
import { attritionChart, changesChart, flowsChart, headcountChart, weeksChart } from './charts.ts'
import {
  credits,
  html,
  instant,
  linkTarget,
  name,
  percentText,
  rangeText,
  shown,
  signed,
  type Content,
  type Html,
} from './html.ts'
import { column, dataTable, figure, firstOf, section, type Column, type Section } from './parts.ts'
import { MOST, type ReportData } from './read-report.ts'
import type {
  Attrition,
  Change,
  ChangeKind,
  CoverageRow,
  OfOrganization,
  OrganizationChanges,
  TrendMonth,
} from './rows.ts'
import { dayText, monthText, windowText } from './window.ts'

/** All sections, those of people, which the filter of the page is about, below the others. */
export function reportSections(data: ReportData) {
  const rates = [attritionSection, trendsSection, weeksSection, burstsSection, flowsSection]
  const below = [organizationsSection(data), ...peopleSections(data), coverageSection(data)]
  return { above: rates.map((sectionOf) => sectionOf(data)), below }
}

/** Rates of organisations, and over all of them those of functions and levels. */
function attritionSection({ year, attrition }: ReportData): Section {
  const of = (part: Attrition['part']) => attrition.filter((one) => one.part === part)
  const organizations = of('organization')
  if (year.rate === null || organizations.length === 0) {
    return section('attrition', 'Attrition', html`<p>${noRateYet(year)}</p>`)
  }
  const all = organizations[0]?.rows_of_part ?? 0
  const hasBefore = attrition.some((one) => one.rate_before !== null)
  const rates = [RATE, RANGE, GRADE, ...(hasBefore ? [RATE_BEFORE] : []), MORE, LEAVERS]
  const named = [
    column<Attrition>('Organisation', (one) => name(one.name, one.organization_id ?? '–')),
  ]
  return section(
    'attrition',
    'Attrition',
    html`<p class="note">
      The share of people who left in the twelve months to
      ${monthText(Date.parse(year.month_on ?? ''))}: leavers divided by the mean headcount. Main
      jobs only, without transfers. Sorted by “More left”: how many more people left than expected.
      Jobtide expects ${hasBefore ? EXPECTED : EXPECTED_AT_FIRST}. The range comes from the
      headcount. Grades:
      ${Object.entries(GRADES)
        .map(([grade, permits]) => `${grade} ${permits}`)
        .join('; ')}.
    </p>`,
    dataTable(organizations, [...named, ...rates, HEADCOUNT], {
      caption: firstOf(organizations, all, ' with a rate.'),
      wide: 'Table of attrition',
      organization: (one) => ({ id: one.organization_id ?? '', name: shown(one.name) }),
    }),
    html`<div class="parts">
      ${partTable('Function', of('function'), rates)} ${partTable('Level', of('level'), rates)}
    </div>`,
  )
}

/** With a rate of the year before, and without any. */
const EXPECTED =
  'the rate of the year before, which takes two observed years, or without it (–) the average of all'
const EXPECTED_AT_FIRST =
  'the average of all: a rate of the year before takes two observed years, and none exists yet'

const RATE = figure<Attrition>('Rate', (one) => one.rate, percentText)
const RANGE = figure<Attrition>(
  'Range',
  (one) => one.rate_low,
  (low, one) => rangeText(low, one.rate_high),
)
const RATE_BEFORE = figure<Attrition>('Year before', (one) => one.rate_before, percentText)
const MORE = figure<Attrition>('More left', (one) => one.more, signed)
const LEAVERS = figure<Attrition>('Left', (one) => one.leavers)
const HEADCOUNT = figure<Attrition>('Headcount', (one) => Math.round(one.headcount))
const GRADE: Column<Attrition> = { ...column('Grade', (one) => one.grade), style: 'number' }

function partTable(
  head: string,
  rows: readonly Attrition[],
  rates: readonly Column<Attrition>[],
): Html {
  const by = `By ${head.toLowerCase()}`
  const columns = [column<Attrition>(head, (one) => roleText(one.name)), ...rates]
  return dataTable(rows, columns, {
    caption: `${by}, with the grade that at least half of the people have`,
    wide: `Table of attrition ${by.toLowerCase()}`,
  })
}

/** Each organisation with its rate, on one scale, and its headcount. @param newest the newest month that is known of any */
export function multiples(groups: readonly (readonly TrendMonth[])[], newest: string | null): Html {
  const rates = groups.flat().map(({ rate }) => rate ?? 0)
  const most = Math.max(0.1, 1.3 * Math.max(0, ...rates))
  return html`<div class="multiples">
    ${groups.map((months) => multiple(months, most, newest))}
  </div>`
}

function trendsSection({ trends, year }: ReportData): Section {
  return section(
    'trends',
    'Trends',
    html`<p class="note">
      The organisations with most changes. Upper chart: the share that left in the twelve months up
      to each month, with its range, on one scale for all. Until there is a rate, it shows how many
      joined and left. An arrow gives the top of a range that does not fit. Lower chart: the
      headcount, from 0 on its own scale, transfers included. It counts the people seen and those
      never seen: by the organisation's own page, or by an estimate.
    </p>`,
    trends.length === 0
      ? html`<p>Nothing is known of these organisations.</p>`
      : multiples(trends, year.month_on),
  )
}

function multiple(months: readonly TrendMonth[], most: number, newest: string | null): Html {
  const last = months.at(-1)
  if (last === undefined) return html``
  return html`<figure>
    <h3>${name(last.organization, last.organization_id)}</h3>
    ${
      newest !== null &&
      last.month_on < newest &&
      html`<p class="unknown">Known up to ${monthText(Date.parse(last.month_on))} only</p>`
    }
    ${
      last.rate === null
        ? html`<p class="unknown">${noRateYet(last)}</p>
            <p><b class="joined">Joined</b>, <b class="left">left</b></p>
            ${changesChart(months)}`
        : rate(months, last, most)
    }
    <p>
      Headcount <strong>${numberText(last.headcount)}</strong>${
        last.seen < last.headcount && `, ${numberText(last.seen)} of them seen`
      }
    </p>
    ${headcountChart(months)}
  </figure>`
}

function rate(months: readonly TrendMonth[], last: TrendMonth, most: number): Html {
  const { rate: now, rate_low: low, rate_high: high, rate_before: before } = last
  return html`<p>
      Left in a year <strong>${percentText(now ?? 0)}</strong> (${rangeText(low ?? 0, high)}),
      ${gradeText(last.grade ?? 'D')}${before !== null && html`; year before ${percentText(before)}`}
      ${last.doubts !== null && last.doubts !== '' && html`<span class="seen">${last.doubts}</span>`}
    </p>
    ${attritionChart(months, most)}`
}

function weeksSection({ weeks, window }: ReportData): Section {
  return section(
    'weeks',
    'Week by week',
    html`<p class="note">
        <b class="joined">Joined</b> above the line, <b class="left">left</b> below it, by when it
        became known. Each bar is seven days. The last one ends with the period. The period is
        darker.
      </p>
      <figure>${weeksChart(weeks, window)}</figure>`,
    folded(
      dataTable(weeks, [
        column(
          'Week from',
          (week) => dayText(Date.parse(week.week_from_at)),
          (week) => week.week_from_at,
        ),
        figure('Joined', (week) => week.joined),
        figure('Left', (week) => week.went),
        figure('Promoted', (week) => week.rose),
      ]),
    ),
  )
}

const ORGANIZATION: Column<Pick<CoverageRow, keyof OfOrganization>> = column(
  'Organisation',
  (one) => name(one.organization, one.organization_id ?? '–'),
)

function folded(table: Html): Html {
  return html`<details>
    <summary>The figures</summary>
    ${table}
  </details>`
}

const CHANGES: readonly Column<OrganizationChanges>[] = [
  figure('Joined', (one) => one.joined),
  figure('Left', (one) => one.went),
  figure('Net', (one) => one.net, signed),
  figure('Promoted', (one) => one.rose),
]

/** The columns that say how many joined, left and were promoted, and how many came by transfers where any did. */
export function changesColumns<Row extends OrganizationChanges>(
  rows: readonly Row[],
): readonly Column<Row>[] {
  const byTransfer = figure<Row>('By transfer', (one) => one.transfers, signed)
  return rows.some(({ transfers }) => transfers !== 0) ? [...CHANGES, byTransfer] : CHANGES
}

function organizationsSection({ organizations, scope }: ReportData): Section {
  const all = organizations[0]?.organizations ?? 0
  const columns: readonly Column<OrganizationChanges>[] = [
    ORGANIZATION,
    ...changesColumns(organizations),
    figure('Directors+ joined', (one) => one.executives_joined),
    figure('Directors+ left', (one) => one.executives_left),
  ]
  return section(
    'organizations',
    scope === null
      ? 'Organisations'
      : ['Hires and losses of the organisations listed', 'Organisations'],
    all === 0
      ? html`<p>No change became known.</p>`
      : dataTable(organizations, columns, {
          caption: `${firstOf(organizations, all, '. ')}Most changes first.`,
          wide: 'Table of organisations',
          organization: organizationOf,
        }),
  )
}

function organizationOf(one: OfOrganization) {
  return { id: one.organization_id, name: shown(one.organization) }
}

function flowsSection({ flows, flowsFrom, window }: ReportData): Section {
  const [first] = flows
  const since = windowText({ from: flowsFrom, to: window.to })
  if (first === undefined) {
    const none = `No move from one organisation to another became known in ${since}.`
    return section('flows', 'Flows', html`<p>${none}</p>`)
  }
  return section(
    'flows',
    'Flows',
    html`<p class="note">
        Moves whose leaving and joining both became known from ${since}:
        ${numberText(first.all_moves)}, including ${numberText(first.all_moves_in_window)} in the
        period (blue). You see only moves between organisations you follow. Transfers are left out.
      </p>
      <figure>${flowsChart(flows)}</figure>`,
    folded(
      dataTable(
        flows,
        [
          column('From', (flow) => name(flow.from_organization, '–')),
          column('To', (flow) => name(flow.to_organization, '–')),
          figure('Moves', (flow) => flow.moves),
          figure('In the period', (flow) => flow.moves_in_window),
        ],
        { caption: flows.length < MOST.flows ? '' : 'The most frequent ones.' },
      ),
    ),
  )
}

function burstsSection({ bursts }: ReportData): Section {
  const all = bursts[0]?.bursts ?? 0
  const caption = all > bursts.length ? `The largest ${bursts.length} of ${numberText(all)}.` : ''
  const table = dataTable(
    bursts,
    [
      ORGANIZATION,
      column('What', ({ change }) => html`<span class="${change}">Many ${change}</span>`),
      column('Month', (one) => one.month_start_on.slice(0, 7)),
      figure('People', (one) => one.people),
      figure('Expected', (one) => one.expected),
      figure('Score', (one) => one.score),
    ],
    { caption, organization: organizationOf },
  )
  return section(
    'bursts',
    'Bursts and layoffs',
    html`<p class="note">
      Months in which at least 10 people joined or left an organisation, far more than its own
      history and the season suggest. The score is the difference in standard deviations: by chance,
      3 or more comes once in 740 months. A month is here if any of its changes became known in the
      period. The numbers are as known today, by the dates of the changes. Transfers, duplicate
      people and teams that moved together are left out.
    </p>`,
    bursts.length === 0 ? html`<p>None.</p>` : table,
  )
}

function coverageSection({ coverage, freshness }: ReportData): Section {
  const [first] = coverage
  const missing = coverage.filter((one) => one.organization_id !== null)
  const all = (first?.organizations ?? 0) - (first?.whole ?? 0)
  const table = dataTable(
    missing,
    [
      ORGANIZATION,
      column(
        'Fetched up to',
        (one) => instant(one.covered_to_at),
        (one) => one.covered_to_at,
      ),
    ],
    { caption: firstOf(missing, all) },
  )
  return section(
    'coverage',
    'Freshness and cost',
    html`<dl class="facts">
      <dt>Fetched up to</dt>
      <dd>
        ${instant(first?.oldest_watermark_at)}${
          first?.oldest_watermark_at !== first?.newest_watermark_at &&
          html` for the organisation fetched least far, ${instant(first?.newest_watermark_at)} for
          the one fetched furthest`
        }
      </dd>
      <dt>Fetched for the whole period</dt>
      <dd>
        ${numberText(first?.whole ?? 0)} of ${countText(first?.organizations ?? 0, 'organisation')},
        up to the last fetch
      </dd>
      <dt>Newest change</dt>
      <dd>
        detected ${instant(freshness.newest_detected_at)}, received
        ${instant(freshness.newest_received_at)}
      </dd>
      <dt>Cost of the period</dt>
      <dd>
        ${credits(freshness.credits)} for ${countText(freshness.events_received, 'event')} received
        first in it
      </dd>
      <dt>Cost so far</dt>
      <dd>${credits(freshness.credits_ever)}</dd>
      ${
        freshness.people_duplicated > 0 &&
        html`<dt>Duplicates</dt>
          <dd>
            ${countText(freshness.people_duplicated, 'person', 'people')} ever seen under a second
            profile, or at a second id of the organisation: the figures count them as well, except
            bursts and layoffs
          </dd>`
      }
    </dl>`,
    missing.length > 0 &&
      html`<h3>Not fetched for the whole period</h3>
        ${table}`,
  )
}

const LEVELS: Readonly<Record<string, string>> = { cxo: 'C-level', vp: 'VP', director: 'Director' }

const KINDS: readonly (readonly [kind: ChangeKind, head: string, where: string, none: string])[] = [
  ['joined', 'Who joined', 'From → to', 'No one was seen to join.'],
  ['left', 'Who left', 'From → to', 'No one was seen to leave.'],
  ['rose', 'Who was promoted', 'Where', 'No one was seen to be promoted.'],
]

export function peopleSections({
  changes,
  counts,
  scope,
}: Pick<ReportData, 'changes' | 'scope'> & {
  readonly counts: readonly { readonly change: ChangeKind; readonly changes: number }[]
}): Section[] {
  return KINDS.map(([kind, head, where, none]) => {
    const own = changes.filter(({ change }) => change === kind)
    const all = counts.find(({ change }) => change === kind)?.changes ?? own.length
    const isListed = kind === 'joined' && scope !== null
    return section(
      kind,
      isListed ? [`${head} the organisations listed`, head] : head,
      own.length === 0 ? html`<p>${none}</p>` : peopleTable(kind, own, all, where),
    )
  })
}

function peopleTable(kind: ChangeKind, rows: readonly Change[], all: number, where: string): Html {
  const place = (row: Change) =>
    kind === 'rose'
      ? name(row.organization, 'not known')
      : step(row.from_organization, row.to_organization)
  const titles = (row: Change) => step(row.title_before, row.title_after)
  const columns: readonly Column<Change>[] = [
    { head: 'Person', cell: personCell, style: 'person' },
    { head: 'Title before → after', cell: titles, style: 'titles' },
    { head: where, cell: place, style: 'where' },
    { head: 'When', cell: whenCell, value: (row) => row.changed_on, style: 'when' },
  ]
  return dataTable(rows, columns, {
    style: 'people',
    caption: `${firstOf(rows, all, '. ')}Directors and above first, then the newest.`,
    organization: ({ organization_id: id, organization, is_executive }) => {
      return { id, name: shown(organization) ?? id, isPlain: !is_executive }
    },
  })
}

function personCell(row: Change): Content {
  const target = linkTarget(row.person_network_url)
  const person = name(row.person_full_name, 'name not known')
  const tag = LEVELS[row.level]
  return [
    target === null ? person : html`<a href="${target}" rel="noopener noreferrer">${person}</a>`,
    tag !== undefined && html`<span class="tag">${tag}</span>`,
  ]
}

function whenCell(row: Change): Content {
  const at = Date.parse(row.changed_on)
  const isDay = row.precision === 'day'
  return html`<time datetime="${isDay ? row.changed_on : row.changed_on.slice(0, 7)}"
      >${isDay ? dayText(at) : monthText(at)}</time
    >${row.was_announced && ' (announced)'}
    <span class="seen">seen ${dayText(Date.parse(row.known_on))}</span>`
}

/** The known parts of a step; an unknown end is left out. */
function step(before: string | null, after: string | null): Content {
  if (shown(before) === null) return name(after, 'not known')
  if (shown(after) === null) return name(before, 'not known')
  return html`${name(before, '')}
    <span class="arrow" aria-label="to" role="img">→</span> ${name(after, '')}`
}
