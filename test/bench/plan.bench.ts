/** How long it takes to plan a night over 40,000 organisations of which each has its own past, and what is in it. */

import { it } from 'vitest'
import { emptyHistory } from '../../src/journal/history.ts'
import { EVENT_TYPES, type OrganizationRef } from '../../src/journal/records.ts'
import { makePlan, type Question } from '../../src/plan/plan.ts'
import { logNormal, seededRandom } from '../../src/simulator/random.ts'
import { DAY } from '../../src/support/units.ts'

const ORGANIZATIONS = 40_000
const ROUNDS = 3
const NOW = Date.UTC(2026, 5, 15, 2, 15)

/** A list that was read last night, but for one organisation in fifty that was missed for some nights or is new. */
function aList(): { question: Question; history: ReturnType<typeof emptyHistory> } {
  const random = seededRandom(1)
  const history = emptyHistory()
  const organizations = Array.from({ length: ORGANIZATIONS }, (_, n): OrganizationRef => {
    const value = `org_${(n * 7_919) % ORGANIZATIONS}`
    const rate = logNormal(random, 0.02, 1.5)
    const missed = random() < 0.02 ? Math.floor(12 * random()) : 0
    if (missed < 10) {
      const to = NOW - (1 + missed) * DAY
      const events = Math.round(200 * rate)
      history.coverage.set(value, [{ eventTypes: EVENT_TYPES, from: NOW - 400 * DAY, to }])
      history.seen.set(value, { total: events, lastAt: to, events, days: 200, at: to })
    }
    return { by: 'id', value }
  })
  const question: Question = {
    pipeline: 'nightly',
    organizations,
    eventTypes: EVENT_TYPES,
    window: 'since-last',
    initialWindow: 365,
    overlapHours: 6,
  }
  return { question, history }
}

/** The least of some rounds, by the clock and of the processor: the latter does not count what else the machine does. */
function timed<Result>(what: string, rounds: number, work: () => Result): Result {
  let result: Result | undefined
  let clockMs = Number.POSITIVE_INFINITY
  let processorMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round += 1) {
    const before = process.cpuUsage()
    const began = performance.now()
    result = work()
    clockMs = Math.min(clockMs, performance.now() - began)
    processorMs = Math.min(processorMs, process.cpuUsage(before).user / 1_000)
  }
  const figure = (ms: number) => `${ms.toFixed(0)} ms`.padStart(8)
  process.stdout.write(`${what.padEnd(35)}${figure(clockMs)}, processor${figure(processorMs)}\n`)
  return result as Result
}

it(`plans a night over ${ORGANIZATIONS} organisations`, () => {
  const { question, history } = aList()
  timed('plan, the first time in a process', 1, () => makePlan(question, history, NOW))
  const plan = timed('plan, warm', ROUNDS, () => makePlan(question, history, NOW))
  process.stdout.write(`${plan.batches.length} batches, ${plan.expectedCredits} credits\n`)
})
