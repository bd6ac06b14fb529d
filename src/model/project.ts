/**
 * Lists the work of a build: the models in run order, with the inputs of each, and the checks; all from the SQL files.
 * `npm run build` keeps the inputs of those that ship.
 */

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { packageRoot, sqlFolder, sqlText } from '../support/assets.ts'
import { readIfThere } from '../support/atomic-file.ts'
import { EXIT, JobtideError } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import { shippedTaxonomy } from '../titles/kept.ts'
import {
  loadedTables,
  readModelFiles,
  SHIPPED_MODELS,
  WATCH_ENTRIES,
  type ModelFile,
} from '../warehouse/catalog.ts'
import { quoteText } from '../warehouse/sql-text.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import { checksOfHeaders, readChecks, withoutSemicolon, type Check } from './checks.ts'
import { computedModels, configFiles, type ComputedModel } from './computed-models.ts'

/** One table or view that a build makes. Of a computed model `sql` returns its keys, if it has one. */
export interface ProjectNode extends Omit<ModelFile, 'kind' | 'path'> {
  readonly kind: 'computed' | 'table' | 'view'
  /** Names of the tables that it reads: its lineage. */
  readonly reads: readonly string[]
  /** As `sql`, with the schema before each table outside `main`: readers of a view may not search that schema. */
  readonly storedSql: string
  readonly computed: ComputedModel | null
  /** The file of a model in SQL, relative to the folder of the models or of the project; else empty. */
  readonly file: string
}

export interface Project {
  readonly nodes: readonly ProjectNode[]
  readonly checks: readonly Check[]
  /** Names that no other table may have: those of all models, even if a build makes no table of one. */
  readonly reserved: ReadonlySet<string>
  /** The statements that define the functions which the models call. */
  readonly macros: string
  /** Changes whenever the same rows could result in other tables or checks. */
  readonly fingerprint: string
  /** The user's own models and checks; absent if there are none. Not part of the fingerprint. */
  readonly own?: OwnProject
}

export interface OwnProject {
  readonly folder: string
  /** By file, such as `models/mine.sql`, a hash of its bytes. */
  readonly made: Readonly<Record<string, string>>
  /** Models whose tables do not match the files: a file is new or edited, or the model reads such a one. */
  readonly stale: ReadonlySet<string>
  /** Names of the models whose files are gone. */
  readonly gone: readonly string[]
}

const SHIPPED_CHECKS = join(sqlFolder, 'checks')

/** @param modelFolder holds staging/, core/ and marts/ @throws JobtideError for a wrong header, select or circle */
export async function readProject(
  warehouse: Warehouse,
  modelFolder: string = SHIPPED_MODELS,
  checkFolder: string = SHIPPED_CHECKS,
): Promise<Project> {
  const models = readModelFiles(modelFolder)
  const fileChecks = readChecks(checkFolder)
  const readBy = await readsWithKept(warehouse, [...computedModels, ...models, ...fileChecks])
  const made = new Map([...models, ...computedModels].map((model) => [model.name, model]))
  const modelNodes = models.map((model) =>
    nodeOf(
      { ...model, sql: withoutSemicolon(model.sql) },
      relative(modelFolder, model.path),
      readBy.get(model.sql) ?? [],
      made,
    ),
  )
  const existing = [...loadedTables.map(({ name }) => name), WATCH_ENTRIES]
  const known = new Set([...made.keys(), ...existing])
  const computedNodes = computedModels
    .map((computed): ProjectNode => {
      const reads = readBy.get(computed.sql) ?? []
      return { ...computed, kind: 'computed', reads, storedSql: '', computed, file: '' }
    })
    // A computed model is left out if the model that it reads is.
    .filter(({ reads }) => reads.every((name) => known.has(name)))
  const unordered = [...computedNodes, ...modelNodes]
  const nodes = runOrder(unordered, existing)
  const checks = [
    ...checksOfHeaders(unordered),
    ...fileChecks.map((check) => ({ ...check, reads: readBy.get(check.sql) ?? [] })),
  ]
  const macros = sqlText('macros.sql')
  const config = Object.values(configFiles).map((file) => readFileSync(join(packageRoot, file)))
  const fingerprint = fingerprintOf(nodes, checks, macros + config.join(''))
  const reserved = new Set(modelNodes.map(({ name }) => name))
  return { nodes, checks, reserved, macros, fingerprint }
}

// Exists next to the code that `npm run build` made, but not next to src.
const KEPT = join(import.meta.dirname, '..', 'reads.json')

/** As {@link readsOf}, for SQL that ships. What the build of the package kept saves every night 50 ms. */
async function readsWithKept(
  warehouse: Warehouse,
  named: readonly Pick<ModelFile, 'name' | 'sql'>[],
) {
  const kept = JSON.parse(readIfThere(KEPT)?.toString() ?? '{}') as Record<string, string[]>
  const found = new Map<string, readonly string[]>()
  const unknown = named.filter(({ sql }) => {
    const reads = sql === '' ? [] : kept[sha256Hex(sql)]
    if (reads !== undefined) found.set(sql, reads)
    return reads === undefined
  })
  const parsed = await readsOf(warehouse, unknown, ({ name }, problem) =>
    defect(`${name}: ${problem}`),
  )
  return new Map([...found, ...parsed])
}

/** Stores the inputs of each select that ships; for `npm run build`. */
export async function keepReads(): Promise<void> {
  await withWarehouse({ path: ':memory:', mode: 'write' }, async (warehouse) => {
    const named = [...computedModels, ...readModelFiles(), ...readChecks(SHIPPED_CHECKS)]
    const reads = await readsWithKept(warehouse, named)
    const entries = [...reads].map(([sql, names]) => [sha256Hex(sql), names])
    writeFileSync(KEPT, JSON.stringify(Object.fromEntries(entries)))
  })
}

/** A model that reads these tables, some of them made by other models. */
export function nodeOf(
  model: ModelFile,
  file: string,
  reads: readonly string[],
  made: ReadonlyMap<string, Pick<ModelFile, 'schema'>>,
): ProjectNode {
  const storedSql = model.sql.replaceAll(/(?<=\b(?:from|join)\s+)\w+/gi, (name) => {
    // A CTE of the select may have the name of a table that it does not read.
    const isRead = reads.includes(name.toLowerCase())
    const schema = isRead ? made.get(name.toLowerCase())?.schema : undefined
    return schema === undefined ? name : `${schema}.${name}`
  })
  return { ...model, file, reads, storedSql, computed: null }
}

/**
 * The tables that selects read, by the SQL of each, in lower case; other schemas than `main` stay as prefix. Reads
 * the syntax trees, because getTableNames finds nothing in `join … using`, all in one query: one by one they take as
 * long as a small build. @param refuse makes the error for SQL that is not one select; `position` is from 0, if known
 */
export async function readsOf<Select extends { readonly sql: string }>(
  warehouse: Warehouse,
  selects: readonly Select[],
  refuse: (select: Select, problem: string, position: number | null) => Error,
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (selects.length === 0) return new Map()
  const values = selects.map(({ sql }, place) => `(${place}, ${quoteText(sql)})`)
  const rows = await warehouse.all<{ tree: string }>(
    `select json_serialize_sql(sql_text) as tree
     from (values ${values.join(', ')}) as texts(place, sql_text)
     order by place`,
  )
  return new Map(
    selects.map((select, place) => {
      type Parsed = { error_message?: string; position?: string; statements?: unknown[] }
      const parsed = JSON.parse(rows[place]?.tree ?? '{}') as Parsed
      const { error_message: problem, position = null, statements = [] } = parsed
      if (problem !== undefined)
        throw refuse(select, problem, position === null ? null : Number(position))
      if (statements.length !== 1)
        throw refuse(select, `a file is one select, not ${statements.length}`, null)
      const tables = new Set<string>()
      visit(statements[0], new Set(), tables)
      return [select.sql, [...tables].toSorted()]
    }),
  )
}

function fingerprintOf(nodes: readonly ProjectNode[], checks: readonly Check[], macros: string) {
  const hash = createHash('sha256').update(shippedTaxonomy).update('\0').update(macros)
  for (const { name, kind, schema, grain, purpose, columns, sql, computed } of nodes) {
    const header = [grain, purpose, ...columns].flat()
    hash.update(JSON.stringify([name, kind, schema, header, sql, computed?.types]))
  }
  for (const { name, sql } of checks) hash.update(JSON.stringify([name, sql]))
  return hash.digest('hex')
}

type TreeNode = Readonly<Record<string, unknown>>

/** Adds the tables in a syntax tree. A CTE in scope is not a table; it may have the name of the table it reads. */
function visit(value: unknown, ctes: ReadonlySet<string>, tables: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, ctes, tables)
    return
  }
  if (value === null || typeof value !== 'object') return
  const node = value as TreeNode
  if (node['type'] === 'BASE_TABLE') {
    const [schema, table] = [lowerCase(node['schema_name']), lowerCase(node['table_name'])]
    if (schema === '' && ctes.has(table)) return
    tables.add(schema === '' || schema === 'main' ? table : `${schema}.${table}`)
    return
  }
  const scope = new Set(ctes)
  if (node['type'] === 'RECURSIVE_CTE_NODE') scope.add(lowerCase(node['cte_name']))
  const { map: commonTables = [] } = (node['cte_map'] ?? {}) as { map?: readonly TreeNode[] }
  // A CTE sees those before it but not itself, so its body is visited before its name is in scope.
  for (const cte of commonTables) {
    visit(cte['value'], scope, tables)
    scope.add(lowerCase(cte['key']))
  }
  for (const [key, child] of Object.entries(node))
    if (key !== 'cte_map') visit(child, scope, tables)
}

function lowerCase(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase() : ''
}

function defect(message: string): JobtideError {
  return new JobtideError(EXIT.defect, message)
}

/**
 * Models in an order in which each comes after those that it reads, otherwise alphabetical.
 * @param existing tables that exist before any model runs
 * @param refuse makes the error, which names model and table, for an unknown or taken name, or a circle
 */
export function runOrder<M extends Pick<ProjectNode, 'name' | 'reads'>>(
  models: readonly M[],
  existing: readonly string[],
  refuse: (message: string) => Error = defect,
): M[] {
  const byName = new Map<string, M>()
  for (const model of models) {
    if (byName.has(model.name) || existing.includes(model.name))
      throw refuse(`model ${model.name}: there is another table of that name`)
    byName.set(model.name, model)
  }
  const order = new Set<M>()

  const place = (name: string, trail: readonly string[]): void => {
    if (existing.includes(name)) return
    const model = byName.get(name)
    if (model === undefined) throw refuse(`model ${trail.at(-1)} reads ${name}: no such table`)
    if (order.has(model)) return
    if (trail.includes(name)) {
      const circle = [...trail.slice(trail.indexOf(name)), name]
      throw refuse(`models read each other in a circle: ${circle.join(' → ')}`)
    }
    for (const table of model.reads.toSorted()) place(table, [...trail, name])
    order.add(model)
  }

  for (const name of [...byName.keys()].toSorted()) place(name, [])
  return [...order]
}
