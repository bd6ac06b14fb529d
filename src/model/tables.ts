/** Manages the tables of a build in the warehouse: creation, columns, comments, removal. */

import type { Clock } from '../support/clock.ts'
import { ConfigError, EXIT, JobtideError } from '../support/errors.ts'
import { PERSON, TIERS } from '../warehouse/catalog.ts'
import { columnsOfAll, relationsIn, type TypedColumn } from '../warehouse/columns.ts'
import { deltaType } from '../warehouse/delta-type.ts'
import { commentsOn } from '../warehouse/export-tables.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { CheckOutcome } from './check-outcome.ts'
import type { ComputedModel } from './computed-models.ts'
import { OwnSqlError, namingFile } from './own/files.ts'
import type { Project, ProjectNode } from './project.ts'

export interface BuildWork {
  readonly warehouse: Warehouse
  readonly project: Project
  readonly clock: Clock
  /** Called when `steps` are finished; `name` is the last one, `rowsChanged` what they wrote and deleted. */
  readonly finished: (name: string, steps?: number, rowsChanged?: number) => void
}

export interface BuiltModel {
  readonly name: string
  /** Its rows; null for a view, which stores none, and if nothing changed. */
  readonly rows: number | null
  /** Rows written and deleted; null if the whole table was written. */
  readonly rowsChanged: number | null
  readonly durationMs: number
}

export interface BuiltTables {
  readonly models: readonly BuiltModel[]
  readonly outcomes: readonly CheckOutcome[]
  /** Models and checks that were skipped because nothing that they read changed. */
  readonly skipped: { readonly models: number; readonly checks: number }
}

/** Adds the model to an error of the engine; for a model of the user's own the file and the line. */
export function namingModel<T>({ name, file, isOwn }: ProjectNode, work: () => Promise<T>) {
  return namingFile(`model ${name}`, isOwn === true ? file : undefined, work)
}

// Every table made from a model says so at the end of its comment. The next build drops these tables, even if the
// model's file is gone, and leaves all others alone.
const MODEL_MARK = ' Model: '
/** A regular expression of the engine for the end of the comment on such a table. */
export const MADE_FROM_MODEL = `${MODEL_MARK}(staging|core|marts|models)/[a-z0-9_]+[.]sql$`

/** Drops what builds made from models, also from those whose file is gone. @param own only those of the user's own */
export async function dropBuiltTables(warehouse: Warehouse, own?: readonly string[]) {
  if (own?.length === 0) return
  const isBuilt = new RegExp(
    own === undefined ? MADE_FROM_MODEL : `${MODEL_MARK}models/(${own.join('|')})[.]sql$`,
  )
  for (const { kind, schema, name, comment } of await relationsIn(warehouse)) {
    if (!isBuilt.test(comment ?? '')) continue
    await warehouse.run(`drop ${kind} ${schema}.${quoteIdentifier(name)}`)
  }
}

/** Call it after `dropBuiltTables`. @throws ConfigError for a foreign table or view with the name of a model */
export async function refuseForeignTables(warehouse: Warehouse, reserved: ReadonlySet<string>) {
  const there = await relationsIn(warehouse)
  const schemas: readonly string[] = [...TIERS, 'core']
  const foreign = there.find(({ name, schema }) => reserved.has(name) && schemas.includes(schema))
  if (foreign === undefined) return
  throw new ConfigError(
    `the ${foreign.kind} ${foreign.name} in the warehouse is not Jobtide’s, and has the name of a table of Jobtide`,
    {
      hint: `Give yours another name: alter ${foreign.kind} ${foreign.name} rename to my_${foreign.name}`,
    },
  )
}

/** @returns the rows of the table; null for a view, which stores none */
export async function createModelTable(warehouse: Warehouse, node: ProjectNode) {
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

/** Reads a view as a publish does: answers can have any length. @throws StorageError if memory is too small */
export async function proveReadable(
  warehouse: Warehouse,
  { schema, name, kind, endpoints = [] }: ProjectNode,
): Promise<void> {
  if (kind !== 'view' || endpoints.length === 0) return
  await warehouse.run(`select bit_xor(hash(kept)) from ${schema}.${quoteIdentifier(name)} as kept`)
}

/** @throws OwnSqlError or JobtideError if header and select name different columns, or snapshots could not hold one */
export async function refuseOtherColumns(warehouse: Warehouse, nodes: readonly ProjectNode[]) {
  const all = await columnsOfAll(warehouse)
  for (const node of nodes) {
    const problem = problemOf(node, all.get(node.name) ?? [])
    if (problem === undefined) continue
    if (node.isOwn === true) throw new OwnSqlError(node.file, problem)
    throw new JobtideError(EXIT.defect, `model ${node.name}: ${problem}`, {
      hint: `Make the "-- columns:" list and the select of ${node.file} name the same columns.`,
    })
  }
}

/**
 * Call it when all tables of the build are made. @param reserved names of models: one may have no table yet, because no
 * answer fills it or it was never selected, and then the check is left out
 * @throws OwnSqlError for a reference of a model of the user's own to a table or column that does not exist
 */
export async function refuseWrongReferences(
  warehouse: Warehouse,
  nodes: readonly ProjectNode[],
  reserved: ReadonlySet<string>,
) {
  const own = nodes.filter(({ isOwn, references }) => isOwn === true && references.length > 0)
  if (own.length === 0) return
  const all = await columnsOfAll(warehouse)
  for (const { file, references } of own) {
    for (const { targetTable, targetColumn } of references) {
      const columns = all.get(targetTable)
      if (columns === undefined && reserved.has(targetTable)) continue
      if (columns?.some(({ name }) => name === targetColumn) === true) continue
      const why =
        columns === undefined ? 'there is no such table' : `${targetTable} has no such column`
      throw new OwnSqlError(file, `the header refers to ${targetTable}.${targetColumn}, but ${why}`)
    }
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

function columnProblem(node: ProjectNode, { name, type }: TypedColumn): string | null {
  if (node.isOwn !== true) return node.columns.has(name) ? null : `${name} is not described`
  if (!/^[a-z]\w*$/i.test(name))
    return `the column ${JSON.stringify(name)} has no plain name: write \`as …\` behind it`
  if (type.endsWith('HUGEINT'))
    return `the column ${name} is a ${type}, as sum() gives, which Parquet would round: write cast(… as bigint)`
  if (deltaType(type) !== undefined) return null
  const word = type.replace(/\(.*\)/s, '(…)')
  return `the column ${name} is of type ${word}, which snapshots cannot hold: write ${insteadOf(type)}`
}

/** SQL of a type that snapshots can hold. */
function insteadOf(type: string): string {
  if (/^TIMESTAMP\w*$/.test(type)) return 'cast(… as date) or cast(… as timestamptz)'
  if (type === 'INTERVAL') return "date_diff('day', …, …)"
  if (/^U[A-Z]*INT$/.test(type)) return 'cast(… as bigint)'
  return /^(?:STRUCT|MAP)|\]$/.test(type) ? 'cast(to_json(…) as varchar)' : 'cast(… as varchar)'
}

/** Creates an empty table for a computed model, unless it exists with the same columns. */
export async function createComputedTable(warehouse: Warehouse, table: ComputedModel) {
  const { schema, types } = table
  const name = quoteIdentifier(table.name)
  const there = (await columnsOfAll(warehouse)).get(table.name) ?? []
  if (there.map((column) => column.name).join() === [...table.columns.keys()].join()) return
  await warehouse.run(`create or replace table ${schema}.${name} (${types})`)
}

export async function commentOn(warehouse: Warehouse, node: ProjectNode): Promise<void> {
  const mark = node.kind === 'computed' ? '' : `${MODEL_MARK}${node.file}`
  const key = node.key.length === 0 ? '' : `Key: ${node.key.join(', ')}.`
  const about = {
    kind: node.kind === 'view' ? 'view' : 'table',
    comment: `${[node.grain, node.purpose, key].filter(Boolean).join(' ')}${mark}`,
    columns: Array.from(node.columns, ([name, comment]) => ({ name, comment })),
  }
  await warehouse.run(commentsOn(`${node.schema}.${quoteIdentifier(node.name)}`, about))
}
