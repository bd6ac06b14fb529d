/** Manages the tables of a build in the warehouse: creation, columns, comments, removal. */

import { ConfigError, EXIT, JobtideError } from '../support/errors.ts'
import { IN_BUILT, PERSON } from '../warehouse/catalog.ts'
import { columnsOfAll, type TypedColumn } from '../warehouse/columns.ts'
import { quoteIdentifier, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { ComputedModel } from './computed-models.ts'
import { OwnSqlError } from './own/files.ts'
import type { ProjectNode } from './project.ts'

// Every table made from a model says so at the end of its comment. The next build drops these tables, even if the
// model's file is gone, and leaves all others alone.
const MODEL_MARK = ' Model: '
/** A regular expression of the engine for the end of the comment on such a table. */
export const MADE_FROM_MODEL = `${MODEL_MARK}(staging|core|marts|models)/[a-z0-9_]+[.]sql$`

/**
 * Drops every table and view that a build made from a model, whether the model still exists or not.
 * @param own only those of these models of the user's own
 */
export async function dropBuiltTables(
  warehouse: Warehouse,
  own?: readonly string[],
): Promise<void> {
  if (own?.length === 0) return
  const built = await warehouse.all<{ kind: string; schema: string; name: string }>(
    `select 'table' as kind, schema_name as schema, table_name as name, comment from duckdb_tables()
     where database_name = current_database() and regexp_matches(comment, $1)
     union all
     select 'view', schema_name, view_name, comment from duckdb_views()
     where database_name = current_database() and regexp_matches(comment, $1)`,
    [own === undefined ? MADE_FROM_MODEL : `${MODEL_MARK}models/(${own.join('|')})[.]sql$`],
  )
  for (const { kind, schema, name } of built) {
    await warehouse.run(`drop ${kind} ${schema}.${quoteIdentifier(name)}`)
  }
}

/**
 * Refuses to replace a table or view that no build made and that has the name of a model. Call it after
 * `dropBuiltTables`.
 * @throws ConfigError naming the table or view
 */
export async function refuseForeignTables(
  warehouse: Warehouse,
  reserved: ReadonlySet<string>,
): Promise<void> {
  const there = await warehouse.all<{ name: string; kind: string }>(
    `select table_name as name, case table_type when 'VIEW' then 'view' else 'table' end as kind
     from information_schema.tables
     where table_catalog = current_database() and table_schema in ${IN_BUILT}`,
  )
  const foreign = there.find(({ name }) => reserved.has(name))
  if (foreign === undefined) return
  throw new ConfigError(
    `the ${foreign.kind} ${foreign.name} in the warehouse is not Jobtide’s, and has the name of a table of Jobtide`,
    {
      hint: `Give yours another name: alter ${foreign.kind} ${foreign.name} rename to my_${foreign.name}`,
    },
  )
}

/**
 * Creates the table or view of a model.
 * @returns its rows; null for a view, which stores none
 */
export async function createModelTable(
  warehouse: Warehouse,
  node: ProjectNode,
): Promise<number | null> {
  const { schema, name, kind, sql, storedSql } = node
  const target = `${schema}.${quoteIdentifier(name)}`
  if (kind === 'view') {
    await warehouse.run(`create or replace view ${target} as ${storedSql}`)
    await proveReadable(warehouse, node)
    return null
  }
  // The engine answers with the rows that it wrote.
  return warehouse.number(`create or replace table ${target} as ${sql}`)
}

/**
 * Reads a view over answers as a publish does, because answers can have any length and a passed build must be
 * publishable.
 * @throws StorageError if there is not enough memory
 */
export async function proveReadable(
  warehouse: Warehouse,
  { schema, name, kind, endpoints = [] }: ProjectNode,
): Promise<void> {
  if (kind !== 'view' || endpoints.length === 0) return
  await warehouse.run(`select bit_xor(hash(kept)) from ${schema}.${quoteIdentifier(name)} as kept`)
}

/**
 * @throws OwnSqlError or JobtideError if the header and the select of a model name different columns, or if snapshots
 * could not hold a column of a model of the user's own
 */
export async function refuseOtherColumns(
  warehouse: Warehouse,
  nodes: readonly ProjectNode[],
): Promise<void> {
  const all = await columnsOfAll(warehouse)
  for (const node of nodes) {
    const problem = problemOf(node, all.get(node.name) ?? []) ?? referenceProblem(node, all)
    if (problem === undefined) continue
    if (node.isOwn === true) throw new OwnSqlError(node.file, problem)
    throw new JobtideError(EXIT.defect, `model ${node.name}: ${problem}`, {
      hint: `Make the "-- columns:" list and the select of ${node.file} name the same columns.`,
    })
  }
}

function problemOf(node: ProjectNode, actual: readonly TypedColumn[]): string | undefined {
  const { key, columns, partitionByYearOf, isByPerson, values, references } = node
  const year = partitionByYearOf === null ? [] : [partitionByYearOf]
  const person = isByPerson ? [PERSON] : []
  const accepted = [...values, ...references].map(({ column }) => column)
  const named = [...key, ...columns.keys(), ...accepted, ...person, ...year]
  const missing = named.find((name) => !actual.some((column) => column.name === name))
  if (missing !== undefined) return `the header names ${missing}, which is not selected`
  return actual.map((column) => columnProblem(node, column)).find((problem) => problem !== null)
}

function referenceProblem(
  { references, isOwn }: ProjectNode,
  all: ReadonlyMap<string, readonly TypedColumn[]>,
): string | undefined {
  if (isOwn !== true) return undefined
  const wrong = references.find(
    ({ targetTable, targetColumn }) =>
      all.get(targetTable)?.some(({ name }) => name === targetColumn) !== true,
  )
  if (wrong === undefined) return undefined
  const { targetTable, targetColumn } = wrong
  return all.has(targetTable)
    ? `the header refers to ${targetTable}.${targetColumn}, but ${targetTable} has no such column`
    : `the header refers to ${targetTable}.${targetColumn}, but there is no such table`
}

function columnProblem(node: ProjectNode, { name, type }: TypedColumn): string | null {
  if (node.isOwn !== true) return node.columns.has(name) ? null : `${name} is not described`
  if (!/^[a-z]\w*$/i.test(name))
    return `the column ${JSON.stringify(name)} has no plain name: write \`as …\` behind it`
  return type.endsWith('HUGEINT')
    ? `the column ${name} is a ${type}, as sum() gives, which Parquet would round: write cast(… as bigint)`
    : null
}

/** Creates an empty table for a computed model, unless it exists with the same columns. */
export async function createComputedTable(
  warehouse: Warehouse,
  table: ComputedModel,
): Promise<void> {
  const { schema, types } = table
  const name = quoteIdentifier(table.name)
  const there = await warehouse.all<{ name: string }>(
    `select column_name as name from duckdb_columns()
     where database_name = current_database() and schema_name = $1 and table_name = $2
     order by column_index`,
    [schema, table.name],
  )
  if (there.map((column) => column.name).join() === [...table.columns.keys()].join()) return
  await warehouse.run(`create or replace table ${schema}.${name} (${types})`)
}

/** Sets the comments of a table and each of its columns. */
export async function commentOn(warehouse: Warehouse, node: ProjectNode): Promise<void> {
  const name = `${node.schema}.${quoteIdentifier(node.name)}`
  const kind = node.kind === 'view' ? 'view' : 'table'
  const mark = node.kind === 'computed' ? '' : `${MODEL_MARK}${node.file}`
  const key = node.key.length === 0 ? '' : `Key: ${node.key.join(', ')}.`
  const text = `${[node.grain, node.purpose, key].filter(Boolean).join(' ')}${mark}`
  const statements = [...node.columns].map(
    ([column, about]) =>
      `comment on column ${name}.${quoteIdentifier(column)} is ${quoteText(about)};`,
  )
  await warehouse.run(`comment on ${kind} ${name} is ${quoteText(text)};\n${statements.join('\n')}`)
}
