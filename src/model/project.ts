/**
 * What a build has to make: the computed models and the models in run order, with what each reads, and the checks. All of it
 * is read from the SQL files; the warehouse only parses them.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import { taxonomyVersion } from '../titles/taxonomy.ts'
import {
  loadedTables,
  readModelFiles,
  type DescribedTable,
  type ModelFile,
} from '../warehouse/catalog.ts'
import { quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { checksOfHeaders, readChecks, withoutSemicolon, type Check } from './checks.ts'
import { knownOnSql } from './as-known-on.ts'
import { computedModels, type ComputedModel } from './computed-models.ts'
import { runOrder, tablesRead } from './run-order.ts'

/** One table or view that a build makes. */
export interface ProjectNode {
  readonly name: string
  readonly kind: 'computed' | 'table' | 'view'
  /** Where it stands; see ModelFile. */
  readonly schema: 'main' | 'core'
  /** Names of the tables that it reads: its lineage. */
  readonly reads: readonly string[]
  /** What it is. */
  readonly definition: DescribedTable
  /** The select that makes a model; empty for a computed model. */
  readonly sql: string
  /** As `sql`, with the schema before each table of `core`: a view is read by those who do not search that schema. */
  readonly storedSql: string
  /** Columns by which it can be computed in parts; see ModelFile. */
  readonly incrementalBy: readonly string[]
  /** A computed model. */
  readonly computed: ComputedModel | null
  /** A model and its file, relative to the folder of the models. */
  readonly model: ModelFile | null
  readonly file: string
}

/** A check and the tables that it reads. */
export interface ProjectCheck extends Check {
  readonly reads: readonly string[]
}

/** Everything that a build makes and checks. */
export interface Project {
  /** In run order. */
  readonly nodes: readonly ProjectNode[]
  readonly checks: readonly ProjectCheck[]
  /** The statements that define the functions which the models call. */
  readonly macros: string
  /** Changes whenever the same rows could give other tables or other checks. */
  readonly fingerprint: string
}

/**
 * Reads models and checks.
 * @param modelFolder holds staging/, core/ and marts/
 * @throws JobtideError when a header is incomplete, a model is not one select, or models read each other in a circle
 */
export async function readProject(
  warehouse: Warehouse,
  modelFolder: string = join(sqlFolder, 'models'),
  checkFolder: string = join(sqlFolder, 'checks'),
): Promise<Project> {
  const models = readModelFiles(modelFolder)
  const known = new Set([...models, ...loadedTables, ...computedModels].map(({ name }) => name))
  // A computed model is left out where the model that it reads is.
  const computedNow = computedModels.filter(({ reads }) => reads.every((name) => known.has(name)))
  const checks = [...checksOfHeaders([...computedNow, ...models]), ...readChecks(checkFolder)]
  const treeOf = await syntaxTrees(
    warehouse,
    [...computedNow.map(({ mentioned }) => mentioned ?? ''), ...models, ...checks].map((one) =>
      typeof one === 'string' ? one : one.sql,
    ),
  )
  const computedNodes = computedNow.map((computed): ProjectNode => ({
    name: computed.name,
    kind: 'computed',
    schema: 'main',
    reads: computed.reads,
    definition: computed,
    sql: '',
    storedSql: '',
    incrementalBy: [],
    computed,
    model: null,
    file: '',
  }))
  const core = new Set(models.filter(({ schema }) => schema === 'core').map(({ name }) => name))
  const modelNodes = models.map((model): ProjectNode => {
    const file = relative(modelFolder, model.path)
    return {
      name: model.name,
      kind: model.kind,
      schema: model.schema,
      reads: tablesRead(treeOf(model.sql), `model ${model.name}`),
      definition: model,
      sql: withoutSemicolon(model.sql),
      storedSql: withSchemas(withoutSemicolon(model.sql), core),
      incrementalBy: model.incrementalBy,
      computed: null,
      model,
      file,
    }
  })
  const projectChecks = checks.map((check): ProjectCheck => {
    return { ...check, reads: tablesRead(treeOf(check.sql), `check ${check.name}`) }
  })
  const unordered = [...computedNodes, ...modelNodes]
  const existing = loadedTables.map((table) => table.name)
  const byName = new Map(unordered.map((node) => [node.name, node]))
  const nodes = runOrder(unordered, existing).flatMap((name) => byName.get(name) ?? [])
  const macros = readFileSync(join(sqlFolder, 'macros.sql'), 'utf8')
  const fingerprint = fingerprintOf(nodes, checks, macros + knownOnSql())
  return { nodes, checks: projectChecks, macros, fingerprint }
}

function withSchemas(sql: string, core: ReadonlySet<string>): string {
  return sql.replaceAll(
    /\b(from|join)(\s+)(\w+)/g,
    (text, verb: string, space: string, name: string) =>
      core.has(name) ? `${verb}${space}core.${name}` : text,
  )
}

/** The syntax trees of many selects, asked for at once: one by one they take as long as building a small warehouse. */
async function syntaxTrees(
  warehouse: Warehouse,
  texts: readonly string[],
): Promise<(sql: string) => string> {
  const distinct = [...new Set(texts)]
  const values = distinct.map((text, place) => `(${place}, ${quoteText(text)})`)
  const rows = await warehouse.all<{ tree: string }>(
    `select json_serialize_sql(sql_text) as tree
     from (values ${values.join(', ')}) as texts(place, sql_text)
     order by place`,
  )
  const trees = new Map(distinct.map((text, place) => [text, rows[place]?.tree ?? '{}']))
  return (sql) => trees.get(sql) ?? '{}'
}

function fingerprintOf(
  nodes: readonly ProjectNode[],
  checks: readonly Check[],
  macros: string,
): string {
  const hash = createHash('sha256').update(taxonomyVersion).update('\0').update(macros)
  for (const { name, kind, schema, definition, sql, computed } of nodes) {
    const header = [definition.grain, definition.purpose, ...definition.columns].flat()
    hash.update(
      JSON.stringify([name, kind, schema, header, sql, computed?.types, computed?.mentioned]),
    )
  }
  for (const { name, sql } of checks) hash.update(JSON.stringify([name, sql]))
  return hash.digest('hex')
}
