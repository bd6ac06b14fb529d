/** The exact bill of a run before it is run: what `plan --quote` does. What it buys for that are pages of the run. */

import { quote, type Quote } from '../extract/quote.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { EXIT } from '../support/errors.ts'
import { beginRun } from './begin.ts'
import { closingOf, closingRecord } from './closing.ts'
import type { Job } from './job.ts'
import { extraction, type Service } from './run.ts'
import { withSession, type Session } from './session.ts'
import type { RunWorld } from './stages.ts'

/** A quote, and the run that it is for. */
export interface QuoteReport {
  readonly runId: string
  readonly pipeline: string
  readonly organizations: number
  /** Pages paid for in batches of an earlier run that were planned anew. */
  readonly leftBehind: number
  /** The pace at which the rest will be bought; null where the service sets it. */
  readonly requestsPerSecond: number | null
  readonly quote: Quote
}

/**
 * Finds what a run of `job` costs, to the credit. The next `run` of the same pipeline goes on with what was bought.
 * @throws JobtideError as a run does; BudgetReachedError when the quote itself needs more pages than the budget allows
 */
export async function quoteJob(job: Job, service: Service, world: RunWorld): Promise<QuoteReport> {
  return withSession(job, 'plan', world, async (session) => {
    const { history, writer } = session
    const { clock } = world
    const { run, organizations, leftBehind } = await beginRun({
      job,
      command: 'plan',
      history,
      writer,
      clock,
    })
    const found = await quoteRun(job, service, world, session, run)
    const runId = run.started.run_id
    await writer.append(closingRecord(run, 'quoted', EXIT.done, null, clock.now()))
    const { pipeline, requestsPerSecond } = job
    return { runId, pipeline, organizations, leftBehind, requestsPerSecond, quote: found }
  })
}

async function quoteRun(
  job: Job,
  service: Service,
  world: RunWorld,
  session: Session,
  run: RunHistory,
): Promise<Quote> {
  try {
    return await quote({
      ...extraction(job, service, world, session, run),
      onProgress: (progress) => world.onProgress({ stage: 'extract', ...progress }),
    })
  } catch (error) {
    // The error to report is the one that ended the quote, also where even its end cannot be noted.
    await session.writer.append(closingOf(run, error, world.clock)).catch(() => undefined)
    throw error
  }
}
