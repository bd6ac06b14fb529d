/**
 * `status`: the last runs, what is covered until when, what it cost, what was refused, what is published. Runs, coverage
 * and credits come from the journal, so that they are right also while the warehouse is locked or behind.
 */

import type { History } from '../journal/history.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { readHistory } from '../journal/read-history.ts'
import { openJournal } from '../journal/journal.ts'
import { monthOf } from '../journal/spending.ts'
import { coverageOf } from '../plan/window.ts'
import { isoInstant } from '../support/clock.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import { groupSpending, totalSpending } from './credits-figures.ts'
import { refuseEmpty } from './refuse-empty.ts'
import { clocksText } from './run-result.ts'
import { agoText, countText, creditsText, numberText, tableText } from './text.ts'
import { readWarehouse, type Reading } from './warehouse-reader.ts'

const RUNS_SHOWN = 5

/** What the warehouse adds to the journal. */
interface WarehouseStatus {
  readonly events: number
  readonly rejects: number
  readonly failed_checks: number
  readonly snapshot_id: string | null
  readonly snapshot_destination: string | null
  readonly snapshot_published_at: string | null
}

interface RunStatus {
  readonly run_id: string
  readonly pipeline: string
  readonly started_at: string
  readonly outcome: string
  readonly exit_code: number | null
  readonly batches: number
  readonly batches_done: number
  readonly pages: number
  readonly credits: number
  readonly in_doubt: number
}

/** Shows the status of a data directory. */
export async function statusCommand(context: Context): Promise<ExitCode> {
  const { directory, clock, output } = context
  const journal = openJournal(directory.journal, clock)
  refuseEmpty(journal, directory)
  const history = readHistory(journal)
  const now = clock.now()
  const runs = [...history.runs.values()].map(runStatus).toReversed()
  const coverage = coverageStatus(history)
  const credits = creditStatus(history, now)
  const warehouse = await readWarehouse(directory.warehouse, warehouseStatus)
  const { clockDispute } = history
  const clocks = clockDispute?.runId === runs[0]?.run_id ? clockDispute : null
  const notBefore = history.notBefore > now ? isoInstant(history.notBefore) : null
  output.document({
    data_dir: directory.root,
    runs: runs.slice(0, RUNS_SHOWN),
    runs_total: runs.length,
    coverage,
    credits: credits.total,
    credits_this_month: credits.thisMonth,
    credits_in_doubt: credits.inDoubt,
    unexpected_charges: credits.unexpected,
    quarantined: [...history.quarantined].map(([organization, { reason }]) => ({
      organization,
      reason,
    })),
    not_before: notBefore,
    clocks:
      clocks === null ? null : { service: isoInstant(clocks.date), here: isoInstant(clocks.ours) },
    warehouse: warehouse.kind === 'read' ? warehouse.value : { unavailable: warehouse.why },
  })
  output.text(
    [
      runTable(runs, output.columns),
      '',
      coverageText(coverage, now),
      ...unreadText(runs[0]),
      ...creditLines(credits, runs.length),
      ...(clocks === null ? [] : [`clocks     at the last run ${clocksText(clocks)}`]),
      ...(notBefore === null
        ? []
        : [`wait       the service wants no request before ${notBefore}`]),
      ...(history.quarantined.size === 0
        ? []
        : [
            `quarantined  ${countText(history.quarantined.size, 'organisation')} the service does not know`,
          ]),
      warehouseText(warehouse),
      'more       jobtide coverage, jobtide credits, jobtide rejects',
    ].join('\n'),
  )
  return EXIT.done
}

function runStatus(run: RunHistory): RunStatus {
  return {
    run_id: run.started.run_id,
    pipeline: run.started.pipeline,
    started_at: isoInstant(run.started.at),
    outcome: run.finished?.outcome ?? 'unfinished',
    exit_code: run.finished?.exit_code ?? null,
    batches: run.batchesPlanned,
    batches_done: run.batchesDone,
    pages: run.pages,
    credits: run.creditsCommitted,
    in_doubt: run.unanswered.size,
  }
}

interface CoverageStatus {
  readonly organizations: number
  /** The organisation that is covered least far: everything before is covered for all. */
  readonly covered_to: string | null
  readonly with_gaps: number
}

function coverageStatus({ coverage }: History): CoverageStatus {
  const byType = [...coverage.values()].map((intervals) => {
    const types = new Set(intervals.flatMap(({ eventTypes }) => eventTypes))
    return [...types].map((type) => coverageOf(type, intervals))
  })
  const edges = byType.flat().map((intervals) => intervals.at(-1)?.to ?? 0)
  return {
    organizations: coverage.size,
    covered_to: edges.length === 0 ? null : isoInstant(edges.reduce((a, b) => Math.min(a, b))),
    with_gaps: byType.filter((types) => types.some((intervals) => intervals.length > 1)).length,
  }
}

interface CreditStatus {
  /** Charged, or counted for requests in doubt. */
  readonly total: number
  readonly thisMonth: number
  readonly inDoubt: number
  /** Pages whose charge was not the expected one. */
  readonly unexpected: number
}

function creditStatus(history: History, now: number): CreditStatus {
  const sumSince = (sinceDay: string | null) =>
    totalSpending(groupSpending('day', history, null, { pipeline: null, sinceDay }), false)
  const all = sumSince(null)
  const month = sumSince(`${monthOf(now)}-01`)
  return {
    total: all.charged + all.inDoubt,
    thisMonth: month.charged + month.inDoubt,
    inDoubt: all.inDoubt,
    unexpected: all.unexpected,
  }
}

const EMPTY_WAREHOUSE: WarehouseStatus = {
  events: 0,
  rejects: 0,
  failed_checks: 0,
  snapshot_id: null,
  snapshot_destination: null,
  snapshot_published_at: null,
}

async function warehouseStatus(warehouse: Warehouse): Promise<WarehouseStatus> {
  const [row = EMPTY_WAREHOUSE] = await warehouse.all<WarehouseStatus>(`
      select
          (select cast(count(*) as integer) from job_change_events) as events,
          (select cast(count(*) as integer) from ops.rejects) as rejects,
          (select cast(count(*) as integer) from ops.checks where offenders > 0) as failed_checks,
          last.snapshot_id,
          last.destination as snapshot_destination,
          strftime(last.published_at, '%Y-%m-%dT%H:%M:%SZ') as snapshot_published_at
      from (select 1) as one
      left join (select * from ops.snapshots order by snapshot_id desc limit 1) as last on true`)
  return row
}

function runTable(runs: readonly RunStatus[], width: number): string {
  return tableText(
    ['started (UTC)', 'pipeline', 'outcome', 'batches', 'pages', 'credits'],
    runs
      .slice(0, RUNS_SHOWN)
      .map((run) => [
        run.started_at.slice(0, 16).replace('T', ' '),
        run.pipeline,
        run.outcome,
        `${run.batches_done}/${run.batches}`,
        numberText(run.pages),
        numberText(run.credits),
      ]),
    { width, numeric: [false, false, false, true, true, true] },
  )
}

function unreadText(run: RunStatus | undefined): string[] {
  const left = (run?.batches ?? 0) - (run?.batches_done ?? 0)
  return left === 0
    ? []
    : [`           ${countText(left, 'batch')} of the last run not read to the end`]
}

function coverageText(coverage: CoverageStatus, now: number): string {
  if (coverage.covered_to === null) return 'coverage   nothing was read to its end yet'
  const age = agoText(now - Date.parse(coverage.covered_to))
  const gaps =
    coverage.with_gaps === 0
      ? 'no gaps'
      : `${countText(coverage.with_gaps, 'organisation')} with gaps`
  return `coverage   ${countText(coverage.organizations, 'organisation')} up to ${coverage.covered_to} (${age}), ${gaps}`
}

function creditLines(credits: CreditStatus, runs: number): string[] {
  const { total, thisMonth, inDoubt, unexpected } = credits
  const doubt = inDoubt === 0 ? '' : `, ${creditsText(inDoubt)} of it in doubt`
  return [
    `credits    ${creditsText(total)} in ${countText(runs, 'run')}, ${creditsText(thisMonth)} this month${doubt}`,
    ...(unexpected === 0
      ? []
      : [`           ${countText(unexpected, 'page')} not charged as expected: jobtide credits`]),
  ]
}

function warehouseText(warehouse: Reading<WarehouseStatus>): string {
  if (warehouse.kind === 'unreadable') return `warehouse  ${warehouse.why}`
  const { events, rejects, failed_checks: failedChecks, snapshot_id: snapshot } = warehouse.value
  const lines = [
    `warehouse  ${countText(events, 'event')}, ${countText(rejects, 'reject')}, ${countText(failedChecks, 'failed check')}`,
    snapshot === null
      ? 'snapshot   none published yet'
      : `snapshot   ${snapshot} of ${warehouse.value.snapshot_published_at ?? ''}\n           ${warehouse.value.snapshot_destination ?? ''}`,
  ]
  return lines.join('\n')
}
