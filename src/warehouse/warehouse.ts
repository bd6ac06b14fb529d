/**
 * The only access to DuckDB: opens the warehouse file, runs SQL, moves rows in and out, and turns the engine's plain
 * errors into ours. No other module opens a file with the engine, because two instances of one file in one process lose
 * data, and reading the file outside the engine drops its lock. Knows nothing about HTTP.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolders } from '../support/atomic-file.ts'
import { sqlFolder } from '../support/assets.ts'
import { realClock } from '../support/clock.ts'
import {
  ConfigError,
  EXIT,
  JobtideError,
  LockedError,
  messageOf,
  onDisk,
} from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import { TIERS } from './catalog.ts'
import { removeDatabase, removeSpilled, replaceDatabase } from './database-file.ts'
import {
  engineSettings,
  removeSpillFolder,
  spillLimitFor,
  type WarehouseOptions,
} from './engine-settings.ts'
import {
  engine,
  toBindings,
  toEngine,
  type DuckDBConnection,
  type DuckDBDataChunk,
  type DuckDBExtractedStatements,
  type DuckDBInstance,
  type DuckDBPreparedStatement,
  type DuckDBResult,
  type DuckDBResultReader,
} from './engine.ts'
import {
  NEWER_HINT,
  NoSqlError,
  NotOneReadingError,
  asWarehouseError,
  hasNoLocks,
} from './errors.ts'
import type { ResultTable, RowStream, SqlList, SqlParameters, SqlValue } from './rows.ts'
import { quoteText } from './sql-text.ts'

/** An open warehouse with one connection: statements run one after another. */
export type Warehouse = Pick<OpenWarehouse, keyof OpenWarehouse>

const SCHEMA_FOLDER = join(sqlFolder, 'schema')
const CHUNK_ROWS = 2_048

// Chosen. Jobtide's reading commands hold the file for less than a second; a person who inspects it, for longer.
const WAIT_FOR_READERS_MS = 5_000
const LOOK_EVERY_MS = 50

/**
 * @throws ConfigError in `read` mode when there is no file
 * @throws LockedError when another process has the file open; in `write` mode for longer than 5 seconds
 * @throws WarehouseDamagedError when the file cannot be read; StorageError when the disk refuses
 */
export async function openWarehouse(options: WarehouseOptions): Promise<Warehouse> {
  const { path, mode } = options
  if (path !== ':memory:' && !existsSync(path)) {
    if (mode === 'read') {
      throw new ConfigError(`there is no warehouse at ${path}`, {
        hint: 'Run a pipeline first (or `jobtide load`), or name another folder with --data-dir.',
      })
    }
    await createWarehouseFile(options)
  }
  const warehouse = await (mode === 'write'
    ? connectWhenFree(path, options)
    : connect(path, options))
  try {
    if (mode === 'write') {
      removeSpilled(path)
      await applySchema(warehouse)
    }
    // A statement may name a table without its tier. In a warehouse from before 0.16 all are in `main`.
    await warehouse.run(`set search_path = '${TIERS.join()}'`).catch(() => undefined)
    return warehouse
  } catch (error) {
    warehouse.close()
    throw error
  }
}

/**
 * Inspects a warehouse before this version changes it. Opening it reports all other faults of the file.
 * @param look gets the number of schema files that it lacks @returns undefined if it is missing or unreadable
 * @throws JobtideError if a newer Jobtide made it
 */
export async function lookBefore<T>(
  path: string,
  look: (warehouse: Warehouse, newFiles: number) => Promise<T>,
): Promise<T | undefined> {
  if (!existsSync(path)) return undefined
  try {
    return await withWarehouse({ path, mode: 'read' }, async (open) =>
      look(open, (await newFiles(open)).length),
    )
  } catch (error) {
    if (!(error instanceof JobtideError) || error.exitCode === EXIT.usage) throw error
    return undefined
  }
}

/** Opens a warehouse for `work` and closes it afterwards, whatever happened; throws as openWarehouse does. */
export async function withWarehouse<T>(
  options: WarehouseOptions,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const warehouse = await openWarehouse(options)
  try {
    return await work(warehouse)
  } finally {
    warehouse.close()
  }
}

// A kill during the first creation leaves a file that DuckDB cannot open. So a new file is made under another name,
// checkpointed, closed, and renamed: it either exists whole or not at all.
async function createWarehouseFile(options: WarehouseOptions): Promise<void> {
  const { path } = options
  const temporaryPath = `${path}.new`
  onDisk(path, () => makeFolders(dirname(path)))
  removeDatabase(temporaryPath)
  const warehouse = await connect(temporaryPath, { ...options, path: temporaryPath })
  try {
    await applySchema(warehouse)
    // Closing would also write the log into the file, but does not report a disk that refuses.
    await warehouse.run('checkpoint')
  } finally {
    warehouse.close()
  }
  await replaceDatabase(path, temporaryPath)
}

/** Waits for readers that briefly have it open, such as `jobtide status`: a night must not end because of one. */
async function connectWhenFree(path: string, options: WarehouseOptions): Promise<Warehouse> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    try {
      return await connect(path, options)
    } catch (error) {
      const isForNow = error instanceof LockedError && !hasNoLocks(error)
      if (!isForNow || waitedMs >= WAIT_FOR_READERS_MS) throw error
      await realClock.sleep(LOOK_EVERY_MS)
    }
  }
}

async function connect(path: string, options: WarehouseOptions): Promise<Warehouse> {
  try {
    const instance = await engine().DuckDBInstance.fromCache(path, engineSettings(options))
    const connection = await instance.connect()
    const limit = quoteText(spillLimitFor(options))
    await connection.run(`set timezone = 'UTC'; set max_temp_directory_size = ${limit}`)
    return new OpenWarehouse(options, instance, connection)
  } catch (error) {
    throw asWarehouseError(error, path)
  }
}

/** An engine without a file, which opens the bare ones: attaching a file takes a tenth of the time that an engine takes. */
let bareFiles: Promise<DuckDBConnection> | undefined
let bareOpened = 0

/**
 * Only opens a database file, for a lock: see process-lock.ts. @returns what closes it
 * @throws LockedError when another process has it open for writing, or for reading where `mode` is `write`
 */
export async function openBareFile(
  path: string,
  mode: 'read' | 'write',
): Promise<() => Promise<void>> {
  const name = `bare_${(bareOpened += 1)}`
  // A new file gets the engine's storage version; to name it here would refuse a file of a later one.
  const options = mode === 'read' ? ' (read_only)' : ''
  try {
    bareFiles ??= openBareEngine()
    const connection = await bareFiles.catch((error: unknown) => {
      bareFiles = undefined
      throw error
    })
    await connection.run(`attach ${quoteText(path)} as ${name}${options}`)
    return async () => void (await connection.run(`detach ${name}`))
  } catch (error) {
    throw asWarehouseError(error, path)
  }
}

async function openBareEngine(): Promise<DuckDBConnection> {
  const path = ':memory:'
  const settings = engineSettings({ path, mode: 'write', threads: 1, memoryLimit: '16MB' })
  return (await engine().DuckDBInstance.create(path, settings)).connect()
}

class OpenWarehouse {
  readonly path: string
  readonly #options: WarehouseOptions
  readonly #instance: DuckDBInstance
  readonly #connection: DuckDBConnection
  #closed = false

  constructor(options: WarehouseOptions, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.path = options.path
    this.#options = options
    this.#instance = instance
    this.#connection = connection
  }

  /** Runs one or more statements and returns nothing. */
  async run(sql: string, parameters: SqlList = []): Promise<void> {
    // Without parameters the engine runs all statements in one call; with some, it plans each in a separate call.
    const values = parameters.length === 0 ? undefined : toEngine(parameters)
    await this.#guard(() => this.#connection.run(sql, values))
  }

  /** Runs one statement and returns its rows as objects; `Row` is the caller's word for what the SQL returns. */
  async all<Row extends object>(sql: string, parameters: SqlParameters = []): Promise<Row[]> {
    return (await this.#read(sql, parameters)).getRowObjectsJS() as Row[]
  }

  /** Returns the single number of one statement: 0 for null or no row; for a change, its rows. */
  async number(sql: string, parameters: SqlList = []): Promise<number> {
    return Number((await this.#read(sql, parameters)).getRowsJS()[0]?.[0] ?? 0)
  }

  /** As `all`, by column: for many rows, where an object for each row would cost more than the statement. */
  async columns<Value>(
    sql: string,
    parameters: SqlList = [],
  ): Promise<Readonly<Record<string, readonly Value[]>>> {
    return (await this.#read(sql, parameters)).getColumnsObjectJS() as Record<string, Value[]>
  }

  async table(sql: string, parameters: SqlList = []): Promise<ResultTable> {
    const reader = await this.#read(sql, parameters)
    return { columns: columnsOf(reader), rows: reader.getRowsJson() }
  }

  /**
   * Runs one reading statement row by row, for display. Closing the warehouse or another statement ends it.
   * @throws NotOneReadingError for anything else
   */
  async stream(sql: string): Promise<RowStream> {
    const result = await this.#guard(() => streamReading(this.#connection, sql))
    return { columns: columnsOf(result), batches: this.#batchesOf(result) }
  }

  async *#batchesOf(result: DuckDBResult): AsyncGenerator<ResultTable['rows']> {
    for (;;) {
      const chunk = await this.#guard(() => nextChunk(result))
      if (chunk === null) return
      yield chunk.convertRows(engine().JsonDuckDBValueConverter)
    }
  }

  /** Stops the statement that runs now, at its next step; it throws a SqlError then. Harmless when nothing runs. */
  interrupt(): void {
    if (!this.#closed) this.#connection.interrupt()
  }

  /** Everything in `work` or nothing; not nestable. If COMMIT fails, the work may have happened: look again. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.run('begin')
    try {
      const result = await work()
      await this.run('commit')
      return result
    } catch (error) {
      // After a failed COMMIT there is nothing left to roll back; the first error is the one to report.
      await this.#connection.run('rollback').catch(() => undefined)
      throw error
    }
  }

  /** Appends values by column; other columns are null. @throws TypeError for unequal lengths, or an unknown column */
  async append(table: string, columns: Readonly<Record<string, readonly SqlValue[]>>) {
    const rowCount = Object.values(columns)[0]?.length ?? 0
    for (const [name, values] of Object.entries(columns)) {
      if (values.length === rowCount) continue
      throw new TypeError(`${table}: column ${name} has ${values.length} of ${rowCount} values`)
    }
    if (rowCount === 0) return
    const tableColumns = (await this.#read(`from ${table} limit 0`, [])).columnNames()
    const unknown = Object.keys(columns).find((name) => !tableColumns.includes(name))
    if (unknown !== undefined) throw new TypeError(`${table} has no column ${unknown}`)
    await this.#guard(async () => {
      const [name = table, schema = null, catalog = null] = table.split('.').toReversed()
      const appender = await this.#connection.createAppender(name, schema, catalog)
      const order = tableColumns.map((column) => columns[column])
      const types = tableColumns.map((_, index) => appender.columnType(index))
      // One for all: the content of a chunk lies outside of JavaScript's memory, which is not collected because of it.
      const chunk = engine().DuckDBDataChunk.create(types)
      for (let from = 0; from < rowCount; from += CHUNK_ROWS) {
        const count = Math.min(CHUNK_ROWS, rowCount - from)
        chunk.reset()
        chunk.rowCount = count
        order.forEach((values, index) => {
          const batch = values?.slice(from, from + count) ?? Array<null>(count).fill(null)
          chunk.setColumnValues(index, toEngine(batch))
        })
        appender.appendDataChunk(chunk)
      }
      appender.closeSync()
    })
  }

  /** The most memory that the engine may take, in bytes. */
  memoryLimit(): Promise<number> {
    return this.number(`select parse_formatted_bytes(current_setting('memory_limit'))`)
  }

  /** Closes the connection, and with it the file and its lock. Closing twice is fine. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#connection.closeSync()
    this.#instance.closeSync()
    removeSpillFolder(this.#options)
  }

  #read(sql: string, parameters: SqlParameters): Promise<DuckDBResultReader> {
    const isPlain = Array.isArray(parameters) && parameters.length === 0
    const values = isPlain ? undefined : toBindings(parameters)
    return this.#guard(() => this.#connection.runAndReadAll(sql, values))
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw asWarehouseError(error, this.path)
    }
  }
}

const BLANK = String.raw`\s|;|--[^\n]*\n|\/\*.*?\*\/`
const WRITTEN_CREATE = new RegExp(`^(?:${BLANK})*create\\b`, 'is')
const EXPLAINED = new RegExp(`^(?:${BLANK})*explain(?:${BLANK}|\\([^()]*\\)|analyze\\b)*`, 'is')
// The client's only message about SQL without a statement.
const NO_STATEMENT = 'Error in native callback'

/** @throws NotOneReadingError for anything but one statement that reads; errors of the engine as they are */
async function streamReading(connection: DuckDBConnection, sql: string): Promise<DuckDBResult> {
  const { CREATE, EXPLAIN, SELECT } = engine().StatementType
  const statements = await connection.extractStatements(sql).catch((error: unknown) => {
    throw messageOf(error) === NO_STATEMENT ? new NoSqlError() : error
  })
  const last = statements.count - 1
  // Before a pivot without a list of values, the engine adds a statement that creates a temporary type.
  for (let at = 0; at < last; at += 1) {
    await prepared(statements, at, async (statement) => {
      if (statement.statementType !== CREATE || WRITTEN_CREATE.test(sql))
        throw new NotOneReadingError(`there are ${statements.count} statements`)
      await statement.run()
    })
  }
  return prepared(statements, last, async (statement) => {
    // Also the kind of `with`, `from`, `describe`, `show`, `summarize`, `values` and `pivot`.
    let { statementType: type } = statement
    if (type === EXPLAIN) {
      // With `analyze` it runs what it explains. All but the last of several are the engine's own.
      const explained = await connection.extractStatements(sql.replace(EXPLAINED, ''))
      type = await prepared(explained, explained.count - 1, async (one) => one.statementType)
    }
    if (type !== SELECT) throw new NotOneReadingError('it does not read')
    return statement.stream()
  })
}

async function prepared<T>(
  statements: DuckDBExtractedStatements,
  at: number,
  work: (statement: DuckDBPreparedStatement) => Promise<T>,
): Promise<T> {
  const statement = await statements.prepare(at)
  try {
    return await work(statement)
  } finally {
    statement.destroySync()
  }
}

function columnsOf(result: Pick<DuckDBResultReader, 'columnTypes' | 'deduplicatedColumnNames'>) {
  const types = result.columnTypes()
  return result
    .deduplicatedColumnNames()
    .map((name, index) => ({ name, type: String(types[index]) }))
}

// When a statement fails after its first rows, the client ends them as if all were there; only the result shows the
// failure, without its cause.
async function nextChunk(result: DuckDBResult): Promise<DuckDBDataChunk | null> {
  const chunk = await result.fetchChunk()
  if (chunk !== null && chunk.rowCount > 0) return chunk
  if (result.returnType !== engine().ResultReturnType.INVALID) return null
  throw new JobtideError(EXIT.usage, 'the statement failed midway: some of its rows are missing', {
    hint: 'A value cannot be computed: check casts (`try_cast` gives null instead), memory and disk space.',
  })
}

const FILE_NAME = /^\d{6}_[a-z0-9_]+\.sql$/

/**
 * Applies each numbered file once, in order, each in its own transaction. A file must not change after that: its
 * checksum is kept and compared.
 * @throws JobtideError if a newer Jobtide made the warehouse, or an applied file changed
 */
export async function applySchema(warehouse: Warehouse, folder = SCHEMA_FOLDER): Promise<void> {
  await warehouse.run(`
    create schema if not exists ops;
    create table if not exists ops.schema_files (file_name varchar not null, sha256 varchar not null)`)
  for (const { name, sql, sha256 } of await newFiles(warehouse, folder)) {
    await warehouse.transaction(async () => {
      await warehouse.run(sql)
      await warehouse.run('insert into ops.schema_files values ($1, $2)', [name, sha256])
    })
  }
}

/** The schema files that it does not have yet; throws as {@link applySchema} does. */
async function newFiles(warehouse: Warehouse, folder = SCHEMA_FOLDER) {
  const rows = await warehouse.all<{ file_name: string; sha256: string }>('from ops.schema_files')
  const applied = new Map(rows.map(({ file_name, sha256 }) => [file_name, sha256]))
  const names = readdirSync(folder)
    .filter((name) => FILE_NAME.test(name))
    .toSorted()
  const unknown = [...applied.keys()].filter((name) => !names.includes(name))
  if (unknown.length > 0) {
    const what = `its schema has ${unknown.join(', ')}, and this one ends with ${names.at(-1)}`
    throw new ConfigError(`the warehouse ${warehouse.path} was made by a newer Jobtide: ${what}`, {
      hint: NEWER_HINT,
    })
  }
  const files = names.map((name) => {
    const sql = readFileSync(join(folder, name), 'utf8')
    return { name, sql, sha256: sha256Hex(sql) }
  })
  const changed = files.find(({ name, sha256 }) => (applied.get(name) ?? sha256) !== sha256)
  if (changed === undefined) return files.filter(({ name }) => !applied.has(name))
  throw new JobtideError(EXIT.defect, `schema file ${changed.name} changed after it was applied`, {
    hint: 'Schema files only go forward: put the change into a new numbered file. `jobtide replay` rebuilds the warehouse from the journal.',
  })
}
