/** Renders the tables as one page, with grain, sources, readers, columns and checks. */

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
      ${tables.map((table) => section(table, known))}
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

function section(table: ShownTable, known: ReadonlySet<string>): Html {
  const { name, schema, grain, purpose, key, columns, checks } = table
  const links = (names: readonly string[]) =>
    names.map((one, at) => [
      at > 0 && ', ',
      known.has(one) ? html`<a href="#${one}">${one}</a>` : html`<code>${one}</code>`,
    ])
  const { reads, readBy, rowsText, sourceText } = table
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
      checks.length > 0 &&
      html`<h3>${countText(checks.length, 'check')} of each build</h3>
        <ul class="checks">
          ${checks.map((one) => html`<li>${one.replaceAll('_', ' ')}</li> `)}
        </ul>`
    }
  </section>`
}

/** A text, with parts in backquotes as code. */
function prose(text: string): Content {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : html`<code>${part}</code>`))
}
