/**
 * A snapshot whose models Spark builds. What models read is published below `inputs/` first. One job reads it through the Delta
 * logs, and writes Parquet files and a result below `work/`. Only then do the files get their keys here, and manifest and
 * pointer are written as always. A job that dies leaves nothing but files that no snapshot names.
 */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { CheckFailedError } from '../model/check-outcome.ts'
import { computedModels } from '../model/computed-models.ts'
import { readProject } from '../model/project.ts'
import { readStoredLog, sequenceOf } from '../publish/delta.ts'
import { PublishError } from '../publish/errors.ts'
import { SPLIT_ABOVE_ROWS, publishedColumns } from '../publish/export.ts'
import {
  isOfThisFormat,
  partitionStem,
  ofThisFormat,
  readCurrent,
  type Manifest,
  type ManifestFile,
  type ManifestTable,
  type CurrentSnapshot,
} from '../publish/manifest.ts'
import { publishSnapshot, type PublishOptions, type PublishReport } from '../publish/publish.ts'
import { collectGarbage, parseKeep } from '../publish/retention.ts'
import {
  JOB_FORMAT,
  readResult,
  sparkTable,
  workFolder,
  type ExpectedTable,
} from '../publish/spark-result.ts'
import { type ObjectStore, prefixedStore, removeFolder } from '../publish/store/object-store.ts'
import type { Logger } from '../support/logger.ts'
import { ulidTime } from '../support/ulid.ts'
import { DAY } from '../support/units.ts'
import { loadedTables } from '../warehouse/catalog.ts'
import { columnsOfAll } from '../warehouse/columns.ts'
import { withoutAbsent } from '../warehouse/endpoint-tables.ts'
import type { SparkBuild } from './job.ts'

/** The inputs of the models are published below this prefix of a destination, as a separate snapshot. */
const INPUTS = 'inputs'

/** Publishes as `publishSnapshot` does. @throws CheckFailedError, PublishError also for what the job did */
export async function publishFromSpark(
  options: PublishOptions,
  build: SparkBuild,
  world: SubmitWorld,
): Promise<PublishReport> {
  const { store, snapshotId, clock, logger } = options
  // A job that was killed leaves its folder.
  for (const id of new Set((await store.list('work/')).map(({ key }) => key.split('/')[1] ?? ''))) {
    if (ulidTime(id) < clock.now() - DAY) await removeFolder(store, workFolder(id))
  }
  const current = await readCurrent(store)
  const inputs = await publishInputs(options)
  if (inputs === null) return publishSnapshot(options)
  const plan = await planSparkBuild(options, inputs, current)
  try {
    const result = await runJob(options, plan, build, world)
    const tables = await placeTables(options, plan, result)
    const made = { tables, current, checks: result.checks.length, spark: { version: result.spark } }
    const report = await publishSnapshot({ ...options, made })
    await collectGarbage({ store: prefixedStore(store, INPUTS), keep: parseKeep(1), logger })
    // Versions up to 0.12 kept tables there that only models read.
    await removeFolder(store, 'core')
    return report
  } finally {
    await removeFolder(store, workFolder(snapshotId))
  }
}

/** Publishes what models read; null where nothing was read yet. */
async function publishInputs(options: PublishOptions): Promise<Manifest | null> {
  const { onPublished: _, ...others } = options
  const store = prefixedStore(options.store, INPUTS)
  const tables = [...loadedTables, ...computedModels]
  const { nothingRead } = await publishSnapshot({ ...others, store, hasCurrent: false, tables })
  const current = nothingRead ? null : await readCurrent(store)
  return current && ofThisFormat(current.manifest, store.destination)
}

async function runJob(
  { store, snapshotId, logger }: PublishOptions,
  { job }: SparkPlan,
  build: SparkBuild,
  world: SubmitWorld,
) {
  const key = `${workFolder(snapshotId)}/job.json`
  await store.put(key, Buffer.from(JSON.stringify(job)))
  logger.info({ snapshot: snapshotId, models: job.models.length }, 'spark.job_started')
  await submitJob(build, addressOf(store, build, key), world)
  const result = await readResult(store, snapshotId)
  logger.info({ seconds: result.seconds, spark: result.spark }, 'spark.job_ended')
  const missing = job.checks.find(({ name }) => !result.checks.some((one) => one.name === name))
  if (missing !== undefined) throw new PublishError(`the Spark job did not run ${missing.name}`)
  if (result.checks.every(({ offenders }) => offenders === 0)) return result
  throw new CheckFailedError(result.checks)
}

function addressOf(store: ObjectStore, { address }: SparkBuild, key: string): string {
  if (address !== null) return `${address.replace(/\/+$/, '')}/${key}`
  const url = store.urlOf(key)
  // Spark's own name for S3; and a folder, also where it takes a path for one of another file system.
  return store.localPath(key) === null ? url.replace(/^s3:/, 's3a:') : `file://${url}`
}

/** Gives the files that the job wrote their keys. */
async function placeTables(
  { store, snapshotId, signal }: PublishOptions,
  { expected }: SparkPlan,
  result: Awaited<ReturnType<typeof readResult>>,
): Promise<NonNullable<PublishOptions['made']>['tables']> {
  const sizes = new Map((await store.list('tables/')).map(({ key, bytes }) => [key, bytes]))
  const isThere = ({ key, bytes }: ManifestFile) => sizes.get(key) === bytes
  const tables = new Map<string, ManifestTable>()
  for (const [name, table] of expected) {
    signal?.throwIfAborted()
    const answer = result.tables.find((one) => one.name === name)
    if (answer === undefined) throw new PublishError(`the Spark job did not make ${name}`)
    const made = sparkTable(table, answer.partitions, snapshotId, isThere)
    await Promise.all(made.newFiles.map(({ from, key }) => store.copy(from, key)))
    tables.set(name, made.table)
  }
  return tables
}

type SparkPlan = Awaited<ReturnType<typeof planSparkBuild>>

/** The job, as spark/jobtide_spark reads it, and the tables that it publishes. */
async function planSparkBuild(
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

export interface SubmitWorld {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly logger: Logger
  readonly stop: AbortSignal
}

/**
 * Runs the command to its end, with the address of the job in the place of `{job}`; where no argument has that, as the last
 * argument. What it prints goes to the log.
 * @throws PublishError when it cannot be started, or ends with another code than 0
 */
export async function submitJob(
  { submit }: SparkBuild,
  address: string,
  { environment, logger, stop }: SubmitWorld,
): Promise<void> {
  const isNamed = submit.some((part) => part.includes('{job}'))
  const [program = '', ...args] = isNamed
    ? submit.map((part) => part.replaceAll('{job}', address))
    : [...submit, address]
  // Our own key is of no use there.
  const env = Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith('JOBTIDE_')),
  )
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], signal: stop })
  const last: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      logger.debug({ line }, 'spark')
      if (line.trim() !== '') last.push(line.trim())
      if (last.length > 5) last.shift()
    })
  }
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = await new Promise<string | number | Error | null>((resolve) => {
    child.once('error', (error) => child.pid === undefined && resolve(error))
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  process.removeListener('exit', kill)
  stop.throwIfAborted()
  if (ended instanceof Error) {
    const hint = 'Fix `build: {submit: …}` in the pipeline file.'
    throw new PublishError(`${program} cannot be started: ${ended.message}`, { hint })
  }
  if (ended === 0) return
  const hint = 'What it printed is in the log at level debug.'
  throw new PublishError(`the Spark job ended with ${ended}: ${last.join(' | ')}`, { hint })
}
