/** Parts that several pages share: sections, sortable tables, figures, the answer, the footer. */

import { numberText } from '../support/numbers.ts'
import { QUESTION, answerOf } from './answer.ts'
import { html, type Content, type Html } from './html.ts'
import type { ReportHead } from './read-report.ts'
import type { ChangeKind } from './rows.ts'
import { momentText } from './window.ts'

export type Section = ReturnType<typeof section>

/** @param heading with a shorter text for the link to it, where it is long */
export function section(
  id: string,
  heading: string | readonly [text: string, link: string],
  ...content: readonly Content[]
) {
  const [text = '', link = text] = [heading].flat()
  const part = html`<section id="${id}">
    <h2>${text}</h2>
    ${content}
  </section>`
  return Object.assign(part, { id, link })
}

/** A column of a table; the first one names the row. */
export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => Content
  /** The sort value, if it differs from the text of the cell. */
  readonly value?: (row: Row) => string | number | null | undefined
  readonly style?: string
}

export function column<Row>(
  head: string,
  cell: Column<Row>['cell'],
  value?: Column<Row>['value'],
): Column<Row> {
  return { head, cell, ...(value && { value }) }
}

/**
 * A column of figures.
 * @param text formats a figure
 */
export function figure<Row>(
  head: string,
  value: (row: Row) => number | null | undefined,
  text: (value: number, row: Row) => string = numberText,
): Column<Row> {
  const cell = (row: Row) => {
    const known = value(row) ?? null
    return known === null ? html`<span class="unknown">–</span>` : text(known, row)
  }
  return { head, cell, value, style: 'number' }
}

interface TableOptions<Row> {
  readonly caption?: string
  /** Its name for screen readers, if it may be wider than the page. */
  readonly wide?: string
  /** The organisation of a row, for the filter of the page; it can also hide rows that are plain. */
  readonly organization?: (row: Row) => {
    readonly id: string
    readonly name: string | null
    readonly isPlain?: boolean
  }
  /** The class of a table that a phone shows as blocks. */
  readonly style?: string
}

export function dataTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { caption = '', wide, organization, style }: TableOptions<Row> = {},
): Html {
  // Shown as blocks, it is a table to screen readers only by its roles.
  const role = (name: string) => style !== undefined && html` role="${name}"`
  const classOf = (name: string | undefined) => name !== undefined && html` class="${name}"`
  const cell = (one: Column<Row>, row: Row, at: number) => {
    const value = one.value !== undefined && html` data-value="${one.value(row) ?? ''}"`
    const attributes = html`${classOf(one.style)}${value}`
    return at === 0
      ? html`<th${role('rowheader')} scope="row"${attributes}>${one.cell(row)}</th>`
      : html`<td${role('cell')}${attributes}>${one.cell(row)}</td>`
  }
  const about = (row: Row) => {
    if (organization === undefined) return null
    const { id, name, isPlain = false } = organization(row)
    return html` data-organization="${encodeURIComponent(id)}"
    data-name="${name}"${isPlain && ' data-plain'}`
  }
  const table = html`<table${classOf(style)} data-sortable${role('table')}>
    ${
      caption !== '' &&
      html`<caption>
        ${caption}
      </caption>`
    }
    <thead${role('rowgroup')}>
      <tr${role('row')}>
        ${columns.map((one) => html`<th${role('columnheader')} scope="col"${classOf(one.style)}>${one.head}</th>`)}
      </tr>
    </thead>
    <tbody${role('rowgroup')}>
      ${rows.map(
        (row) => html`<tr${role('row')}${about(row)}>
          ${columns.map((one, at) => cell(one, row, at))}
        </tr> `,
      )}
    </tbody>
  </table>`
  if (wide === undefined) return table
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${wide}">${table}</div>`
}

/** `The first 25 of 1,200`, and the rest of the sentence; empty if all rows are shown. */
export function firstOf(rows: readonly unknown[], all: number, rest = '.'): string {
  return rows.length < all
    ? `The first ${numberText(rows.length)} of ${numberText(all)}${rest}`
    : ''
}

/** The first sentence answers, the others say how it is known. */
export function answerPart(head: Pick<ReportHead, 'year' | 'attrition'>): Html {
  const [first = '', ...more] = answerOf(head)
  return html`<div class="answer">
    <p class="question">${QUESTION}</p>
    <p><strong>${first}</strong> ${more.join(' ')}</p>
  </div>`
}

/** Large numbers: the changes of each kind, and those of directors and above. */
export function figuresPart(
  counts: readonly { readonly change: ChangeKind; changes: number; aside?: string }[],
  directors: { readonly value: number; readonly aside: string },
): Html {
  const part = (label: string, kind: string, value: number, aside?: string) =>
    html`<div>
      <dt>${label}</dt>
      <dd>
        <span class="${`value ${kind}`.trim()}">${numberText(value)}</span>
        ${aside !== undefined && html`<span class="aside">${aside}</span>`}
      </dd>
    </div>`
  return html`<dl class="figures">
    ${counts.map(({ change, changes, aside }) => part(LABELS[change], change, changes, aside))}
    ${part('Directors and above', '', directors.value, directors.aside)}
  </dl>`
}

const LABELS = { joined: 'Joined', left: 'Left', rose: 'Promoted' }

/**
 * When a page was written, and that it does not change.
 * @param about continues the first paragraph
 */
export function footer(writtenAt: number, about: string, copy: string): Html {
  return html`<footer>
    <p>Written ${momentText(writtenAt)}. All times are UTC. ${about}</p>
    <p>${copy}</p>
  </footer>`
}
