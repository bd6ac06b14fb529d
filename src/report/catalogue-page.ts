/** Renders the tables as one page, with grain, columns, checks and a drawing of the lineage. */

import { countText } from '../support/numbers.ts'
import { htmlDocument } from './document.ts'
import { html, type Content, type Html } from './html.ts'
import { momentText } from './window.ts'

/** A table as the page shows it. */
export interface ShownTable {
  readonly name: string
  readonly schema: string
  readonly grain: string
  readonly purpose: string | null
  readonly key: readonly string[]
  readonly reads: readonly string[]
  readonly readBy: readonly string[]
  readonly checks: readonly string[]
  /** Their number in words, or why there are none. */
  readonly rowsText: string
  /** The source of a table that reads no other. */
  readonly sourceText: string
  readonly columns: readonly {
    readonly name: string
    readonly type: string | null
    readonly description: string | null
  }[]
}

/** A group of tables. */
export interface TableGroup {
  readonly title: string
  readonly about: string
  readonly tables: readonly ShownTable[]
}

/** How the title begins. */
export const CATALOGUE_TITLE = 'Tables of Jobtide'

/** The page as HTML. @param writtenAt milliseconds since 1970 */
export function cataloguePage(groups: readonly TableGroup[], writtenAt: number): string {
  const tables = groups.flatMap((group) => group.tables)
  const known = new Set(tables.map(({ name }) => name))
  // Table names have no hyphens, so these ids never clash with tables.
  const body = html`<a class="skip" href="#page-content">Skip to the content</a>
    <header>
      <h1>Tables</h1>
      <p class="lead">
        ${countText(tables.length, 'table')}, as of ${momentText(writtenAt)}. Times are UTC; columns
        in
        <code>_at</code> are instants, in <code>_on</code> dates.
      </p>
      <search class="filter" hidden>
        <label>Search <input type="search" placeholder="name, column, words" /></label>
        <output aria-live="polite"></output>
      </search>
    </header>
    <main id="page-content" tabindex="-1">
      <nav aria-label="Tables">${groups.map(overview)}</nav>
      ${tables.map((table) => section(table, tables, known))}
    </main>`
  const styles = ['page.css', 'catalogue.css']
  return htmlDocument({ title: CATALOGUE_TITLE, styles, script: 'catalogue.js', body })
}

function overview({ title, about, tables }: TableGroup): Html {
  return html`<section>
    <h2>${title}</h2>
    <p class="note">${prose(about)}</p>
    <ul class="tables">
      ${tables.map(
        ({ name, grain }) =>
          html`<li><a href="#${name}">${name}</a> <span>${prose(grain)}</span></li> `,
      )}
    </ul>
  </section>`
}

function section(
  table: ShownTable,
  tables: readonly ShownTable[],
  known: ReadonlySet<string>,
): Html {
  const { name, schema, grain, purpose, columns } = table
  const links = (names: readonly string[]) =>
    names.map((one, at) => [
      at > 0 && ', ',
      known.has(one) ? html`<a href="#${one}">${one}</a>` : html`<code>${one}</code>`,
    ])
  const drawing = lineage(name, tables)
  const { key, reads, readBy, rowsText, sourceText } = table
  const facts: readonly (readonly [label: string, content: Content])[] = [
    ['Place', html`<code>${schema}.${name}</code>`],
    ['Key', key.length > 0 && html`<code>${key.join(', ')}</code>`],
    ['Rows', rowsText],
    ['Made from', reads.length > 0 ? links(reads) : sourceText],
    ['Read by', readBy.length > 0 && links(readBy)],
  ]
  return html`<section class="table" id="${name}" aria-labelledby="${name}-head">
    <p class="back"><a href="#">All tables</a></p>
    <h2 id="${name}-head" tabindex="-1">${name}</h2>
    <p>${prose(grain)} ${prose(purpose ?? '')}</p>
    <dl class="facts">
      ${facts.map(
        ([label, content]) =>
          content !== false &&
          content !== '' &&
          html`<dt>${label}</dt>
            <dd>${content}</dd>`,
      )}
    </dl>
    ${
      drawing !== null &&
      html`<div class="scroll" tabindex="0" role="region" aria-label="Lineage of ${name}, drawn">
        ${drawing}
      </div>`
    }
    <table>
      <caption>
        ${countText(columns.length, 'column')}
      </caption>
      <thead>
        <tr>
          <th scope="col">Column</th>
          <th scope="col">What it holds</th>
        </tr>
      </thead>
      <tbody>
        ${columns.map(
          (one) =>
            html`<tr>
              <th scope="row">
                ${one.name}${one.type !== null && html`<span class="seen">${one.type.toLowerCase()}</span>`}
              </th>
              <td>${prose(one.description ?? '')}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${
      table.checks.length > 0 &&
      html`<h3>${countText(table.checks.length, 'check')} of each build</h3>
        <ul class="checks">
          ${table.checks.map((one) => html`<li>${one.replaceAll('_', ' ')}</li> `)}
        </ul>`
    }
  </section>`
}

/** A text, with parts in backquotes as code. */
function prose(text: string): Content {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : html`<code>${part}</code>`))
}

/** A table, and the names of the tables that it reads. */
interface Reading {
  readonly name: string
  readonly reads: readonly string[]
}

/** A place in a column: a table, or where the line from a table farther left passes through. */
interface Place {
  readonly name: string
  readonly isTable: boolean
  readonly column: number
  readonly before: Place[]
  readonly after: Place[]
  /** Within its column, from 0. */
  order: number
  y: number
}

const SWEEPS = 8
const LETTER = 7
const [NODE_HEIGHT, NODE_GAP, LINE_GAP, COLUMN_GAP, PADDING] = [24, 8, 6, 56, 8]

/** Draws the tables that `name` depends on and those that depend on it; null where there are none. */
export function lineage(name: string, tables: readonly Reading[]): Html | null {
  const columns = placed(name, tables)
  if (columns.length < 2) return null
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isForward = sweep % 2 === 0
    for (const column of isForward ? columns : columns.toReversed())
      reorder(column, isForward ? 'before' : 'after')
  }
  const heights = columns.map(stack)
  const height = Math.max(...heights)
  const widths = columns.map((column) => {
    return Math.max(...column.map((one) => (one.isTable ? one.name.length * LETTER + 20 : 0)))
  })
  const lefts: number[] = []
  let width = PADDING
  for (const [at, column] of columns.entries()) {
    for (const one of column) one.y += (height - (heights[at] ?? 0)) / 2 + PADDING
    lefts.push(width)
    width += (widths[at] ?? 0) + COLUMN_GAP
  }
  const edgesOf = (at: number) => [lefts[at] ?? 0, (lefts[at] ?? 0) + (widths[at] ?? 0)] as const
  width += PADDING - COLUMN_GAP
  const known = new Set(tables.map((table) => table.name))
  return html`<svg
    class="lineage"
    role="group"
    aria-label="Lineage of ${name}"
    width="${width}"
    height="${height + 2 * PADDING}"
  >
    <path
      d="${columns
        .flat()
        .map((one) => pathFrom(one, edgesOf))
        .join('')}"
    />
    ${columns.flat().flatMap((one) => (one.isTable ? node(one, name, known, edgesOf) : []))}
  </svg>`
}

/** The tables by column, from the sources to the last models. */
function placed(name: string, tables: readonly Reading[]): Place[][] {
  const readsOf = new Map(tables.map((one) => [one.name, one.reads]))
  const readersOf = new Map<string, string[]>()
  for (const one of tables)
    for (const source of one.reads)
      readersOf.set(source, [...(readersOf.get(source) ?? []), one.name])
  const before = reach(name, (one) => readsOf.get(one) ?? [])
  const after = reach(name, (one) => readersOf.get(one) ?? [])
  const columnOf = new Map<string, number>()
  const farthest = Math.max(...before.values())
  for (const [one, distance] of before) columnOf.set(one, farthest - distance)
  for (const [one, distance] of after) columnOf.set(one, farthest + distance)

  const columns: Place[][] = []
  const places = new Map<string, Place>()
  const placeOf = (one: string, column: number, isTable: boolean): Place => {
    const key = isTable ? one : `${one} ${column}`
    const found = places.get(key)
    if (found !== undefined) return found
    const inColumn = (columns[column] ??= [])
    const place = {
      name: one,
      isTable,
      column,
      before: [],
      after: [],
      order: inColumn.length,
      y: 0,
    }
    places.set(key, place)
    inColumn.push(place)
    return place
  }
  for (const [one, column] of columnOf) placeOf(one, column, true)
  for (const [one, to] of columnOf) {
    for (const source of readsOf.get(one) ?? []) {
      const isOnWay =
        (before.has(one) && before.has(source)) || (after.has(one) && after.has(source))
      const from = columnOf.get(source)
      if (from === undefined || !isOnWay) continue
      // Lines from one table share their way.
      for (let column = from; column < to; column += 1) {
        const left = placeOf(source, column, column === from)
        const right =
          column + 1 === to ? placeOf(one, to, true) : placeOf(source, column + 1, false)
        if (left.after.includes(right)) continue
        left.after.push(right)
        right.before.push(left)
      }
    }
  }
  return columns
}

/** Everything reachable from `name`, with the length of the longest path; models have no cycles. */
function reach(name: string, next: (one: string) => readonly string[]): Map<string, number> {
  const found = new Map([[name, 0]])
  for (const [one, distance] of found) {
    for (const other of next(one)) {
      if ((found.get(other) ?? -1) > distance) continue
      // Appended, so that everything after it is visited again.
      found.delete(other)
      found.set(other, distance + 1)
    }
  }
  return found
}

/** Orders a column by the positions of its neighbours on one side. */
function reorder(column: Place[], side: 'before' | 'after'): void {
  const wanted = new Map(
    column.map((one) => {
      const orders = one[side].map(({ order }) => order)
      const mean = orders.reduce((sum, order) => sum + order, 0) / orders.length
      return [one, orders.length === 0 ? one.order : mean]
    }),
  )
  column.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0))
  for (const [order, one] of column.entries()) one.order = order
}

/** Gives each place of a column the height of its middle. Returns the height of the column. */
function stack(column: readonly Place[]): number {
  let y = 0
  for (const one of column) {
    const height = one.isTable ? NODE_HEIGHT : LINE_GAP
    one.y = y + height / 2
    y += height + (one.isTable ? NODE_GAP : LINE_GAP)
  }
  return y
}

type EdgesOf = (column: number) => readonly [left: number, right: number]

function pathFrom(one: Place, edgesOf: EdgesOf): string {
  const [left, right] = edgesOf(one.column)
  const through = one.isTable ? '' : `M${left} ${one.y}H${right}`
  const [next] = edgesOf(one.column + 1)
  const middle = (right + next) / 2
  const lines = one.after.map(
    ({ y }) => `M${right} ${one.y}C${middle} ${one.y} ${middle} ${y} ${next} ${y}`,
  )
  return through + lines.join('')
}

function node(
  { name, column, y }: Place,
  centre: string,
  known: ReadonlySet<string>,
  edgesOf: EdgesOf,
): Content {
  const [left, right] = edgesOf(column)
  const top = y - NODE_HEIGHT / 2
  const box = html`<rect
      x="${left}"
      y="${top}"
      width="${right - left}"
      height="${NODE_HEIGHT}"
      rx="4"
    /><text x="${left + 10}" y="${y + 4}">${name}</text>`
  if (name === centre) return html`<g class="here">${box}</g>`
  return known.has(name) ? html`<a href="#${name}">${box}</a>` : html`<g>${box}</g>`
}
