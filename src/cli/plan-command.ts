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
import { refuseDamaged, skippedText, skippedValues } from '../plan/skipped-lines.ts'
import { withoutErased, type Collection } from '../run/collection.ts'
import { readJob, type Job } from '../run/job.ts'
import { refuseLostJournal } from '../run/lost-journal.ts'
import { remainingPlan, type OpenRun } from '../run/begin.ts'
import { countText, counted, durationText, numberText, sum } from '../support/numbers.ts'
import { SECOND } from '../support/units.ts'
import { refuseBundled, type Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { facts, table, type Fact, type Report, type Result, type Table } from './report.ts'

// Batches of a sample that is proposed: of 40 batches the range is half to half as much again.
const SAMPLE = 5

export async function planCommand(
  context: Context,
  pipeline: string,
  { sample, ...options }: OptionsOf<'plan'>,
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
  const { question } = job
  const fromNothing = makePlan(question, history, times.serverNowMs)
  const left = remainingPlan(question, history, fromNothing, times)
  const { plan, openRun } = left ?? { plan: fromNothing, openRun: null }
  const { expectedCredits: expected, neverAsked, silent, quarantined } = plan
  const range =
    expected === null || openRun !== null
      ? null
      : billRange(expected, history.runs.values(), job.pipeline)
  const budget = budgetOf(job, history, nowMs, range?.high ?? expected ?? 0)
  const filters = filtersText(question.filters)
  const readWhole = readWithoutFilters(job, history, times.serverNowMs)
  // Lists skipped lines and companies that the list names by URL and by id.
  const named = job.duplicates + question.organizations.length
  const duplicates = named - fromNothing.organizations - fromNothing.quarantined.length
  const some = (count: number, what: string) => counted(count, 'organisation', what)
  return {
    title: `${job.pipeline}: ${countText(plan.organizations, 'organisation')} in ${countText(plan.batches.length, 'batch')}; nothing was sent`,
    sections: [
      windowsTable(job, plan, range),
      [
        ...(openRun === null ? billFacts(job, plan, range) : openRunFacts(openRun)),
        ...budget.facts,
        ...facts({
          new: openRun === null && some(neverAsked, 'never asked before'),
          // With filters, empty answers are usual.
          silent: filters === '' && some(silent, 'asked before, but without an event'),
          'left out': some(quarantined.length, 'recently refused by the service'),
          twice: some(duplicates, 'named twice in the list'),
          'asked for': filters,
          bought: some(readWhole, READ_WHOLE),
          skipped: job.skipped.map(skippedText),
        }),
      ],
    ],
    values: {
      organizations: plan.organizations,
      duplicates,
      batches: plan.batches.length,
      quarantined: quarantined.map(({ name, reason }) => ({ organization: name, reason })),
      ...budget.values,
      requestsAtLeast: plan.batches.length,
      expectedRequests: known(plan, requestsOf(plan)),
      expectedCredits: expected && chargeNear(expected, range),
      creditsRange: range,
      requestsPerSecond: job.requestsPerSecond,
      neverAsked,
      withoutEvents: silent,
      filters: filters || null,
      readWithoutFilters: readWhole,
      openRun,
    },
  }
}

const READ_WHOLE =
  'fetched without filters: these changes are in the warehouse already and would be bought again'

/** Organisations of a filtered question whose changes are all bought already: it would buy some again. */
function readWithoutFilters({ question }: Job, history: History, nowMs: number): number {
  const { filters, ...wanted } = wantedOf(question)
  if (filters === undefined) return 0
  const { organizations } = coverageReport(wanted, history, nowMs)
  return organizations.filter((one) => one.watermark !== null && gapsOf(one).length === 0).length
}

function windowsTable({ question }: Job, plan: Plan, range: BillRange | null): Table {
  // Two event types are requested in two batches of the same organisations.
  const asks = question.eventTypes.length === 2 ? 2 : 1
  const windows = [...new Set(plan.batches.map(({ days_ago: days }) => days))]
  const pages = (batches: readonly BatchRecord[]) => sum(batches.map(pagesOf))
  const creditsPerPage = chargeNear(plan.expectedCredits ?? 0, range) / (pages(plan.batches) || 1)
  let [pagesSoFar, creditsSoFar] = [0, 0]
  const rows = windows.map((daysAgo) => {
    const batches = plan.batches.filter((batch) => batch.days_ago === daysAgo)
    const organizations = sum(batches.map((batch) => batch.organizations.length)) / asks
    // Rounded as a running sum, so that the rows add up to the bill below.
    pagesSoFar += pages(batches)
    const upToHere = wholePages(pagesSoFar * creditsPerPage)
    const credits = upToHere - creditsSoFar
    creditsSoFar = upToHere
    const expectedCredits = known(plan, credits)
    return { daysAgo, organizations, batches: batches.length, expectedCredits }
  })
  return table('windows', rows, [
    ['days asked', (row) => row.daysAgo ?? 'all', 'count'],
    ['organisations', 'organizations', 'number'],
    ['batches', 'batches', 'number'],
    ['credits', 'expectedCredits', 'number'],
  ])
}

function billFacts({ pipeline, requestsPerSecond }: Job, plan: Plan, range: BillRange | null) {
  const batches = plan.batches.length
  const sample = Math.min(SAMPLE, batches - 1)
  const toKnow =
    sample >= 2 &&
    `jobtide plan ${pipeline} --sample ${sample}: reads ${sample} of the batches, and keeps them`
  // Any figure without a history would be made up: the length of a list does not predict its events (docs/cost.md).
  if (plan.expectedCredits === null) {
    const price = countText(CREDITS_PER_PAGE * batches, 'credit')
    return facts({
      bill: 'not known: none of these organisations was fetched before',
      price: `${price} if each batch has 1 to 50 events, ${CREDITS_PER_PAGE} more for each further 50`,
      'to know it': toKnow,
    })
  }
  const requests = requestsOf(plan)
  const pace =
    requestsPerSecond === null
      ? 'the service sets the pace'
      : `${durationText((requests / requestsPerSecond) * SECOND)} at ${numberText(requestsPerSecond)} a second`
  const about = `about ${numberText(Math.round(requests))}, at least ${numberText(batches)}`
  return facts({
    bill: `about ${numberText(chargeNear(plan.expectedCredits, range))} credits`,
    range:
      range === null
        ? `not known before ${FEWEST_RUNS} runs of ${pipeline} are done`
        : `${numberText(range.low)} to ${numberText(range.high)}, if it is off as the last ${range.runs} runs were`,
    'to know it': range === null && toKnow,
    requests: `${about}; ${pace}`,
  })
}

/** What can be charged, nearest to an expectation and within its range: whole pages, and one where any event is expected. */
export function chargeNear(expected: number, range: BillRange | null): number {
  const least = expected > 0 ? CREDITS_PER_PAGE : 0
  const near = Math.max(least, wholePages(expected))
  return range === null ? near : Math.min(range.high, Math.max(range.low, near))
}

/** Credits rounded to those of whole pages. */
function wholePages(credits: number): number {
  return Math.round(credits / CREDITS_PER_PAGE) * CREDITS_PER_PAGE
}

/** The rest of the budgets, for people and programs. @param high the upper end of the forecast */
function budgetOf(job: Job, { spending }: History, nowMs: number, high: number) {
  const { pipeline, creditsLimit, creditsPerMonth, skipped, snapshot } = job
  const spent = monthlyCredits(spending, pipeline).get(monthOf(nowMs)) ?? 0
  const warning = (left: number) => (high > left ? '; that may not be enough' : '')
  const left = Math.max(0, (creditsPerMonth ?? 0) - spent)
  const limit = countText(creditsLimit ?? 0, 'credit')
  return {
    facts: facts({
      'may spend': creditsLimit === null ? 'no limit' : `${limit}${warning(creditsLimit)}`,
      'this month':
        creditsPerMonth !== null &&
        `${numberText(left)} of ${numberText(creditsPerMonth)} credits left${warning(left)}`,
    }),
    values: {
      pipeline,
      skippedLines: skippedValues(skipped),
      creditsLimit,
      creditsPerMonth,
      creditsSpentThisMonth: spent,
      snapshotTo: snapshot?.to ?? null,
    },
  }
}

function openRunFacts(run: OpenRun): Fact[] {
  const { batchesLeft, creditsBought, creditsToCome, pagesAtLeast, restPlannedAgain } = run
  const batches = countText(batchesLeft, 'batch')
  const rest = restPlannedAgain ? ', and plans the rest again' : ''
  const least = `at least ${countText(pagesAtLeast, 'page')}`
  const toCome =
    creditsToCome === null
      ? `not known, ${least}: no batch was fetched to its end`
      : `about ${numberText(chargeNear(creditsToCome, null))} credits, ${least}`
  const isDone = batchesLeft === 0 && !restPlannedAgain
  return facts({
    'open run': `${run.runId}: the next run continues ${batches} of it${rest}; all figures are of what is left`,
    bought: `${countText(creditsBought, 'credit')} so far, never again`,
    'to come': isDone ? 'nothing: the next run only finishes this one' : toCome,
  })
}

const pagesOf = ({ expected_pages: pages = 0 }: BatchRecord) => pages

// A batch without events still takes a request.
function requestsOf({ batches }: Plan): number {
  return sum(batches.map((batch) => Math.max(1, pagesOf(batch))))
}

/** A figure; null where it would be a guess, because nothing of the list was read before. */
function known({ expectedCredits }: Plan, value: number): number | null {
  return expectedCredits === null ? null : value
}

/** The plan of a pipeline of `kind: collect`, or of a search; nothing is sent. */
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
  const { endpoint, declared, pages } = collection
  const plan = planCollection({ ...collection, lookups }, history, declared, nowMs)
  const { fresh, absent, price } = plan
  const { least, most } = price
  const budget = budgetOf(job, history, nowMs, most)
  const why =
    declared.pages === null
      ? 'what is not there costs less'
      : `lists of 1 to ${countText(pages, 'page')}`
  const bill = countText(most, 'credit')
  return {
    title: `${job.pipeline}: ${countText(plan.lookups.length, 'request')} to ${endpoint}; nothing was sent`,
    sections: [
      [
        ['expected', least === most ? bill : `${numberText(least)} to ${bill}: ${why}`],
        ...budget.facts,
        ...facts({
          'not asked': fresh > 0 && `${numberText(fresh)} that were answered recently`,
          absent: absent > 0 && `${numberText(absent)} of them that the service does not have`,
          twice: counted(duplicates, 'line', 'of the list'),
          refused: counted(
            refused.length,
            'row',
            `of the select, the first: ${refused[0]?.reason}`,
          ),
          skipped: job.skipped.map(skippedText),
        }),
      ],
    ],
    values: {
      endpoint,
      listed: lookups.length,
      duplicates,
      refused: refused.length,
      requestsAtLeast: plan.lookups.length,
      answeredLately: fresh,
      absent,
      creditsAtLeast: least,
      creditsAtMost: most,
      ...budget.values,
    },
  }
}
