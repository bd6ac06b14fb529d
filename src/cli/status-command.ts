/**
 * `status`: the last runs, what is covered until when, what it cost, what was refused, what is published. Runs, coverage
 * and credits come from the journal, so that they are right also while the warehouse is locked or behind.
 */

import { readHistory, type History, type RunHistory } from '../journal/history.ts'
import { openJournal } from '../journal/journal.ts'
import { coverageOf } from '../plan/plan.ts'
import { isoInstant } from '../support/clock.ts'
import { ConfigError, EXIT, JobtideError, type ExitCode } from '../support/errors.ts'
import { MINUTE } from '../support/units.ts'
import { openWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import { countText, durationText, numberText, tableText } from './text.ts'

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
  readonly slices: number
  readonly slices_done: number
  readonly pages: number
  readonly credits: number
  readonly in_doubt: number
}

/** Shows the status of a data directory. */
export async function statusCommand(context: Context): Promise<ExitCode> {
  const { directory, clock, output } = context
  const journal = openJournal(directory.journal, clock)
  if (journal.segments().length === 0) {
    throw new ConfigError(`nothing was run yet in ${directory.root}`, {
      hint: 'Try `jobtide demo`, or run a pipeline: `jobtide run nightly`.',
    })
  }
  const history = readHistory(journal)
  const now = clock.now()
  const runs = [...history.runs.values()].map(runStatus).toReversed()
  const coverage = coverageStatus(history)
  const credits = runs.reduce((sum, run) => sum + run.credits, 0)
  const warehouse = await warehouseStatus(directory.warehouse)
  const notBefore = history.notBefore > now ? isoInstant(history.notBefore) : null
  output.document({
    data_dir: directory.root,
    runs: runs.slice(0, RUNS_SHOWN),
    runs_total: runs.length,
    coverage,
    credits,
    set_aside: [...history.setAside].map(([organization, { reason }]) => ({
      organization,
      reason,
    })),
    not_before: notBefore,
    warehouse: typeof warehouse === 'string' ? { unavailable: warehouse } : warehouse,
  })
  output.text(
    [
      runTable(runs, output.columns),
      '',
      coverageText(coverage, now),
      ...unreadText(runs[0]),
      `credits    ${numberText(credits)} in ${countText(runs.length, 'run')}`,
      ...(notBefore === null
        ? []
        : [`wait       the service wants no request before ${notBefore}`]),
      ...(history.setAside.size === 0
        ? []
        : [
            `set aside  ${countText(history.setAside.size, 'organisation')} the service does not know`,
          ]),
      warehouseText(warehouse),
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
    slices: run.slicesPlanned,
    slices_done: run.slicesDone,
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

async function warehouseStatus(path: string): Promise<WarehouseStatus | string> {
  let warehouse: Warehouse
  try {
    warehouse = await openWarehouse({ path, mode: 'read' })
  } catch (error) {
    if (error instanceof JobtideError) return error.message
    throw error
  }
  try {
    const [row] = await warehouse.all<WarehouseStatus>(`
      select
          (select cast(count(*) as integer) from job_change_events) as events,
          (select cast(count(*) as integer) from ops.rejects) as rejects,
          (select cast(count(*) as integer) from ops.checks where offenders > 0) as failed_checks,
          last.snapshot_id,
          last.destination as snapshot_destination,
          strftime(last.published_at, '%Y-%m-%dT%H:%M:%SZ') as snapshot_published_at
      from (select 1) as one
      left join (select * from ops.snapshots order by snapshot_id desc limit 1) as last on true`)
    return row ?? 'the warehouse gave no answer'
  } finally {
    warehouse.close()
  }
}

function runTable(runs: readonly RunStatus[], width: number): string {
  return tableText(
    ['started (UTC)', 'pipeline', 'outcome', 'slices', 'pages', 'credits'],
    runs
      .slice(0, RUNS_SHOWN)
      .map((run) => [
        run.started_at.slice(0, 16).replace('T', ' '),
        run.pipeline,
        run.outcome,
        `${run.slices_done}/${run.slices}`,
        numberText(run.pages),
        numberText(run.credits),
      ]),
    { width, numeric: [false, false, false, true, true, true] },
  )
}

function unreadText(run: RunStatus | undefined): string[] {
  const left = (run?.slices ?? 0) - (run?.slices_done ?? 0)
  return left === 0
    ? []
    : [`           ${countText(left, 'slice')} of the last run not read to the end`]
}

function coverageText(coverage: CoverageStatus, now: number): string {
  if (coverage.covered_to === null) return 'coverage   nothing was read to its end yet'
  const ageMs = now - Date.parse(coverage.covered_to)
  const age = ageMs < MINUTE ? 'just now' : `${durationText(ageMs)} ago`
  const gaps =
    coverage.with_gaps === 0
      ? 'no gaps'
      : `${countText(coverage.with_gaps, 'organisation')} with gaps`
  return `coverage   ${countText(coverage.organizations, 'organisation')} up to ${coverage.covered_to} (${age}), ${gaps}`
}

function warehouseText(warehouse: WarehouseStatus | string): string {
  if (typeof warehouse === 'string') return `warehouse  ${warehouse}`
  const { events, rejects, failed_checks: failedChecks } = warehouse
  const lines = [
    `warehouse  ${countText(events, 'event')}, ${countText(rejects, 'reject')}, ${countText(failedChecks, 'failed check')}`,
    warehouse.snapshot_id === null
      ? 'snapshot   none published yet'
      : `snapshot   ${warehouse.snapshot_id} of ${warehouse.snapshot_published_at ?? ''}\n           ${warehouse.snapshot_destination ?? ''}`,
  ]
  return lines.join('\n')
}
