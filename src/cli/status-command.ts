/**
 * `status`: shows the last runs, coverage, credits, rejects and the published snapshot, and whether the data is as fresh as
 * it should be. Runs, coverage and credits come from the journal, so they are right even while the warehouse is locked or
 * behind.
 */

import { join } from 'node:path'
import { filesOfInbox, readRefused } from '../inbox/inbox.ts'
import type { History } from '../journal/history.ts'
import { openJournal } from '../journal/journal.ts'
import { pausedUntil } from '../journal/pauses.ts'
import { listedIn } from '../journal/seals.ts'
import { monthOf, monthlyCredits } from '../journal/spending.ts'
import { coverageReport, type CoverageReport } from '../plan/coverage-report.ts'
import { nextDue } from '../plan/due.ts'
import { runState, runsOf } from '../plan/judge.ts'
import { isFolderAddress } from '../publish/store/open-store.ts'
import {
  INSIDE,
  backupStates,
  isBackupInside,
  type BackupState,
} from '../run/backup/backup-target.ts'
import { readFreshness, type Freshness } from '../run/pipelines.ts'
import { LOADED, type LoadedSegment } from '../run/lost-journal.ts'
import { isThere } from '../support/atomic-file.ts'
import { isoInstant, minuteText, waitEnd } from '../support/clock.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { agoText, countText, counted, creditsText, numberText, sum } from '../support/numbers.ts'
import { SECOND } from '../support/units.ts'
import { queryReport } from '../warehouse/query-report.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import type { WarehouseStatus } from './documents.ts'
import { nothingRun, readWarehouse, refuseNoJournal } from './reading.ts'
import { facts, table, type Fact, type Report, type Result } from './report.ts'
import { clocksText, clocksValues } from './run-result.ts'

const RUNS_SHOWN = 5
const WATCH_SECONDS = 5

export async function statusCommand(
  context: Context,
  named: readonly string[],
  { maxAge, watch }: OptionsOf<'status'>,
): Promise<Result> {
  const look = () => lookAt(context, named, maxAge ?? null)
  if (watch === undefined) return look()
  return watchStatus(context, look, watch === true ? WATCH_SECONDS : watch)
}

/** Redraws the status every few seconds until stopped; the last state decides the exit code. */
async function watchStatus(
  { output, clock, stop }: Context,
  look: () => Promise<Report>,
  seconds: number,
): Promise<ExitCode> {
  if (!output.canRedraw) {
    throw new ConfigError('--watch needs a terminal, and standard output is not one', {
      hint: 'Leave --watch out: `jobtide status --json` prints the same once, and `GET /metrics` of `schedule` serves the figures.',
    })
  }
  for (;;) {
    const report = await look()
    const at = isoInstant(clock.now()).slice(11, 19)
    const how = `${at} UTC, every ${countText(seconds, 'second')}; Ctrl-C ends it`
    output.redraw({ ...report, title: how })
    await clock.sleep(seconds * SECOND, stop).catch(() => undefined)
    if (stop.aborted) return report.exitCode ?? EXIT.done
  }
}

async function readStatus(
  { directory, clock }: Context,
  named: readonly string[],
  maxAgeMs: number | null,
) {
  const { root, journal, inbox } = directory
  const warehouse = await readWarehouse(directory.warehouse, async (one) => {
    const rows = await queryReport<WarehouseStatus>(one, 'status')
    return { row: rows[0], loaded: await one.all<LoadedSegment>(LOADED) }
  })
  await refuseNoJournal(openJournal(journal, clock), directory, warehouse.value?.loaded ?? [])
  const freshness = await readFreshness({ directory, clock, named, maxAgeMs })
  const { history, nowMs: now } = freshness
  const isQuiet = history.runs.size === 0 && freshness.judgements.length === 0
  const neverRun = { id: 'never_run', pipeline: null, runId: null, since: 0 } as const
  const judgements = isQuiet ? [{ ...neverRun, ...nothingRun(directory) }] : freshness.judgements
  const runs = runRows(freshness)
  const { clockDispute, quarantined } = history
  const clocks = clockDispute?.runId === runs[0]?.runId ? clocksOf(clockDispute) : null
  const until = pausedUntil(history, now, clock.uptime?.() ?? null)
  const refused = readRefused(inbox)
  const values = {
    dataDir: root,
    fresh: judgements.length === 0,
    judgements: judgements.map(({ since, ...one }) => ({ ...one, since: new Date(since) })),
    runsTotal: runs.length,
    unread: unreadOf(history),
    coverage: coverageStatus(freshness),
    // The same of each question with filters.
    filteredCoverage: [...history.filtered].map(([filters, question]) => ({
      filters,
      ...statusOf(coverageReport(null, history, now, question.filters)),
    })),
    ...creditStatus(history, now),
    quarantined: [...quarantined].map(([organization, { reason }]) => ({ organization, reason })),
    notBefore: until > now ? new Date(waitEnd(until)) : null,
    inboxFiles: filesOfInbox(inbox).length,
    deliveriesRefused: refused.deliveries,
    backups: backupStates(root, listedIn(journal, 'skip').size),
    clocks: clocks && clocksValues(clocks),
    warehouse: warehouse.value?.row ?? { unavailable: warehouse.why },
  }
  return { values, freshness, runs, clocks, refused, warehouse }
}

async function lookAt(...of: Parameters<typeof readStatus>): Promise<Report> {
  const { values, freshness, runs, clocks, refused, warehouse } = await readStatus(...of)
  const { nowMs: now } = freshness
  const { fresh, unread, notBefore, quarantined } = values
  const coverageTextOf = (one: typeof values.coverage) => coverageText(one, now)
  return {
    sections: [
      table('runs', runs.slice(0, RUNS_SHOWN), [
        ['started (UTC)', 'startedAt', 'instant'],
        ['pipeline', 'pipeline'],
        ['outcome', (run) => (isOdd(run) ? `exit ${run.exitCode}` : run.outcome), 'state'],
        ['batches', (run) => `${run.batchesDone}/${run.batches}`, 'count'],
        ['pages', 'pages', 'number'],
        ['credits', 'credits', 'number'],
      ]),
      [
        ['coverage', coverageTextOf(values.coverage)],
        ...values.filteredCoverage.map((one): Fact => [
          '',
          `${one.filters}: ${coverageTextOf(one)}`,
        ]),
        ...unread.map(({ pipeline, asked, unread: left }): Fact => {
          const of = `${numberText(left)} of ${countText(asked, 'batch')} of the last run of ${pipeline}`
          return ['to fetch', `${of}; the next run asks again`, 'warning']
        }),
        ...facts({
          credits: creditsLine(values, runs.length),
          '': counted(values.unexpectedCharges, 'page', UNEXPECTED),
        }),
        clocks !== null && ['clocks', `at the last run ${clocksText(clocks)}`, 'warning'],
        notBefore !== null && [
          'wait',
          `the service accepts no request before ${waitEnd(notBefore.getTime())}`,
          'warning',
        ],
        quarantined.length > 0 && [
          'refused',
          `${countText(quarantined.length, 'organisation')} quarantined: the service does not know them`,
          'warning',
        ],
        ...facts({
          inbox: counted(
            values.inboxFiles,
            'file',
            'of deliveries, which the next run or load reads',
          ),
        }),
        refused.last !== null && [
          'not taken',
          `${countText(refused.deliveries, 'delivery', 'deliveries')}, the last ${minuteText(refused.last.at)} UTC: ${refused.last.status}, ${refused.last.reason}`,
          'warning',
        ],
        ...warehouseFacts(warehouse.value?.row, warehouse.why),
        ...values.backups.map((one) => backupFact(one, now, values.dataDir)),
        ...freshness.pipelines.flatMap(({ name, schedule }): Fact[] => {
          const due = schedule && nextDue(schedule, now)
          return due === null ? [] : [['due', `${name} next at ${minuteText(due)} UTC`]]
        }),
        ['more', 'jobtide coverage, jobtide credits, jobtide rejects'],
      ],
      [!fresh && ['not as fresh as it should be:', '', 'error']],
    ],
    notes: values.judgements.flatMap(({ message, hint }) => [message, `  → ${hint}`]),
    values,
    exitCode: fresh ? EXIT.done : EXIT.stale,
  }
}

const UNEXPECTED = 'not charged as expected: jobtide credits'

function isOdd({ outcome, exitCode }: ReturnType<typeof runRows>[number]): boolean {
  return outcome === 'done' && exitCode !== EXIT.done
}

function backupFact(
  { place, backedUpAt, missing, problem }: BackupState,
  now: number,
  root: string,
): Fact {
  const last = backedUpAt === null ? 'never' : agoText(now - backedUpAt.getTime())
  const since = missing === 0 ? '' : `, without ${countText(missing, 'segment')}`
  const text = `${place}: ${last}${since}`
  if (problem !== null) return ['backup', `${text}; it failed: ${problem}`, 'error']
  return isBackupInside(root, place)
    ? ['backup', [text, `it ${INSIDE.problem}: jobtide doctor`], 'warning']
    : ['backup', text]
}

function runRows({ history, working }: Freshness) {
  return [...history.runs.values()].toReversed().map((run) => ({
    runId: run.started.run_id,
    pipeline: run.started.pipeline,
    startedAt: new Date(run.started.at),
    outcome: runState(run, working),
    exitCode: run.finished?.exit_code ?? null,
    batches: run.batchesPlanned,
    batchesDone: run.batchesDone,
    pages: run.pages,
    credits: run.creditsCommitted,
    inDoubt: run.unanswered,
  }))
}

/** Batches that the last run of each pipeline did not read to the end: the next run asks again. */
function unreadOf({ runs }: Pick<History, 'runs'>) {
  const asking = [...runs.values()].filter(({ started }) => started.command !== 'find')
  const last = new Map(asking.map((run) => [run.started.pipeline, run]))
  return [...last].flatMap(([pipeline, { batchesPlanned: asked, batchesDone }]) =>
    asked > batchesDone ? [{ pipeline, asked, unread: asked - batchesDone }] : [],
  )
}

function clocksOf(dispute: History['clockDispute']) {
  if (dispute === null) return null
  const { date, ours, earliest, wentBack } = dispute
  return { date, ours, wentBack: wentBack ? { ...wentBack, voidAfter: earliest } : null }
}

/**
 * `coveredTo` is the watermark of the organisation that is covered least far: everything before is covered for all. Gaps are
 * those between two readings, and what of the windows of the pipelines is not read, such as after a loss.
 */
function coverageStatus({ history, pipelines, nowMs }: Freshness) {
  const status = statusOf(coverageReport(null, history, nowMs))
  const ofPipelines = pipelines.map(({ name, wanted, coverage }) =>
    wanted?.filters === undefined && runsOf(history, name).last !== null
      ? (coverage?.withGaps ?? 0)
      : 0,
  )
  return { ...status, withGaps: Math.max(status.withGaps, ...ofPipelines) }
}

function statusOf({ read, oldestWatermark: to, withGaps }: CoverageReport) {
  return { organizations: read, coveredTo: to === null ? null : new Date(to), withGaps }
}

function coverageText(
  { organizations, coveredTo: to, withGaps: gaps }: ReturnType<typeof statusOf>,
  now: number,
): string {
  if (to === null) return 'no list was fetched to its end yet'
  const found = gaps === 0 ? 'no gaps' : `${countText(gaps, 'organisation')} with gaps`
  return `${countText(organizations, 'organisation')} up to ${to.toISOString()} (${agoText(now - to.getTime())}), ${found}`
}

function creditStatus({ spending }: History, now: number) {
  const months = monthlyCredits(spending, null)
  const days = [...spending.values()]
  return {
    credits: sum([...months.values()]),
    creditsThisMonth: months.get(monthOf(now)) ?? 0,
    creditsInDoubt: sum(days.map(({ inDoubt }) => inDoubt)),
    unexpectedCharges: sum(days.map(({ unexpected }) => unexpected)),
  }
}

function creditsLine(credits: ReturnType<typeof creditStatus>, runs: number): string {
  const { credits: all, creditsThisMonth, creditsInDoubt: doubt } = credits
  const inDoubt = doubt === 0 ? '' : `, ${creditsText(doubt)} of it in doubt`
  return `${creditsText(all)} in ${countText(runs, 'run')}, ${creditsText(creditsThisMonth)} this month${inDoubt}`
}

function warehouseFacts(row: WarehouseStatus | undefined, why: string | null): Fact[] {
  if (why !== null) return [['warehouse', why, 'warning']]
  if (row === undefined) return []
  const { failed_checks: failed, snapshot_id: id, snapshot_destination: to } = row
  const published = `${id} of ${row.snapshot_published_at}`
  const counts = `${countText(row.events, 'event')}, ${countText(row.rejects, 'reject')}`
  return [
    ['warehouse', `${counts}, ${countText(failed, 'failed check')}`, failed > 0 ? 'error' : 'dim'],
    id !== null && to !== null && isGone(to, id)
      ? [
          'snapshot',
          [published, `${to}: not there now; the next publish makes it again`],
          'warning',
        ]
      : ['snapshot', id === null ? 'none published yet' : [published, to ?? '-']],
  ]
}

/** Whether a folder lacks its newest snapshot, as after the data directory was lost; a bucket is not asked. */
function isGone(destination: string, snapshotId: string): boolean {
  if (!isFolderAddress(destination)) return false
  try {
    return !isThere(join(destination, 'snapshots', snapshotId))
  } catch {
    // Another account's folder may well have it.
    return false
  }
}
