/**
 * A snapshot whose models Spark builds. What models read is published below `inputs/` first. One job reads it through the Delta
 * logs, and writes Parquet files and a result below `work/`. Only then do the files get their keys here, and manifest and
 * pointer are written as always. A job that dies leaves nothing but files that no snapshot names.
 */

import { CheckFailedError } from '../model/check-outcome.ts'
import { computedModels } from '../model/computed-models.ts'
import { PublishError } from '../publish/errors.ts'
import { collectGarbage, parseKeep } from '../publish/retention.ts'
import type { Manifest, ManifestFile } from '../publish/manifest.ts'
import { publishSnapshot, type PublishOptions, type PublishReport } from '../publish/publish.ts'
import { ofThisFormat, readCurrent } from '../publish/read-snapshot.ts'
import { readResult, sparkTable, workFolder } from '../publish/spark-result.ts'
import { type ObjectStore, prefixedStore, removeFolder } from '../publish/store/object-store.ts'
import { ulidTime } from '../support/ulid.ts'
import { DAY } from '../support/units.ts'
import { loadedTables } from '../warehouse/catalog.ts'
import { INPUTS, planSparkBuild, type SparkPlan } from './spark-plan.ts'
import { submitJob, type SparkBuild, type SubmitWorld } from './spark-submit.ts'

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
  const tables = new Map<string, ReturnType<typeof sparkTable>>()
  for (const [name, table] of expected) {
    signal?.throwIfAborted()
    const answer = result.tables.find((one) => one.name === name)
    if (answer === undefined) throw new PublishError(`the Spark job did not make ${name}`)
    const made = sparkTable(table, answer.partitions, snapshotId, isThere)
    await Promise.all(made.newFiles.map(({ from, key }) => store.copy(from, key)))
    tables.set(name, made)
  }
  return tables
}
