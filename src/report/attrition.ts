/** The sections of a report about attrition: the share of people who left, and each organisation with its trend. */

import { numberText } from '../support/numbers.ts'
import { noRateYet, roleText } from './answer.ts'
import { attritionChart, changesChart, headcountChart } from './charts.ts'
import { percentText, rangeText, signed } from './format.ts'
import { html, name, shown, type Html } from './html.ts'
import type { Attrition, ReportData, TrendMonth } from './read-report.ts'
import { monthText } from './window.ts'

/** Rates of organisations, and over all of them those of functions and levels. */
export function attritionSection({ year, attrition }: ReportData): Html {
  const of = (part: Attrition['part']) => attrition.filter((one) => one.part === part)
  const organizations = of('organization')
  if (year.rate === null || organizations.length === 0) {
    return html`<section id="attrition">
      <h2>Attrition</h2>
      <p>${noRateYet(year)}</p>
    </section>`
  }
  return html`<section id="attrition">
    <h2>Attrition</h2>
    <p class="note">
      Which share of the people left in the twelve months to
      ${monthText(Date.parse(year.month_on ?? ''))}: leavings divided by the mean headcount. Main
      jobs; transfers are left out. Where more people left than the rate of the year before leads to
      expect comes first. The range is that of the headcount. The grade, A to D, says how far a rate
      can be relied on.
    </p>
    <div class="scroll" tabindex="0" role="region" aria-label="Table of attrition">
      ${organizationsTable(organizations)}
    </div>
    <div class="pair">
      ${partTable('By function', of('function'))} ${partTable('By level', of('level'))}
    </div>
  </section>`
}

function organizationsTable(rows: readonly Attrition[]): Html {
  const all = rows[0]?.rows_of_part ?? 0
  return html`<table data-sortable>
    <caption>
      ${rows.length < all && `The first ${rows.length} of ${numberText(all)} with a rate.`}
    </caption>
    <thead>
      <tr>
        <th scope="col">Organisation</th>
        ${['Rate', 'Range', 'Year before', 'More left', 'Left', 'Headcount', 'Grade'].map(
          (text) => html`<th scope="col" class="number">${text}</th>`,
        )}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (one) =>
          html`<tr
            data-organization="${encodeURIComponent(one.organization_id ?? '')}"
            data-name="${shown(one.name)}"
          >
            <th scope="row">${name(one.name, one.organization_id ?? '–')}</th>
            ${rateCell(one.rate)}
            <td class="number" data-value="${one.rate_low}">
              ${rangeText(one.rate_low, one.rate_high)}
            </td>
            ${rateCell(one.rate_before)}
            <td class="number" data-value="${one.more}">${signed(one.more)}</td>
            <td class="number" data-value="${one.leavers}">${numberText(one.leavers)}</td>
            <td class="number" data-value="${one.headcount}">
              ${numberText(Math.round(one.headcount))}
            </td>
            <td class="number">${one.grade}</td>
          </tr> `,
      )}
    </tbody>
  </table>`
}

function partTable(caption: string, rows: readonly Attrition[]): Html {
  return html`<table data-sortable>
    <caption>
      ${caption}
    </caption>
    <thead>
      <tr>
        <th scope="col">${caption.replace('By f', 'F').replace('By l', 'L')}</th>
        ${['Rate', 'Year before', 'Left'].map(
          (text) => html`<th scope="col" class="number">${text}</th>`,
        )}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (one) =>
          html`<tr>
            <th scope="row">${roleText(one.name)}</th>
            ${rateCell(one.rate)} ${rateCell(one.rate_before)}
            <td class="number" data-value="${one.leavers}">${numberText(one.leavers)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function rateCell(rate: number | null): Html {
  return html`<td class="number" data-value="${rate ?? ''}">
    ${rate === null ? html`<span class="unknown">–</span>` : percentText(rate)}
  </td>`
}

/** One organisation with its rate and its headcount over two years. @param newest the newest month that is known of any */
export function attritionTrend(months: readonly TrendMonth[], newest: string | null): Html {
  return multiple(months, scaleOf(months), newest)
}

/** The top of the scale of rates. */
function scaleOf(trends: readonly TrendMonth[]): number {
  return Math.max(0.1, 1.3 * Math.max(0, ...trends.map(({ rate }) => rate ?? 0)))
}

/** Each organisation with its rate and its headcount over two years. */
export function trendsSection({ trends, organizations, attrition, year }: ReportData): Html {
  const order = [...organizations, ...attrition].flatMap(({ organization_id: id }) => id ?? [])
  const groups = [...new Set(order)]
    .map((id) => trends.filter((one) => one.organization_id === id))
    .filter((months) => months.length > 0)
  const most = scaleOf(trends)
  return html`<section id="trends">
    <h2>Trends</h2>
    <p class="note">
      The organisations with most changes. Above, the share that left in the twelve months to each
      month, with its range, on one scale for all; until there is a rate, how many joined and left.
      Below, the headcount, on a scale of its own that begins at 0: people who were seen, and an
      estimate of those who never changed anything, or as many as the organisation's page tells.
    </p>
    ${groups.length === 0 ? html`<p>Nothing is known of these organisations.</p>` : html`<div class="multiples">${groups.map((months) => multiple(months, most, year.month_on))}</div>`}
  </section>`
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
    ${last.rate === null ? changes(months, last) : rate(months, last, most)}
    <p>
      Headcount <strong>${numberText(last.headcount)}</strong>${
        last.seen < last.headcount && `, ${numberText(last.seen)} of them seen`
      }
    </p>
    ${headcountChart(months)}
  </figure>`
}

function changes(months: readonly TrendMonth[], last: TrendMonth): Html {
  return html`<p class="unknown">${noRateYet(last)}</p>
    <p><b class="joined">Joined</b>, <b class="left">left</b></p>
    ${changesChart(months)}`
}

function rate(months: readonly TrendMonth[], last: TrendMonth, most: number): Html {
  const { rate: now, rate_low: low, rate_high: high, rate_before: before } = last
  return html`<p>
      Left in a year <strong>${percentText(now ?? 0)}</strong> (${rangeText(low ?? 0, high)}), grade
      ${last.grade}${before !== null && html`; year before ${percentText(before)}`}
      ${last.doubts !== null && last.doubts !== '' && html`<span class="seen">${last.doubts}</span>`}
    </p>
    ${attritionChart(months, most)}`
}
