/**
 * Adds the user's own models and checks after those that ship, in run order. `ops.build_state` records the result of
 * the last build for each file: a file that is new, edited or gone is noticed by its bytes, and only such files are
 * parsed.
 */

import { ConfigError, EXIT, JobtideError } from '../../support/errors.ts'
import { sha256Hex } from '../../support/hash.ts'
import { didYouMean } from '../../support/nearest.ts'
import { loadedTables, nameInTier } from '../../warehouse/catalog.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { constraintsOf } from '../constraints.ts'
import {
  syntaxTrees,
  withSchemas,
  type OwnProject,
  type Project,
  type ProjectNode,
} from '../project.ts'
import { runOrder, tablesRead } from '../run-order.ts'
import { OwnSqlError, ownFile, placeOf, readOwnFiles, refuseTaken, type OwnFiles } from './files.ts'
import { readState } from './state.ts'

const NONE: OwnFiles = { models: [], checks: [], hashes: new Map() }

/** A pipeline whose models Spark builds cannot have models of the user's own. */
export function refuseOnSpark(files: number): void {
  if (files === 0) return
  throw new ConfigError(
    'models and checks of your own are built by DuckDB alone, but this pipeline says `engine: spark`',
    {
      hint: 'Take models/ and checks/ out of the folder of the project, or build with `--engine duckdb`.',
    },
  )
}

/**
 * The project with the user's own models and checks.
 * @param folder of the project; null: that of the last build; undefined: none, so that the tables that the last build
 *   made from one are dropped
 * @throws ConfigError naming the file that is wrong: nothing was built yet
 */
export async function withOwn(
  warehouse: Warehouse,
  project: Project,
  folder: string | null | undefined,
): Promise<Project> {
  const before = await readState(warehouse)
  const root = folder === undefined ? null : (folder ?? before?.folder ?? null)
  const files = root === null ? NONE : readOwnFiles(root)
  if (files.hashes.size === 0 && before === null) return project
  const made = Object.fromEntries(files.hashes)
  const isNew = (file: string) => before?.made[file] !== made[file]
  await refuseTakenNames(
    warehouse,
    files.models.filter(({ path }) => isNew(ownFile(path))),
    project,
  )
  const isOfThis = before?.fingerprint === project.fingerprint
  const reads = await readsOf(warehouse, files, isOfThis ? before.reads : {}, project)
  const schemas = new Map(project.nodes.map(({ name, schema }) => [name, schema]))
  const endpoints = new Map(project.nodes.map((node) => [node.name, node.endpoints ?? []]))
  const found = files.models.map(({ path, ...model }): ProjectNode => {
    const own = reads[sha256Hex(model.sql)] ?? []
    return {
      ...model,
      reads: own,
      storedSql: withSchemas(model.sql, (name) =>
        own.includes(name) ? schemas.get(name) : undefined,
      ),
      endpoints: [
        ...new Set([
          ...(model.endpoints ?? []),
          ...own.flatMap((name) => endpoints.get(name) ?? []),
        ]),
      ],
      computed: null,
      file: ownFile(path),
    }
  })
  const nodes = inOrder(found)
  const stale = new Set<string>()
  for (const node of nodes) {
    if (isNew(node.file) || node.reads.some((name) => stale.has(name))) stale.add(node.name)
  }
  const checks = files.checks.map(({ name, file, sql }) => {
    return { name, sql, file, reads: reads[sha256Hex(sql)] ?? [], isNew: isNew(file) }
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
    own: { folder: root ?? '', made, reads, stale, gone },
  }
}

function inOrder(found: readonly ProjectNode[]): ProjectNode[] {
  const byName = new Map(found.map((node) => [node.name, node]))
  const existing = [...new Set(found.flatMap(({ reads }) => reads))].filter(
    (name) => !byName.has(name),
  )
  try {
    return runOrder(found, existing).flatMap((name) => byName.get(name) ?? [])
  } catch (error) {
    if (!(error instanceof JobtideError) || error.exitCode !== EXIT.defect) throw error
    throw new ConfigError(error.message, { hint: 'Nothing was built.', cause: error })
  }
}

/** The tables that each select reads, by its hash. Only selects missing in `known` are parsed. */
async function readsOf(
  warehouse: Warehouse,
  { models, checks }: OwnFiles,
  known: OwnProject['reads'],
  project: Project,
): Promise<Record<string, readonly string[]>> {
  const selects = [
    ...models.map(({ name, sql, path, isByPerson }) => ({
      name,
      sql,
      file: ownFile(path),
      isByPerson,
    })),
    ...checks.map((check) => ({ ...check, isByPerson: false })),
  ]
  const unknown = selects.filter(({ sql }) => known[sha256Hex(sql)] === undefined)
  const treeOf = await syntaxTrees(warehouse, unknown)
  const tables = new Set([
    ...project.nodes.map(({ name }) => name),
    ...loadedTables.map(({ name }) => name),
    ...models.map(({ name }) => name),
  ])
  return Object.fromEntries(
    selects.map((select) => {
      const { file, sql } = select
      const hash = sha256Hex(sql)
      const reads = known[hash] ?? parsedReads(treeOf(sql), select)
      const missing = reads.find((name) => !tables.has(name) && !name.startsWith('ops.'))
      if (missing === undefined) return [hash, reads]
      throw new OwnSqlError(
        file,
        `it reads ${missing}, but there is no such table`,
        didYouMean(missing, [...tables]),
      )
    }),
  )
}

interface OwnSelect {
  readonly file: string
  readonly sql: string
  readonly isByPerson: boolean
}

function parsedReads(tree: string, { file, sql, isByPerson }: OwnSelect): string[] {
  const parsed = JSON.parse(tree) as { error: boolean; error_message?: string; position?: string }
  if (parsed.error) {
    const { position, error_message: problem = '' } = parsed
    const place = position === undefined ? file : placeOf(file, sql, Number(position))
    throw new OwnSqlError(
      place,
      position === undefined ? `a file is one select: ${problem}` : problem,
    )
  }
  // Rows of changed people replace tables that are named without a schema.
  if (
    isByPerson &&
    /\b(?:main|detail|service|core)"?\s*\.\s*"?\w+/i.test(sql.replaceAll(/--.*/g, ''))
  ) {
    throw new OwnSqlError(
      file,
      'with `-- incremental_by:` it names tables without a schema: role_spells in place of detail.role_spells',
    )
  }
  return tablesRead(tree, file).map((name) => nameInTier(name) ?? name.replace(/^core\./, ''))
}

/** @throws OwnSqlError for a model with the name of a function or of a table of the schema */
async function refuseTakenNames(
  warehouse: Warehouse,
  models: OwnFiles['models'],
  { macros }: Project,
): Promise<void> {
  if (models.length === 0) return
  const rows = await warehouse.all<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_catalog = current_database() and table_schema = 'ops'`,
  )
  const functions = [...macros.matchAll(/^create or replace macro (\w+)/gm)].map(
    ([, name = '']) => name,
  )
  const taken = new Set([...rows.map(({ name }) => name), ...functions])
  for (const { name, path } of models) {
    refuseTaken(ownFile(path), name, name.endsWith('_as_known_on') ? new Set([name]) : taken)
  }
}
