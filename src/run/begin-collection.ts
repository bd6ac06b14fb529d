/** Begins a run of `kind: collect` in the journal: a new one, or the latest one that did not end, whose lookups go on. */

import type { LookupRecord } from '../journal/records.ts'
import { addLookups, type RunHistory } from '../journal/run-history.ts'
import type { Suppression } from '../load/suppression.ts'
import { collectQuestionSha256, planCollection, type CollectQuestion } from '../plan/collection.ts'
import { resumeRun, startRun, type BeginOptions, type BegunRun } from './begin.ts'
import { closingOf } from './closing.ts'
import { withoutErased, type Collection } from './collection.ts'
import { openRunOf, runsToAbandon } from './resume.ts'

/** Begins or resumes a run, and records which. */
export async function beginCollection(
  options: BeginOptions,
  collection: Collection,
  suppression: Suppression,
): Promise<BegunRun> {
  const { job, history, writer, clock } = options
  const { lookups: listed, refused } = await collection.read()
  const lookups = withoutErased(listed, suppression)
  const question = { ...collection, lookups }
  const sha256 = collectQuestionSha256(question)
  const latest = openRunOf(history, job.pipeline)
  const open = latest?.questionSha256 === sha256 ? latest : null
  for (const run of runsToAbandon(history, job.pipeline, open)) {
    const message = 'it did not end: it was killed, and another question is asked'
    await writer.append(closingOf(run, null, clock, { outcome: 'abandoned', message }))
  }
  const skipped = refused.map(({ subject: name, reason }) => ({ name, reason }))
  const about = { skipped, leftBehind: 0, resumed: open !== null }
  if (open !== null) {
    await resumeRun(options, open, [], sha256)
    await addDue(options, question, open)
  }
  const run = open ?? (await start(options, question, sha256))
  return { ...about, run, organizations: run.lookups.size }
}

/** Adds to a run that goes on what is due by now: one thing that is never answered does not hold up the others. */
async function addDue(
  { history, writer, clock }: BeginOptions,
  question: CollectQuestion & Pick<Collection, 'declared'>,
  run: RunHistory,
): Promise<void> {
  const known = new Set([...run.lookups.values()].map(({ lookup }) => lookup.lookup_key))
  const { lookups } = planCollection(question, history, question.declared, clock.now())
  // Batches are named within their run; what is added later must not take the names of those there are.
  const added = lookups
    .filter(({ lookup_key: key }) => !known.has(key))
    .map((lookup) => ({ ...lookup, batch_id: `r${run.resumed}-${lookup.batch_id}` }))
  await plan(writer, run, question.endpoint, added, clock.now())
}

async function plan(
  writer: BeginOptions['writer'],
  run: RunHistory,
  endpoint: string,
  lookups: readonly LookupRecord[],
  at: number,
): Promise<void> {
  if (lookups.length === 0) return
  const { run_id } = run.started
  await writer.append({ kind: 'lookups_planned', run_id, at, endpoint }, JSON.stringify(lookups))
  addLookups(run, lookups)
}

async function start(
  options: BeginOptions,
  question: CollectQuestion & Pick<Collection, 'declared'>,
  sha256: string,
): Promise<RunHistory> {
  const { history, writer, clock } = options
  const { declared, endpoint } = question
  const { lookups } = planCollection(question, history, declared, clock.now())
  const about = { organizations: lookups.length, batches: [], expectedCredits: null }
  const run = await startRun(options, about, sha256)
  await plan(writer, run, endpoint, lookups, run.started.at)
  return run
}
