/**
 * Adds the user's own models and checks after Jobtide's, in run order, and compares their files with the last build.
 */

import { ConfigError } from '../../support/errors.ts'
import { sha256Hex } from '../../support/hash.ts'
import { didYouMean } from '../../support/nearest.ts'
import { useOwnLists } from '../../support/own-lists.ts'
import { loadedTables, nameInTier } from '../../warehouse/catalog.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { readState } from '../build-state.ts'
import { constraintsOf } from '../checks.ts'
import { nodeOf, readsOf, runOrder, type Project, type ProjectNode } from '../project.ts'
import { OwnSqlError, readOwnFiles, refuseTaken, type OwnFiles } from './files.ts'

const NONE: OwnFiles = { models: [], checks: [], lists: new Map(), hashes: new Map() }

/** A pipeline whose models Spark builds may have the user's own lists, but no models and checks. @param own their number */
export function refuseOnSpark(own: number): void {
  if (own === 0) return
  throw new ConfigError(
    'models and checks of your own are built by DuckDB alone, but this pipeline says `engine: spark`',
    {
      hint: 'Move models/ and checks/ out of the folder of the project, or build with `--engine duckdb`.',
    },
  )
}

/**
 * From now on, computed models read the user's own lists.
 * @param folder of the project; null: that of the last build; undefined: only the lists of that one, so that the
 * tables of its models are dropped @throws ConfigError that names the wrong file, before anything is built
 */
export async function withOwn(
  warehouse: Warehouse,
  project: Project,
  folder: string | null | undefined,
): Promise<Project> {
  const before = await readState(warehouse)
  const root = folder ?? before?.folder ?? null
  const files = root === null ? NONE : readOwnFiles(root, folder !== undefined)
  useOwnLists(files.lists)
  if (files.hashes.size === 0 && before === null) return project
  const made = Object.fromEntries(files.hashes)
  const isNew = ({ file }: { readonly file: string }) => before?.made[file] !== made[file]
  const reads = await readsOfFiles(warehouse, files, project)
  const shipped = new Map(project.nodes.map((node) => [node.name, node]))
  const found = files.models.map((model): ProjectNode => {
    const own = reads.get(model.file) ?? []
    const read = own.flatMap((name) => shipped.get(name) ?? [])
    const endpoints = [model, ...read].flatMap((one) => one.endpoints ?? [])
    return { ...nodeOf(model, model.file, own, shipped), endpoints: [...new Set(endpoints)] }
  })
  const ownNames = new Set(found.map(({ name }) => name))
  const existing = found.flatMap((node) => node.reads.filter((name) => !ownNames.has(name)))
  const refuse = (message: string) => new ConfigError(message, { hint: 'Nothing was built.' })
  const nodes = runOrder(found, existing, refuse)
  const stale = new Set<string>()
  for (const node of nodes)
    if (isNew(node) || node.reads.some((name) => stale.has(name))) stale.add(node.name)
  const checks = files.checks.map((check) => {
    return { ...check, reads: reads.get(check.file) ?? [], isNew: isNew(check) }
  })
  const ofHeaders = nodes.flatMap(constraintsOf)
  const taken = new Set([...project.checks, ...ofHeaders].map(({ name }) => name))
  for (const { file, name } of checks) refuseTaken(file, name, taken)
  const gone = Object.keys(before?.made ?? {}).flatMap((file) => {
    const [, name] = /^models\/(\w+)\.sql$/.exec(file) ?? []
    return name === undefined || file in made ? [] : name
  })
  return {
    ...project,
    nodes: [...project.nodes, ...nodes],
    checks: [...project.checks, ...ofHeaders, ...checks],
    reserved: new Set([...project.reserved, ...nodes.map(({ name }) => name)]),
    fingerprint:
      files.lists.size === 0
        ? project.fingerprint
        : sha256Hex(JSON.stringify([project.fingerprint, ...files.lists])),
    own: { folder: root ?? '', made, stale, gone },
  }
}

/**
 * The tables that each file reads. @throws OwnSqlError if it is not one select, or reads a table that does not exist
 */
async function readsOfFiles(
  warehouse: Warehouse,
  { models, checks }: OwnFiles,
  { nodes }: Project,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const selects = [...models, ...checks]
  const readBy = await readsOf(warehouse, selects, ({ file, sql }, problem, position) => {
    const line = position === null ? '' : `:${sql.slice(0, position).split('\n').length}`
    return new OwnSqlError(`${file}${line}`, problem)
  })
  const tables = [...nodes, ...loadedTables, ...models].map(({ name }) => name)
  const found = selects.map(({ file, sql }): [string, readonly string[]] => {
    const named = readBy.get(sql) ?? []
    const reads = named.map((name) => nameInTier(name) ?? name.replace(/^core\./, ''))
    const missing = reads.find((name) => !tables.includes(name) && !name.startsWith('ops.'))
    if (missing === undefined) return [file, reads]
    const problem = `it reads ${missing}, but there is no such table`
    throw new OwnSqlError(file, problem, didYouMean(missing, tables))
  })
  for (const { file, sql, isByPerson } of models) {
    // Only tables named without a schema can be limited to changed people.
    const isQualified = /\b(?:main|detail|service|core)"?\s*\.\s*"?\w+/i
    if (!isByPerson || !isQualified.test(sql.replaceAll(/--.*/g, ''))) continue
    const problem =
      'with `-- incremental_by:` it names tables without a schema: role_spells in place of detail.role_spells'
    throw new OwnSqlError(file, problem)
  }
  return new Map(found)
}
