import { describe, expect, it } from 'vitest'
import { emptyHistory, type History } from '../../src/journal/history.ts'
import type { RunOutcome } from '../../src/journal/records.ts'
import { coverageReport, type Wanted } from '../../src/plan/coverage-report.ts'
import { judge, runState, type JudgedPipeline, type JudgingOptions } from '../../src/plan/judge.ts'
import type { ExitCode } from '../../src/support/errors.ts'
import { DAY, HOUR, MINUTE } from '../../src/support/units.ts'
import { addRun } from '../helpers/recorded-run.ts'

const NOW = Date.UTC(2026, 10, 20, 9)
const NIGHTLY: JudgedPipeline = {
  name: 'nightly',
  schedule: { cron: '15 2 * * *', timezone: 'UTC' },
  coverage: null,
  problem: null,
  isExpected: true,
}
const LIST: Wanted = {
  organizations: [
    { by: 'id', value: 'org_1' },
    { by: 'id', value: 'org_2' },
  ],
  eventTypes: ['joined'],
  window: 365,
}

interface End {
  readonly at: number
  readonly outcome?: RunOutcome
  readonly exit?: ExitCode
  readonly message?: string
}

/** A history of runs of `nightly`, each started five minutes before its end; null for a run that did not end. */
function ran(...ends: readonly (End | null)[]): History {
  const history = emptyHistory()
  for (const end of ends) {
    const { outcome = 'done', exit: exit_code = 0, message = null } = end ?? {}
    const at = end?.at ?? NOW - HOUR
    addRun(history, at - 5 * MINUTE, end && { at, outcome, exit_code, message })
  }
  return history
}

function found(
  history: History,
  options: Partial<JudgingOptions> = {},
  pipelines: readonly (JudgedPipeline | Wanted)[] = [NIGHTLY],
) {
  const judged = pipelines.map((one) =>
    'name' in one ? one : { ...NIGHTLY, coverage: coverageReport(one, history, NOW) },
  )
  const all = { nowMs: NOW, serverNowMs: NOW, working: null, maxAgeMs: null, ...options }
  return judge(judged, history, all)
}
const ids = (...given: Parameters<typeof found>) => found(...given).map(({ id }) => id)

const THIS_NIGHT = Date.UTC(2026, 10, 20, 2, 21)

describe('a pipeline', () => {
  it('that ran this night with exit 0 is healthy', () => {
    expect(found(ran({ at: THIS_NIGHT }))).toEqual([])
  })

  it('that never ran is reported if it has a schedule or was named', () => {
    expect(found(emptyHistory())).toMatchObject([
      { id: 'never_run', pipeline: 'nightly', hint: '`jobtide run nightly` is its first run.' },
    ])
    expect(ids(emptyHistory(), {}, [{ ...NIGHTLY, isExpected: false }])).toEqual([])
  })

  it('whose last run failed is reported with exit code, message and hint, until a run exits with 0', () => {
    const failed = {
      at: THIS_NIGHT,
      outcome: 'refused',
      exit: 3,
      message: 'the key is refused',
    } as const
    expect(found(ran({ at: THIS_NIGHT - DAY }, failed))).toMatchObject([
      {
        id: 'last_run_failed',
        runId: 'run_1',
        since: THIS_NIGHT,
        message:
          'the last run of nightly ended at 2026-11-20 02:21 UTC with exit 3: the key is refused',
        hint: 'Set the right key, or ask the provider about your plan, then `jobtide run nightly`.',
      },
    ])
    expect(ids(ran(failed, { at: THIS_NIGHT + HOUR }))).toEqual([])
    const atBudget = { at: THIS_NIGHT, outcome: 'budget', exit: 4 } as const
    expect(found(ran(atBudget))[0]?.hint).toMatch(/^`jobtide run nightly` continues it with a new /)
    // The run did everything it could, but its list is wrong.
    expect(ids(ran({ at: THIS_NIGHT, outcome: 'done', exit: 2 }))).toEqual(['last_run_failed'])
  })

  it('that is running is not judged; without a process, or with one of another pipeline, it was killed', () => {
    const history = ran({ at: THIS_NIGHT - DAY }, null)
    const nowMs = NOW + DAY
    const [, open] = [...history.runs.values()]
    const states = [null, { pipeline: 'nightly' }, { pipeline: null }, { pipeline: 'weekly' }].map(
      (working) => [open && runState(open, working), ids(history, { working, nowMs })],
    )
    expect(states).toEqual([
      ['killed', ['last_run_killed', 'missed_schedule']],
      ['running', []],
      ['running', []],
      ['killed', ['last_run_killed', 'missed_schedule']],
    ])
  })

  it('missed its schedule if no run has ended an hour after its time; a sample does not count', () => {
    const yesterday = ran({ at: THIS_NIGHT - DAY })
    const at = (hour: number, minute: number) => Date.UTC(2026, 10, 20, hour, minute)
    expect(ids(yesterday, { nowMs: at(3, 14) })).toEqual([])
    expect(found(yesterday, { nowMs: at(3, 15) })).toMatchObject([
      {
        id: 'missed_schedule',
        since: at(2, 15),
        message: expect.stringContaining('due at 2026-11-20 02:15 UTC') as string,
      },
    ])
    expect(ids(ran({ at: THIS_NIGHT - DAY }, { at: THIS_NIGHT, outcome: 'sampled' }))).toEqual([
      'missed_schedule',
    ])
    expect(ids(ran({ at: THIS_NIGHT, outcome: 'budget', exit: 4 }))).toEqual(['last_run_failed'])
    expect(ids(yesterday, {}, [{ ...NIGHTLY, schedule: null }])).toEqual([])
  })

  it('is judged by age only if one is given: by its list if its file can be read, else by its last run with exit 0', () => {
    const history = ran({ at: THIS_NIGHT })
    expect(ids(history, { maxAgeMs: 6 * HOUR })).toEqual(['too_old'])
    expect(ids(history, { maxAgeMs: 7 * HOUR })).toEqual([])
    const cover = (name: string, from: number, to: number) =>
      history.coverage.set(name, [{ eventTypes: ['joined'], from: NOW - from, to: NOW - to }])
    cover('org_1', 400 * DAY, HOUR)
    cover('org_2', 400 * DAY, 30 * HOUR)
    expect(ids(history, {}, [LIST])).toEqual([])
    expect(found(history, { maxAgeMs: 26 * HOUR }, [LIST])).toMatchObject([
      {
        id: 'too_old',
        message: 'nightly is older than 26 h: its data is of 2026-11-19 03:00 UTC, 30 h ago',
      },
    ])
    expect(ids(history, { maxAgeMs: 31 * HOUR }, [LIST])).toEqual([])
  })

  it('has gaps if the time between two reads is still unread two days later', () => {
    const history = ran({ at: THIS_NIGHT })
    const read = (gapEnd: number) =>
      history.coverage.set('org_1', [
        { eventTypes: ['joined'], from: null, to: NOW - 20 * DAY },
        { eventTypes: ['joined'], from: NOW - gapEnd, to: NOW - HOUR },
      ])
    read(3 * DAY)
    expect(found(history, {}, [LIST])).toMatchObject([
      {
        id: 'coverage_gaps',
        message:
          '1 organisation of nightly was not fetched for a time between two runs, the earliest from 2026-10-31 09:00 UTC on',
        hint: expect.stringMatching(/^`jobtide backfill nightly --days 20`/) as string,
      },
    ])
    read(DAY)
    expect(ids(history, {}, [LIST])).toEqual([])
  })

  it('with an unreadable file is judged like a failed one', () => {
    const broken = { ...NIGHTLY, problem: 'nightly.yaml:3: window: missing' }
    expect(ids(ran({ at: THIS_NIGHT }), {}, [broken])).toEqual(['pipeline_unreadable'])
  })
})
