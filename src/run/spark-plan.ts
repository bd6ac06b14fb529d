/** Writes the job of a Spark build, `work/<snapshot id>/job.json`, which spark/jobtide_spark reads. */

import { readProject } from '../model/project.ts'
import { partitionStem, isOfThisFormat, type Manifest } from '../publish/manifest.ts'
import { SPLIT_ABOVE_ROWS, publishedColumns } from '../publish/export.ts'
import { readStoredLog, sequenceOf } from '../publish/delta/log.ts'
import { PublishError } from '../publish/errors.ts'
import type { PublishOptions } from '../publish/publish.ts'
import type { CurrentSnapshot } from '../publish/read-snapshot.ts'
import { JOB_FORMAT, type ExpectedTable } from '../publish/spark-result.ts'
import { prefixedStore } from '../publish/store/object-store.ts'
import { columnsOfAll } from '../warehouse/columns.ts'
import { withoutAbsent } from '../warehouse/endpoint-tables.ts'

/** The inputs of the models are published below this prefix of a destination, as a separate snapshot. */
export const INPUTS = 'inputs'

export type SparkPlan = Awaited<ReturnType<typeof planSparkBuild>>

/** The job, and the tables that it publishes. */
export async function planSparkBuild(
  options: PublishOptions,
  inputs: Manifest,
  current: CurrentSnapshot | null,
) {
  const { warehouse, splitAboveRows = SPLIT_ABOVE_ROWS } = options
  const project = await readProject(warehouse)
  const shown = current !== null && isOfThisFormat(current.manifest) ? current.manifest : null
  const columnsOf = await columnsOfAll(warehouse)
  const rowsOf = new Map(inputs.tables.map(({ name, rows }) => [name, rows]))
  const isLarge = (rowsOf.get('job_change_events') ?? 0) > splitAboveRows
  // Models that read a table that is not an input, such as the watch-lists, stay in the warehouse.
  const known = new Set(rowsOf.keys())
  const all = await withoutAbsent(warehouse, project.nodes)
  const nodes = all.filter(({ name, computed, reads }) => {
    return computed === null && reads.every((read) => known.has(read)) && known.add(name)
  })
  const expected = new Map<string, ExpectedTable>()
  const models = []
  for (const { name, sql, reads, key, kind, ...definition } of nodes) {
    const readers = nodes.filter((other) => other.reads.includes(name)).length
    const model = { name, sql, reads, key }
    if (!definition.isPublished) {
      models.push({ ...model, stored: kind === 'table' || readers > 1 ? 'kept' : 'inline' })
      continue
    }
    const node = { ...definition, name, key }
    const before = shown?.tables.find((table) => table.name === name)
    const columns = publishedColumns(columnsOf, node, before)
    const splitBy = isLarge || before?.partition_by ? node.partitionByYearOf : null
    const split = splitBy && { column: splitBy, stem: partitionStem(splitBy) }
    expected.set(name, { definition: node, columns, before, splitBy })
    models.push({ ...model, stored: 'published', columns: columns.columns, split })
  }
  const isOfSpark = (read: string) => nodes.some(({ name }) => name === read)
  // Those of what only DuckDB has ran there. The engines' hashes differ in name and in size: to a check 64 bits do.
  const checks = project.checks
    .filter(({ reads }) => reads.some(isOfSpark) && reads.every((read) => known.has(read)))
    .map(({ name, sql, reads }) => {
      return { name, reads, sql: sql.replaceAll(/\bhash\(/g, 'xxhash64(') }
    })
  const job = {
    format: JOB_FORMAT,
    snapshot_id: options.snapshotId,
    // As sql/macros.sql defines them for Spark.
    functions: [...project.macros.matchAll(/^-- spark: (.+)$/gm)].map(([, text]) => text),
    inputs: await versionsOf(options, inputs),
    models,
    checks,
  }
  return { job, expected }
}

/** The inputs, with the versions of their Delta logs. */
async function versionsOf(options: PublishOptions, { tables, sequence }: Manifest) {
  const source = { ...options, store: prefixedStore(options.store, INPUTS) }
  const found = []
  for (const { name } of tables) {
    const { state } = await readStoredLog(source, name)
    found.push({ name, version: state.version })
    if (sequenceOf(state) <= sequence) continue
    const what = `another publisher has written to ${source.store.destination}`
    throw new PublishError(what, { hint: 'Run publish again.' })
  }
  return found
}
