/** A plan and its cadences as text. Pure. */

import type { CadenceFigures } from '../plan/cadence.ts'
import { windowFigures, type ExpectedCredits, type PlanFigures } from '../plan/figures.ts'
import type { CostedPlan } from '../plan/plan.ts'
import { daysAgo } from '../plan/batches.ts'
import type { Job } from '../run/job.ts'
import { countText, durationText, numberText, tableText } from './text.ts'

const NAMED = 5
// Batches of a sample that is proposed: of 40 batches the range is half to half as much again.
const SAMPLE = 5

/** Credits that may be spent; null where there is no limit. */
export interface Budget {
  readonly perRun: number | null
  readonly perMonth: number | null
  /** Charged or in doubt since the first of the month (UTC), by this pipeline. */
  readonly spentThisMonth: number
}

/** A plan for people, `columns` characters wide. */
export function planText(
  job: Job,
  plan: CostedPlan,
  figures: PlanFigures,
  budget: Budget,
  columns: number,
): string {
  const { credits } = figures
  return [
    `${job.pipeline}: ${countText(plan.organizations, 'organisation')} in ${countText(plan.batches.length, 'batch')}; nothing was sent`,
    tableText(
      ['days asked', 'needed', 'organisations', 'batches', 'events', 'credits', 'why'],
      windowFigures(plan).map((window) => [
        daysText(window.days),
        daysText(window.neededDays),
        numberText(window.organizations),
        numberText(window.batches),
        credits === null ? '-' : aboutText(window.events),
        credits === null ? '-' : aboutText(window.credits),
        window.why,
      ]),
      { width: columns, numeric: [true, true, true, true, true, true, false] },
    ),
    ...(credits === null ? unknownText(job, figures) : expectedText(job, figures, credits)),
    ...budgetText(budget, credits?.high ?? 0),
    ...listText(job, plan, figures),
    ...expensiveText(figures, columns),
  ].join('\n')
}

function expectedText(job: Job, figures: PlanFigures, credits: ExpectedCredits): string[] {
  return [
    `expected ${aboutText(credits.expected)} credits, 90 % sure between ${numberText(credits.low)} and ${numberText(credits.high)}`,
    `about ${countText(Math.round(figures.requestsExpected), 'request')}, at least ${numberText(figures.requestsAtLeast)}; ${paceText(job, figures)}`,
  ]
}

// Without a history any range would be made up.
function unknownText({ pipeline }: Job, { requestsAtLeast }: PlanFigures): string[] {
  const sample = Math.min(SAMPLE, requestsAtLeast - 1)
  return [
    'the bill is not known: none of these organisations was read before.',
    ...(sample < 2
      ? []
      : [
          `${sample} of the ${numberText(requestsAtLeast)} batches, read and kept, project it: jobtide plan ${pipeline} --sample ${sample}`,
        ]),
  ]
}

/** An earlier run that the next one goes on with, instead of what is planned. */
export interface OpenRun {
  readonly runId: string
  /** Batches of it that are read on. */
  readonly batchesLeft: number
  /** Pages of these that are bought already. */
  readonly pagesOfThem: number
  /** False when it is read on another day, or for another question: what it had not begun is planned again. */
  readonly isPlanKept: boolean
}

/** What the next run does with an earlier one, for people. */
export function openRunText({ runId, batchesLeft, pagesOfThem, isPlanKept }: OpenRun): string {
  const rest = isPlanKept ? '' : ', and plans the rest again'
  const goesOn =
    batchesLeft === 0
      ? 'all of it is bought, and the next run only finishes it'
      : `the next run reads ${countText(batchesLeft, 'batch')} of it on${rest};\n  ${countText(pagesOfThem, 'page')} of them ${pagesOfThem === 1 ? 'is' : 'are'} bought`
  return `run ${runId} is open: ${goesOn}.\n  All figures here are of a run that begins from nothing`
}

function budgetText({ perRun, perMonth, spentThisMonth }: Budget, high: number): string[] {
  const warning = (left: number) => (high > left ? '; that may not be enough' : '')
  const ofRun = perRun === null ? 'no limit' : `${numberText(perRun)}${warning(perRun)}`
  const lines = [`credits this run may spend: ${ofRun}`]
  if (perMonth === null) return lines
  const left = Math.max(0, perMonth - spentThisMonth)
  return [
    ...lines,
    `left this month: ${numberText(left)} of ${numberText(perMonth)} credits${warning(left)}`,
  ]
}

function paceText(job: Job, { durationMs }: PlanFigures): string {
  return durationMs === null
    ? 'the pace is left to the service'
    : `${durationText(durationMs)} at ${numberText(job.requestsPerSecond ?? 0)} a second`
}

function listText(job: Job, plan: CostedPlan, { neverAsked, silent }: PlanFigures): string[] {
  const twice = duplicatesOf(job, plan)
  const facts: readonly (readonly [number, string])[] = [
    [neverAsked, 'never asked before'],
    [silent, 'asked before without one event'],
    [plan.quarantined.length, 'left out: refused by the service lately'],
    [twice, 'named twice in the list'],
  ]
  return facts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${countText(count, 'organisation')} ${what}`)
}

function expensiveText({ mostExpensive, expensiveHalf }: PlanFigures, columns: number): string[] {
  if (mostExpensive.length === 0 || expensiveHalf === null) return []
  const percent = (share: number) => `${Math.round(100 * share)} %`
  return [
    `expensive half: ${countText(expensiveHalf.organizations, 'organisation')}, ${percent(expensiveHalf.ofCredits)} of credits, ${percent(expensiveHalf.ofNewEvents)} of new events`,
    'the most expensive new events:',
    tableText(
      ['organisation', 'new events', 'credits', 'credits per new event'],
      mostExpensive
        .slice(0, NAMED)
        .map((one) => [
          one.organization,
          one.newEvents.toFixed(3),
          one.credits.toFixed(2),
          one.creditsPerNewEvent < 1_000 ? one.creditsPerNewEvent.toFixed(1) : '> 1,000',
        ]),
      { width: columns, numeric: [false, true, true, true] },
    ),
  ]
}

/** Cadences for people, `columns` characters wide. */
export function cadenceText(cadences: readonly CadenceFigures[], columns: number): string {
  return [
    'how often, once all are covered:',
    tableText(
      ['every', 'days asked', 'requests/week', 'credits/week', 'mean age', '90 % younger than'],
      cadences.map((one) => [
        one.everyDays === 1 ? 'night' : `${one.everyDays} nights`,
        String(one.days),
        aboutText(one.requestsPerWeek),
        aboutText(one.creditsPerWeek),
        `${one.meanAgeDays.toFixed(1)} days`,
        `${one.ninetiethPercentileAgeDays.toFixed(1)} days`,
      ]),
      { width: columns, numeric: [false, true, true, true, true, true] },
    ),
    'age: from the detection of an event until it is bought',
  ].join('\n')
}

/** What the reader of the list found, and companies that it names by URL and by id. */
export function duplicatesOf(job: Job, plan: CostedPlan): number {
  return (
    job.duplicates +
    job.question.organizations.length -
    plan.organizations -
    plan.quarantined.length
  )
}

function daysText(days: number): string {
  return String(daysAgo(days) ?? 'all')
}

function aboutText(value: number): string {
  return value > 0 && value < 1 ? '< 1' : numberText(Math.round(value))
}
