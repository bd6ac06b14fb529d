/**
 * `status`: the last runs, what is covered until when, what it cost, what was refused, what is published. Runs, coverage
 * and credits come from the journal, so that they are right also while the warehouse is locked or behind.
 */

import type { History } from '../journal/history.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { monthOf } from '../journal/spending.ts'
import { coverageOf } from '../plan/window.ts'
import { isoInstant } from '../support/clock.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import type { Context } from './context.ts'
import { ledgerOf, spendingOf } from './credits-figures.ts'
import { historyShown } from './refuse-empty.ts'
import { queryReport } from './report-query.ts'
import { table, type Fact } from './report.ts'
import { clocksText } from './run-result.ts'
import { agoText, countText, creditsText } from './text.ts'
import { readWarehouse, type Reading } from './warehouse-reader.ts'

const RUNS_SHOWN = 5

/** What the warehouse adds to the journal: the row of sql/reports/status.sql. */
interface WarehouseStatus {
  readonly events: number
  readonly rejects: number
  readonly failed_checks: number
  readonly snapshot_id: string | null
  readonly snapshot_destination: string | null
  readonly snapshot_published_at: string | null
}

/** Shows the status of a data directory. */
export async function statusCommand(context: Context): Promise<ExitCode> {
  const { directory, clock, output } = context
  const history = historyShown(context)
  const now = clock.now()
  const runs = [...history.runs.values()].map(runStatus).toReversed()
  const [last] = runs
  const coverage = coverageStatus(history)
  const credits = creditStatus(history, now)
  const warehouse = await readWarehouse(directory.warehouse, (open) =>
    queryReport<WarehouseStatus>(open, 'status'),
  )
  const { clockDispute, quarantined } = history
  const clocks = clockDispute?.runId === last?.run_id ? clockDispute : null
  const notBefore = history.notBefore > now ? isoInstant(history.notBefore) : null
  const unread = (last?.batches ?? 0) - (last?.batches_done ?? 0)
  output.report({
    sections: [
      table('runs', runs.slice(0, RUNS_SHOWN), [
        ['started (UTC)', 'started_at', 'instant'],
        ['pipeline', 'pipeline'],
        ['outcome', 'outcome'],
        ['batches', (run) => `${run.batches_done}/${run.batches}`, 'count'],
        ['pages', 'pages', 'number'],
        ['credits', 'credits', 'number'],
      ]),
      [
        ['coverage', coverageText(coverage, now)],
        unread > 0 && ['', `${countText(unread, 'batch')} of the last run not read to the end`],
        ['credits', creditsLine(credits, runs.length)],
        credits.unexpected_charges > 0 && [
          '',
          `${countText(credits.unexpected_charges, 'page')} not charged as expected: jobtide credits`,
        ],
        clocks !== null && ['clocks', `at the last run ${clocksText(clocks)}`],
        notBefore !== null && ['wait', `the service wants no request before ${notBefore}`],
        quarantined.size > 0 && [
          'refused',
          `${countText(quarantined.size, 'organisation')} quarantined: the service does not know them`,
        ],
        ...warehouseFacts(warehouse),
        ['more', 'jobtide coverage, jobtide credits, jobtide rejects'],
      ],
    ],
    values: {
      data_dir: directory.root,
      runs_total: runs.length,
      coverage,
      ...credits,
      quarantined: [...quarantined].map(([organization, { reason }]) => ({ organization, reason })),
      not_before: notBefore,
      clocks: clocks && { service: isoInstant(clocks.date), here: isoInstant(clocks.ours) },
      warehouse: warehouse.value?.[0] ?? { unavailable: warehouse.why },
    },
  })
  return EXIT.done
}

function runStatus(run: RunHistory) {
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
    in_doubt: run.unanswered,
  }
}

interface CoverageStatus {
  readonly organizations: number
  /** The watermark of the organisation that is covered least far: everything before is covered for all. */
  readonly covered_to: string | null
  readonly with_gaps: number
}

function coverageStatus({ coverage }: History): CoverageStatus {
  const byType = [...coverage.values()].map((intervals) => {
    const types = new Set(intervals.flatMap(({ eventTypes }) => eventTypes))
    return [...types].map((type) => coverageOf(type, intervals))
  })
  const watermarks = byType.flat().map((intervals) => intervals.at(-1)?.to ?? 0)
  const least = watermarks.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  return {
    organizations: coverage.size,
    covered_to: watermarks.length === 0 ? null : isoInstant(least),
    with_gaps: byType.filter((types) => types.some((intervals) => intervals.length > 1)).length,
  }
}

function coverageText(
  { organizations, covered_to: to, with_gaps: gaps }: CoverageStatus,
  now: number,
) {
  if (to === null) return 'nothing was read to its end yet'
  const found = gaps === 0 ? 'no gaps' : `${countText(gaps, 'organisation')} with gaps`
  return `${countText(organizations, 'organisation')} up to ${to} (${agoText(now - Date.parse(to))}), ${found}`
}

function creditStatus(history: History, now: number) {
  const spentSince = (since: string | null) =>
    spendingOf(ledgerOf(history, null, { pipeline: null, since }))
  const all = spentSince(null)
  return {
    credits: all.credits,
    credits_this_month: spentSince(`${monthOf(now)}-01`).credits,
    credits_in_doubt: all.in_doubt,
    unexpected_charges: all.unexpected_charges,
  }
}

function creditsLine(credits: ReturnType<typeof creditStatus>, runs: number): string {
  const { credits: all, credits_this_month: thisMonth, credits_in_doubt: doubt } = credits
  const inDoubt = doubt === 0 ? '' : `, ${creditsText(doubt)} of it in doubt`
  return `${creditsText(all)} in ${countText(runs, 'run')}, ${creditsText(thisMonth)} this month${inDoubt}`
}

function warehouseFacts({ value, why }: Reading<WarehouseStatus[]>): Fact[] {
  if (why !== null) return [['warehouse', why]]
  return value.flatMap((row): Fact[] => [
    [
      'warehouse',
      `${countText(row.events, 'event')}, ${countText(row.rejects, 'reject')}, ${countText(row.failed_checks, 'failed check')}`,
    ],
    [
      'snapshot',
      row.snapshot_id === null
        ? 'none published yet'
        : `${row.snapshot_id} of ${row.snapshot_published_at}\n${row.snapshot_destination}`,
    ],
  ])
}
