/** Runs one reading statement row by row. */

import { EXIT, JobtideError, messageOf } from '../support/errors.ts'
import {
  engine,
  type DuckDBConnection,
  type DuckDBDataChunk,
  type DuckDBExtractedStatements,
  type DuckDBResult,
  type DuckDBResultReader,
} from './engine.ts'
import { NoSqlError, NotOneReadingError } from './errors.ts'
import type { ResultTable } from './rows.ts'

const BLANK = String.raw`\s|;|--[^\n]*\n|\/\*.*?\*\/`
const WRITTEN_CREATE = new RegExp(`^(?:${BLANK})*create\\b`, 'is')
// The client's only message about SQL without a statement.
const NO_STATEMENT = 'Error in native callback'

/** Begins to run `sql`. @throws NotOneReadingError for anything but one statement that reads; errors of the engine as they are */
export async function streamReading(
  connection: DuckDBConnection,
  sql: string,
): Promise<DuckDBResult> {
  const statements = await connection.extractStatements(sql).catch((error: unknown) => {
    throw messageOf(error) === NO_STATEMENT ? new NoSqlError() : error
  })
  await makePivotTypes(statements, sql)
  const prepared = await statements.prepare(statements.count - 1)
  const { SELECT, EXPLAIN } = engine().StatementType
  try {
    // Also the kind of `with`, `from`, `describe`, `show`, `summarize`, `values` and `pivot`.
    const { statementType: type } = prepared
    const isReading = type === EXPLAIN ? await explainsReading(connection, sql) : type === SELECT
    if (!isReading) throw new NotOneReadingError('it does not read')
    return await prepared.stream()
  } finally {
    prepared.destroySync()
  }
}

const EXPLAINED = new RegExp(`^(?:${BLANK})*explain(?:${BLANK}|\\([^()]*\\)|analyze\\b)*`, 'is')

/** Whether what `explain` explains reads: with `analyze` it is run. */
async function explainsReading(connection: DuckDBConnection, sql: string): Promise<boolean> {
  // All but the last of several are the engine's own.
  const statements = await connection.extractStatements(sql.replace(EXPLAINED, ''))
  const prepared = await statements.prepare(statements.count - 1)
  try {
    return prepared.statementType === engine().StatementType.SELECT
  } finally {
    prepared.destroySync()
  }
}

// Before a pivot without a list of values, the engine adds a statement that creates a temporary type.
async function makePivotTypes(statements: DuckDBExtractedStatements, sql: string): Promise<void> {
  for (let at = 0; at < statements.count - 1; at += 1) {
    const prepared = await statements.prepare(at)
    try {
      if (prepared.statementType !== engine().StatementType.CREATE || WRITTEN_CREATE.test(sql)) {
        throw new NotOneReadingError(`there are ${statements.count} statements`)
      }
      await prepared.run()
    } finally {
      prepared.destroySync()
    }
  }
}

export function columnsOf(
  result: Pick<DuckDBResultReader, 'columnTypes' | 'deduplicatedColumnNames'>,
): ResultTable['columns'] {
  const types = result.columnTypes()
  return result
    .deduplicatedColumnNames()
    .map((name, index) => ({ name, type: String(types[index]) }))
}

// When a statement fails after its first rows, the client ends them as if all were there; only the result shows the
// failure, without its cause.
export async function nextChunk(result: DuckDBResult): Promise<DuckDBDataChunk | null> {
  const chunk = await result.fetchChunk()
  if (chunk !== null && chunk.rowCount > 0) return chunk
  if (result.returnType !== engine().ResultReturnType.INVALID) return null
  throw new JobtideError(EXIT.usage, 'the statement failed midway: some of its rows are missing', {
    hint: 'A value cannot be computed: check casts (`try_cast` gives null instead), memory and disk space.',
  })
}
