import { describe, expect, it } from 'vitest'
import type { RunHistory } from '../../src/journal/run-history.ts'
import type { RunOutcome } from '../../src/journal/records.ts'
import { trackRecord } from '../../src/plan/track-record.ts'
import { finishedRun } from './plan-fixture.ts'

interface RunChoices {
  readonly pipeline?: string
  readonly expected?: number
  readonly outcome?: RunOutcome
  readonly resumed?: number
}

/** A run that brought so many events; 1,000 were expected. */
function aRun(came: number, choices: RunChoices = {}): RunHistory {
  const { pipeline = 'nightly', expected = 1_000, outcome = 'done', resumed = 0 } = choices
  const fields = { pipeline, ...(expected === 0 ? {} : { expected_events: expected }) }
  return Object.assign(finishedRun(came, fields, outcome), { resumed })
}

const times = (count: number, run: RunHistory) => Array<RunHistory>(count).fill(run)

describe('trackRecord', () => {
  it('takes the next night as expected, give or take 5 %, when there was none', () => {
    expect(trackRecord([], 'nightly')).toEqual({ factor: 1, spread: 0.05 })
  })

  it('14 nights that brought 800 of 1,000 events correct the next forecast to nearly 0.8', () => {
    const { factor, spread } = trackRecord(times(14, aRun(800)), 'nightly')
    expect(factor).toBeCloseTo(0.8, 2)
    expect(spread).toBeLessThan(0.05)
  })

  it('one night of 10,000 events changes the factor of 13 ordinary ones by nothing, but the range', () => {
    const calm = trackRecord(times(14, aRun(1_000)), 'nightly')
    const wave = trackRecord([...times(13, aRun(1_000)), aRun(10_000)], 'nightly')
    expect(wave.factor).toBeCloseTo(calm.factor, 6)
    expect(wave.spread).toBeGreaterThan(5 * calm.spread)
  })

  it('nights of 10 expected events say little: 14 of them with 5 leave the factor above 0.6', () => {
    const { factor } = trackRecord(times(14, aRun(5, { expected: 10 })), 'nightly')
    expect(factor).toBeGreaterThan(0.6)
    expect(factor).toBeLessThan(0.8)
  })

  it('forgets all but the last 14 nights', () => {
    const { factor } = trackRecord([...times(30, aRun(200)), ...times(14, aRun(1_000))], 'nightly')
    expect(factor).toBeCloseTo(1, 9)
  })

  it.each<[string, RunChoices]>([
    ['another pipeline', { pipeline: 'weekly' }],
    ['a plan that had to guess', { expected: 0 }],
    ['a run that reached its budget', { outcome: 'budget' }],
    ['a run that was taken up again', { resumed: 1 }],
  ])('leaves out %s', (_, choices) => {
    expect(trackRecord([aRun(100, choices)], 'nightly').factor).toBe(1)
  })
})
