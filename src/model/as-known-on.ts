/**
 * Reading every table as it was known at the end of a day: `joiners_as_known_on('2024-06-30')`. Each is a table macro made
 * of the very models that make the table, over the events that were known by then, so that a backtest neither sees
 * late events nor what follows from them (where somebody went next, how long they stayed). Nothing is stored.
 *
 * With `organization := 'org_…'` only the people who were ever there are computed, which takes a fraction of the time.
 *
 * DuckDB 2 reads macros wrongly that DuckDB 1 has stored, and says nothing: they refuse there. `ops.as_known_on` holds the
 * statements that make the same macros in the session of a reader.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { withoutSemicolon } from './checks.ts'

/** A model and every table it reads. */
export interface ReadingModel {
  readonly name: string
  readonly sql: string
  readonly reads: readonly string[]
  readonly columns: ReadonlyMap<string, unknown>
  /** Models of `core` get no macro of their own. */
  readonly schema?: 'main' | 'core'
}

const SUFFIX = '_as_known_on'
const PART = /^-- (table|macro): (.+)\n((?:(?!-- (?:table|macro): ).*\n?)*)/gm

/**
 * Writes the macros again, and drops those of models that are gone; part of the build's transaction.
 * @param models in run order: each after the models it reads
 * @param calendar the statements that make the macros which models call
 */
export async function makeKnownOnMacros(
  warehouse: Warehouse,
  models: readonly ReadingModel[],
  calendar: string,
): Promise<void> {
  const { tables, macros } = loadedAsKnownOn()
  const loaded = new Set(tables.map(({ name }) => name))
  const dependencies = [...tables, ...models.filter(({ name }) => !loaded.has(name))]
  const offered = new Set(offeredAsKnownOn(models))
  const shown = dependencies.filter(
    ({ name, schema }) => schema !== 'core' && (loaded.has(name) || offered.has(name)),
  )
  const made: [name: string, definition: string][] = [
    ...macros.map(({ name, sql }): [string, string] => [name, `as ${sql}`]),
    ...shown.map((model): [string, string] => [
      knownOnName(model.name),
      definitionOf(model, dependencies),
    ]),
  ]
  await warehouse.run('delete from ops.as_known_on')
  const statements = [
    ...calendar.split(/;\s*$/m).map((one) => one.replaceAll(/^--.*\n/gm, '').trim()),
    ...made.map(([name, definition]) => `create or replace macro ${name} ${definition}`),
  ].filter((one) => one !== '')
  await warehouse.append('ops.as_known_on', {
    nth: statements.map((_, index) => index + 1),
    sql: statements.map((one) =>
      one.replace('create or replace macro', 'create or replace temp macro'),
    ),
  })
  for (const [name, definition] of made) {
    const stored = name.startsWith(FIRST_CALLED) ? refusingOtherEngine(definition) : definition
    await warehouse.run(`create or replace macro main.${name} ${stored}`)
  }
  const names = new Set(made.map(([name]) => name))
  for (const name of await knownOnMacros(warehouse)) {
    if (!names.has(name)) await warehouse.run(`drop macro table main.${quoteIdentifier(name)}`)
  }
}

/**
 * The names of the models that have a macro: those for analysts, but what is made of answers alone, which says by itself since
 * when it says it.
 * @param models in run order
 */
export function offeredAsKnownOn(models: readonly ReadingModel[]): string[] {
  const ofAnswers = new Set(['answers'])
  for (const { name, reads } of models) {
    if (reads.some((table) => ofAnswers.has(table)) && !HAS_ALSO.has(name)) ofAnswers.add(name)
  }
  return models.flatMap(({ name, schema }) =>
    schema !== 'core' && !ofAnswers.has(name) ? name : [],
  )
}

/** What shows beside careers what a page said of them. */
const HAS_ALSO: ReadonlySet<string> = new Set(['organization_headcount_monthly'])

/** Every macro for a table calls it for every row. */
const FIRST_CALLED = 'known_at_end_of('

function refusingOtherEngine(definition: string): string {
  const message =
    'these macros were stored by DuckDB 1, and other versions read them wrongly: run the statements in ops.as_known_on first, see docs/analysts.md'
  return definition.replace(
    'case seen_by',
    `case case when version() like 'v1.%' then seen_by else error('${message}') end`,
  )
}

export function knownOnName(table: string): string {
  return `${table}${SUFFIX}`
}

/** The names of the macros that are in the warehouse, sorted; macros with other parameters are not ours. */
export async function knownOnMacros(warehouse: Warehouse): Promise<string[]> {
  const rows = await warehouse.all<{ name: string }>(
    `select distinct function_name as name from duckdb_functions()
     where database_name = current_database() and schema_name = 'main'
       and function_type = 'table_macro' and ends_with(function_name, $1)
       and parameters[1:2] = ['day', 'seen_by'] order by 1`,
    [SUFFIX],
  )
  return rows.map(({ name }) => name)
}

/** Parameters and `with` the models that a table rests on, each under its own name: so they read one another as known then. */
function definitionOf(
  { name, columns }: ReadingModel,
  dependencies: readonly ReadingModel[],
): string {
  const needed = new Set([name])
  const place = dependencies.findIndex((model) => model.name === name)
  for (const model of dependencies.slice(0, place + 1).toReversed()) {
    if (needed.has(model.name)) for (const table of model.reads) needed.add(table)
  }
  const parts = dependencies
    .filter((model) => needed.has(model.name))
    .map((model) => `${quoteIdentifier(model.name)} as (\n${withoutComments(model.sql)})`)
  const one = organizationFilter(columns)
  const parameters = `(day, seen_by := 'service'${one === null ? '' : ', organization := null'})`
  const sql = `${parameters} as table with ${parts.join(',\n')} select * from ${quoteIdentifier(name)}`
  // What cannot be told of one organisation by itself has no such parameter.
  return one === null
    ? sql.replaceAll(OF_ORGANIZATION, '')
    : `${sql} where organization is null or ${one}`
}

/** In sql/known_on.sql: of one organisation only the people who were ever there. */
const OF_ORGANIZATION =
  / and \(organization is null or profile_id in \(select [^()]* organization_id = organization\)\)/g

function organizationFilter(columns: ReadonlyMap<string, unknown>): string | null {
  if (columns.has('organization_id')) return 'organization_id = organization'
  if (!columns.has('profile_id')) return null
  return columns.has('from_organization_id')
    ? 'organization in (from_organization_id, to_organization_id)'
    : 'true'
}

// Headers are long, and a macro holds the SQL of all models below its own.
function withoutComments(sql: string): string {
  return withoutSemicolon(sql).replaceAll(/^\s*--.*\n/gm, '')
}

/** The SQL file that the macros depend on, beside the models. */
export function knownOnSql(): string {
  return readFileSync(join(sqlFolder, 'known_on.sql'), 'utf8')
}

const LOADED_KEYS = ['organization_id', 'profile_id']
/** What a part is beside its SQL, where it is no table of the load. */
const OTHERWISE: Readonly<Record<string, Partial<ReadingModel>>> = {
  as_of: { schema: 'core', reads: ['organization_coverage'] },
  transfers: { schema: 'core' },
  answers: { schema: 'core' },
}

/** sql/known_on.sql, part by part. */
function loadedAsKnownOn() {
  const parts = [...knownOnSql().matchAll(PART)].map(
    ([, kind, name = '', sql = '']): ReadingModel & {
      readonly kind: string | undefined
    } => {
      const columns = new Map(LOADED_KEYS.map((column) => [column, null] as const))
      return { kind, name, sql: withoutSemicolon(sql), reads: [], columns, ...OTHERWISE[name] }
    },
  )
  return {
    tables: parts.filter(({ kind }) => kind === 'table'),
    macros: parts.filter(({ kind }) => kind === 'macro'),
  }
}
