import { describe, expect, it } from 'vitest'
import { emptyHistory, type History } from '../../src/journal/history.ts'
import { EVENT_TYPES } from '../../src/journal/records.ts'
import { compareCadences } from '../../src/plan/cadence.ts'
import { planFigures, windowFigures } from '../../src/plan/figures.ts'
import { makePlan, type Question } from '../../src/plan/plan.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { NOW, aPast, aQuestion, ids } from './plan-fixture.ts'

const ofList = (count: number, fields: Partial<Question> = {}) =>
  aQuestion({ organizations: ids(count), ...fields })

const figuresOf = (question: Question, history: History, pace: number | null = null) =>
  planFigures(makePlan(question, history, NOW), pace, 5)

describe('planFigures', () => {
  it('50 organisations with 10 events a day in all: one page of about 20 events, for certain', () => {
    const question = ofList(50, { window: 2 })
    const figures = figuresOf(question, aPast(Array<number>(50).fill(0.2)), 5)
    expect(figures.requestsAtLeast).toBe(1)
    expect(figures.requestsExpected).toBeCloseTo(1, 3)
    expect(figures.events).toBeCloseTo(20, 0)
    expect(figures.credits?.expected).toBeCloseTo(10, 1)
    expect(figures.durationMs).toBeCloseTo(200, 0)
  })

  it('an empty batch is a request without a charge', () => {
    const figures = figuresOf(ofList(50), aPast(Array<number>(50).fill(0)))
    expect(figures.requestsExpected).toBeCloseTo(1, 1)
    expect(figures.credits).toMatchObject({ low: 0, high: 10 })
    expect(figures.durationMs).toBeNull()
  })

  it('two event types are two requests, each with half of the events', () => {
    const history = aPast(Array<number>(50).fill(0.2))
    const question = ofList(50, { window: 2 })
    const both = figuresOf({ ...question, eventTypes: ['joined', 'left'] }, history)
    expect(both.requestsAtLeast).toBe(2)
    expect(both.events).toBeCloseTo(figuresOf(question, history).events, 6)
    expect(both.credits?.expected).toBeCloseTo(20, 0)
  })

  it('of a list that was never asked gives no bill; one that was read is known within a tenth', () => {
    expect(figuresOf(ofList(200), emptyHistory()).credits).toBeNull()
    const past = aPast(Array<number>(200).fill(0.2))
    past.coverage.clear()
    const known = figuresOf(ofList(200), past).credits!
    expect(known.low).toBeGreaterThan(0.88 * known.expected)
    expect(known.high).toBeLessThan(1.12 * known.expected)
  })

  it('where everything is asked, the range holds the bill of one year and of nine, whatever is known of the rates', () => {
    const past = aPast(Array<number>(200).fill(0.2))
    past.coverage.clear()
    const aYear = figuresOf(ofList(200), past).credits!
    const all = figuresOf(ofList(200, { window: 'all' }), past).credits!
    expect(all.low).toBeLessThan(1.02 * aYear.expected)
    expect(all.high).toBeGreaterThan(8.8 * aYear.expected)
    expect(all.high).toBeLessThan(10 * aYear.expected)
  })

  it('says nothing of what new events cost of organisations that were read up to this moment, or by a clock ahead', () => {
    const past = aPast(Array<number>(50).fill(0.2))
    for (const to of [NOW, NOW + HOUR]) {
      for (const name of past.coverage.keys()) {
        past.coverage.set(name, [{ eventTypes: EVENT_TYPES, from: null, to }])
      }
      expect(figuresOf(ofList(50), past)).toMatchObject({
        mostExpensive: [],
        expensiveHalf: null,
      })
    }
  })

  it('counts who was never asked and who never sent an event', () => {
    const figures = figuresOf(ofList(5), aPast([1, 0, 0]))
    expect(figures).toMatchObject({ neverAsked: 2, silent: 2 })
  })

  it('names as mostExpensive those whose page is nearly empty; one event a month costs a page each time', () => {
    const rates = Array.from({ length: 100 }, (_, n) => (n < 50 ? 0.5 : n === 99 ? 1 / 30 : 0))
    const { mostExpensive } = figuresOf(ofList(100), aPast(rates))
    const [first] = mostExpensive
    expect(first?.organization).toBe('org_99')
    // A window of two days finds each event twice, and each time it is alone on its page.
    expect(first?.creditsPerNewEvent).toBeGreaterThan(10)
    expect(first?.newEvents).toBeCloseTo(1 / 30, 2)
    expect(mostExpensive).toHaveLength(5)
  })

  it('the more expensive half, 50 silent ones, takes a page now and then for next to no new event', () => {
    const rates = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? 0.4 : 0))
    const { expensiveHalf } = figuresOf(ofList(100), aPast(rates))
    expect(expensiveHalf?.organizations).toBe(50)
    expect(expensiveHalf?.ofNewEvents).toBeLessThan(0.01)
    expect(expensiveHalf?.ofCredits).toBeGreaterThan(2 * (expensiveHalf?.ofNewEvents ?? 0))
    expect(figuresOf(ofList(5), emptyHistory()).expensiveHalf).toBeNull()
  })

  it('groups batches by the window that is asked and the one that is needed, and says why', () => {
    const history = aPast(Array<number>(150).fill(0.15))
    for (let n = 50; n < 60; n += 1) {
      history.coverage.set(`org_${n}`, [
        { eventTypes: EVENT_TYPES, from: null, to: NOW - 1.9 * DAY },
      ])
    }
    const windows = windowFigures(makePlan(ofList(160), history, NOW))
    expect(windows.reduce((sum, { organizations }) => sum + organizations, 0)).toBe(160)
    expect(new Set(windows.map(({ why }) => why))).toEqual(
      new Set(['wider for free', 'needed', 'cheaper together']),
    )
    expect(windows.at(-1)).toMatchObject({ days: 365, neededDays: 365, organizations: 10 })
  })
})

describe('compareCadences', () => {
  const plan = makePlan(ofList(500), aPast(Array<number>(500).fill(0.05)), NOW)
  const cadences = compareCadences(plan, 6)

  it('asks for the distance and the overlap, in whole days', () => {
    expect(cadences.map(({ everyDays, days }) => [everyDays, days])).toEqual([
      [1, 2],
      [2, 3],
      [7, 8],
    ])
  })

  it('a week of nights of 500 quiet organisations costs 70 pages of 10 batches; one weekly read less than a fifth', () => {
    const [nightly, , weekly] = cadences
    expect(nightly?.creditsPerWeek).toBeGreaterThan(600)
    expect(nightly?.creditsPerWeek).toBeLessThanOrEqual(700)
    expect(weekly?.creditsPerWeek).toBeLessThan(0.2 * (nightly?.creditsPerWeek ?? 0))
  })

  it('an event waits half the distance on average, and 9 of 10 less than nine tenths of it', () => {
    expect(cadences.map(({ meanAgeDays }) => meanAgeDays)).toEqual([0.5, 1, 3.5])
    expect(cadences.map(({ ninetiethPercentileAgeDays: age }) => age)).toEqual([
      0.9,
      1.8,
      expect.closeTo(6.3, 9),
    ])
  })
})
