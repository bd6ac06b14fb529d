/** The commands that buy everything a pipeline asks for: run, backfill and extract. */

import type { RunCommand } from '../run/begin.ts'
import { forgetTargets } from '../run/forget/forget-targets.ts'
import type { Job, Overrides } from '../run/job.ts'
import { applyRetention, eraseArrivals } from '../run/forget/retention.ts'
import { runJob } from '../run/run.ts'
import type { RunWorld } from '../run/stages.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { runWorld, type Context } from './context.ts'
import { problemOf, runReport } from './run-result.ts'
import { withService } from './service.ts'

/** `run`, `backfill` and `extract`: buys what the pipeline asks for, and all but `extract` load, build and publish it. */
export async function runCommand(
  context: Context,
  command: RunCommand,
  pipeline: string,
  options: Overrides,
): Promise<ExitCode> {
  const { output } = context
  const world = runWorld(context)
  const report = await withService(context, pipeline, options, async (job, service) => {
    const done = await runJob(job, command, service, world)
    if (command !== 'extract' && done.publishFailure === null) {
      await eraseWhatIsNotKept(world, job, pipeline)
    }
    return done
  })
  output.report(runReport(report))
  const problem = problemOf(report)
  if (problem === null) return EXIT.done
  output.problem(problem)
  return problem.exitCode
}

// After the run has closed its journal segment: only then can that be written anew.
async function eraseWhatIsNotKept(
  world: RunWorld,
  { retentionDays }: Job,
  pipeline: string,
): Promise<void> {
  await eraseArrivals(world)
  if (retentionDays === null) return
  const targets = (known: readonly string[]) => forgetTargets(world.directory.root, pipeline, known)
  await applyRetention({ ...world, targets, onStep: () => undefined }, retentionDays)
}
