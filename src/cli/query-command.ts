/**
 * `query`: read-only SQL on the warehouse, as a table, CSV or JSON. Rows are streamed with backpressure, so neither many rows
 * nor a slow reader costs memory. Recipes are named questions that ship with Jobtide, sql/recipes/<name>.sql: the header of
 * each file names its question and parameters; its SQL reads them with `getvariable('…')`, so it runs in any DuckDB.
 */

import { existsSync, readFileSync } from 'node:fs'
import { basename, extname, join, resolve } from 'node:path'
import { onAbort } from '../support/abort.ts'
import { sqlFolder } from '../support/assets.ts'
import { namesIn, readNamedFile } from '../support/atomic-file.ts'
import { ConfigError, EXIT, JobtideError, SIGNALS, type ExitCode } from '../support/errors.ts'
import { didYouMean } from '../support/nearest.ts'
import { countText } from '../support/numbers.ts'
import { csvLine, escapedJson } from '../support/text.ts'
import { MIB } from '../support/units.ts'
import { removeSpillFolder } from '../warehouse/engine-settings.ts'
import { NoSqlError, SqlError } from '../warehouse/errors.ts'
import type { ResultTable, RowStream } from '../warehouse/rows.ts'
import { quoteIdentifier, quotePath, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { openForReading } from './reading.ts'
import { tableText } from './report.ts'

const WHOLE_NUMBERS: ReadonlySet<string> = new Set(['BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT'])
const NUMBERS = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|UINTEGER|DOUBLE|FLOAT|DECIMAL.*)$/
const INSTANT = 'TIMESTAMP WITH TIME ZONE'
const ROWS_SHOWN = 200
const KNOWN_ON = /(\w+)_as_known_on\b/gi
const REFUSED = /^permission error|read-only mode|configuration has been locked/i
const NO_TABLE = /\btable with name "?(\w+)"? does not exist/i
const TABLES =
  'Tables for analysts are in `main`, `detail` and `service`, for operators in `ops`: show them with "show all tables".'
const READ_ONLY = 'The warehouse is read-only here, without files.'
const DEAF_AFTER_MS = 300

/**
 * Runs one read-only statement on the warehouse or the copy for analysts, without access to network or files other than
 * attached ones.
 * @param words the statement, or the parameters of a recipe
 * @throws JobtideError with the signal's exit code when it is stopped; ConfigError when the engine refuses the statement
 */
export async function queryCommand(
  context: Context,
  words: readonly string[],
  { format, attach = [], recipe: name }: OptionsOf<'query'>,
): Promise<ExitCode> {
  const { output, stop } = context
  const recipe = name === undefined ? null : readRecipe(name)
  const sql = recipe?.sql ?? onlyStatement(words)
  const shown = output.json ? 'json' : format
  const warehouse = await openForReading(context)
  const release = interruptOn(warehouse, context)
  try {
    stop.throwIfAborted()
    await attachFiles(warehouse, attach)
    if (recipe !== null) await setParameters(warehouse, recipe, words)
    await makeKnownOnMacros(warehouse, sql)
    await warehouse.run('set enable_external_access = false; set lock_configuration = true')
    const stream = await warehouse.stream(sql)
    if (shown === 'table') {
      const rows = await printTable(stream, context)
      const empty = rows === 0 && recipe?.empty
      // Where the table has rows, the parameters are the reason.
      if (
        empty &&
        (await warehouse.number(`from ${quoteIdentifier(empty.table)} select count(*)`)) === 0
      ) {
        output.note(`No rows: ${empty.why}.`)
      }
    } else {
      await printRows(stream, context, shown)
    }
    stop.throwIfAborted()
    return EXIT.done
  } catch (error) {
    if (stop.aborted) throw stopped(stop)
    if (!(error instanceof SqlError)) throw error
    const [, absent] = NO_TABLE.exec(error.message) ?? []
    const unasked = absent && (await import('../warehouse/endpoint-tables.ts')).unaskedTable(absent)
    if (unasked) throw unasked
    const { renamedHint } = await import('../warehouse/renamed.ts')
    const refused = REFUSED.test(error.message) && `${READ_ONLY} ${TABLES}`
    const hint = renamedHint(error.message, sql) ?? (refused || (absent && TABLES))
    throw new ConfigError(error.message, { ...(hint && { hint }), cause: error })
  } finally {
    release()
    // An unfinished statement keeps running in the background until it is interrupted.
    warehouse.interrupt()
    warehouse.close()
  }
}

/** Makes the macros `…_as_known_on` that a statement names, in this session: the warehouse stores none. */
async function makeKnownOnMacros(warehouse: Warehouse, sql: string): Promise<void> {
  const named = new Set([...sql.matchAll(KNOWN_ON)].map(([, table = '']) => table.toLowerCase()))
  if (named.size === 0) return
  const { knownOnStatements } = await import('../model/as-known-on.ts')
  const { readProject } = await import('../model/project.ts')
  const statements = knownOnStatements(await readProject(warehouse), (table) => named.has(table))
  await warehouse.run(statements.join(';\n'))
}

function onlyStatement(words: readonly string[]): string {
  const [sql = '', ...more] = words
  if (sql.trim() === '') throw new NoSqlError()
  if (more.length === 0) return sql
  throw new ConfigError('the statement was split into several words', {
    hint: 'Put it in quotes: jobtide query "select …".',
  })
}

// The engine does not check inside one function over a long list, and forgets an interrupt that arrives just as a statement
// begins: then the process ends anyway. A normal exit would wait for the engine's threads.
function interruptOn(warehouse: Warehouse, { stop, clock, output }: Context): () => void {
  let isReleased = false
  const stopListening = onAbort(stop, () => {
    warehouse.interrupt()
    void clock.sleep(DEAF_AFTER_MS).then(() => {
      if (isReleased) return
      const reason = stopped(stop)
      output.problem(reason)
      removeSpillFolder({ path: warehouse.path, mode: 'read' })
      const name = SIGNALS[reason.exitCode] ?? 'SIGTERM'
      process.removeAllListeners(name)
      process.kill(process.pid, name)
    })
  })
  return () => {
    isReleased = true
    stopListening()
  }
}

function stopped({ reason }: AbortSignal): JobtideError {
  const { exitCode, message } = reason as JobtideError
  return new JobtideError(exitCode, message, { hint: 'Nothing was changed: a query only reads.' })
}

// A batch of rows with long texts can exceed the maximum string length.
const PIECE = MIB

async function printRows(
  stream: RowStream,
  { output, stop }: Context,
  format: Exclude<OptionsOf<'query'>['format'], 'table'>,
): Promise<void> {
  const isJson = format === 'json'
  const names = stream.columns.map(({ name }) => name)
  const csvOf = (cells: readonly string[]) => csvLine(cells, format === 'spreadsheet')
  const objectOf = (row: readonly unknown[]) =>
    Object.fromEntries(names.map((name, index) => [name, row[index] ?? null]))
  const lineOf = (row: readonly unknown[]) =>
    isJson ? JSON.stringify(objectOf(row)) : csvOf(row.map(cellText))
  const [between, end] = isJson ? [',', ']\n'] : ['', '']
  // Written with the first rows, so that a statement that fails earlier prints nothing.
  let text = isJson ? '[' : csvOf(names)
  let isFirst = true
  const send = () => {
    const piece = isJson ? escapedJson(text) : text
    text = ''
    return output.stream(piece, stop)
  }
  for await (const rows of stream.batches) {
    for (const row of readable(stream.columns, rows)) {
      text += `${isFirst ? '' : between}${lineOf(row)}`
      isFirst = false
      if (text.length >= PIECE && !(await send())) return
    }
    if (!isFirst && !(await send())) return
  }
  text += end
  await send()
}

// Rows beyond those shown are not fetched: counting them would take as long as reading all.
async function printTable(stream: RowStream, { output, stop }: Context): Promise<number> {
  const found: unknown[][] = []
  for await (const rows of stream.batches) {
    found.push(...readable(stream.columns, rows.slice(0, ROWS_SHOWN + 1)))
    if (found.length > ROWS_SHOWN) break
  }
  const shown = found.slice(0, ROWS_SHOWN)
  const { columns } = stream
  const heads = columns.map(({ name }) => name)
  const kinds = columns.map(({ type }) => (NUMBERS.test(type) ? 'number' : 'text'))
  const width = process.stdout.isTTY ? output.columns : Number.POSITIVE_INFINITY
  const text = tableText({ heads, kinds, cells: shown.map((row) => row.map(cellText)) }, width)
  const count =
    found.length > shown.length
      ? `the first ${shown.length} rows; there are more: all with --format csv`
      : countText(found.length, 'row')
  await output.stream(`${text}\n(${count})\n`, stop)
  return shown.length
}

// Instants in ISO 8601, and 64-bit integers as numbers where a JSON number holds them exactly.
function readable(columns: ResultTable['columns'], rows: ResultTable['rows']): unknown[][] {
  return rows.map((row) =>
    row.map((value, index) => {
      const type = columns[index]?.type ?? ''
      if (typeof value !== 'string') return value
      if (type === INSTANT) return value.replace(' ', 'T').replace(/\+00(?::00)?$/, 'Z')
      const number = WHOLE_NUMBERS.has(type) ? Number(value) : Number.NaN
      return Number.isSafeInteger(number) ? number : value
    }),
  )
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number)
}

type Reader = (warehouse: Warehouse, path: string, name: string) => Promise<void>

const READERS: Readonly<Record<string, Reader>> = {
  '.csv': attachCsv,
  '.parquet': (warehouse, path, name) =>
    warehouse.run(`create temp table ${name} as from read_parquet(${quotePath(path)})`),
  '.duckdb': (warehouse, path, name) =>
    warehouse.run(`attach ${quoteText(path)} as ${name} (read_only)`),
}
const HINT = `Give a file that ends in ${Object.keys(READERS).join(', ')}, or name=file. Nothing was changed.`

/**
 * Makes each file a table for this connection, and a database file a schema of its tables. The warehouse does not change.
 * @param given paths, each named after its file, or `name=path`
 * @throws ConfigError for a file that does not exist or does not match its extension, and for a name that is taken
 */
export async function attachFiles(warehouse: Warehouse, given: readonly string[]): Promise<void> {
  for (const one of given) {
    const [, alias, path = one] = /^([A-Za-z_]\w*)=(.+)$/s.exec(one) ?? []
    const reader = READERS[extname(path).toLowerCase()]
    if (reader === undefined || !existsSync(path)) {
      const why = reader === undefined ? 'is not a CSV, Parquet or DuckDB file' : 'is not there'
      throw new ConfigError(`--attach: ${path} ${why}`, { hint: HINT })
    }
    const name = alias ?? basename(path, extname(path)).replaceAll(/\W/g, '_')
    const taken = await warehouse.all(
      `select table_name from information_schema.tables where lower(table_name) = lower($1)
       union all select database_name from duckdb_databases() where lower(database_name) = lower($1)`,
      [name],
    )
    if (taken.length > 0) {
      throw new ConfigError(`--attach: table ${name} already exists`, {
        hint: `Give it another name: --attach mine=${path}`,
      })
    }
    await reader(warehouse, resolve(path), quoteIdentifier(name)).catch((error: unknown) => {
      if (!(error instanceof SqlError)) throw error
      throw new ConfigError(`--attach ${path}: ${error.message}`, { hint: HINT, cause: error })
    })
  }
}

/**
 * Reads a CSV file the way lists are read: any of their encodings, cells trimmed, ids unchanged. A column is a number
 * or a date only where each of its cells is written as one: `73928e05` and `007` are text.
 */
async function attachCsv(warehouse: Warehouse, path: string, name: string): Promise<void> {
  const { readTable } = await import('../plan/organizations.ts')
  const [header, ...rows] = readTable(readNamedFile('file', path, HINT), basename(path), HINT)
  if (header === undefined) throw new ConfigError(`--attach: ${path} is empty`, { hint: HINT })
  const heads = header.cells.map((cell, at) => cell || `column${at + 1}`)
  const columns = heads.map(quoteIdentifier)
  await warehouse.run(
    `create temp table attached (${columns.map((one) => `${one} varchar`).join()})`,
  )
  const cellsOf = (at: number) => rows.map(({ cells }) => cells[at] || null)
  const values = Object.fromEntries(heads.map((head, at) => [head, cellsOf(at)]))
  await warehouse.append('temp.main.attached', values)
  const types = columns.map((one) => `${TYPE.replaceAll('cell', () => one)} as ${one}`)
  const [found = {}] = await warehouse.all<Record<string, string>>(
    `select ${types.join()} from attached`,
  )
  const typed = heads.map((head, at) => `${columns[at]}::${found[head]} as ${columns[at]}`)
  await warehouse.run(`create temp table ${name} as select ${typed.join()} from attached`)
  await warehouse.run('drop table attached')
}

const TYPE = String.raw`case
  when count(cell) = 0 then 'varchar'
  when bool_and(regexp_full_match(cell, '0|-?[1-9]\d{0,17}')) then 'bigint'
  when bool_and(regexp_full_match(cell, '-?(0|[1-9]\d{0,14})(\.\d{1,15})?')) then 'double'
  when count(cell) = count(try_cast(cell as date))
    and bool_and(regexp_full_match(cell, '\d{4}-\d{2}-\d{2}')) then 'date'
  when bool_and(lower(cell) in ('true', 'false')) then 'boolean'
  else 'varchar' end`

// Not a 31st of a month that has 30 days.
function isDay(text: string): boolean {
  const isWritten = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))
  return isWritten && new Date(text).toISOString().startsWith(text)
}

export type Recipe = ReturnType<typeof readRecipe>

const FOLDER = join(sqlFolder, 'recipes')
const QUESTION = /^-- question: (.+)$/m
const EMPTY = /^-- empty: (\w+): (.+)$/m
const PARAMETER = /^-- parameter: (\w+)(?: = (.*?))?: (.+)$/gm

export function recipeNames(): string[] {
  return namesIn(FOLDER, /\.sql$/).map((file) => basename(file, '.sql'))
}

/** @throws ConfigError for an unknown name; the hint lists the known ones */
export function readRecipe(name: string) {
  const names = recipeNames()
  if (!names.includes(name)) {
    throw new ConfigError(`there is no recipe ${name}`, {
      hint: `${didYouMean(name, names)}Recipes: ${names.join(', ')}.`,
    })
  }
  const sql = readFileSync(join(FOLDER, `${name}.sql`), 'utf8')
  const [, table, why] = EMPTY.exec(sql) ?? []
  return {
    name,
    question: QUESTION.exec(sql)?.[1] ?? name,
    /** One without a standard value is required. */
    parameters: [...sql.matchAll(PARAMETER)].map(([, parameter = '', standard, about = '']) => ({
      name: parameter,
      standard: standard ?? null,
      about,
    })),
    /** Why it finds nothing where this table is empty. */
    empty: table === undefined || why === undefined ? null : { table, why },
    sql,
  }
}

const DAYS: ReadonlySet<string> = new Set(['day', 'from', 'since', 'to'])

/** Parameters that name an organisation, by its id or its name. */
const ORGANIZATIONS: ReadonlySet<string> = new Set(['organization', 'other'])

/**
 * Gives the parameters of a recipe their values, for this connection. An organisation can be given by its name.
 * @param given such as `organization=org_1`
 * @throws ConfigError for a parameter that it does not take, one that is missing, a value that it cannot have, and a name that
 * no or several organisations have
 */
async function setParameters(
  warehouse: Warehouse,
  recipe: Recipe,
  given: readonly string[],
): Promise<void> {
  const hint = usageOf(recipe)
  const values = new Map<string, string>()
  for (const one of given) {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/s.exec(one) ?? []
    if (!recipe.parameters.some((parameter) => parameter.name === name)) {
      throw new ConfigError(`${recipe.name} takes no parameter ${one}`, { hint })
    }
    if (values.has(name)) throw new ConfigError(`${name}=… is given twice`, { hint })
    if (DAYS.has(name) && !isDay(value)) {
      throw new ConfigError(`${name}: not a day: ${value}`, { hint: 'Write it as 2026-11-30.' })
    }
    values.set(name, value)
  }
  for (const { name, standard } of recipe.parameters) {
    const value = values.get(name) ?? standard
    if (value === null) throw new ConfigError(`${recipe.name} needs ${name}=…`, { hint })
    const allowed = await valuesOf(warehouse, name)
    if (allowed.length > 0 && ![...allowed, standard].includes(value) && !value.includes('%')) {
      const values = [...new Set([standard, ...allowed])].filter((one) => one !== null)
      throw new ConfigError(`there is no ${name} ${value}`, {
        hint: `${didYouMean(value, values)}${name} is one of: ${values.join(', ')}.`,
      })
    }
    const meant = ORGANIZATIONS.has(name) ? await organizationId(warehouse, value) : value
    await warehouse.run(`set variable ${quoteIdentifier(name)} = ${quoteText(meant)}`)
  }
}

/** The values of a parameter with few of them: any other would find nothing, which looks like an answer. Else none. */
async function valuesOf(warehouse: Warehouse, name: string): Promise<readonly string[]> {
  if (name === 'change') return (await import('../plan/watch-lists.ts')).CHANGES
  if (name === 'list') {
    const lists = await warehouse.all<{ name: string }>(
      'select distinct watch_list as name from watch_matches order by name',
    )
    return lists.map((list) => list.name)
  }
  if (name !== 'function' && name !== 'level') return []
  const { FUNCTIONS, LEVELS } = await import('../titles/taxonomy.ts')
  return [...(name === 'function' ? FUNCTIONS : LEVELS), 'unknown']
}

function usageOf({ name, question, parameters }: Recipe): string {
  const given = parameters.map(
    ({ name: parameter, standard, about }) =>
      ` ${parameter}=… (${about}${standard === null ? '' : `; else ${standard}`})`,
  )
  return `${question} jobtide query --recipe ${name}${given.join('')}`
}

async function organizationId(warehouse: Warehouse, idOrName: string): Promise<string> {
  const found = await warehouse.all<{ id: string; name: string | null }>(
    `select organization_id as id, name from main.organizations
     where organization_id = $1 or lower(name) = lower($1)
     order by organization_id <> $1, people_ever desc, organization_id limit 6`,
    [idOrName],
  )
  const [first, second] = found
  if (first === undefined) {
    throw new ConfigError(`no organisation has the id or the name ${idOrName}`, {
      hint: 'Look for it: jobtide query "select organization_id, name from organizations where name ilike \'%…%\'".',
    })
  }
  if (first.id === idOrName || second === undefined) return first.id
  throw new ConfigError(`several organisations are named ${idOrName}`, {
    hint: `Give the id of one of them: ${found.map(({ id }) => id).join(', ')}.`,
  })
}
