/** The commands that buy everything a pipeline asks for: run, backfill and extract. */

import type { RunCommand } from '../run/begin.ts'
import type { Overrides } from '../run/job.ts'
import { runJob } from '../run/run.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { runWorld, type Context } from './context.ts'
import { runDocument, runText } from './report.ts'
import { withService } from './service.ts'

/** `run`, `backfill` and `extract`: buys what the pipeline asks for, and all but `extract` load, build and publish it. */
export async function runCommand(
  context: Context,
  command: RunCommand,
  pipeline: string,
  options: Overrides,
): Promise<ExitCode> {
  const { output } = context
  const report = await withService(context, pipeline, options, (job, service) =>
    runJob(job, command, service, runWorld(context)),
  )
  output.text(runText(report))
  output.document(runDocument(report))
  const { endedEarly } = report
  if (endedEarly === null) return EXIT.done
  output.problem(endedEarly)
  return endedEarly.exitCode
}
