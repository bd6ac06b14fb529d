/** The commands that ask the service: run, backfill, extract and plan. */

import { createTransport } from '../api/transport.ts'
import { apiKeyFrom, baseUrlFrom } from '../config.ts'
import { readHistory } from '../journal/history.ts'
import { openJournal } from '../journal/journal.ts'
import { organizationName } from '../journal/records.ts'
import { makePlan, type Plan } from '../plan/plan.ts'
import { readJob, type Overrides } from '../run/job.ts'
import { runJob, type RunCommand, type Service } from '../run/run.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { packageVersion, runWorld, type Context } from './context.ts'
import { runDocument, runText } from './report.ts'
import { countText, numberText, tableText } from './text.ts'

/** `run`, `backfill` and `extract`: buys what the pipeline asks for, and all but `extract` load, build and publish it. */
export async function runCommand(
  context: Context,
  command: RunCommand,
  pipeline: string,
  options: Overrides,
): Promise<ExitCode> {
  const { output, progress, directory } = context
  const job = await readJob(pipeline, options, directory.root)
  const service: Service = serviceFrom(context, job.concurrency)
  try {
    const report = await runJob(job, command, service, runWorld(context))
    progress.stop()
    output.text(runText(report))
    output.document(runDocument(report))
    const { endedEarly } = report
    if (endedEarly === null) return EXIT.done
    output.problem(endedEarly)
    return endedEarly.exitCode
  } finally {
    progress.stop()
    await service.transport.close()
  }
}

/**
 * The service as the environment names it. Its key is known to the scrubber from here on.
 * @throws ConfigError when address or key is missing or unsafe
 */
function serviceFrom(context: Context, concurrency: number): Service {
  const baseUrl = baseUrlFrom(context.environment)
  const { secret } = apiKeyFrom(context.environment)
  context.scrubber.add(secret.reveal())
  const transport = createTransport({
    baseUrl,
    apiKey: secret,
    clock: context.clock,
    connections: concurrency,
    userAgent: `jobtide/${packageVersion()}`,
  })
  return { transport, baseUrl }
}

/** `plan`: what a run would ask; sends nothing. */
export async function planCommand(
  context: Context,
  pipeline: string,
  options: Overrides,
): Promise<ExitCode> {
  const { output, directory, clock } = context
  const job = await readJob(pipeline, options, directory.root)
  const history = readHistory(openJournal(directory.journal, clock))
  const plan = makePlan(job.question, history, clock.now() + history.serverAheadMs)
  const windows = windowsOf(plan)
  output.document({
    pipeline: job.pipeline,
    organizations: plan.organizations,
    duplicates: job.duplicates,
    slices: plan.slices.length,
    windows,
    set_aside: plan.setAside.map(({ name, reason }) => ({ organization: name, reason })),
    credits_limit: job.creditsLimit,
    snapshot_to: job.snapshotTo,
  })
  output.text(
    [
      `${job.pipeline}: ${countText(plan.organizations, 'organisation')} in ${countText(plan.slices.length, 'slice')}; nothing was sent`,
      tableText(
        ['days of detection time', 'organisations', 'slices'],
        windows.map(({ days_ago, organizations, slices }) => [
          days_ago === null ? 'all' : String(days_ago),
          numberText(organizations),
          numberText(slices),
        ]),
        { width: output.columns, numeric: [false, true, true] },
      ),
      `at least ${countText(plan.slices.length, 'request')}; a page with events costs 10 credits, an empty one nothing`,
      `credits this run may spend: ${job.creditsLimit === null ? 'no limit' : numberText(job.creditsLimit)}`,
      ...(job.duplicates === 0
        ? []
        : [`the list names ${countText(job.duplicates, 'organisation')} twice`]),
      ...(plan.setAside.length === 0
        ? []
        : [
            `${countText(plan.setAside.length, 'organisation')} left out: refused by the service lately`,
          ]),
    ].join('\n'),
  )
  return EXIT.done
}

interface WindowCount {
  readonly days_ago: number | null
  readonly organizations: number
  readonly slices: number
}

/** What is asked for each window. Organisations count once, however many requests ask for them. */
function windowsOf({ slices }: Plan): WindowCount[] {
  const windows = [...new Set(slices.map(({ days_ago }) => days_ago))]
  return windows
    .map((window) => {
      const own = slices.filter(({ days_ago }) => days_ago === window)
      const names = own.flatMap(({ organizations }) => organizations.map(organizationName))
      return { days_ago: window, organizations: new Set(names).size, slices: own.length }
    })
    .toSorted((a, b) => (a.days_ago ?? Infinity) - (b.days_ago ?? Infinity))
}
