/** Forecasts from a sample, for `plan --sample`. The batches that it reads are part of the run, and kept. */

import { BudgetReachedError } from '../extract/budget.ts'
import { extract } from '../extract/extract.ts'
import type { ExtractProgress } from '../extract/options.ts'
import type { JobtideError } from '../support/errors.ts'
import { shuffled } from '../support/numbers.ts'
import { beginRun, closingOf } from './begin.ts'
import type { Job } from './job.ts'
import { extraction, type Service } from './run.ts'
import { withSession } from './session.ts'
import type { RunWorld } from './stages.ts'

export type SampleReport = Awaited<ReturnType<typeof sampleRun>>

/**
 * Reads random batches of a run of `job` to their end. The next `run` of the same pipeline continues with the others.
 * @param count how many of the batches that are not read yet, 2 or more: one gives no range
 * @returns also what a sample shows that needs more pages than the budget allows
 * @throws JobtideError as a run does
 */
export async function sampleRun(job: Job, count: number, service: Service, world: RunWorld) {
  const { clock, random } = world
  return withSession(job, 'plan', world, async (session) => {
    const { history, writer, backups } = session
    const begun = await beginRun({ job, command: 'plan', history, writer, clock, backups })
    const { run, organizations, leftBehind } = begun
    const unread = [...run.batches.values()].filter(({ state }) => state === 'planned')
    // Those that an earlier sample could not finish come first: others would cost as much again.
    const begunBefore = unread.filter(({ pages }) => pages > 0)
    const others = unread.filter(({ pages }) => pages === 0)
    const drawn = [...begunBefore, ...shuffled(others, random)].slice(0, count)
    let progress: ExtractProgress | null = null
    const reportOf = (now: ExtractProgress, endedEarly: JobtideError | null) => ({
      runId: run.started.run_id,
      pipeline: job.pipeline,
      organizations,
      leftBehind,
      /** The pace at which the rest will be bought; null where the service sets it. */
      requestsPerSecond: job.requestsPerSecond,
      /** Credits of the run so far, including earlier attempts. */
      creditsOfRun: run.creditsCommitted + now.credits,
      /** The sample, and the projection of the whole run. */
      progress: now,
      /** The budget that ended the sample; null if it was read to its end. */
      endedEarly,
    })
    try {
      const read = await extract({
        ...extraction({ job, service, world, session }, run),
        only: new Set(drawn.map(({ batch }) => batch.batch_id)),
        onProgress: (now) => {
          progress = now
          world.onProgress({ stage: 'extract', ...now })
        },
      })
      await writer.append(closingOf(run, null, clock, { outcome: 'sampled' }))
      return reportOf(read, null)
    } catch (error) {
      // The error to report is the one that ended the sample, also where even its end cannot be noted.
      await writer.append(closingOf(run, error, clock)).catch(() => undefined)
      if (progress === null || !(error instanceof BudgetReachedError)) throw error
      return reportOf(progress, error)
    }
  })
}
