/** The commands that buy everything a pipeline asks for: run, backfill and extract. */

import type { RunCommand } from '../run/begin.ts'
import { eraseAfterRun } from '../run/forget/erase.ts'
import type { Overrides } from '../run/job.ts'
import { runJob } from '../run/run.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { runWorld, type Context } from './context.ts'
import { erasureWorld } from './forget-command.ts'
import { problemOf, runReport } from './run-result.ts'
import { withService } from './service.ts'

/** `run`, `backfill` and `extract`: buys what the pipeline asks for, and all but `extract` load, build and publish it. */
export const runCommand = buying('run')
export const backfillCommand = buying('backfill')
export const extractCommand = buying('extract')

function buying(command: RunCommand) {
  return (context: Context, pipeline: string, options: Overrides) =>
    buy(context, command, pipeline, options)
}

async function buy(
  context: Context,
  command: RunCommand,
  pipeline: string,
  options: Overrides,
): Promise<ExitCode> {
  const { output } = context
  const world = runWorld(context)
  const report = await withService(context, pipeline, options, async (job, service) => {
    const done = await runJob(job, command, service, world)
    if (command !== 'extract' && done.stageFailure === null) {
      // After the run has closed its journal segment: only then can that be rewritten.
      await eraseAfterRun(erasureWorld(context, pipeline), job.retentionDays)
    }
    return done
  })
  output.report(runReport(report))
  const problem = problemOf(report)
  if (problem === null) return EXIT.done
  output.problem(problem)
  return problem.exitCode
}
