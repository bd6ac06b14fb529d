/** `plan`: shows what a run would request, its expected cost, and why; sends nothing without `--sample`. */

import { serviceTime } from '../journal/clock-history.ts'
import { filtersText } from '../journal/coverage.ts'
import type { History } from '../journal/history.ts'
import { openJournal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import type { BatchRecord } from '../journal/records.ts'
import { CREDITS_PER_PAGE, monthOf, monthlyCredits } from '../journal/spending.ts'
import { readSuppression } from '../load/suppression.ts'
import { planCollection } from '../plan/collection.ts'
import { coverageReport, gapsOf, wantedOf } from '../plan/coverage-report.ts'
import { FEWEST_RUNS, billRange, type BillRange } from '../plan/forecast.ts'
import { makePlan, type Plan } from '../plan/plan.ts'
import {
  refuseDamaged,
  skippedText,
  skippedValues,
  type SkippedLines,
} from '../plan/skipped-lines.ts'
import { withoutErased, type Collection } from '../run/collection.ts'
import { readJob, type Job, type Overrides } from '../run/job.ts'
import { refuseLostJournal } from '../run/lost-journal.ts'
import { remainingPlan, type OpenRun } from '../run/resume.ts'
import { countText, numberText, sum } from '../support/numbers.ts'
import { SECOND } from '../support/units.ts'
import { refuseBundled, type Context } from './context.ts'
import {
  countFact,
  table,
  aboutText,
  durationText,
  type Fact,
  type Table,
  type Result,
  type Report,
} from './report.ts'

export interface PlanOptions extends Overrides {
  /** Number of batches to read for a forecast; see service-commands.ts. */
  readonly sample?: number
}

// Batches of a sample that is proposed: of 40 batches the range is half to half as much again.
const SAMPLE = 5

export async function planCommand(
  context: Context,
  pipeline: string,
  { sample, ...options }: PlanOptions,
): Promise<Result> {
  if (sample !== undefined) {
    const { sampleCommand } = await import('./service-commands.ts')
    return sampleCommand(context, pipeline, { ...options, sample })
  }
  const { directory, clock, environment } = context
  const job = await readJob(pipeline, options, directory.root)
  refuseBundled(job, environment)
  refuseDamaged(job.skipped)
  const journal = openJournal(directory.journal, clock)
  await refuseLostJournal(journal, directory)
  if (job.collection !== null) return collectionReport(context, job, job.collection)
  const history = readHistory(journal)
  const nowMs = clock.now()
  const times = { nowMs, serverNowMs: serviceTime(history, nowMs) }
  const fromNothing = makePlan(job.question, history, times.serverNowMs)
  const left = remainingPlan(job.question, history, fromNothing, times)
  const { plan, openRun } = left ?? { plan: fromNothing, openRun: null }
  const { expectedCredits, neverAsked, silent } = plan
  const creditsRange =
    expectedCredits === null || openRun !== null
      ? null
      : billRange(expectedCredits, history.runs.values(), job.pipeline)
  const spent = spentThisMonth(job, history, nowMs)
  // With filters, empty answers are usual.
  const isNarrow = job.question.filters !== undefined
  const readWhole = readWithoutFilters(job, history, times.serverNowMs)
  // Lists skipped lines and companies that the list names by URL and by id.
  const duplicates =
    job.duplicates +
    job.question.organizations.length -
    (fromNothing.organizations + plan.quarantined.length)
  return {
    title: `${job.pipeline}: ${countText(plan.organizations, 'organisation')} in ${countText(plan.batches.length, 'batch')}; nothing was sent`,
    sections: [
      windowsTable(job, plan),
      [
        ...(openRun === null ? billFacts(job, plan, creditsRange) : openRunFacts(openRun)),
        ...budgetFacts(job, spent, creditsRange?.high ?? expectedCredits ?? 0),
        ...listFacts(isNarrow ? { ...plan, silent: 0 } : plan, openRun, duplicates),
        ...filterFacts(job, readWhole),
        skippedFact(job.skipped),
      ],
    ],
    notes: openRun === null ? [] : openRunNotes(openRun),
    values: {
      organizations: plan.organizations,
      duplicates,
      batches: plan.batches.length,
      quarantined: plan.quarantined.map(({ name, reason }) => ({ organization: name, reason })),
      ...jobValues(job, spent),
      requestsAtLeast: plan.batches.length,
      expectedRequests: known(plan, requestsOf(plan)),
      expectedCredits: expectedCredits && chargeNear(expectedCredits, creditsRange),
      creditsRange,
      requestsPerSecond: job.requestsPerSecond,
      neverAsked,
      withoutEvents: silent,
      filters: filtersText(job.question.filters) || null,
      readWithoutFilters: readWhole,
      openRun,
    },
  }
}

function listFacts(plan: Plan, openRun: OpenRun | null, duplicates: number): Fact[] {
  const fact = (label: string, count: number, what: string) =>
    countFact(label, count, 'organisation', what)
  return [
    fact('new', openRun === null ? plan.neverAsked : 0, 'never asked before'),
    fact('silent', plan.silent, 'asked before, but without an event'),
    fact('left out', plan.quarantined.length, 'recently refused by the service'),
    fact('twice', duplicates, 'named twice in the list'),
    fact('by URL', namedByUrlBesideIds(plan), NAMED_BOTH_WAYS),
  ]
}

/** Organisations of a filtered question whose changes are all bought already: it would buy some again. */
function readWithoutFilters({ question }: Job, history: History, nowMs: number): number {
  const { filters, ...wanted } = wantedOf(question)
  if (filters === undefined) return 0
  const { organizations } = coverageReport(wanted, history, nowMs)
  return organizations.filter((one) => one.watermark !== null && gapsOf(one).length === 0).length
}

function filterFacts({ question: { filters } }: Job, readWhole: number): Fact[] {
  return [
    filters !== undefined && ['asked for', filtersText(filters)],
    countFact('bought', readWhole, 'organisation', READ_WHOLE),
  ]
}

const READ_WHOLE =
  'read without filters: these changes are in the warehouse already and would be bought again'
const NAMED_BOTH_WAYS =
  'by URL, others by id: one named both ways is bought once, but where events show another slug than its URL (renamed, or a number)'

/**
 * Organisations whose id is not known, in a plan that asks for others by id; 0 where all are named in one way, or stand in one
 * batch, in which the service counts a company once.
 */
function namedByUrlBesideIds({ batches }: Plan): number {
  const asks = new Set(batches.map(({ event_types: types }) => types.join())).size
  if (batches.length === asks) return 0
  const asked = batches.flatMap(({ organizations }) => organizations)
  const byUrl = new Set(asked.filter(({ by }) => by !== 'id').map(({ value }) => value))
  return asked.some(({ by }) => by === 'id') ? byUrl.size : 0
}

function windowsTable({ question }: Job, plan: Plan): Table {
  // Two event types are requested in two batches of the same organisations.
  const asks = question.eventTypes.length === 2 ? 2 : 1
  const windows = [...new Set(plan.batches.map(({ days_ago: days }) => days))]
  const rows = windows.map((daysAgo) => {
    const batches = plan.batches.filter((batch) => batch.days_ago === daysAgo)
    const organizations = sum(batches.map((batch) => batch.organizations.length)) / asks
    const credits = known(plan, CREDITS_PER_PAGE * sum(batches.map(pagesOf)))
    return { daysAgo, organizations, batches: batches.length, expectedCredits: credits }
  })
  return table('windows', rows, [
    ['days asked', (row) => row.daysAgo ?? 'all', 'count'],
    ['organisations', 'organizations', 'number'],
    ['batches', 'batches', 'number'],
    ['credits', 'expectedCredits', 'about'],
  ])
}

function billFacts(job: Job, plan: Plan, range: BillRange | null): Fact[] {
  const { expectedCredits: expected } = plan
  const batches = plan.batches.length
  const sample = Math.min(SAMPLE, batches - 1)
  const toKnow: Fact = sample >= 2 && [
    'to know it',
    `jobtide plan ${job.pipeline} --sample ${sample}: reads ${sample} of the batches, and keeps them`,
  ]
  // Any figure without a history would be made up: the length of a list does not predict its events (docs/cost.md).
  if (expected === null) {
    return [
      ['bill', 'not known: none of these organisations has been read before'],
      [
        'price',
        `${countText(CREDITS_PER_PAGE * batches, 'credit')} where each batch has an event, ${CREDITS_PER_PAGE} more for each 50 beyond its first 50`,
      ],
      toKnow,
    ]
  }
  const requests = requestsOf(plan)
  const pace =
    job.requestsPerSecond === null
      ? 'the service sets the pace'
      : `${durationText((requests / job.requestsPerSecond) * SECOND)} at ${numberText(job.requestsPerSecond)} a second`
  return [
    ['bill', `about ${numberText(chargeNear(expected, range))} credits`],
    range === null
      ? ['range', `not known before ${FEWEST_RUNS} runs of ${job.pipeline} are done`]
      : [
          'range',
          `${numberText(range.low)} to ${numberText(range.high)}, if it is off as the last ${range.runs} runs were`,
        ],
    range === null && toKnow,
    [
      'requests',
      `about ${numberText(Math.round(requests))}, at least ${numberText(batches)}; ${pace}`,
    ],
  ]
}

/** What can be charged, nearest to an expectation and within its range: whole pages, and one where any event is expected. */
export function chargeNear(expected: number, range: BillRange | null): number {
  const least = expected > 0 ? CREDITS_PER_PAGE : 0
  const near = Math.max(least, Math.round(expected / CREDITS_PER_PAGE) * CREDITS_PER_PAGE)
  return range === null ? near : Math.min(range.high, Math.max(range.low, near))
}

function skippedFact(skipped: readonly SkippedLines[]): Fact {
  return skipped.length > 0 && ['skipped', skipped.map(skippedText)]
}

/** The budgets; `high` is the upper end of the forecast. */
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

function spentThisMonth({ pipeline }: Job, { spending }: History, nowMs: number): number {
  return monthlyCredits(spending, pipeline).get(monthOf(nowMs)) ?? 0
}

function jobValues(job: Job, spent: number): object {
  return {
    pipeline: job.pipeline,
    skippedLines: skippedValues(job.skipped),
    creditsLimit: job.creditsLimit,
    creditsPerMonth: job.creditsPerMonth,
    creditsSpentThisMonth: spent,
    snapshotTo: job.snapshot?.to ?? null,
  }
}

function openRunFacts(run: OpenRun): Fact[] {
  const { batchesLeft, creditsBought, creditsToCome, pagesAtLeast } = run
  const least = `at least ${countText(pagesAtLeast, 'page')}`
  return [
    ['bought', `${countText(creditsBought, 'credit')} so far, never again`],
    [
      'to come',
      batchesLeft === 0 && !run.restPlannedAgain
        ? 'nothing: the next run only finishes this one'
        : creditsToCome === null
          ? `not known, ${least}: no batch was read to its end`
          : `about ${aboutText(creditsToCome)} credits, ${least}`,
    ],
  ]
}

function openRunNotes(run: OpenRun): string[] {
  const { batchesLeft: batches, pagesOfThemBought: pages } = run
  if (batches === 0) return [`run ${run.runId} is open: all of it is bought`]
  const rest = run.restPlannedAgain ? ', and plans the rest again' : ''
  return [
    `run ${run.runId} is open: the next run reads ${countText(batches, 'batch')} of it on${rest};`,
    `  ${countText(pages, 'page')} of them ${pages === 1 ? 'is' : 'are'} bought. All figures are of what is left`,
  ]
}

function pagesOf({ expected_pages: pages = 0 }: BatchRecord): number {
  return pages
}

// A batch without events still takes a request.
function requestsOf({ batches }: Plan): number {
  return sum(batches.map((batch) => Math.max(1, pagesOf(batch))))
}

/** A figure; null where it would be a guess, because nothing of the list was read before. */
function known({ expectedCredits }: Plan, value: number): number | null {
  return expectedCredits === null ? null : value
}

/** The plan; nothing is sent. */
export async function collectionReport(
  { directory, clock }: Context,
  job: Job,
  collection: Collection,
): Promise<Report> {
  const nowMs = clock.now()
  const { lookups: listed, duplicates, refused } = await collection.read()
  const journal = openJournal(directory.journal, clock)
  const history = readHistory(journal)
  const lookups = withoutErased(listed, readSuppression(journal, history.suppression))
  const { endpoint, declared } = collection
  const plan = planCollection({ ...collection, lookups }, history, declared, nowMs)
  const { least, most } = plan.price
  const reason = refused[0]?.reason ?? ''
  const spent = spentThisMonth(job, history, nowMs)
  const bill =
    least === most
      ? countText(most, 'credit')
      : `${numberText(least)} to ${countText(most, 'credit')}: ${declared.pages === null ? 'what is not there costs less' : `lists of 1 to ${countText(collection.pages, 'page')}`}`
  return {
    title: `${job.pipeline}: ${countText(plan.lookups.length, 'request')} to ${endpoint}; nothing was sent`,
    sections: [
      [
        ['expected', bill],
        ...budgetFacts(job, spent, most),
        plan.fresh > 0 && ['not asked', `${numberText(plan.fresh)} that were answered recently`],
        plan.absent > 0 && [
          'absent',
          `${numberText(plan.absent)} of them that the service does not have`,
        ],
        countFact('twice', duplicates, 'line', 'of the list'),
        countFact('refused', refused.length, 'row', `of the select, the first: ${reason}`),
        skippedFact(job.skipped),
      ],
    ],
    values: {
      endpoint,
      listed: lookups.length,
      duplicates,
      refused: refused.length,
      requestsAtLeast: plan.lookups.length,
      answeredLately: plan.fresh,
      absent: plan.absent,
      creditsAtLeast: least,
      creditsAtMost: most,
      ...jobValues(job, spent),
    },
  }
}
