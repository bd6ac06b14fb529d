/** Begins a run of `kind: collect` in the journal: a new one, or the latest one that did not end, whose lookups go on. */

import type { History } from '../journal/history.ts'
import type { LookupsPlanned, RunStarted } from '../journal/records.ts'
import { isResumable } from '../journal/records.ts'
import { addLookups, newRunHistory, type RunHistory } from '../journal/run-history.ts'
import { collectQuestionSha256, planCollection, type CollectQuestion } from '../plan/collection.ts'
import { newUlid } from '../support/ulid.ts'
import type { BeginOptions, BegunRun } from './begin.ts'
import { closingOf } from './closing.ts'
import type { Collection } from './collection.ts'
import { runsToAbandon } from './resume.ts'

/** Begins a run, or takes an earlier one up again, and writes down which. */
export async function beginCollection(
  options: BeginOptions,
  collection: Collection,
): Promise<BegunRun> {
  const { job, history, writer, clock } = options
  const { lookups } = await collection.read()
  const question = { ...collection, lookups }
  const sha256 = collectQuestionSha256(question)
  const open = openRun(history, job.pipeline, sha256)
  for (const run of runsToAbandon(history, job.pipeline, open)) {
    const message = 'it did not end: it was killed, and another question is asked'
    await writer.append(closingOf(run, null, clock, { outcome: 'abandoned', message }))
  }
  const about = { skipped: [], leftBehind: 0 }
  if (open !== null) {
    const { run_id } = open.started
    await writer.append({ kind: 'run_resumed', run_id, at: clock.now() })
    open.resumed += 1
    return { ...about, run: open, resumed: true, organizations: open.lookups.size }
  }
  const run = await start(options, question, sha256)
  return { ...about, run, resumed: false, organizations: run.lookups.size }
}

function openRun({ runs }: History, pipeline: string, sha256: string): RunHistory | null {
  const latest = [...runs.values()].filter(({ started }) => started.pipeline === pipeline).at(-1)
  if (latest === undefined || latest.isIncomplete || latest.questionSha256 !== sha256) return null
  return latest.finished === null || isResumable(latest.finished.outcome) ? latest : null
}

async function start(
  { job, command, history, writer, clock, spentBefore = [] }: BeginOptions,
  question: CollectQuestion & Pick<Collection, 'declared'>,
  sha256: string,
): Promise<RunHistory> {
  const { declared, endpoint } = question
  const nowMs = clock.now()
  const plan = planCollection(question, history, declared.price, nowMs)
  const started: RunStarted = {
    kind: 'run_started',
    run_id: newUlid(nowMs),
    at: nowMs,
    pipeline: job.pipeline,
    command,
    organizations: plan.lookups.length,
    batches: 0,
    credits_limit: job.creditsLimit,
    question_sha256: sha256,
    ...(spentBefore.length === 0 ? {} : { spent_before: spentBefore }),
  }
  await writer.append(started, '[]')
  const run = newRunHistory(started, [])
  if (plan.lookups.length === 0) return run
  const planned: LookupsPlanned = {
    kind: 'lookups_planned',
    run_id: started.run_id,
    at: nowMs,
    endpoint,
  }
  await writer.append(planned, JSON.stringify(plan.lookups))
  addLookups(run, plan.lookups)
  return run
}
