/** `models`: the tables for analysts: what a row of each is, how many there are, what it is made from, what its columns hold. */

import { existsSync } from 'node:fs'
import { configFiles } from '../model/computed-models.ts'
import { withOwn } from '../model/own/project.ts'
import { readProject } from '../model/project.ts'
import { rowsIn } from '../model/tables.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { countText } from '../support/numbers.ts'
import { didYouMean } from '../support/nearest.ts'
import { loadedTables, type Tier } from '../warehouse/catalog.ts'
import { queryReport } from '../warehouse/query-report.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import { whileReading } from './reading.ts'
import type { Report } from './report.ts'

export async function modelsCommand(
  context: Context,
  table: string | undefined,
): Promise<ExitCode> {
  const { directory, output } = context
  const isThere = existsSync(directory.warehouse)
  const read = (warehouse: Warehouse) => readTables(warehouse, context.ownFolder)
  const tables = await (isThere
    ? whileReading(context, read)
    : withWarehouse({ path: IN_MEMORY, mode: 'write' }, read))
  const one = table === undefined ? null : tableNamed(tables, table)
  // Steps on the way are shown only when they are asked for by name.
  const groups = GROUPS.map(([head, isIn]) => [head, tables.filter(isIn)] as const)
  const shown = one === null ? groups.flatMap(([, group]) => group) : [one]
  output.report({
    ...(one === null
      ? {
          notes: groups.flatMap(([head, group]) =>
            group.length === 0 ? [] : [head, ...group.flatMap(shortNotes)],
          ),
        }
      : fullReport(one)),
    values: { dataDir: directory.root, tables: shown },
  })
  if (!isThere) output.note(`there is no warehouse in ${directory.root} yet: rows are not known`)
  return EXIT.done
}

const inTier =
  (tier: Tier) =>
  ({ schema, isOwn }: TableEntry) =>
    schema === tier && !isOwn

const GROUPS: readonly (readonly [head: string, isIn: (table: TableEntry) => boolean])[] = [
  ['for every day', inTier('main')],
  ['\ndetails (schema detail)', inTier('detail')],
  ['\nfrom other endpoints (schema service)', inTier('service')],
  ['\nyour own (models/)', ({ isOwn }) => isOwn],
]

type TableEntry = Awaited<ReturnType<typeof readTables>>[number]

// Where there is no warehouse, one in memory tells the columns; of the rows nothing is known.
const IN_MEMORY = ':memory:'

async function readTables(warehouse: Warehouse, ownFolder: string | null) {
  const { nodes, checks } = await withOwn(warehouse, await readProject(warehouse), ownFolder)
  const actual = await queryReport<{
    table: string
    name: string
    type: string
    description: string | null
  }>(warehouse, 'models_columns')
  const loaded = {
    schema: 'main',
    kind: 'loaded',
    file: '',
    purpose: null,
    reads: [],
    columns: null,
    isOwn: false,
  }
  const tables = [...loadedTables.map((table) => ({ ...table, ...loaded })), ...nodes]
  const entries = tables.map(
    async ({
      name,
      schema,
      kind,
      file,
      grain,
      purpose,
      key,
      endpoints = [],
      isOwn = false,
      ...table
    }) => {
      const columns = actual.filter((column) => column.table === name)
      const typeOf = (column: string) => columns.find((one) => one.name === column)?.type ?? null
      const namesOf = (readers: readonly { name: string; reads: readonly string[] }[]) =>
        readers.filter((one) => one.reads.includes(name)).map((one) => one.name)
      const isStored = warehouse.path !== IN_MEMORY && columns.length > 0 && kind !== 'view'
      return {
        name,
        schema,
        kind,
        isOwn,
        // Of a model, below sql/models or the folder of the project; computed models are from the words of config/titles.
        file: file === '' ? null : file,
        grain,
        purpose,
        key,
        // The endpoints whose first answer brings it; none where it is there, or needs none.
        needs: columns.length > 0 ? [] : endpoints,
        rows: isStored ? await rowsIn(warehouse, `${schema}.${name}`) : null,
        reads: table.reads,
        readBy: namesOf(nodes),
        columns:
          table.columns === null || (isOwn && columns.length > 0)
            ? columns.map(({ table: _table, ...column }) => column)
            : [...table.columns].map(([column, description]) => {
                return { name: column, type: typeOf(column), description }
              }),
        checks: namesOf(checks),
      }
    },
  )
  return Promise.all(entries)
}

function tableNamed(tables: readonly TableEntry[], name: string): TableEntry {
  const found = tables.find((table) => table.name === name.toLowerCase())
  if (found !== undefined) return found
  const names = tables.map((table) => table.name)
  throw new ConfigError(`there is no table ${name}`, {
    hint: `${didYouMean(name, names)}\`jobtide models\` lists the ${names.length} tables.`,
  })
}

function shortNotes(table: TableEntry): string[] {
  return [
    `${table.name.padEnd(28)} ${rowsText(table)}, ${countText(table.columns.length, 'column')}`,
    `  ${table.grain}`,
    `  from ${sourceText(table)}`,
  ]
}

function rowsText({ kind, rows, needs }: TableEntry): string {
  if (needs.length > 0) return `not there before an answer of ${needs.join(' or ')}`
  if (kind === 'view') return 'view'
  return rows === null ? 'not built' : countText(rows, 'row')
}

function sourceText({ kind, name, reads }: TableEntry): string {
  if (kind === 'loaded') return 'the journal'
  if (kind !== 'computed') return reads.join(', ')
  const config = configFiles[name]
  if (config !== undefined) return config
  return reads.length === 0 ? 'config/ladders.yaml' : `${reads.join(', ')}, and config/titles`
}

function fullReport(table: TableEntry): Report {
  const { name, grain, purpose, key, readBy, checks, file, columns } = table
  const facts: readonly (readonly [label: string, text: string])[] = [
    ['key', key.join(', ')],
    ['rows', rowsText(table)],
    ['made from', sourceText(table)],
    ['read by', readBy.join(', ')],
    ['checks', checks.join(', ')],
    ['file', file === null ? '' : table.isOwn ? file : `sql/models/${file}`],
  ]
  return {
    title: name,
    notes: [
      `  ${[grain, purpose ?? ''].join(' ').trim()}`,
      '',
      ...facts.flatMap(([label, text]) => (text === '' ? [] : label.padEnd(11) + text)),
      '',
      ...columns.flatMap(({ name: column, type, description }) => [
        `${column}  ${(type ?? '').toLowerCase()}`.trimEnd(),
        `  ${description ?? ''}`.trimEnd(),
      ]),
    ],
  }
}
