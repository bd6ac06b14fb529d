/** The commands that send requests: run, backfill, extract, and `plan --sample`. */

import { createTransport } from '../api/transport.ts'
import {
  apiKeyFrom,
  baseUrlFrom,
  proxiesFrom,
  webhookSecretFrom,
  journalBackupFrom,
} from '../config.ts'
import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import { skippedValues, tellSkipped } from '../plan/skipped-lines.ts'
import { INSIDE, isBackupInside } from '../run/backup/backup-target.ts'
import type { RunCommand } from '../run/begin.ts'
import { unfinishedSince } from '../run/forget/pending.ts'
import { eraseAfterRun } from '../run/forget/erase.ts'
import { readJob, type Job, type Overrides } from '../run/job.ts'
import { defaultPipeline } from '../run/pipeline-file.ts'
import { runJob, sampleRun, type SampleReport, type Service } from '../run/run.ts'
import { packageVersion } from '../support/assets.ts'
import { ConfigError, errorDocument, type ExitCode } from '../support/errors.ts'
import { countText, durationText, numberText } from '../support/numbers.ts'
import { SECOND } from '../support/units.ts'
import { refuseBundled, type Context } from './context.ts'
import { erasureWorld } from './forget-command.ts'
import { observed } from './metrics.ts'
import { withNotifications } from './notify.ts'
import { conclude } from './output.ts'
import { facts, type Report } from './report.ts'
import { erasureState, leftBehindText, runReport } from './run-result.ts'

/** `run`, `backfill` and `extract`: buys the pages of the pipeline; all but `extract` also load, build and publish them. */
export const runCommand = buying('run')
export const backfillCommand = buying('backfill')
export const extractCommand = buying('extract')

function buying(command: RunCommand) {
  return (context: Context, pipeline: string | undefined, options: Overrides) => {
    const named = pipeline ?? defaultPipeline('backfill')
    return observed(context, command, named, () => runOnce(command, context, named, options))
  }
}

async function runOnce(
  command: RunCommand,
  context: Context,
  pipeline: string,
  options: Overrides,
): Promise<ExitCode> {
  const { output, directory, logger } = context
  const run = async (job: Job, service: Service) => {
    if (command === 'backfill') refuseCollection(job, pipeline)
    const begunAt = unfinishedSince(directory.root)
    const done = await runJob(job, command, service, context)
    const isTried = command !== 'extract' && done.stageFailure === null
    // After the run has closed its journal segment: only then can that be rewritten.
    const certificate = isTried
      ? await eraseAfterRun(erasureWorld(context, pipeline), job.retentionDays)
      : null
    const erasure = erasureState(begunAt, certificate)
    if (certificate === null && erasure !== null) {
      logger.warn({ remaining: erasure.remaining }, 'erasure.incomplete')
    }
    return { ...done, erasure }
  }
  const report = await withNotifications(context, pipeline, command, async () => {
    const job = await readJob(pipeline, withBackup(context, options), directory.root)
    return withService(context, job, (service) => run(job, service))
  })
  return conclude(output, runReport(report))
}

/** With the place that the environment names for the backup of the journal. */
export function withBackup({ environment }: Context, options: Overrides): Overrides {
  return { ...options, journalBackup: journalBackupFrom(environment) }
}

/** @throws ConfigError for a pipeline that reads no job changes: it has no window, and no batches */
function refuseCollection({ pipeline: name, collection }: Job, pipeline: string): void {
  if (collection === null) return
  throw new ConfigError(`${name} reads no job changes: it asks ${collection.endpoint}`, {
    hint: `Run it with \`jobtide run ${pipeline}\`. Nothing was sent.`,
  })
}

/** `plan --sample N`: reads N random batches of the run to their end, keeps them, and projects the bill of all. */
export async function sampleCommand(
  context: Context,
  pipeline: string,
  options: Overrides & { readonly sample: number },
): Promise<ExitCode> {
  return observed(context, 'plan', pipeline, async () => {
    const job = await readJob(pipeline, withBackup(context, options), context.directory.root)
    const sample = await withService(context, job, (service) => {
      refuseCollection(job, pipeline)
      return sampleRun(job, options.sample, service, context)
    })
    return conclude(context.output, { ...sampleReport(sample, job), problem: sample.endedEarly })
  })
}

/**
 * Connects to the service for `work`, and closes the connection afterwards. Registers the key with the scrubber.
 * @throws ConfigError when the list is only for the simulator, or address or key is missing or unsafe
 */
export async function withService<T>(
  context: Context,
  job: Job,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const { environment, logger, clock, scrubber } = context
  context.logFields['pipeline'] = job.pipeline
  const baseUrl = baseUrlFrom(environment)
  refuseBundled(job, environment)
  tellSkipped(logger, job.skipped)
  tellBackupsInside(context, job)
  const proxies = proxiesFrom(environment, baseUrl)
  const { secret, source, isWide } = apiKeyFrom(environment)
  if (isWide) {
    const reason = `${source}: others may read or change it; make it readable by this account alone`
    logger.warn({ reason }, 'api_key')
  }
  scrubber.add(secret.reveal())
  const webhookSecret = webhookSecretFrom(environment)
  if (webhookSecret !== null) scrubber.add(webhookSecret.reveal())
  const transport = createTransport({
    baseUrl,
    apiKey: secret,
    ...(webhookSecret && { webhookSecret }),
    clock,
    connections: job.concurrency,
    userAgent: `jobtide/${packageVersion()}`,
    ...(proxies === undefined ? {} : { proxies }),
  })
  try {
    return await work({ transport, baseUrl, webhookSecret })
  } finally {
    await transport.close()
  }
}

function tellBackupsInside({ logger, directory }: Context, { backups }: Job): void {
  for (const { place } of backups.filter((one) => isBackupInside(directory.root, one.place))) {
    logger.warn({ reason: `${place} ${INSIDE.problem}. ${INSIDE.hint}` }, 'backup.inside')
  }
}

function sampleReport(sample: SampleReport, { skipped }: Job): Report {
  const { runId, pipeline, organizations, leftBehind, progress, requestsPerSecond: pace } = sample
  const { projection, batches, batchesDone, credits, pages } = progress
  const about = { runId, pipeline, organizations, batches }
  const left = batches - batchesDone
  const toBuy = projection && Math.max(0, projection.expected - sample.creditsOfRun)
  const isWhole = projection !== null && left === 0
  const whole = isWhole ? projection.expected : sample.creditsOfRun
  const bill =
    projection === null || isWhole
      ? `is ${isWhole ? '' : 'at least '}${countText(whole, 'credit')}`
      : `is about ${countText(projection.expected, 'credit')}, 90 % sure between ${numberText(projection.low)} and ${numberText(projection.high)}`
  const price = toBuy === null ? '' : ` for about ${countText(toBuy, 'credit')}`
  const took =
    toBuy === null || pace === null
      ? ''
      : `, ${durationText((toBuy / CREDITS_PER_PAGE / pace) * SECOND)} at ${numberText(pace)} a second`
  const rest = `${countText(left, 'batch')}${price}${took}`
  const bought = `${countText(pages, 'page')} for ${countText(credits, 'credit')} now, kept for the run`
  return {
    title: `${pipeline}: the bill of ${countText(organizations, 'organisation')} in ${countText(batches, 'batch')} ${bill}`,
    sections: [
      facts({
        '  fetched': `${bought}; ${countText(batchesDone, 'batch')} of it ${batchesDone === 1 ? 'is' : 'are'} complete`,
        '  to fetch': left === 0 ? 'nothing: the next run only has to finish' : rest,
        '  left': leftBehindText(leftBehind),
      }),
    ],
    notes: [
      projection === null &&
        `a forecast needs 2 batches that are fetched to their end: the same command continues these`,
      'the next run of the same question fetches only the rest',
    ].filter((note) => note !== false),
    values: {
      ...about,
      batchesRead: batchesDone,
      pagesNow: pages,
      creditsSpentNow: credits,
      pagesLeftBehind: leftBehind,
      skippedLines: skippedValues(skipped),
      expectedCredits: projection && projection.expected,
      credits_90_percent: projection && { low: projection.low, high: projection.high },
      creditsToBuy: toBuy,
      error: sample.endedEarly && errorDocument(sample.endedEarly),
    },
  }
}
