/** What a Spark build is asked to make: from the project, what was published, and what the warehouse knows of columns. */

import { readProject, type Project, type ProjectNode } from '../model/project.ts'
import { columnText, publishedColumns, readColumns } from '../publish/columns.ts'
import { readStoredLog, sequenceOf } from '../publish/delta/log.ts'
import { PublishError } from '../publish/errors.ts'
import { keysOfSnapshot } from '../publish/keys.ts'
import type { Manifest, ManifestTable } from '../publish/manifest.ts'
import { SPLIT_ABOVE_ROWS } from '../publish/export.ts'
import type { PublishOptions } from '../publish/publish-options.ts'
import {
  JOB_FORMAT,
  LAYOUT_LIMITS,
  changeOf,
  sparkFunctions,
  splitOf,
  storedTable,
  type JobCheck,
  type JobInput,
  type JobModel,
  type SparkJob,
} from '../publish/spark/spark-job.ts'
import type { ExpectedTable } from '../publish/spark/spark-result.ts'
import { prefixedStore } from '../publish/store/prefixed-store.ts'
import { WATCH_ENTRIES } from '../warehouse/catalog.ts'

/** Below these prefixes of a destination are what models read, and the tables that only models read. */
export const INPUTS = 'inputs'
export const CORE = 'core'

/** The snapshots that an incremental build goes on from. */
export interface SparkBase {
  readonly inputs: Manifest
  readonly core: Manifest
  readonly main: Manifest
}

export interface SparkPlan {
  readonly job: SparkJob
  readonly project: Project
  /** Of every table that the job makes; in run order. */
  readonly expected: ReadonlyMap<string, ExpectedTable>
}

export async function planSparkBuild(
  options: PublishOptions,
  inputs: Manifest,
): Promise<SparkPlan> {
  const { warehouse, snapshotId } = options
  const project = await readProject(warehouse)
  const nodes = nodesFor(project)
  // Every build is whole: what a job that goes on writes, deleted rows, no snapshot holds any more.
  const { base, expected } = await expectedTables(options, nodes, null, inputs)
  const job: SparkJob = {
    format: JOB_FORMAT,
    snapshot_id: snapshotId,
    incremental: base !== null,
    limits: LAYOUT_LIMITS,
    functions: sparkFunctions(project.macros),
    inputs: await jobInputs(options, project, inputs, base),
    models: nodes.map((node) => jobModel(node, expected.get(node.name))),
    checks: jobChecks(project, nodes),
  }
  return { job, project, expected }
}

/** What is published, what checks read, and what these read; without what shows whom a pipeline watches. */
function nodesFor({ nodes, checks }: Project): ProjectNode[] {
  const hidden = new Set<string>([WATCH_ENTRIES])
  for (const { name, reads } of nodes) if (reads.some((read) => hidden.has(read))) hidden.add(name)
  const wanted = new Set(checks.flatMap(({ reads }) => reads))
  for (const node of nodes.toReversed()) {
    if (node.isPublished) wanted.add(node.name)
    if (wanted.has(node.name)) for (const read of node.reads) wanted.add(read)
  }
  return nodes.filter(
    ({ name, computed }) => computed === null && wanted.has(name) && !hidden.has(name),
  )
}

const tableIn = (manifest: Manifest | undefined, name: string) =>
  manifest?.tables.find((table) => table.name === name)

/** The tables that the job makes; the base is null where it cannot go on from all that stood before. */
async function expectedTables(
  { warehouse, snapshotId, splitAboveRows = SPLIT_ABOVE_ROWS }: PublishOptions,
  nodes: readonly ProjectNode[],
  found: SparkBase | null,
  inputs: Manifest,
): Promise<{ base: SparkBase | null; expected: ReadonlyMap<string, ExpectedTable> }> {
  const isLarge = (tableIn(inputs, 'job_change_events')?.rows ?? 0) > splitAboveRows
  const stored = nodes.filter((node) => prefixOf(node) !== null)
  const expected = new Map<string, ExpectedTable>()
  let base =
    found !== null &&
    inputs.tables.every((now) => isGoneOnFrom(tableIn(found.inputs, now.name), now))
      ? found
      : null
  for (const node of stored) {
    const prefix = prefixOf(node) ?? ''
    const before = tableIn(prefix === '' ? found?.main : found?.core, node.name)
    const columns = publishedColumns(await readColumns(warehouse, node.schema), node, before)
    if (!isGoneOnFrom(before, { key: [...node.key], schema: [...columns.columns] })) base = null
    const splitBy = isLarge ? node.partitionByYearOf : null
    const ownKey = keysOfSnapshot(before, snapshotId)
    expected.set(node.name, {
      definition: node,
      columns,
      before,
      splitBy,
      prefix,
      ownKey,
      snapshotId,
    })
  }
  if (base === null) return { base, expected }
  // A table that goes on keeps its partitions.
  for (const [name, table] of expected) {
    expected.set(name, { ...table, splitBy: table.before?.partition_by?.column ?? null })
  }
  return { base, expected }
}

/** Where the files of a model belong, as prefix of their keys; null for a view that is not published. */
function prefixOf({ isPublished, kind }: ProjectNode): string | null {
  if (isPublished) return ''
  return kind === 'table' ? `${CORE}/` : null
}

function isGoneOnFrom(
  before: ManifestTable | undefined,
  now: Pick<ManifestTable, 'key' | 'schema'>,
): boolean {
  const told = ({ key, schema }: typeof now) => `${key.join()}|${schema.map(columnText).join()}`
  return before !== undefined && told(before) === told(now)
}

async function jobInputs(
  options: PublishOptions,
  { nodes }: Project,
  inputs: Manifest,
  base: SparkBase | null,
): Promise<JobInput[]> {
  const source = { ...options, store: prefixedStore(options.store, INPUTS) }
  const prefix = `${INPUTS}/`
  const found: JobInput[] = []
  for (const table of inputs.tables) {
    const before = tableIn(base?.inputs, table.name)
    const { state } = await readStoredLog(source, table.name)
    if (sequenceOf(state) > inputs.sequence) {
      throw new PublishError(`another publisher has written to ${source.store.destination}`, {
        hint: 'Run publish again.',
      })
    }
    found.push({
      name: table.name,
      columns: table.schema,
      version: state.version,
      is_computed: nodes.some(({ name, computed }) => name === table.name && computed !== null),
      now: storedTable(table, prefix),
      change: before === undefined ? null : changeOf(before, table, prefix),
      before: before === undefined ? null : storedTable(before, prefix),
    })
  }
  return found
}

function jobModel(node: ProjectNode, expected: ExpectedTable | undefined): JobModel {
  const { name, sql, reads, incrementalBy, key } = node
  const { prefix = null, columns, before, splitBy = null } = expected ?? {}
  const described = [...node.columns.keys()].map((column) => ({
    name: column,
    type: '',
    field_id: 0,
  }))
  return {
    name,
    sql,
    reads,
    incremental_by: incrementalBy,
    key,
    columns: columns?.columns ?? described,
    store: prefix,
    split: splitOf(splitBy),
    before: before === undefined ? null : storedTable(before, prefix ?? ''),
  }
}

/** The checks of what Spark makes. Those of what only DuckDB has were run there. */
function jobChecks({ checks }: Project, nodes: readonly ProjectNode[]): JobCheck[] {
  const made = new Set(nodes.map(({ name }) => name))
  return checks
    .filter(({ reads }) => reads.some((name) => made.has(name)) && !reads.includes(WATCH_ENTRIES))
    .map(({ name, sql, reads, incrementalBy, reference }) => ({
      name,
      // The engines' own hashes differ in name and in size: that of 64 bits is the same to a check.
      sql: sql.replaceAll(/\bhash\(/g, 'xxhash64('),
      reads,
      incremental_by: incrementalBy,
      reference:
        reference === undefined
          ? null
          : { column: reference.column, target_column: reference.targetColumn },
    }))
}
