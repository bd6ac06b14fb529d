/** Begins a run of `kind: collect` in the journal: a new one, or the latest one that did not end, whose lookups go on. */

import { addLookups, type RunHistory } from '../journal/run-history.ts'
import type { Suppression } from '../load/suppression.ts'
import { collectQuestionSha256, planCollection, type CollectQuestion } from '../plan/collection.ts'
import { resumeRun, startRun, type BeginOptions, type BegunRun } from './begin.ts'
import { closingOf } from './closing.ts'
import { withoutErased, type Collection } from './collection.ts'
import { openRunOf, runsToAbandon } from './resume.ts'

/** Begins a run, or takes an earlier one up again, and writes down which. */
export async function beginCollection(
  options: BeginOptions,
  collection: Collection,
  suppression: Suppression,
): Promise<BegunRun> {
  const { job, history, writer, clock } = options
  const lookups = withoutErased((await collection.read()).lookups, suppression)
  const question = { ...collection, lookups }
  const sha256 = collectQuestionSha256(question)
  const latest = openRunOf(history, job.pipeline)
  const open = latest?.questionSha256 === sha256 ? latest : null
  for (const run of runsToAbandon(history, job.pipeline, open)) {
    const message = 'it did not end: it was killed, and another question is asked'
    await writer.append(closingOf(run, null, clock, { outcome: 'abandoned', message }))
  }
  const about = { skipped: [], leftBehind: 0, resumed: open !== null }
  if (open !== null) await resumeRun(options, open, [], sha256)
  const run = open ?? (await start(options, question, sha256))
  return { ...about, run, organizations: run.lookups.size }
}

async function start(
  options: BeginOptions,
  question: CollectQuestion & Pick<Collection, 'declared'>,
  sha256: string,
): Promise<RunHistory> {
  const { history, writer, clock } = options
  const { declared, endpoint } = question
  const { lookups } = planCollection(question, history, declared, clock.now())
  const plan = { organizations: lookups.length, batches: [], expectedCredits: null }
  const run = await startRun(options, plan, sha256)
  if (lookups.length === 0) return run
  const { run_id, at } = run.started
  await writer.append({ kind: 'lookups_planned', run_id, at, endpoint }, JSON.stringify(lookups))
  addLookups(run, lookups)
  return run
}
