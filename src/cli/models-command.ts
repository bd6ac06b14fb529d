/** `models`: the tables for analysts: what a row of each is, how many there are, what it is made from, what its columns hold. */

import { existsSync } from 'node:fs'
import { readProject, type Project } from '../model/project.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { loadedTables } from '../warehouse/catalog.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import { queryReport } from './report-query.ts'
import type { Report } from './report.ts'
import { countText } from './text.ts'
import { whileReading } from './warehouse-reader.ts'

/** A table as `models` shows it; the keys are those of JSON. */
interface TableEntry {
  readonly name: string
  /** `core` holds steps on the way, which are shown only when they are asked for by name. */
  readonly schema: 'main' | 'core'
  /** loaded: from the journal; computed: from the words of config/titles; table or view: made by a SQL file. */
  readonly kind: 'loaded' | 'computed' | 'table' | 'view'
  /** The SQL file of a model below sql/models; null for the others. */
  readonly file: string | null
  readonly grain: string
  readonly purpose: string | null
  readonly key: readonly string[]
  /** Null for a view, and where there is no warehouse yet or the table is not in it. */
  readonly rows: number | null
  readonly reads: readonly string[]
  readonly read_by: readonly string[]
  readonly columns: readonly ColumnEntry[]
  /** Names of the checks that read it. */
  readonly checks: readonly string[]
}

interface ColumnEntry {
  readonly name: string
  /** DuckDB's name of the type; null where the table is not in the warehouse. */
  readonly type: string | null
  readonly description: string | null
}

/** Shows every table, or one of them in full. */
export async function modelsCommand(
  context: Context,
  table: string | undefined,
): Promise<ExitCode> {
  const { directory, output } = context
  const isThere = existsSync(directory.warehouse)
  const tables = await (isThere
    ? whileReading(context, (warehouse) => readTables(warehouse, true))
    : withWarehouse({ path: ':memory:', mode: 'write' }, (warehouse) =>
        readTables(warehouse, false),
      ))
  const one = table === undefined ? null : tableNamed(tables, table)
  const forAnalysts = tables.filter(({ schema }) => schema === 'main')
  output.report({
    ...(one === null ? { notes: forAnalysts.flatMap(shortNotes) } : fullReport(one)),
    values: { data_dir: directory.root, tables: one === null ? forAnalysts : [one] },
  })
  if (!isThere) output.note(`there is no warehouse in ${directory.root} yet: rows are not known`)
  return EXIT.done
}

async function readTables(warehouse: Warehouse, isThere: boolean): Promise<TableEntry[]> {
  const project = await readProject(warehouse)
  const columns = await queryReport<ColumnEntry & { table: string }>(warehouse, 'models_columns')
  const entries = declaredTables(project).map(async ({ descriptions, ...declared }) => {
    const actual = columns
      .filter(({ table }) => table === declared.name)
      .map(({ name, type, description }) => ({ name, type, description }))
    const described = [...descriptions].map(([name, description]) => {
      const type = actual.find((column) => column.name === name)?.type ?? null
      return { name, type, description }
    })
    const readers = (nodes: readonly { name: string; reads: readonly string[] }[]) =>
      nodes.filter(({ reads }) => reads.includes(declared.name)).map(({ name }) => name)
    const isCounted = isThere && actual.length > 0 && declared.kind !== 'view'
    return {
      ...declared,
      rows: isCounted ? await rowsOf(warehouse, `${declared.schema}.${declared.name}`) : null,
      read_by: readers(project.nodes),
      columns: described.length > 0 ? described : actual,
      checks: readers(project.checks),
    }
  })
  return Promise.all(entries)
}

interface DeclaredTable extends Omit<TableEntry, 'rows' | 'read_by' | 'columns' | 'checks'> {
  /** Column → what it holds; empty for a loaded table: those say it in the warehouse. */
  readonly descriptions: ReadonlyMap<string, string>
}

function declaredTables({ nodes }: Project): DeclaredTable[] {
  const loaded = loadedTables.map(({ name, grain, key }): DeclaredTable => {
    const nothing = { file: null, purpose: null, reads: [], descriptions: new Map() }
    return { name, schema: 'main', kind: 'loaded', grain, key, ...nothing }
  })
  const made = nodes.map(
    ({ name, schema, kind, model, file, definition, reads }): DeclaredTable => {
      const { grain, purpose, key, columns: descriptions } = definition
      return {
        name,
        schema,
        kind,
        file: model && file,
        grain,
        purpose,
        key,
        reads,
        descriptions,
      }
    },
  )
  return [...loaded, ...made]
}

async function rowsOf(warehouse: Warehouse, table: string): Promise<number> {
  const [row] = await warehouse.all<{ rows: number }>(
    `select cast(count(*) as double) as rows from ${table}`,
  )
  return row?.rows ?? 0
}

function tableNamed(tables: readonly TableEntry[], name: string): TableEntry {
  const found = tables.find((table) => table.name === name.toLowerCase())
  if (found !== undefined) return found
  throw new ConfigError(`there is no table ${name}`, {
    hint: `The tables are: ${tables.map((table) => table.name).join(', ')}`,
  })
}

function shortNotes(table: TableEntry): string[] {
  return [
    `${table.name.padEnd(28)} ${rowsText(table)}, ${countText(table.columns.length, 'column')}`,
    `  ${table.grain}`,
    `  from ${sourceText(table)}`,
  ]
}

function rowsText({ kind, rows }: TableEntry): string {
  if (kind === 'view') return 'view'
  return rows === null ? 'not built' : countText(rows, 'row')
}

function sourceText({ kind, reads }: TableEntry): string {
  if (kind === 'loaded') return 'the journal'
  if (kind !== 'computed') return reads.join(', ')
  return reads.length === 0 ? 'config/ladders.yaml' : `${reads.join(', ')}, and config/titles`
}

function fullReport(table: TableEntry): Report {
  const { name, grain, purpose, key, read_by: readers, checks, file, columns } = table
  const facts = [
    ['key', key.join(', ')],
    ['rows', rowsText(table)],
    ['made from', sourceText(table)],
    ['read by', readers.join(', ')],
    ['checks', checks.join(', ')],
    ['file', file === null ? '' : `sql/models/${file}`],
  ] as const
  return {
    title: name,
    notes: [
      `  ${[grain, purpose ?? ''].join(' ').trim()}`,
      '',
      ...facts.filter(([, text]) => text !== '').map(([label, text]) => label.padEnd(11) + text),
      '',
      ...columns.flatMap(({ name: column, type, description }) => [
        `${column}  ${(type ?? '').toLowerCase()}`.trimEnd(),
        `  ${description ?? ''}`.trimEnd(),
      ]),
    ],
  }
}
