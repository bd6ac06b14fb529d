/** Renders an index with a line and a small trend for each organisation, and a page for each. Pure. */

import { countText, numberText } from '../support/numbers.ts'
import { answerOf, QUESTION } from './answer.ts'
import { attritionTrend } from './attrition.ts'
import { htmlDocument } from './document.ts'
import { percentText, signed } from './format.ts'
import { html, name, shown, type Content, type Html } from './html.ts'
import { peopleSections } from './people.ts'
import type {
  Change,
  ChangeKind,
  OrganizationChanges,
  ReportHead,
  TrendMonth,
} from './read-report.ts'
import { momentText, windowText } from './window.ts'

/** How the titles of the index, and of the page of an organisation, begin. */
export const INDEX_TITLE = 'Job changes by organisation, '
const PAGE_TITLE = 'Job changes of '

/** An organisation in the index. */
export interface IndexLine {
  readonly one: OrganizationChanges
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
  readonly byName: readonly Pick<IndexLine, 'one' | 'address'>[]
}

/** The name of a page of the index. @param page from 1 */
export function indexFile(page: number): string {
  return page === 1 ? 'index.html' : `index-${page}.html`
}

export function indexPage(head: ReportHead, part: IndexPart, writtenAt: number): string {
  const { lines, page, pages, byName } = part
  const window = windowText(head.window)
  const all = lines[0]?.one.organizations ?? 0
  const [first = '', ...more] = answerOf(head)
  const others = Array.from({ length: pages }, (_, at) => at + 1)
  const body = html`<header>
      <h1>Job changes by organisation</h1>
      <p class="lead">
        ${window} · ${countText(all, 'organisation')}${pages > 1 && `, page ${page} of ${pages}`}
      </p>
      <div class="answer">
        <p class="question">${QUESTION}</p>
        <p><strong>${first}</strong> ${more.join(' ')}</p>
      </div>
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
        <div class="scroll" tabindex="0" role="region" aria-label="Table of organisations">
          <table data-sortable>
            <caption>
              Most changes first. The trend is the headcount of two years; the rate is the share
              that left in twelve months.
            </caption>
            <thead>
              <tr>
                <th scope="col">Organisation</th>
                ${['Joined', 'Left', 'Net', 'Rose', 'Headcount', 'Rate'].map(
                  (text) => html`<th scope="col" class="number">${text}</th>`,
                )}
                <th scope="col">Trend</th>
              </tr>
            </thead>
            <tbody>
              ${lines.map(indexLine)}
            </tbody>
          </table>
        </div>
      </section>
      ${
        byName.length > 0 &&
        html`<section>
          <details>
            <summary>All by name</summary>
            <ul>
              ${byName.map(
                ({ one, address }) =>
                  html`<li>
                    <a href="${address}">${name(one.organization, one.organization_id)}</a>
                  </li> `,
              )}
            </ul>
          </details>
        </section>`
      }
    </main>
    ${footer(writtenAt)}`
  return htmlDocument({
    title: `${INDEX_TITLE}${window}`,
    styles: ['page.css'],
    script: 'page.js',
    body,
  })
}

function indexLine({ one, address, months }: IndexLine): Html {
  const last = months.at(-1)
  const figure = (value: number | null | undefined, text: (value: number) => string) =>
    html`<td class="number" data-value="${value ?? ''}">
      ${value === null || value === undefined ? '–' : text(value)}
    </td>`
  return html`<tr>
    <th scope="row"><a href="${address}">${name(one.organization, one.organization_id)}</a></th>
    ${figure(one.joined, numberText)} ${figure(one.went, numberText)} ${figure(one.net, signed)}
    ${figure(one.rose, numberText)} ${figure(last?.headcount, numberText)}
    ${figure(last?.rate, percentText)}
    <td data-value="${(last?.headcount ?? 0) - (months[0]?.headcount ?? 0)}">
      ${sparkline(months.map(({ headcount }) => headcount))}
    </td>
  </tr> `
}

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
  { one, months, changes, index }: OrganizationData,
  { window, year }: ReportHead,
  writtenAt: number,
): string {
  const executives = { joined: one.executives_joined, left: one.executives_left, rose: 0 }
  const numbers: readonly (readonly [ChangeKind, string, number])[] = [
    ['joined', 'Joined', one.joined],
    ['left', 'Left', one.went],
    ['rose', 'Rose', one.rose],
  ]
  const counts = numbers.map(([change, , count]) => {
    const none = { changes_before: null, side_roles: 0 }
    return { ...none, change, changes: count, executives: executives[change] }
  })
  const body = html`<header>
      <p class="back"><a href="${index}">All organisations</a></p>
      <h1>${name(one.organization, one.organization_id)}</h1>
      <p class="lead">${windowText(window)}</p>
      <dl class="figures">
        ${numbers.map(
          ([style, text, count]) =>
            html`<div>
              <dt>${text}</dt>
              <dd><span class="value ${style}">${numberText(count)}</span></dd>
            </div>`,
        )}
        <div>
          <dt>Directors and above</dt>
          <dd>
            <span class="value">${numberText(one.executives_joined + one.executives_left)}</span>
            <span class="aside">
              ${numberText(one.executives_joined)} joined, ${numberText(one.executives_left)} left
            </span>
          </dd>
        </div>
      </dl>
    </header>
    <main>
      <section>
        <h2>Trend</h2>
        ${months.length === 0 ? html`<p>Nothing is known of it yet.</p>` : html`<div class="multiples">${attritionTrend(months, year.month_on)}</div>`}
      </section>
      ${peopleSections({ changes, counts, scope: null })}
    </main>
    ${footer(writtenAt)}`
  const title = `${PAGE_TITLE}${shown(one.organization) ?? one.organization_id}, ${windowText(window)}`
  return htmlDocument({ title, styles: ['page.css'], script: null, body })
}

function footer(writtenAt: number): Html {
  return html`<footer>
    <p>
      Written ${momentText(writtenAt)}. All times are UTC. The window is the time in which a change
      became known first.
    </p>
    <p>
      This page is a copy: what is erased later stays in it wherever it was sent or moved. Names of
      people are on the pages of organisations.
    </p>
  </footer>`
}
