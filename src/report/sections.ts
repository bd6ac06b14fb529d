/** The sections of a report that are not about single people. */

import { countText, numberText } from '../support/numbers.ts'
import { weeksChart } from './charts.ts'
import { flowsChart } from './flows-chart.ts'
import { credits, instant, signed } from './format.ts'
import { html, name, shown, type Html } from './html.ts'
import { MOST, type Burst, type ReportData } from './read-report.ts'
import { dayText, windowText } from './window.ts'

export function weeksSection({ weeks, window }: ReportData): Html {
  return html`<section id="weeks">
    <h2>Week by week</h2>
    <p class="note">
      <b class="joined">Joined</b> above the line, <b class="left">left</b> below it, by when it
      became known, in times of seven days to the end of the window. The window is drawn stronger.
    </p>
    <figure>${weeksChart(weeks, window)}</figure>
    <details>
      <summary>The figures</summary>
      <table data-sortable>
        <thead>
          <tr>
            <th scope="col">Week from</th>
            <th scope="col" class="number">Joined</th>
            <th scope="col" class="number">Left</th>
            <th scope="col" class="number">Rose</th>
          </tr>
        </thead>
        <tbody>
          ${weeks.map(
            (week) =>
              html`<tr>
                <th scope="row" data-value="${week.week_from_at}">
                  ${dayText(Date.parse(week.week_from_at))}
                </th>
                ${cells(week.joined, week.went, week.rose)}
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </section>`
}

export function organizationsSection({ organizations, scope }: ReportData): Html {
  const all = organizations[0]?.organizations ?? 0
  const some =
    organizations.length < all
      ? `The first ${numberText(organizations.length)} of ${numberText(all)}. `
      : ''
  const head = scope === null ? 'Organisations' : 'Hires and losses of the organisations listed'
  if (all === 0)
    return html`<section id="organizations">
      <h2>${head}</h2>
      <p>No change became known.</p>
    </section>`
  return html`<section id="organizations">
    <h2>${head}</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Table of organisations">
      <table data-sortable>
        <caption>
          ${some}Most changes first.
        </caption>
        <thead>
          <tr>
            <th scope="col">Organisation</th>
            ${['Joined', 'Left', 'Net', 'Rose', 'Directors+ joined', 'Directors+ left'].map(
              (text) => html`<th scope="col" class="number">${text}</th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${organizations.map(
            (one) =>
              html`<tr
                data-organization="${encodeURIComponent(one.organization_id)}"
                data-name="${shown(one.organization)}"
              >
                <th scope="row">${name(one.organization, one.organization_id)}</th>
                ${cells(one.joined, one.went)}
                <td class="number" data-value="${one.net}">${signed(one.net)}</td>
                ${cells(one.rose, one.executives_joined, one.executives_left)}
              </tr> `,
          )}
        </tbody>
      </table>
    </div>
  </section>`
}

export function flowsSection({ flows, flowsFrom, window }: ReportData): Html {
  const [first] = flows
  const since = windowText({ from: flowsFrom, to: window.to })
  if (first === undefined)
    return html`<section id="flows">
      <h2>Flows</h2>
      <p>No move from one organisation to another became known in ${since}.</p>
    </section>`
  return html`<section id="flows">
    <h2>Flows</h2>
    <p class="note">
      Moves whose both halves, leaving and joining, became known in ${since}:
      ${numberText(first.all_moves)}, including ${numberText(first.all_moves_in_window)} in the
      window (blue if any). Only moves between watched organisations are visible.
    </p>
    <figure>${flowsChart(flows)}</figure>
    <details>
      <summary>The figures</summary>
      <table data-sortable>
        <caption>
          ${flows.length < MOST.flows ? null : 'The most frequent ones.'}
        </caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col" class="number">Moves</th>
            <th scope="col" class="number">In the window</th>
          </tr>
        </thead>
        <tbody>
          ${flows.map(
            (flow) =>
              html`<tr>
                <th scope="row">${name(flow.from_organization, '–')}</th>
                <td>${name(flow.to_organization, '–')}</td>
                ${cells(flow.moves, flow.moves_in_window)}
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </section>`
}

export function burstsSection({ bursts }: ReportData): Html {
  return html`<section id="bursts">
    <h2>Bursts and layoffs</h2>
    <p class="note">
      Months in which at least 10 people joined or left an organisation, far more than its own
      history and the season lead to expect (a score of 3 or more comes by chance once in 740
      months), if any of it became known in the window. As known today, by when it happened;
      transfers, duplicate people and teams that moved together are left out.
    </p>
    ${
      bursts.length === 0
        ? html`<p>None.</p>`
        : html`<table data-sortable>
            <caption>
              ${(bursts[0]?.bursts ?? 0) > bursts.length && `The largest ${bursts.length} of ${numberText(bursts[0]?.bursts ?? 0)}.`}
            </caption>
            <thead>
              <tr>
                <th scope="col">Organisation</th>
                <th scope="col">What</th>
                <th scope="col">Month</th>
                <th scope="col" class="number">People</th>
                <th scope="col" class="number">Expected</th>
                <th scope="col" class="number">Score</th>
              </tr>
            </thead>
            <tbody>
              ${bursts.map(burstLine)}
            </tbody>
          </table>`
    }
  </section>`
}

function burstLine(one: Burst): Html {
  return html`<tr
    data-organization="${encodeURIComponent(one.organization_id)}"
    data-name="${shown(one.organization)}"
  >
    <th scope="row">${name(one.organization, one.organization_id)}</th>
    <td>
      <span class="${one.change}">${one.change === 'joined' ? 'Many joined' : 'Many left'}</span>
    </td>
    <td>${one.month_start_on.slice(0, 7)}</td>
    ${cells(one.people, one.expected, one.score)}
  </tr>`
}

export function coverageSection({ coverage, freshness }: ReportData): Html {
  const [first] = coverage
  const missing = coverage.filter((one) => one.organization_id !== null)
  const all = (first?.organizations ?? 0) - (first?.whole ?? 0)
  return html`<section id="coverage">
    <h2>Freshness and cost</h2>
    <dl class="facts">
      <dt>Read up to</dt>
      <dd>
        ${instant(first?.oldest_watermark_at)}${
          first?.oldest_watermark_at !== first?.newest_watermark_at &&
          html` for the organisation read least far, ${instant(first?.newest_watermark_at)} for the
          one read furthest`
        }
      </dd>
      <dt>Read for the whole window</dt>
      <dd>
        ${numberText(first?.whole ?? 0)} of ${countText(first?.organizations ?? 0, 'organisation')},
        up to the newest reading
      </dd>
      <dt>Newest change</dt>
      <dd>
        detected ${instant(freshness.newest_detected_at)}, received
        ${instant(freshness.newest_received_at)}
      </dd>
      <dt>Cost of the window</dt>
      <dd>
        ${credits(freshness.credits)} for ${countText(freshness.events_received, 'event')} received
        first in it
      </dd>
      <dt>Cost so far</dt>
      <dd>${credits(freshness.credits_ever)}</dd>
    </dl>
    ${
      missing.length > 0 &&
      html`<h3>Not read for the whole window</h3>
        <table data-sortable>
          <caption>
            ${missing.length < all && `The first ${missing.length} of ${numberText(all)}.`}
          </caption>
          <thead>
            <tr>
              <th scope="col">Organisation</th>
              <th scope="col">Read up to</th>
            </tr>
          </thead>
          <tbody>
            ${missing.map(
              (one) =>
                html`<tr>
                  <th scope="row">${name(one.organization, one.organization_id ?? '–')}</th>
                  <td data-value="${one.covered_to_at ?? ''}">${instant(one.covered_to_at)}</td>
                </tr>`,
            )}
          </tbody>
        </table>`
    }
  </section>`
}

function cells(...values: readonly number[]): Html[] {
  return values.map(
    (value) => html`<td class="number" data-value="${value}">${numberText(value)}</td>`,
  )
}
