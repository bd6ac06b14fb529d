/** `models`: the tables for analysts: what a row of each is, how many there are, what it is made from, what its columns hold. */

import { existsSync } from 'node:fs'
import { readProject, type Project } from '../model/project.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { loadedTables } from '../warehouse/catalog.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import { countText, wrapText } from './text.ts'
import { whileReading } from './warehouse-reader.ts'

/** A table as `models` shows it. */
interface TableEntry {
  readonly name: string
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

const NO_WAREHOUSE = ':memory:'

/** Shows every table, or one of them in full. */
export async function modelsCommand(
  context: Context,
  table: string | undefined,
): Promise<ExitCode> {
  const { directory, output } = context
  const isThere = existsSync(directory.warehouse)
  const tables = await (isThere
    ? whileReading(context, (warehouse) => readTables(warehouse, true))
    : withWarehouse({ path: NO_WAREHOUSE, mode: 'write' }, (warehouse) =>
        readTables(warehouse, false),
      ))
  const shown = table === undefined ? tables : [tableNamed(tables, table)]
  output.document({ data_dir: directory.root, tables: shown })
  output.text(
    shown
      .map((entry) => (table === undefined ? shortText : fullText)(entry, output.columns))
      .join('\n'),
  )
  if (!isThere) output.note(`there is no warehouse in ${directory.root} yet: rows are not known`)
  return EXIT.done
}

async function readTables(warehouse: Warehouse, isThere: boolean): Promise<TableEntry[]> {
  const project = await readProject(warehouse)
  const found = await foundColumns(warehouse)
  const entries = declaredTables(project).map(async (declared) => {
    const actual = found.get(declared.name) ?? []
    const described = [...declared.descriptions].map(([name, description]) => ({
      name,
      type: actual.find((column) => column.name === name)?.type ?? null,
      description,
    }))
    return {
      name: declared.name,
      kind: declared.kind,
      file: declared.file,
      grain: declared.grain,
      purpose: declared.purpose,
      key: declared.key,
      rows:
        isThere && actual.length > 0 && declared.kind !== 'view'
          ? await rowsOf(warehouse, declared.name)
          : null,
      reads: declared.reads,
      read_by: project.nodes
        .filter(({ reads }) => reads.includes(declared.name))
        .map(({ name }) => name),
      columns: described.length > 0 ? described : actual,
      checks: project.checks
        .filter(({ reads }) => reads.includes(declared.name))
        .map(({ name }) => name),
    }
  })
  return Promise.all(entries)
}

interface DeclaredTable extends Pick<
  TableEntry,
  'name' | 'kind' | 'file' | 'grain' | 'purpose' | 'key' | 'reads'
> {
  /** Column → what it holds; empty for a loaded table: those say it in the warehouse. */
  readonly descriptions: ReadonlyMap<string, string>
}

function declaredTables(project: Project): DeclaredTable[] {
  const loaded = loadedTables.map(({ name, grain, key }) => ({
    name,
    kind: 'loaded' as const,
    file: null,
    grain,
    purpose: null,
    key,
    reads: [],
    descriptions: new Map<string, string>(),
  }))
  const made = project.nodes.map(({ name, kind, model, file, definition, reads }) => ({
    name,
    kind,
    file: model === null ? null : file,
    grain: definition.grain,
    purpose: definition.purpose,
    key: definition.key,
    reads,
    descriptions: definition.columns,
  }))
  return [...loaded, ...made]
}

async function foundColumns(warehouse: Warehouse): Promise<Map<string, ColumnEntry[]>> {
  const rows = await warehouse.all<{ table: string; name: string; type: string; comment: string }>(
    `select table_name as "table", column_name as name, data_type as type, comment
     from duckdb_columns()
     where database_name = current_database() and schema_name = 'main' order by column_index`,
  )
  const tables = new Map<string, ColumnEntry[]>()
  for (const { table, name, type, comment } of rows) {
    tables.set(table, [...(tables.get(table) ?? []), { name, type, description: comment }])
  }
  return tables
}

async function rowsOf(warehouse: Warehouse, table: string): Promise<number> {
  const [row] = await warehouse.all<{ rows: number }>(
    `select cast(count(*) as double) as rows from main.${table}`,
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

function shortText(table: TableEntry, width: number): string {
  return [
    `${table.name.padEnd(28)} ${rowsText(table)}, ${countText(table.columns.length, 'column')}`,
    wrapText(table.grain, width, '  '),
    wrapText(`from ${sourceText(table)}`, width, '  '),
  ].join('\n')
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

function fullText(table: TableEntry, width: number): string {
  const facts = [
    ['key', table.key.join(', ')],
    ['rows', rowsText(table)],
    ['made from', sourceText(table)],
    ['read by', table.read_by.join(', ')],
    ['checks', table.checks.join(', ')],
    ['file', table.file === null ? '' : `sql/models/${table.file}`],
  ]
  return [
    table.name,
    wrapText([table.grain, table.purpose ?? ''].join(' '), width, '  '),
    '',
    ...facts
      .filter(([, text]) => text !== '')
      .map(([name = '', text = '']) => {
        const wrapped = wrapText(text, width, ' '.repeat(LABEL_WIDTH))
        return `${name.padEnd(LABEL_WIDTH)}${wrapped.trimStart()}`
      }),
    '',
    ...table.columns.map(
      ({ name, type, description }) =>
        `${`${name}  ${(type ?? '').toLowerCase()}`.trimEnd()}\n${wrapText(description ?? '', width, '  ')}`,
    ),
  ].join('\n')
}

const LABEL_WIDTH = 11
