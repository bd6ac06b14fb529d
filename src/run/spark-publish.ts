/**
 * A snapshot whose models Spark builds. What models read is published below `inputs/` first; one job reads it through the Delta
 * logs, and writes Parquet files and a result below `work/`. Only then, here, files get their keys, tables that readers do not see
 * are published below `core/`, and manifest and pointer are written as always. So a job that dies leaves nothing but files that
 * nobody names.
 */

import { CheckFailedError } from '../model/check-outcome.ts'
import { computedModels } from '../model/computed-models.ts'
import { PublishError } from '../publish/errors.ts'
import { collectGarbage } from '../publish/gc/gc.ts'
import { parseKeep } from '../publish/gc/retention.ts'
import type { Manifest } from '../publish/manifest.ts'
import { publishSnapshot } from '../publish/publish.ts'
import type { PrebuiltTables, PublishOptions, PublishReport } from '../publish/publish-options.ts'
import { ofThisFormat, readCurrent } from '../publish/read-snapshot.ts'
import { workFolder } from '../publish/spark/spark-job.ts'
import {
  placeObjects,
  readResult,
  sparkTable,
  type SparkResult,
  type SparkTable,
} from '../publish/spark/spark-result.ts'
import type { ObjectStore } from '../publish/store/object-store.ts'
import { prefixedStore, removeFolder } from '../publish/store/prefixed-store.ts'
import { DAY } from '../support/units.ts'
import { loadedTables } from '../warehouse/catalog.ts'
import { CORE, INPUTS, planSparkBuild, type SparkPlan } from './spark-plan.ts'
import { submitJob, type SparkBuild, type SubmitWorld } from './spark-submit.ts'

// A publish that was stopped before its pointer moved lets the next one go on from the snapshots before.
const KEPT = parseKeep(5)

/**
 * Publishes as `publishSnapshot` does.
 * @throws CheckFailedError when a check failed on Spark
 * @throws PublishError when the job cannot be started, fails, or answers what cannot be
 */
export async function publishFromSpark(
  options: PublishOptions,
  build: SparkBuild,
  world: SubmitWorld,
): Promise<PublishReport> {
  const { store, snapshotId, logger } = options
  await removeOldWork(store)
  const current = await readCurrent(store)
  const inputs = await publishInputs(options)
  if (inputs === null) return publishSnapshot(options)
  const plan = await planSparkBuild(options, inputs)
  try {
    const result = await runJob(options, plan, build, world)
    const checks = refuseFailed(plan, result)
    const tables = await placeTables(options, plan, result)
    const spark = {
      version: result.spark,
      fingerprint: plan.project.fingerprint,
      inputs: inputs.snapshot_id,
      core: await publishCore(options, plan, tables),
    }
    const made: PrebuiltTables = { tables, current, checks, spark }
    const report = await publishSnapshot({ ...options, made })
    for (const prefix of [INPUTS, CORE]) {
      await collectGarbage({ store: prefixedStore(store, prefix), keep: KEPT, logger })
    }
    return report
  } finally {
    await removeFolder(store, workFolder(snapshotId))
  }
}

// A job that was killed leaves its folder; one that is at work has younger files.
async function removeOldWork(store: ObjectStore): Promise<void> {
  const found = await store.list('work/')
  const newest = Math.max(0, ...found.map(({ modifiedAt }) => modifiedAt))
  for (const id of new Set(found.map(({ key }) => key.split('/')[1] ?? ''))) {
    const own = found.filter(({ key }) => key.startsWith(`${workFolder(id)}/`))
    if (own.some(({ modifiedAt }) => modifiedAt >= newest - DAY)) continue
    await removeFolder(store, workFolder(id))
  }
}

/** Publishes what models read; null where nothing was read yet. */
async function publishInputs(options: PublishOptions): Promise<Manifest | null> {
  const { onPublished: _, ...others } = options
  const store = prefixedStore(options.store, INPUTS)
  const { nothingRead } = await publishSnapshot({
    ...others,
    store,
    hasCurrent: false,
    tables: [...loadedTables, ...computedModels],
  })
  const current = nothingRead ? null : await readCurrent(store)
  return current && ofThisFormat(current.manifest, store.destination)
}

async function runJob(
  { store, snapshotId, logger }: PublishOptions,
  { job }: SparkPlan,
  build: SparkBuild,
  world: SubmitWorld,
): Promise<SparkResult> {
  const key = `${workFolder(snapshotId)}/job.json`
  await store.put(key, Buffer.from(JSON.stringify(job)))
  logger.info({ snapshot: snapshotId, incremental: job.incremental }, 'spark.job_started')
  await submitJob(build, addressOf(store, build, key), world)
  const result = await readResult(store, snapshotId)
  if (result === null) {
    throw new PublishError('the Spark job ended without a result', {
      hint: 'Its command has to end when the job has ended, and not before.',
    })
  }
  const { seconds, spark } = result
  logger.info({ snapshot: snapshotId, seconds, spark }, 'spark.job_ended')
  return result
}

function addressOf(store: ObjectStore, { address }: SparkBuild, key: string): string {
  if (address !== null) return `${address.replace(/\/+$/, '')}/${key}`
  const url = store.urlOf(key)
  // Spark's own name for S3; and a folder, also where it takes a path for one of another file system.
  return store.localPath(key) === null ? url.replace(/^s3:/, 's3a:') : `file://${url}`
}

/** How many checks passed. */
function refuseFailed({ job }: SparkPlan, { checks }: SparkResult): number {
  const told = new Set(checks.map(({ name }) => name))
  const missing = job.checks.find(({ name }) => !told.has(name))
  if (missing !== undefined) throw new PublishError(`the Spark job did not run ${missing.name}`)
  if (checks.some(({ offenders }) => offenders > 0)) throw new CheckFailedError(checks)
  return checks.length
}

/** Gives the files that the job wrote their keys. */
async function placeTables(
  { store, snapshotId, signal }: PublishOptions,
  { expected }: SparkPlan,
  result: SparkResult,
): Promise<ReadonlyMap<string, SparkTable>> {
  const answers = new Map(result.tables.map((table) => [table.name, table.result]))
  const tables = new Map<string, SparkTable>()
  const objects: { from: string; key: string; bytes: number }[] = []
  for (const [name, table] of expected) {
    const answer = answers.get(name)
    if (answer === undefined) throw new PublishError(`the Spark job did not make ${name}`)
    const made = sparkTable(table, answer)
    tables.set(name, made)
    objects.push(...made.newFiles.map((file) => ({ ...file, key: table.prefix + file.key })))
  }
  await placeObjects(store, snapshotId, objects, signal)
  return tables
}

/** Publishes the tables that only models read. @returns the id of their snapshot */
async function publishCore(
  options: PublishOptions,
  { expected }: SparkPlan,
  tables: ReadonlyMap<string, SparkTable>,
): Promise<string> {
  const { onPublished: _, ...others } = options
  const store = prefixedStore(options.store, CORE)
  const own = [...expected.values()].filter(({ prefix }) => prefix !== '')
  const { snapshotId } = await publishSnapshot({
    ...others,
    store,
    hasCurrent: false,
    tables: own.map(({ definition }) => definition),
    made: { tables, current: await readCurrent(store), spark: undefined, checks: 0 },
  })
  return snapshotId ?? options.snapshotId
}
