/** `plan`: what a run would ask, what that is expected to cost, and why; sends nothing. */

import { serviceTime, type History } from '../journal/history.ts'
import { readHistory } from '../journal/read-history.ts'
import { openJournal } from '../journal/journal.ts'
import { pagesBought } from '../journal/batch-history.ts'
import { monthOf, monthlyCredits } from '../journal/spending.ts'
import { daysAgo } from '../plan/batches.ts'
import { compareCadences } from '../plan/cadence.ts'
import { planFigures, whyOf, windowFigures, type PlanFigures } from '../plan/figures.ts'
import { makePlan, questionSha256, type CostedPlan } from '../plan/plan.ts'
import { readJob, type Job, type Overrides } from '../run/job.ts'
import { beginning } from '../run/resume.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { refuseBundledListElsewhere } from './bundled-list.ts'
import type { Context } from './context.ts'
import { table, type Fact, type Table } from './report.ts'
import { aboutText, countText, durationText, numberText } from './text.ts'

/** What `plan` can be asked in addition to a run. */
export interface PlanOptions extends Overrides {
  /** Forecast from so many batches, which are read; see sample-command.ts. */
  readonly sample?: number
  /** Compare how often to ask. */
  readonly cadence?: boolean
}

// Organisations that programs get, and people see.
const NAMED = 50
const SHOWN = 5
// Batches of a sample that is proposed: of 40 batches the range is half to half as much again.
const SAMPLE = 5

/** `plan`. */
export async function planCommand(
  context: Context,
  pipeline: string,
  { sample, ...options }: PlanOptions,
): Promise<ExitCode> {
  if (sample !== undefined) {
    const { sampleCommand } = await import('./sample-command.ts')
    return sampleCommand(context, pipeline, { ...options, sample })
  }
  const { output, directory, clock, environment } = context
  const job = await readJob(pipeline, options, directory.root)
  refuseBundledListElsewhere(job, environment)
  const history = readHistory(openJournal(directory.journal, clock))
  const nowMs = clock.now()
  const plan = makePlan(job.question, history, serviceTime(history, nowMs))
  const figures = planFigures(plan, job.requestsPerSecond, NAMED)
  const spent = monthlyCredits(history.spending, job.pipeline).get(monthOf(nowMs)) ?? 0
  const openRun = openRunOf(job, history, nowMs)
  output.report({
    title: `${job.pipeline}: ${countText(plan.organizations, 'organisation')} in ${countText(plan.batches.length, 'batch')}; nothing was sent`,
    sections: [
      windowsTable(plan, figures),
      [
        ...billFacts(job, figures),
        ...budgetFacts(job, spent, figures.credits?.high ?? 0),
        ...listFacts(job, plan, figures),
      ],
      expensiveTable(figures),
      ...(options.cadence === true ? [cadenceTable(plan, job)] : []),
    ],
    notes: openRun === null ? [] : [openRunText(openRun)],
    values: { ...planValues(job, plan, figures, spent), open_run: openRun },
  })
  return EXIT.done
}

function windowsTable(plan: CostedPlan, figures: PlanFigures): Table {
  const rows = windowFigures(plan).map(({ why, organizations, batches, ...window }) => ({
    days_ago: daysAgo(window.days),
    needed_days: daysAgo(window.neededDays),
    why,
    organizations,
    batches,
    expected_events: known(figures, window.events),
    expected_credits: known(figures, window.credits),
  }))
  return table('windows', rows, [
    ['days asked', (row) => row.days_ago ?? 'all', 'count'],
    ['needed', (row) => row.needed_days ?? 'all', 'count'],
    ['organisations', 'organizations', 'number'],
    ['batches', 'batches', 'number'],
    ['events', 'expected_events', 'about'],
    ['credits', 'expected_credits', 'about'],
    ['why', 'why'],
  ])
}

function billFacts(job: Job, figures: PlanFigures): Fact[] {
  const { credits, requestsAtLeast, requestsExpected, durationMs } = figures
  if (credits === null) {
    // Without a history any range would be made up.
    const sample = Math.min(SAMPLE, requestsAtLeast - 1)
    return [
      ['bill', 'not known: none of these organisations was read before'],
      sample >= 2 && ['to know it', `jobtide plan ${job.pipeline} --sample ${sample}`],
    ]
  }
  const pace =
    durationMs === null
      ? 'the pace is left to the service'
      : `${durationText(durationMs)} at ${numberText(job.requestsPerSecond ?? 0)} a second`
  return [
    [
      'bill',
      `about ${aboutText(credits.expected)} credits, 90 % sure between ${numberText(credits.low)} and ${numberText(credits.high)}`,
    ],
    [
      'requests',
      `about ${numberText(Math.round(requestsExpected))}, at least ${numberText(requestsAtLeast)}; ${pace}`,
    ],
  ]
}

function budgetFacts({ creditsLimit, creditsPerMonth }: Job, spent: number, high: number): Fact[] {
  const warning = (left: number) => (high > left ? '; that may not be enough' : '')
  const left = Math.max(0, (creditsPerMonth ?? 0) - spent)
  return [
    [
      'may spend',
      creditsLimit === null
        ? 'no limit'
        : `${countText(creditsLimit, 'credit')}${warning(creditsLimit)}`,
    ],
    creditsPerMonth !== null && [
      'this month',
      `${numberText(left)} of ${numberText(creditsPerMonth)} credits left${warning(left)}`,
    ],
  ]
}

function listFacts(job: Job, plan: CostedPlan, { neverAsked, silent }: PlanFigures): Fact[] {
  const facts: readonly (readonly [label: string, count: number, what: string])[] = [
    ['new', neverAsked, 'never asked before'],
    ['silent', silent, 'asked before without one event'],
    ['left out', plan.quarantined.length, 'refused by the service lately'],
    ['twice', duplicatesOf(job, plan), 'named twice in the list'],
  ]
  return facts.map(
    ([label, count, what]) => count > 0 && [label, `${countText(count, 'organisation')} ${what}`],
  )
}

function expensiveTable({ mostExpensive }: PlanFigures): Table {
  const rows = mostExpensive.map((one) => ({
    organization: one.organization,
    new_events: rounded(one.newEvents),
    credits: rounded(one.credits),
    credits_per_new_event: rounded(one.creditsPerNewEvent),
  }))
  return table(
    'most_expensive',
    rows,
    [
      ['most expensive', 'organization'],
      ['new events', (row) => row.new_events.toFixed(3), 'number'],
      ['credits', 'credits', 'price'],
      ['credits per new event', 'credits_per_new_event', 'credits'],
    ],
    { shown: SHOWN, more: 'more with --json' },
  )
}

function cadenceTable(plan: CostedPlan, job: Job): Table {
  const rows = compareCadences(plan, job.question.overlapHours).map((one) => ({
    every_days: one.everyDays,
    days_ago: one.days,
    requests_per_week: rounded(one.requestsPerWeek),
    credits_per_week: rounded(one.creditsPerWeek),
    mean_age_days: one.meanAgeDays,
    p90_age_days: one.ninetiethPercentileAgeDays,
  }))
  return table(
    'cadences',
    rows,
    [
      ['every', ({ every_days: days }) => (days === 1 ? 'night' : `${days} nights`)],
      ['days asked', 'days_ago', 'count'],
      ['requests/week', 'requests_per_week', 'about'],
      ['credits/week', 'credits_per_week', 'about'],
      ['mean age', (row) => `${row.mean_age_days.toFixed(1)} days`, 'number'],
      ['90 % younger than', (row) => `${row.p90_age_days.toFixed(1)} days`, 'number'],
    ],
    { notes: ['once all are covered; age: from the detection of an event until it is bought'] },
  )
}

function planValues(
  job: Job,
  plan: CostedPlan,
  figures: PlanFigures,
  spent: number,
): Record<string, unknown> {
  const { credits, expensiveHalf: half } = figures
  return {
    pipeline: job.pipeline,
    organizations: plan.organizations,
    duplicates: duplicatesOf(job, plan),
    batches: plan.batches.length,
    quarantined: plan.quarantined.map(({ name, reason }) => ({ organization: name, reason })),
    credits_limit: job.creditsLimit,
    credits_per_month: job.creditsPerMonth,
    credits_spent_this_month: spent,
    snapshot_to: job.snapshot?.to ?? null,
    requests_at_least: figures.requestsAtLeast,
    expected_requests: known(figures, figures.requestsExpected),
    expected_events: known(figures, figures.events),
    expected_credits: known(figures, credits?.expected ?? null),
    credits_90_percent: credits && { low: credits.low, high: credits.high },
    requests_per_second: job.requestsPerSecond,
    expected_duration_ms: known(figures, figures.durationMs),
    never_asked: figures.neverAsked,
    without_events: figures.silent,
    expensive_half: half && {
      organizations: half.organizations,
      share_of_credits: rounded(half.ofCredits),
      share_of_new_events: rounded(half.ofNewEvents),
    },
    batch_forecasts: plan.batches.map((batch, place) => {
      const forecast = plan.forecasts[Math.floor(place / plan.requestsPerForecast)]
      return {
        batch_id: batch.batch_id,
        organizations: batch.organizations.length,
        days_ago: batch.days_ago,
        needed_days: forecast === undefined ? null : daysAgo(forecast.neededDays),
        why: forecast === undefined ? null : whyOf(forecast),
        event_types: batch.event_types,
        expected_pages: known(figures, batch.expected_pages ?? null),
      }
    }),
  }
}

/** An earlier run that the next one goes on with, instead of what is planned. */
interface OpenRun {
  readonly run_id: string
  readonly batches_left: number
  readonly pages_of_them_bought: number
  /** True when it is read on another day, or for another question: what it had not begun is planned again. */
  readonly rest_planned_again: boolean
}

/** The run that the next one would resume; null when it would be planned from nothing. */
function openRunOf({ question }: Job, history: History, nowMs: number): OpenRun | null {
  const sha256 = questionSha256(question)
  const serverNowMs = serviceTime(history, nowMs)
  const how = beginning(history, { question, questionSha256: sha256, nowMs, serverNowMs })
  if (how.kind === 'new') return null
  const { run } = how
  const unread =
    how.kind === 'carried-on'
      ? how.kept
      : [...run.batches.values()].filter(({ state }) => state === 'planned')
  return {
    run_id: run.started.run_id,
    batches_left: unread.length,
    pages_of_them_bought: unread.reduce((sum, batch) => sum + pagesBought(batch), 0),
    rest_planned_again: how.kind === 'carried-on',
  }
}

/** What the next run does with an earlier one, for people. */
function openRunText(run: OpenRun): string {
  const { batches_left: batches, pages_of_them_bought: pages } = run
  const rest = run.rest_planned_again ? ', and plans the rest again' : ''
  const goesOn =
    batches === 0
      ? 'all of it is bought, and the next run only finishes it'
      : `the next run reads ${countText(batches, 'batch')} of it on${rest};\n  ${countText(pages, 'page')} of them ${pages === 1 ? 'is' : 'are'} bought`
  return `run ${run.run_id} is open: ${goesOn}.\n  All figures here are of a run that begins from nothing`
}

/** What the reader of the list found, and companies that it names by URL and by id. */
function duplicatesOf(job: Job, plan: CostedPlan): number {
  const asked = plan.organizations + plan.quarantined.length
  return job.duplicates + job.question.organizations.length - asked
}

/** A figure; null where it would be a guess, because nothing of the list was read before. */
function known({ credits }: PlanFigures, value: number | null): number | null {
  return credits === null || value === null ? null : rounded(value)
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
