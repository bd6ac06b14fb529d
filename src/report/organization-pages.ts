/** Renders an index with a line and a small trend for each organisation, and a page for each. Pure. */

import { countText, numberText } from '../support/numbers.ts'
import { htmlDocument } from './document.ts'
import { percentText } from './format.ts'
import { html, name, shown, type Content } from './html.ts'
import {
  answerPart,
  column,
  dataTable,
  figure,
  figuresPart,
  footer,
  section,
  type Column,
} from './parts.ts'
import type { Change, OrganizationChanges, ReportHead, TrendMonth } from './read-report.ts'
import { attritionTrend, CHANGES, peopleSections } from './sections.ts'
import { windowText } from './window.ts'

/** How the titles of the index, and of the page of an organisation, begin. */
export const INDEX_TITLE = 'Job changes by organisation, '
const PAGE_TITLE = 'Job changes of '

/** An organisation in the index. */
export interface IndexLine extends OrganizationChanges {
  /** Relative to the index. */
  readonly address: string
  readonly months: readonly TrendMonth[]
}

/** The content of one page of the index. */
export interface IndexPart {
  readonly lines: readonly IndexLine[]
  /** From 1. */
  readonly page: number
  readonly pages: number
  /** All, by name, where the index has several pages and this is the first. */
  readonly byName: readonly IndexLine[]
}

/** The name of a page of the index. @param page from 1 */
export function indexFile(page: number): string {
  return page === 1 ? 'index.html' : `index-${page}.html`
}

export function indexPage(head: ReportHead, part: IndexPart, writtenAt: number): string {
  const { lines, page, pages, byName } = part
  const window = windowText(head.window)
  const all = lines[0]?.organizations ?? 0
  const others = Array.from({ length: pages }, (_, at) => at + 1)
  const body = html`<header>
      <h1>Job changes by organisation</h1>
      <p class="lead">
        ${window} · ${countText(all, 'organisation')}${pages > 1 && `, page ${page} of ${pages}`}
      </p>
      ${answerPart(head)}
      ${
        pages > 1 &&
        html`<nav aria-label="Pages of the index">
          <ul>
            ${others.map((other) => html`<li>${other === page ? html`<b aria-current="page">${other}</b>` : html`<a href="${indexFile(other)}">${other}</a>`}</li> `)}
          </ul>
        </nav>`
      }
    </header>
    <main>
      <section>
        ${dataTable(lines, INDEX, { caption: INDEX_CAPTION, wide: 'Table of organisations' })}
      </section>
      ${
        byName.length > 0 &&
        html`<section>
          <details>
            <summary>All by name</summary>
            <ul>
              ${byName.map(
                (one) =>
                  html`<li>
                    <a href="${one.address}">${name(one.organization, one.organization_id)}</a>
                  </li> `,
              )}
            </ul>
          </details>
        </section>`
      }
    </main>
    ${footer(writtenAt, ABOUT, COPY)}`
  return htmlDocument({
    title: `${INDEX_TITLE}${window}`,
    styles: ['page.css'],
    script: 'page.js',
    body,
  })
}

const INDEX_CAPTION =
  'Most changes first. The trend is the headcount of two years; the rate is the share that left in twelve months.'
const INDEX: readonly Column<IndexLine>[] = [
  column(
    'Organisation',
    (one) => html`<a href="${one.address}">${name(one.organization, one.organization_id)}</a>`,
  ),
  ...CHANGES,
  figure('Headcount', ({ months }) => months.at(-1)?.headcount),
  figure('Rate', ({ months }) => months.at(-1)?.rate, percentText),
  column(
    'Trend',
    ({ months }) => sparkline(months.map(({ headcount }) => headcount)),
    ({ months }) => (months.at(-1)?.headcount ?? 0) - (months[0]?.headcount ?? 0),
  ),
]

const [SPARK_WIDTH, SPARK_HEIGHT] = [96, 22]

/** A line from 0 to the highest of the values; what it says stands in the cells before it. */
function sparkline(values: readonly number[]): Content {
  if (values.length < 2) return null
  const most = Math.max(1, ...values)
  const points = values.map((value, at) => {
    const x = (at / (values.length - 1)) * SPARK_WIDTH
    return `${x.toFixed(0)} ${(SPARK_HEIGHT - 1 - (value / most) * (SPARK_HEIGHT - 2)).toFixed(1)}`
  })
  return html`<svg width="${SPARK_WIDTH}" height="${SPARK_HEIGHT}" aria-hidden="true">
    <path d="M${points.join('L')}" fill="none" stroke="var(--joined)" stroke-width="1.5" />
  </svg>`
}

/** The data of the page of an organisation. */
export interface OrganizationData extends IndexLine {
  readonly changes: readonly Change[]
  /** The file of the index that names it, relative to the page. */
  readonly index: string
}

export function organizationPage(
  one: OrganizationData,
  { window, year }: ReportHead,
  writtenAt: number,
): string {
  const { months, changes, executives_joined: joined, executives_left: left } = one
  const figures = [
    { kind: 'joined', label: 'Joined', value: one.joined },
    { kind: 'left', label: 'Left', value: one.went },
    { kind: 'rose', label: 'Rose', value: one.rose },
  ] as const
  const directors = {
    label: 'Directors and above',
    value: joined + left,
    aside: `${numberText(joined)} joined, ${numberText(left)} left`,
  }
  const counts = figures.map(({ kind, value }) => ({ change: kind, changes: value }))
  const trend =
    months.length === 0
      ? html`<p>Nothing is known of it yet.</p>`
      : attritionTrend(months, year.month_on)
  const body = html`<header>
      <p class="back"><a href="${one.index}">All organisations</a></p>
      <h1>${name(one.organization, one.organization_id)}</h1>
      <p class="lead">${windowText(window)}</p>
      ${figuresPart([...figures, directors])}
    </header>
    <main>
      ${section('trend', 'Trend', trend)} ${peopleSections({ changes, counts, scope: null })}
    </main>
    ${footer(writtenAt, ABOUT, COPY)}`
  const title = `${PAGE_TITLE}${shown(one.organization) ?? one.organization_id}, ${windowText(window)}`
  return htmlDocument({ title, styles: ['page.css'], script: null, body })
}

const ABOUT = 'The window is the time in which a change became known first.'
const COPY =
  'This page is a copy: what is erased later stays in it wherever it was sent or moved. Names of people are on the pages of organisations.'
