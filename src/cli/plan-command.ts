/** `plan`: what a run would ask, what that is expected to cost, and why; sends nothing. */

import { serviceTime, type History } from '../journal/history.ts'
import { readHistory } from '../journal/read-history.ts'
import { openJournal } from '../journal/journal.ts'
import { pagesBought } from '../journal/batch-history.ts'
import { monthOf, monthlyCredits } from '../journal/spending.ts'
import { compareCadences, type CadenceFigures } from '../plan/cadence.ts'
import { planFigures, whyOf, windowFigures, type PlanFigures } from '../plan/figures.ts'
import { makePlan, questionSha256, type CostedPlan } from '../plan/plan.ts'
import { daysAgo } from '../plan/batches.ts'
import { readJob, type Job, type Overrides } from '../run/job.ts'
import { beginning } from '../run/resume.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { refuseBundledListElsewhere } from './bundled-list.ts'
import type { Context } from './context.ts'
import {
  cadenceText,
  duplicatesOf,
  openRunText,
  planText,
  type Budget,
  type OpenRun,
} from './plan-text.ts'

/** What `plan` can be asked besides what a run can. */
export interface PlanOptions extends Overrides {
  /** Forecast from so many batches, which are read; see sample-command.ts. */
  readonly sample?: number
  /** Compare how often to ask. */
  readonly cadence?: boolean
}

const NAMED_IN_DOCUMENT = 50

/** `plan` without `--sample`. */
export async function planCommand(
  { output, directory, clock, environment }: Context,
  pipeline: string,
  options: PlanOptions,
): Promise<ExitCode> {
  const job = await readJob(pipeline, options, directory.root)
  refuseBundledListElsewhere(job, environment)
  const history = readHistory(openJournal(directory.journal, clock))
  const nowMs = clock.now()
  const plan = makePlan(job.question, history, serviceTime(history, nowMs))
  const figures = planFigures(plan, job.requestsPerSecond, NAMED_IN_DOCUMENT)
  const cadences =
    options.cadence === true ? compareCadences(plan, job.question.overlapHours) : null
  const budget: Budget = {
    perRun: job.creditsLimit,
    perMonth: job.creditsPerMonth,
    spentThisMonth: monthlyCredits(history.spending, job.pipeline).get(monthOf(nowMs)) ?? 0,
  }
  const openRun = openRunOf(job, history, nowMs)
  output.document({
    ...planDocument(job, plan, figures, budget, cadences),
    open_run: openRun === null ? null : openRunDocument(openRun),
  })
  output.text(planText(job, plan, figures, budget, output.columns))
  if (openRun !== null) output.text(openRunText(openRun))
  if (cadences !== null) output.text(cadenceText(cadences, output.columns))
  return EXIT.done
}

function planDocument(
  job: Job,
  plan: CostedPlan,
  figures: PlanFigures,
  budget: Budget,
  cadences: readonly CadenceFigures[] | null,
): Record<string, unknown> {
  // Without a history any figure would be made up.
  const known = (value: number | null) =>
    value === null || figures.credits === null ? null : rounded(value)
  return {
    pipeline: job.pipeline,
    organizations: plan.organizations,
    duplicates: duplicatesOf(job, plan),
    batches: plan.batches.length,
    windows: windowFigures(plan).map((window) => ({
      days_ago: daysAgo(window.days),
      needed_days: daysAgo(window.neededDays),
      why: window.why,
      organizations: window.organizations,
      batches: window.batches,
      expected_events: known(window.events),
      expected_credits: known(window.credits),
    })),
    quarantined: plan.quarantined.map(({ name, reason }) => ({ organization: name, reason })),
    credits_limit: budget.perRun,
    credits_per_month: budget.perMonth,
    credits_spent_this_month: budget.spentThisMonth,
    snapshot_to: job.snapshot?.to ?? null,
    requests_at_least: figures.requestsAtLeast,
    expected_requests: known(figures.requestsExpected),
    expected_events: known(figures.events),
    expected_credits: known(figures.credits?.expected ?? null),
    credits_90_percent: figures.credits && { low: figures.credits.low, high: figures.credits.high },
    requests_per_second: job.requestsPerSecond,
    expected_duration_ms: known(figures.durationMs),
    never_asked: figures.neverAsked,
    without_events: figures.silent,
    expensive_half:
      figures.expensiveHalf === null
        ? null
        : {
            organizations: figures.expensiveHalf.organizations,
            share_of_credits: rounded(figures.expensiveHalf.ofCredits),
            share_of_new_events: rounded(figures.expensiveHalf.ofNewEvents),
          },
    most_expensive: figures.mostExpensive.map((one) => ({
      organization: one.organization,
      new_events: rounded(one.newEvents),
      credits: rounded(one.credits),
      credits_per_new_event: rounded(one.creditsPerNewEvent),
    })),
    batch_forecasts: plan.batches.map((batch, place) => {
      const forecast = plan.forecasts[Math.floor(place / plan.requestsPerForecast)]
      return {
        batch_id: batch.batch_id,
        organizations: batch.organizations.length,
        days_ago: batch.days_ago,
        needed_days: forecast === undefined ? null : daysAgo(forecast.neededDays),
        why: forecast === undefined ? null : whyOf(forecast),
        event_types: batch.event_types,
        expected_pages: batch.expected_pages,
      }
    }),
    ...(cadences === null ? {} : { cadences: cadences.map(cadenceDocument) }),
  }
}

/** The run that the next one would take up; null when it would be planned again. */
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
    runId: run.started.run_id,
    batchesLeft: unread.length,
    pagesOfThem: unread.reduce((sum, batch) => sum + pagesBought(batch), 0),
    isPlanKept: how.kind === 'as-planned',
  }
}

function openRunDocument({ runId, batchesLeft, pagesOfThem, isPlanKept }: OpenRun): unknown {
  return {
    run_id: runId,
    batches_left: batchesLeft,
    pages_of_them_bought: pagesOfThem,
    rest_planned_again: !isPlanKept,
  }
}

function cadenceDocument(one: CadenceFigures): unknown {
  return {
    every_days: one.everyDays,
    days_ago: one.days,
    requests_per_week: rounded(one.requestsPerWeek),
    credits_per_week: rounded(one.creditsPerWeek),
    mean_age_days: one.meanAgeDays,
    p90_age_days: one.ninetiethPercentileAgeDays,
  }
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
