/**
 * Reading every table as it was known at the end of a day: `joiners_as_known_on('2024-06-30')`. Each is a table macro made
 * of the very models that make the table, over the events that were known by then, so that a backtest neither sees
 * late events nor what follows from them (where somebody went next, how long they stayed). Nothing is stored.
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
  /** Models of `core` get no macro of their own. */
  readonly schema?: 'main' | 'core'
}

const SUFFIX = '_as_known_on'
const PART = /^-- (table|macro): (.+)\n((?:(?!-- (?:table|macro): ).*\n?)*)/gm

/**
 * Writes the macros again, and drops those of models that are gone; part of the build's transaction.
 * @param models in run order: each after the models it reads
 */
export async function makeKnownOnMacros(
  warehouse: Warehouse,
  models: readonly ReadingModel[],
): Promise<void> {
  const { tables, macros } = loadedAsKnownOn()
  const dependencies: readonly ReadingModel[] = [...tables, ...models]
  for (const { name, sql } of macros) {
    await warehouse.run(`create or replace macro main.${name} as ${sql}`)
  }
  const made: string[] = []
  for (const [index, { name, schema }] of dependencies.entries()) {
    if (schema === 'core') continue
    const body = expression(name, dependencies.slice(0, index + 1))
    made.push(knownOnName(name))
    await warehouse.run(
      `create or replace macro main.${quoteIdentifier(knownOnName(name))}(day, seen_by := 'service') as table ${body}`,
    )
  }
  for (const name of await knownOnMacros(warehouse)) {
    if (!made.includes(name)) await warehouse.run(`drop macro table main.${quoteIdentifier(name)}`)
  }
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
       and parameters = ['day', 'seen_by'] order by 1`,
    [SUFFIX],
  )
  return rows.map(({ name }) => name)
}

/** `with` the models that `name` rests on, each under its own name: so they read one another as known then. */
function expression(name: string, inOrder: readonly ReadingModel[]): string {
  const needed = new Set([name])
  for (const model of inOrder.toReversed()) {
    if (needed.has(model.name)) for (const table of model.reads) needed.add(table)
  }
  const parts = inOrder
    .filter((model) => needed.has(model.name))
    .map((model) => `${quoteIdentifier(model.name)} as (\n${withoutComments(model.sql)})`)
  return `with ${parts.join(',\n')} select * from ${quoteIdentifier(name)}`
}

// Headers are long, and a macro holds the SQL of all models below its own.
function withoutComments(sql: string): string {
  return withoutSemicolon(sql).replaceAll(/^\s*--.*\n/gm, '')
}

/** The SQL file that the macros depend on, beside the models. */
export function knownOnSql(): string {
  return readFileSync(join(sqlFolder, 'known_on.sql'), 'utf8')
}

/** sql/known_on.sql, part by part. */
function loadedAsKnownOn() {
  const parts = [...knownOnSql().matchAll(PART)].map(([, kind, name = '', sql = '']) => {
    return { kind, name, sql: withoutSemicolon(sql), reads: [] }
  })
  return {
    tables: parts.filter(({ kind }) => kind === 'table'),
    macros: parts.filter(({ kind }) => kind === 'macro'),
  }
}
