/** Reads the state of the pipelines of a data directory, with its problems, for `status`, `schedule` and metrics. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { serviceTime } from '../journal/clock-history.ts'
import type { History } from '../journal/history.ts'
import { openJournal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import { coverageReport } from '../plan/coverage-report.ts'
import { judge, type JudgingOptions, type Judgement } from '../plan/judge.ts'
import type { Clock } from '../support/clock.ts'
import type { DataDirectory } from './data-directory.ts'
import { PENDING_FILE } from './forget/pending.ts'
import { holderOf } from './lock.ts'
import { readPipelines, type KnownPipeline } from './pipelines.ts'

export interface Freshness {
  readonly history: History
  readonly pipelines: readonly KnownPipeline[]
  /** On which pipeline a process works now; null when none does. */
  readonly working: JudgingOptions['working']
  /** Empty when all is as it should be. */
  readonly judgements: readonly Judgement[]
  /** Milliseconds since 1970 UTC. */
  readonly nowMs: number
}

export interface FreshnessOptions {
  readonly directory: DataDirectory
  readonly clock: Clock
  /** Names or paths of pipelines; empty for all in reach. */
  readonly named: readonly string[]
  /** Whether a named one that cannot be read is judged, as others are. */
  readonly isTolerant?: boolean
  /** Also all others in reach. */
  readonly withOthers?: boolean
  /** Milliseconds; null for any age. */
  readonly maxAgeMs: number | null
}

/**
 * Reads the journal and the pipeline files, and judges.
 * @throws ConfigError when a named pipeline cannot be read, unless that is judged
 * @throws JournalLossError when sealed segments of the journal are lost
 */
export async function readFreshness(options: FreshnessOptions): Promise<Freshness> {
  const { directory, clock, named, isTolerant, withOthers = named.length === 0, maxAgeMs } = options
  // In this order: a run that ends meanwhile has written its end.
  const working = existsSync(directory.root) ? await holderOf(directory.root) : null
  const history = readHistory(openJournal(directory.journal, clock))
  const others = withOthers ? history : null
  const known = await readPipelines(named, directory.root, others, isTolerant)
  const nowMs = clock.now()
  const serverNowMs = serviceTime(history, nowMs)
  // Once for all who look at it: of a long list it takes a while.
  const pipelines = known.map((pipeline) => {
    const { wanted } = pipeline
    return { ...pipeline, coverage: wanted && coverageReport(wanted, history, serverNowMs) }
  })
  const judgements = judge(pipelines, history, { nowMs, serverNowMs, working, maxAgeMs })
  const pending = working === null ? pendingErasure(directory) : []
  return { history, pipelines, working, judgements: [...judgements, ...pending], nowMs }
}

/** An erasure that was begun, and is not proved. */
function pendingErasure({ root }: DataDirectory): Judgement[] {
  const begun = statSync(join(root, PENDING_FILE), { throwIfNoEntry: false })
  if (begun === undefined) return []
  return [
    {
      id: 'erasure_pending',
      pipeline: null,
      message: 'an erasure has begun but is not proved yet',
      hint: '`jobtide forget --yes` or the next run continues it, and reports what blocks it.',
      runId: null,
      since: Math.round(begun.mtimeMs),
    },
  ]
}
