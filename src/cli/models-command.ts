/** `models`: lists the tables for analysts with grain, rows, sources and columns. */

import { resolve } from 'node:path'
import {
  GROUPS,
  groupOf,
  IN_MEMORY,
  readCatalogue,
  type CatalogueTable,
} from '../model/catalogue.ts'
import { configFiles } from '../model/computed-models.ts'
import { html, htmlDocument, refuseForeignPage, type Content, type Html } from '../report/html.ts'
import { momentText } from '../report/window.ts'
import { refuseOwnPlace } from '../run/data-directory.ts'
import { isThere, writeFileAtomic } from '../support/atomic-file.ts'
import { ConfigError } from '../support/errors.ts'
import { bytesText, countText } from '../support/numbers.ts'
import { didYouMean } from '../support/nearest.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { whileReading } from './reading.ts'
import type { Report } from './report.ts'

export async function modelsCommand(
  context: Context,
  table: string | undefined,
  { html }: OptionsOf<'models'>,
): Promise<Report> {
  const { directory, output } = context
  if (html !== undefined && table !== undefined) {
    throw new ConfigError(`--html writes a page of all tables, and ${table} names one`, {
      hint: `Leave out one of the two: \`#${table}\` at the end of the page's address leads to it.`,
    })
  }
  const read = (warehouse: Warehouse) => readCatalogue(warehouse, context.ownFolder)
  const isBuilt = isThere(directory.warehouse)
  const tables = await (isBuilt
    ? whileReading(context, read)
    : withWarehouse({ path: IN_MEMORY, mode: 'write' }, read))
  const one = table === undefined ? null : tableNamed(tables, table)
  const written = html === undefined ? null : writePage(context, tables, resolve(html))
  const shown = one === null ? LISTED.flatMap(({ schema }) => inGroup(tables, schema)) : [one]
  const values = { dataDir: directory.root, page: written, tables: shown }
  if (!isBuilt)
    output.note(`there is no warehouse in ${directory.root} yet, so row counts are not known`)
  if (written !== null) return { title: `${written.path} (${bytesText(written.bytes)})`, values }
  if (one !== null) return { ...fullReport(one), values }
  const notes = LISTED.flatMap(({ schema, title }) => {
    const found = inGroup(tables, schema)
    const head = `${title} (${schema === 'own' ? 'models/' : `schema ${schema}`})`
    return found.length === 0 ? [] : ['', head, ...found.flatMap(shortNotes)]
  })
  return { notes: notes.slice(1), values }
}

/** Writes the page of the tables. @throws ConfigError when the file there is not such a page */
function writePage(
  { clock, directory }: Context,
  tables: readonly CatalogueTable[],
  path: string,
): { path: string; bytes: number } {
  refuseOwnPlace(directory.root, path, 'a page of tables', { allowed: directory.reports })
  refuseForeignPage(path, 'page of the tables of Jobtide', TITLE)
  const shown = tables.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const groups = GROUPS.map((group) => ({ ...group, tables: inGroup(shown, group.schema) }))
  const page = Buffer.from(cataloguePage(groups, clock.now()))
  writeFileAtomic(path, page)
  return { path, bytes: page.length }
}

// Intermediate models are shown only by name.
const LISTED = GROUPS.filter(({ schema }) => schema !== 'core')

function inGroup(tables: readonly CatalogueTable[], group: string): CatalogueTable[] {
  return tables.filter((table) => groupOf(table) === group)
}

function tableNamed(tables: readonly CatalogueTable[], name: string): CatalogueTable {
  const found = tables.find((table) => table.name === name.toLowerCase())
  if (found !== undefined) return found
  const names = tables.map((table) => table.name)
  throw new ConfigError(`there is no table ${name}`, {
    hint: `${didYouMean(name, names)}\`jobtide models\` lists the ${names.length} tables.`,
  })
}

function shortNotes(table: CatalogueTable): string[] {
  return [
    `${table.name.padEnd(28)} ${rowsText(table)}, ${countText(table.columns.length, 'column')}`,
    `  ${table.grain}`,
    `  from ${sourceText(table)}`,
  ]
}

function rowsText({ kind, rows, needs }: CatalogueTable): string {
  if (needs.length > 0) return `not there before an answer of ${needs.join(' or ')}`
  if (kind === 'view') return 'view'
  return rows === null ? 'not built' : countText(rows, 'row')
}

function sourceText({ kind, name, reads }: CatalogueTable): string {
  if (kind === 'loaded') return 'the journal'
  if (kind !== 'computed') return reads.join(', ')
  const config = configFiles[name]
  if (config !== undefined) return config
  return reads.length === 0 ? 'config/ladders.yaml' : `${reads.join(', ')}, and config/titles`
}

function fullReport(table: CatalogueTable): Report {
  const { name, grain, purpose, key, readBy, checks, file, columns } = table
  const about = {
    key: key.join(', '),
    rows: rowsText(table),
    'made from': sourceText(table),
    'read by': readBy.join(', '),
    checks: checks.join(', '),
    file: file === null || table.isOwn ? (file ?? '') : `sql/models/${file}`,
  }
  return {
    title: name,
    notes: [
      `  ${[grain, purpose ?? ''].join(' ').trim()}`,
      '',
      ...Object.entries(about).flatMap(([label, text]) => (text ? label.padEnd(11) + text : [])),
      '',
      ...columns.flatMap(({ name: column, type, description }) => [
        `${column}  ${(type ?? '').toLowerCase()}`.trimEnd(),
        `  ${description ?? ''}`.trimEnd(),
      ]),
    ],
  }
}

const TITLE = 'Tables of Jobtide'

type TableGroup = Omit<(typeof GROUPS)[number], 'schema'> & {
  readonly tables: readonly CatalogueTable[]
}

/** The page as HTML. @param writtenAt milliseconds since 1970 UTC */
export function cataloguePage(all: readonly TableGroup[], writtenAt: number): string {
  const groups = all.filter((group) => group.tables.length > 0)
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
      ${tables.map((table) => tableSection(table, known))}
    </main>`
  const styles = ['page.css', 'catalogue.css']
  return htmlDocument({ title: TITLE, styles, script: 'catalogue.js', body })
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

function tableSection(table: CatalogueTable, known: ReadonlySet<string>): Html {
  const { name, schema, grain, purpose, key, columns, checks } = table
  const links = (names: readonly string[]) =>
    names.map((one, at) => [
      at > 0 && ', ',
      known.has(one) ? html`<a href="#${one}">${one}</a>` : html`<code>${one}</code>`,
    ])
  const { reads, readBy } = table
  const facts: readonly (readonly [label: string, content: Content])[] = [
    ['Place', html`<code>${schema}.${name}</code>`],
    ['Key', key.length > 0 && html`<code>${key.join(', ')}</code>`],
    ['Rows', rowsText(table)],
    ['Made from', reads.length > 0 ? links(reads) : sourceText(table)],
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
