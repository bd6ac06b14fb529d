/** Renders the tables of people who joined, left and were promoted. */

import { numberText } from '../support/numbers.ts'
import { html, linkTarget, name, shown, type Content, type Html } from './html.ts'
import type { Change, ChangeKind, Count, ReportData } from './read-report.ts'
import { dayText, monthText } from './window.ts'

const LEVELS: Readonly<Record<string, string>> = { cxo: 'C-level', vp: 'VP', director: 'Director' }

const KINDS: readonly {
  readonly kind: ChangeKind
  readonly head: string
  readonly where: string
  readonly none: string
}[] = [
  { kind: 'joined', head: 'Who joined', where: 'From → to', none: 'No one was seen to join.' },
  { kind: 'left', head: 'Who left', where: 'From → to', none: 'No one was seen to leave.' },
  { kind: 'rose', head: 'Who rose', where: 'Where', none: 'No one was seen to be promoted.' },
]

/** A section for each kind of change. */
export function peopleSections({
  changes,
  counts,
  scope,
}: Pick<ReportData, 'changes' | 'counts' | 'scope'>): Html[] {
  return KINDS.map(({ kind, head, where, none }) => {
    const own = changes.filter(({ change }) => change === kind)
    const count = counts.find(({ change }) => change === kind)
    const title = kind === 'joined' && scope !== null ? `${head} the organisations listed` : head
    return html`<section id="${kind}">
      <h2>${title}</h2>
      ${own.length === 0 ? html`<p>${none}</p>` : table(kind, own, count, where)}
    </section>`
  })
}

function table(
  kind: ChangeKind,
  rows: readonly Change[],
  count: Count | undefined,
  where: string,
): Html {
  const all = count?.changes ?? rows.length
  const some =
    rows.length < all ? `The first ${numberText(rows.length)} of ${numberText(all)}. ` : ''
  return html`<table class="people" data-sortable role="table">
    <caption>
      ${some}Directors and above first, then what became known last.
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        ${Object.entries({
          person: 'Person',
          titles: 'Title before → after',
          where,
          when: 'When',
        }).map(
          ([style, text]) =>
            html`<th role="columnheader" scope="col" class="${style}">${text}</th>`,
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map((row) => line(kind, row))}
    </tbody>
  </table>`
}

function line(kind: ChangeKind, row: Change): Html {
  const target = linkTarget(row.person_network_url)
  const person = name(row.person_full_name, 'name not known')
  const tag = LEVELS[row.level]
  const at = Date.parse(row.changed_on)
  const isDay = row.precision === 'day'
  const organization = shown(row.organization) ?? row.organization_id
  return html`<tr
    role="row"
    data-organization="${encodeURIComponent(row.organization_id)}"
    data-name="${organization}"
    ${row.is_executive ? null : html` data-plain`}
  >
    <th role="rowheader" scope="row" class="person">
      ${
        target === null ? person : html`<a href="${target}" rel="noopener noreferrer">${person}</a>`
      }${tag === undefined ? null : html`<span class="tag">${tag}</span>`}
    </th>
    <td role="cell" class="titles">${step(row.title_before, row.title_after)}</td>
    <td role="cell" class="where">
      ${
        kind === 'rose'
          ? name(row.organization, 'not known')
          : step(row.from_organization, row.to_organization)
      }
    </td>
    <td role="cell" class="when" data-value="${row.changed_on}">
      <time datetime="${isDay ? row.changed_on : row.changed_on.slice(0, 7)}"
        >${isDay ? dayText(at) : monthText(at)}</time
      >${row.was_announced ? ' (announced)' : null}
      <span class="seen">seen ${dayText(Date.parse(row.known_on))}</span>
    </td>
  </tr> `
}

/** The known parts of a step; an unknown end is left out. */
function step(before: string | null, after: string | null): Content {
  if (shown(before) === null) return name(after, 'not known')
  if (shown(after) === null) return name(before, 'not known')
  return html`${name(before, '')}
    <span class="arrow" aria-label="to" role="img">→</span> ${name(after, '')}`
}
