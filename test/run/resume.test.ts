import { describe, expect, it } from 'vitest'
import { emptyHistory, type History } from '../../src/journal/history.ts'
import { newRunHistory, type RunHistory } from '../../src/journal/run-history.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import type { RunOutcome, BatchRecord } from '../../src/journal/records.ts'
import { takeRecord } from '../../src/journal/batch-history.ts'
import { questionSha256, type Question } from '../../src/plan/plan.ts'
import { beginRun, beginning, runsToAbandon } from '../../src/run/begin.ts'
import { EXIT } from '../../src/support/errors.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { batchOf } from '../extract/extract-fixture.ts'
import { aJournal, aPage, aStart } from '../journal/journal-fixture.ts'
import { jobOver } from './nights-fixture.ts'

const TODAY = Date.UTC(2026, 10, 20, 2)
const TYPES = ['joined', 'left', 'title_change'] as const

function aBatch(id: string, names: readonly string[], daysAgo: number | null): BatchRecord {
  return batchOf(names, { batch_id: id, days_ago: daysAgo })
}

interface RunChoices {
  readonly id?: string
  readonly pipeline?: string
  readonly question?: string
  readonly at?: number
  readonly outcome?: RunOutcome | null
  readonly batches?: readonly BatchRecord[]
  /** Batches whose first page was read when the run began. */
  readonly begun?: readonly string[]
  readonly read?: readonly string[]
}

function aRun(choices: RunChoices = {}): RunHistory {
  const { id = 'run_1', pipeline = 'nightly', question: asked, at = TODAY } = choices
  const batches = choices.batches ?? [aBatch('s1', ['org_a'], 7)]
  const started = aStart({
    run_id: id,
    at,
    pipeline,
    question_sha256: asked ?? questionSha256(question),
  })
  const run = newRunHistory(started, batches)
  for (const [batchId, batch] of run.batches) {
    if (choices.begun?.includes(batchId) === true) takeRecord(batch, aPage(1, { server_at: at }))
    if (choices.read?.includes(batchId) === true) batch.state = 'finished'
  }
  const { outcome = null } = choices
  if (outcome !== null) {
    const exit_code = EXIT.done
    run.finished = { kind: 'run_finished', run_id: id, at, outcome, exit_code, message: null }
  }
  return run
}

function historyOf(...runs: RunHistory[]): History {
  return {
    ...emptyHistory(),
    runs: new Map(runs.map((run) => [run.started.run_id, run])),
  }
}

const { question } = jobOver(['org_a', 'org_b', 'org_c'])
const kindOf = (history: History, asked: Question = question) => {
  const { run, isAsPlanned } = beginning(history, asked, TODAY)
  if (run === null) return 'new'
  return isAsPlanned ? 'as-planned' : 'carried-on'
}

describe('the same question on the same UTC day', () => {
  it.each<[string, RunChoices, string]>([
    ['was killed', {}, 'as-planned'],
    ['reached its budget', { outcome: 'budget' }, 'as-planned'],
    ['found the service away', { outcome: 'unavailable' }, 'as-planned'],
    ['was interrupted', { outcome: 'interrupted' }, 'as-planned'],
    ['failed', { outcome: 'failed' }, 'as-planned'],
    ['only read a sample', { outcome: 'sampled' }, 'as-planned'],
    ['read everything and failed to publish', { outcome: 'failed', read: ['s1'] }, 'as-planned'],
    ['began 2 h ago', { at: TODAY - 2 * HOUR }, 'as-planned'],
    ['is done', { outcome: 'done' }, 'new'],
    ['was refused', { outcome: 'refused' }, 'as-planned'],
    ['was abandoned', { outcome: 'abandoned' }, 'new'],
    ['asked another question', { question: 'other' }, 'new'],
    ['began 3 h ago, on the day before', { at: TODAY - 3 * HOUR }, 'new'],
    [
      'began 90 days ago',
      { at: TODAY - 90 * DAY, batches: [aBatch('s1', ['org_a'], null)] },
      'new',
    ],
  ])('as a run that %s: %#', (_, choices, kind) => {
    const run = aRun(choices)
    expect(kindOf(historyOf(run))).toBe(kind)
    const expected = kind === 'new' ? null : run
    expect(beginning(historyOf(run), question, TODAY).run).toBe(expected)
  })

  it('ignores a killed run with lost records, because it is unknown what it had to read', () => {
    const killed = aRun({ id: 'run_1', at: TODAY - HOUR })
    expect(kindOf(historyOf(killed))).toBe('as-planned')
    killed.isIncomplete = true
    expect(kindOf(historyOf(killed))).toBe('new')
  })

  it('looks only at the latest run of the pipeline', () => {
    const killed = aRun({ id: 'run_1', at: TODAY - HOUR })
    const done = aRun({ id: 'run_2', question: 'other', outcome: 'done' })
    const elsewhere = aRun({ id: 'run_3', pipeline: 'weekly', question: 'other' })
    expect(kindOf(historyOf(killed, done))).toBe('new')
    expect(kindOf(historyOf(done, killed, elsewhere))).toBe('as-planned')
  })
})

describe('on another day, or for another list', () => {
  const YESTERDAY = TODAY - DAY
  const batches = [
    aBatch('s1', ['org_a'], 365),
    aBatch('s2', ['org_b'], 365),
    aBatch('s3', ['org_c'], 2),
  ]
  const yesterday = (choices: RunChoices = {}) =>
    aRun({ at: YESTERDAY, outcome: 'budget', batches, ...choices })

  it('continues the begun batch and plans the other 2 again', () => {
    const run = yesterday({ begun: ['s1'] })
    const how = beginning(historyOf(run), question, TODAY)
    expect(how.run).toBe(run)
    expect(how.kept.map(({ batch }) => batch.batch_id)).toEqual(['s1'])
    expect(how.dropped.map(({ batch }) => batch.batch_id)).toEqual(['s2', 's3'])
    expect(how.rest.organizations.map(({ value }) => value)).toEqual(['org_b', 'org_c'])
  })

  it('plans again a begun batch whose window of 2 days no longer reaches back far enough', () => {
    const history = historyOf(yesterday({ begun: ['s3'] }))
    const covered = { eventTypes: TYPES, from: null, to: YESTERDAY - DAY }
    history.coverage.set('org_c', [covered])
    expect(kindOf(history)).toBe('new')
    history.coverage.set('org_c', [{ ...covered, to: TODAY - 30 * HOUR }])
    expect(kindOf(history)).toBe('carried-on')
  })

  it('continues a batch of a run with another question, while its companies are in the list', () => {
    const run = yesterday({ begun: ['s1'], question: 'other' })
    expect(kindOf(historyOf(run))).toBe('carried-on')
    const without = { ...question, organizations: question.organizations.slice(1) }
    expect(kindOf(historyOf(run), without)).toBe('new')
    const fewer = { ...question, eventTypes: ['joined'] as const }
    expect(kindOf(historyOf(run), fewer)).toBe('new')
  })

  it('does not continue a year that another question began if a night needs only 2 days of it', () => {
    const night = [{ eventTypes: TYPES, from: null, to: TODAY - 30 * HOUR }]
    const choices = { begun: ['s1'], batches: [aBatch('s1', ['org_a'], null)] }
    for (const outcome of ['sampled', 'interrupted', null] as const) {
      const history = historyOf(yesterday({ ...choices, outcome, question: 'all of it' }))
      history.coverage.set('org_a', night)
      expect(kindOf(history)).toBe('new')
    }
  })

  it('plans a batch again that was dropped for part of the list, if the whole list is read on the same day', async () => {
    const clock = virtualClock(TODAY)
    const journal = aJournal(undefined, clock)
    const writer = journal.writer()
    const organizations = Array.from({ length: 120 }, (_, i) => `org_${i}`)
    const begin = (asked: readonly string[]) =>
      beginRun({
        job: jobOver(asked),
        command: 'run',
        history: readHistory(journal),
        writer,
        clock,
        spentBefore: [],
        backups: [],
      })
    const { run } = await begin(organizations)
    const [first] = run.batches.values()
    if (first === undefined) throw new Error('no batch')
    const { batch } = first
    const read = { at: TODAY, requested_at: TODAY, server_at: TODAY }
    await writer.append(aPage(1, { ...read, run_id: run.started.run_id, batch_id: batch.batch_id }))
    const part = batch.organizations.map(({ value }) => value)
    for (const [asked, count] of [
      [part, 50],
      [organizations, 120],
      [organizations, 120],
    ] as const) {
      const begun = await begin(asked)
      expect(begun.resumed).toBe(true)
      const open = [...begun.run.batches.values()].filter(({ state: of }) => of === 'planned')
      expect(open.flatMap((of) => of.batch.organizations)).toHaveLength(count)
    }
    await writer.close()
  })

  it('finds the companies of a batch by ids learnt since', () => {
    const byUrl: BatchRecord = {
      ...aBatch('s1', [], 365),
      organizations: [{ by: 'url', value: 'acme' }],
    }
    const history = historyOf(yesterday({ batches: [byUrl], begun: ['s1'] }))
    expect(kindOf(history)).toBe('new')
    history.ids.set('acme', 'org_b')
    const how = beginning(history, question, TODAY)
    expect(how.rest.organizations.map(({ value }) => value)).toEqual(['org_a', 'org_c'])
  })

  it('plans a batch again that began too long ago, because events may have left its window unseen', () => {
    expect(kindOf(historyOf(yesterday({ begun: ['s1'], at: TODAY - 2 * DAY })))).toBe('carried-on')
    expect(kindOf(historyOf(yesterday({ begun: ['s1'], at: TODAY - 31 * DAY })))).toBe('new')
    // A batch without a window stays valid at any age.
    const all = { batches: [aBatch('s1', ['org_a'], null)], begun: ['s1'] }
    expect(kindOf(historyOf(yesterday({ ...all, at: TODAY - 90 * DAY })))).toBe('carried-on')
  })
})

describe('runsToAbandon', () => {
  it('are the killed runs of the pipeline except the resumed one', () => {
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
