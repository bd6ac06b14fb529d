/**
 * The build: titles, models and checks in one transaction. A reader sees the tables of the last good build or those of
 * this one, never a mix; a failed check leaves everything as it was and says why in ops.checks.
 */

import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import { realClock, type Clock } from '../support/clock.ts'
import { EXIT, JobtideError } from '../support/errors.ts'
import { loadedTables, readModelFiles, type ModelFile } from '../warehouse/catalog.ts'
import { SqlError } from '../warehouse/errors.ts'
import { quoteIdentifier, quoteText, type Warehouse } from '../warehouse/warehouse.ts'
import {
  CheckFailedError,
  readChecks,
  recordChecks,
  runCheck,
  withoutSemicolon,
  type Check,
  type CheckOutcome,
} from './checks.ts'
import { runOrder, tablesRead } from './run-order.ts'
import { fillTitles, titlesTable } from './titles-table.ts'

/** How to build. */
export interface BuildOptions {
  /** Names this build in ops.checks. */
  readonly buildId: string
  /** When the build runs; stands in ops.checks only, so that tables depend on nothing but the events. */
  readonly builtAt: Date
  /** Folder with staging/, core/ and marts/. Default: the models that ship with Jobtide. */
  readonly modelFolder?: string
  /** Folder of the checks. Default: the checks that ship with Jobtide. */
  readonly checkFolder?: string
  /** Called after each step: the titles, each model, each check. */
  readonly onProgress?: (step: BuildStep) => void
  /** Measures durations. Default: the machine's. */
  readonly clock?: Clock
}

/** `done` of `total` steps are finished; the last one was `name`. */
export interface BuildStep {
  readonly done: number
  readonly total: number
  readonly name: string
}

/** What one build made. */
export interface BuildReport {
  readonly buildId: string
  /** Distinct titles understood. */
  readonly titles: number
  /** In run order. */
  readonly models: readonly BuiltModel[]
  /** Names of the checks; all passed. */
  readonly checks: readonly string[]
  readonly durationMs: number
}

/** One table (or, in staging, view) that the build made. */
export interface BuiltModel {
  readonly name: string
  readonly rows: number
  readonly durationMs: number
}

// Every table made from a model says so at the end of its comment: that is how the next build knows what to drop, also
// when the model's file is gone by then. Tables that somebody else put into the file are left alone.
const MODEL_MARK = ' Model: '

/**
 * Builds every model and runs every check.
 * @throws CheckFailedError when a check finds offenders; the tables are those of the last good build
 * @throws JobtideError when a model is wrong: its SQL, its header, or what it reads
 */
export async function buildModels(
  warehouse: Warehouse,
  options: BuildOptions,
): Promise<BuildReport> {
  const modelFolder = options.modelFolder ?? join(sqlFolder, 'models')
  const models = await modelsInRunOrder(warehouse, readModelFiles(modelFolder))
  const checks = readChecks(options.checkFolder ?? join(sqlFolder, 'checks'))
  await warehouse.run(readFileSync(join(sqlFolder, 'macros.sql'), 'utf8'))
  try {
    return await warehouse.transaction(() =>
      buildAndCheck(warehouse, models, checks, modelFolder, options),
    )
  } catch (error) {
    if (error instanceof CheckFailedError) {
      await warehouse.transaction(() =>
        recordChecks(warehouse, options.buildId, options.builtAt, error.outcomes),
      )
    }
    throw error
  }
}

async function modelsInRunOrder(
  warehouse: Warehouse,
  models: readonly ModelFile[],
): Promise<ModelFile[]> {
  const reads = []
  for (const model of models) {
    const [row] = await warehouse.all<{ tree: string }>(
      'select json_serialize_sql(cast($1 as varchar)) as tree',
      [model.sql],
    )
    reads.push({ name: model.name, reads: tablesRead(row?.tree ?? '{}', model.name) })
  }
  const existing = [...loadedTables, titlesTable].map((table) => table.name)
  const byName = new Map(models.map((model) => [model.name, model]))
  return runOrder(reads, existing).flatMap((name) => byName.get(name) ?? [])
}

async function buildAndCheck(
  warehouse: Warehouse,
  models: readonly ModelFile[],
  checks: readonly Check[],
  modelFolder: string,
  options: BuildOptions,
): Promise<BuildReport> {
  const clock = options.clock ?? realClock
  const startedMs = clock.monotonic()
  const total = 1 + models.length + checks.length
  let done = 0
  const finished = (name: string) => {
    done += 1
    options.onProgress?.({ done, total, name })
  }

  await dropBuiltTables(warehouse)
  const titles = await fillTitles(warehouse)
  await comment(warehouse, 'table', titlesTable.name, describe(titlesTable), titlesTable.columns)
  finished(titlesTable.name)

  const built: BuiltModel[] = []
  for (const model of models) {
    const modelStartedMs = clock.monotonic()
    const rows = await buildModel(warehouse, model, relative(modelFolder, model.path))
    built.push({ name: model.name, rows, durationMs: clock.monotonic() - modelStartedMs })
    finished(model.name)
  }

  const outcomes: CheckOutcome[] = []
  for (const check of checks) {
    outcomes.push(await saying(`check ${check.name}`, () => runCheck(warehouse, check)))
    finished(check.name)
  }
  if (outcomes.some((outcome) => outcome.offenders > 0)) throw new CheckFailedError(outcomes)
  await recordChecks(warehouse, options.buildId, options.builtAt, outcomes)

  return {
    buildId: options.buildId,
    titles,
    models: built,
    checks: checks.map((check) => check.name),
    durationMs: clock.monotonic() - startedMs,
  }
}

async function dropBuiltTables(warehouse: Warehouse): Promise<void> {
  const built = await warehouse.all<{ kind: string; name: string }>(
    `select 'table' as kind, table_name as name from duckdb_tables()
     where database_name = current_database() and schema_name = 'main' and contains(comment, $1)
     union all
     select 'view' as kind, view_name as name from duckdb_views()
     where database_name = current_database() and schema_name = 'main' and contains(comment, $1)`,
    [MODEL_MARK],
  )
  for (const { kind, name } of built) await warehouse.run(`drop ${kind} ${quoteIdentifier(name)}`)
}

/** Staging models become views, which store nothing; core and mart models become tables. */
async function buildModel(
  warehouse: Warehouse,
  model: ModelFile,
  shortPath: string,
): Promise<number> {
  const kind = shortPath.startsWith('staging') ? 'view' : 'table'
  const name = quoteIdentifier(model.name)
  await saying(`model ${model.name}`, () =>
    warehouse.run(`create ${kind} ${name} as\n${withoutSemicolon(model.sql)}`),
  )
  await refuseOtherColumns(warehouse, model)
  await comment(
    warehouse,
    kind,
    model.name,
    `${describe(model)}${MODEL_MARK}${shortPath}`,
    model.columns,
  )
  const [row] = await warehouse.all<{ rows: bigint }>(`select count(*) as rows from ${name}`)
  return Number(row?.rows ?? 0)
}

async function refuseOtherColumns(warehouse: Warehouse, model: ModelFile): Promise<void> {
  const rows = await warehouse.all<{ name: string }>(
    `select column_name as name from duckdb_columns()
     where database_name = current_database() and schema_name = 'main' and table_name = $1`,
    [model.name],
  )
  const actual = rows.map((row) => row.name)
  const described = [...model.columns.keys()]
  const problems = [
    ...actual.filter((name) => !described.includes(name)).map((name) => `${name} is not described`),
    ...described.filter((name) => !actual.includes(name)).map((name) => `${name} is not selected`),
  ]
  if (problems.length === 0) return
  throw new JobtideError(
    EXIT.defect,
    `model ${model.name}: header and select differ: ${problems.join(', ')}`,
    { hint: `Make the "-- columns:" list and the select of ${model.path} name the same columns.` },
  )
}

function describe(table: { grain: string; purpose: string; key: readonly string[] }): string {
  return `${table.grain} ${table.purpose} Key: ${table.key.join(', ')}.`
}

async function comment(
  warehouse: Warehouse,
  kind: 'table' | 'view',
  table: string,
  description: string,
  columns: ReadonlyMap<string, string>,
): Promise<void> {
  const name = quoteIdentifier(table)
  const statements = [...columns].map(
    ([column, text]) =>
      `comment on column ${name}.${quoteIdentifier(column)} is ${quoteText(text)};`,
  )
  await warehouse.run(
    `comment on ${kind} ${name} is ${quoteText(description)};\n${statements.join('\n')}`,
  )
}

/** Puts the name of the file in front of what the engine says about its SQL. */
async function saying<T>(subject: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    throw new SqlError(`${subject}: ${error.message}`, error)
  }
}
