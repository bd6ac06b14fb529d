import { describe, expect, it } from 'vitest'
import type { History, RunHistory } from '../../src/journal/history.ts'
import { newSliceHistory } from '../../src/journal/slice-history.ts'
import type { RunOutcome } from '../../src/journal/records.ts'
import type { Plan } from '../../src/plan/plan.ts'
import { runsToAbandon, runToResume } from '../../src/run/resume.ts'
import { EXIT } from '../../src/support/errors.ts'
import { HOUR } from '../../src/support/units.ts'

const TODAY = Date.UTC(2026, 5, 15, 2)

interface RunChoices {
  readonly id?: string
  readonly question?: string
  readonly pipeline?: string
  readonly at?: number
  readonly daysAgo?: number | null
  /** Whether its slice was read to the end. */
  readonly isRead?: boolean
  /** Null for a run that was killed. */
  readonly outcome?: RunOutcome | null
}

function aRun(choices: RunChoices = {}): RunHistory {
  const { id = 'run_1', question = 'q', pipeline = 'nightly', at = TODAY } = choices
  const slice = newSliceHistory({
    slice_id: 's1',
    organizations: [{ by: 'id', value: 'org_a' }],
    days_ago: choices.daysAgo === undefined ? 7 : choices.daysAgo,
    event_types: ['joined'],
  })
  if (choices.isRead === true) slice.state = 'finished'
  const { outcome = null } = choices
  return {
    started: {
      kind: 'run_started',
      run_id: id,
      at,
      pipeline,
      command: 'run',
      organizations: 1,
      slices: 1,
      credits_limit: null,
      question_sha256: question,
    },
    slices: new Map([['s1', slice]]),
    finished:
      outcome === null
        ? null
        : { kind: 'run_finished', run_id: id, at, outcome, exit_code: EXIT.done, message: null },
    resumed: 0,
    slicesPlanned: 1,
    slicesDone: 0,
    pages: 0,
    events: 0,
    creditsCommitted: 0,
    creditsAtLastStop: 0,
    unanswered: new Set(),
  }
}

function historyOf(...runs: RunHistory[]): History {
  return {
    runs: new Map(runs.map((run) => [run.started.run_id, run])),
    coverage: new Map(),
    setAside: new Map(),
    notBefore: 0,
    serverAheadMs: 0,
  }
}

const plan: Plan = { slices: [], organizations: 1, setAside: [], questionSha256: 'q' }

describe('runToResume', () => {
  it.each<[string, RunChoices, boolean]>([
    ['was killed', {}, true],
    ['reached its budget', { outcome: 'budget' }, true],
    ['found the service away', { outcome: 'unavailable' }, true],
    ['was interrupted', { outcome: 'interrupted' }, true],
    ['failed', { outcome: 'failed' }, true],
    ['is done', { outcome: 'done' }, false],
    ['was refused', { outcome: 'refused' }, false],
    ['was abandoned', { outcome: 'abandoned' }, false],
    ['asked another question', { question: 'other' }, false],
    ['asked for 7 days 23 h ago, on this UTC day', { at: TODAY - 2 * HOUR }, true],
    ['asked for 7 days 3 h ago, on the UTC day before', { at: TODAY - 3 * HOUR }, false],
    ['asked for everything 3 h ago', { at: TODAY - 3 * HOUR, daysAgo: null }, true],
    ['asked for everything 90 days ago', { at: TODAY - 2_160 * HOUR, daysAgo: null }, true],
    ['read everything, and failed to publish it today', { outcome: 'failed', isRead: true }, true],
    [
      'read everything 3 h ago, on the UTC day before',
      { at: TODAY - 3 * HOUR, daysAgo: null, outcome: 'failed', isRead: true },
      false,
    ],
  ])('a run that %s: %#', (_, choices, isResumed) => {
    const run = aRun(choices)
    expect(runToResume(historyOf(run), 'nightly', plan, TODAY)).toBe(isResumed ? run : null)
  })

  it('leaves a killed run alone when the pipeline has asked something else since', () => {
    const killed = aRun({ id: 'run_1', at: TODAY - HOUR })
    const other = aRun({ id: 'run_2', question: 'other', outcome: 'done' })
    const elsewhere = aRun({ id: 'run_3', pipeline: 'weekly', question: 'other' })
    expect(runToResume(historyOf(killed, other), 'nightly', plan, TODAY)).toBe(null)
    expect(runToResume(historyOf(killed, elsewhere), 'nightly', plan, TODAY)).toBe(killed)
  })

  it('looks only at the latest run of the question', () => {
    const killed = aRun({ id: 'run_1', at: TODAY - HOUR })
    const done = aRun({ id: 'run_2', outcome: 'done' })
    expect(runToResume(historyOf(killed, done), 'nightly', plan, TODAY)).toBe(null)
    expect(runToResume(historyOf(done, aRun({ id: 'run_3' })), 'nightly', plan, TODAY)).not.toBe(
      null,
    )
  })
})

describe('runsToAbandon', () => {
  it('are the killed runs of the pipeline but the one taken up again', () => {
    const killed = aRun({ id: 'run_1', question: 'other' })
    const resumed = aRun({ id: 'run_2' })
    const history = historyOf(
      killed,
      resumed,
      aRun({ id: 'run_3', outcome: 'done' }),
      aRun({ id: 'run_4', pipeline: 'weekly' }),
    )
    expect(runsToAbandon(history, 'nightly', resumed)).toEqual([killed])
    expect(runsToAbandon(history, 'nightly', null)).toEqual([killed, resumed])
  })
})
