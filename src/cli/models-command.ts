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
import { CATALOGUE_TITLE, cataloguePage } from '../report/catalogue-page.ts'
import { refuseForeignPage } from '../report/document.ts'
import { refuseOwnPlace } from '../run/data-directory.ts'
import { isThere, writeFileAtomic } from '../support/atomic-file.ts'
import { ConfigError } from '../support/errors.ts'
import { countText } from '../support/numbers.ts'
import { didYouMean } from '../support/nearest.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import { whileReading } from './reading.ts'
import { bytesText, type Report } from './report.ts'

export async function modelsCommand(
  context: Context,
  table: string | undefined,
  { html }: { readonly html?: string },
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
  // Intermediate models are shown only by name.
  const shown = one === null ? LISTED.flatMap(([group]) => inGroup(tables, group)) : [one]
  const values = { dataDir: directory.root, page: written, tables: shown }
  if (!isBuilt)
    output.note(`there is no warehouse in ${directory.root} yet, so row counts are not known`)
  if (written !== null) return { title: `${written.path} (${bytesText(written.bytes)})`, values }
  if (one !== null) return { ...fullReport(one), values }
  const notes = LISTED.flatMap(([group, head]) => {
    const found = inGroup(tables, group)
    return found.length === 0 ? [] : [head, ...found.flatMap(shortNotes)]
  })
  return { notes, values }
}

/** Writes the page of the tables. @throws ConfigError when the file there is not such a page */
function writePage(
  { clock, directory }: Context,
  tables: readonly CatalogueTable[],
  path: string,
): { path: string; bytes: number } {
  refuseOwnPlace(directory.root, path, 'a page of tables', { allowed: directory.reports })
  refuseForeignPage(path, 'page of the tables of Jobtide', CATALOGUE_TITLE)
  const shown = tables
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((one) => ({ ...one, rowsText: rowsText(one), sourceText: sourceText(one) }))
  const all = GROUPS.map((group) => ({ ...group, tables: inGroup(shown, group.schema) }))
  const groups = all.filter((group) => group.tables.length > 0)
  const page = Buffer.from(cataloguePage(groups, clock.now()))
  writeFileAtomic(path, page)
  return { path, bytes: page.length }
}

/** The groups that are listed by default, with their headings. */
const LISTED: readonly (readonly [group: string, head: string])[] = [
  ['main', 'for every day'],
  ['detail', '\ndetails (schema detail)'],
  ['service', '\nfrom other endpoints (schema service)'],
  ['own', '\nyour own (models/)'],
]

function inGroup<T extends CatalogueTable>(tables: readonly T[], group: string): T[] {
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
