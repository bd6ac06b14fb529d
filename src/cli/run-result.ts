/** What a run did, for people in a few lines and for programs as JSON. Pure. */

import type { ClockTrouble } from '../extract/service-clock.ts'
import type { LoadReport } from '../load/load.ts'
import type { BuildReport } from '../model/build.ts'
import type { PublishError } from '../publish/errors.ts'
import { RefusedLossError } from '../publish/refuse-loss.ts'
import type { AnalystCopyReport } from '../run/analyst-copy.ts'
import type { RunReport } from '../run/run.ts'
import type { PublishStageReport } from '../run/stages.ts'
import { isoInstant } from '../support/clock.ts'
import { EXIT, errorDocument, type JobtideError } from '../support/errors.ts'
import { bytesText, countText, durationText, minuteText, numberText, printable } from './text.ts'

/** What keeps a run from being simply done: no publish, an early end, or a list of which the service knows nobody. */
export function problemOf(report: RunReport): JobtideError | null {
  const { publishFailure, endedEarly, unknownList } = report
  return publishFailure ?? endedEarly ?? (unknownList?.isSure === true ? unknownList.problem : null)
}

/** A run as JSON. */
export function runDocument(report: RunReport): Record<string, unknown> {
  const { extract, unknownList } = report
  const problem = problemOf(report)
  return {
    run_id: report.runId,
    pipeline: report.pipeline,
    resumed: report.resumed,
    complete: report.endedEarly === null && report.publishFailure === null,
    exit_code: problem?.exitCode ?? EXIT.done,
    message: problem?.message ?? null,
    error: problem === null ? null : errorDocument(problem),
    warning: problem === null ? (unknownList?.problem.message ?? null) : null,
    organizations: report.organizations,
    organizations_unread: report.unread,
    pages_left_behind: report.leftBehind,
    extract: {
      batches: extract.batches,
      batches_done: extract.batchesDone,
      pages: extract.pages,
      events: extract.events,
      credits: extract.credits,
      unexpected_charges: extract.unexpectedCharges,
      clocks: clocksDocument(extract.clockTrouble),
      quarantined: extract.quarantined.map(({ organization, reason }) => ({
        organization: organization.value,
        reason,
      })),
      skipped: report.skipped.map(({ name, reason }) => ({ organization: name, reason })),
    },
    load: report.load === null ? null : loadDocument(report.load),
    build: report.build === null ? null : buildDocument(report.build),
    publish: report.publish === null ? null : publishDocument(report.publish),
    analyst_copy: report.analystCopy === null ? null : analystCopyDocument(report.analystCopy),
    duration_ms: Math.round(report.durationMs),
  }
}

/** A load as JSON. */
export function loadDocument(load: LoadReport): Record<string, unknown> {
  return {
    pages: load.pages,
    events: load.sightings,
    inserted: load.inserted,
    updated: load.updated,
    rejected: load.rejected,
    suppressed: load.suppressed,
    new_unknown_fields: load.newUnknownFields,
  }
}

/** A build as JSON. */
export function buildDocument(build: BuildReport): Record<string, unknown> {
  return {
    build_id: build.buildId,
    full_refresh_reason: build.fullRefreshReason,
    models: build.models.map(({ name, rows, rowsChanged }) => ({
      name,
      rows,
      rows_changed: rowsChanged,
    })),
    checks_passed: build.checks.length,
    duration_ms: Math.round(build.durationMs),
  }
}

/** A publish as JSON. */
export function publishDocument(publish: PublishStageReport): Record<string, unknown> {
  return {
    snapshot_id: publish.snapshotId,
    destination: publish.destination,
    unchanged: publish.unchanged,
    nothing_read: publish.nothingRead,
    tables: publish.tables,
    rows: publish.rows,
    files: publish.files,
    new_files: publish.newFiles,
    bytes: publish.bytes,
    new_bytes: publish.newBytes,
    sweep: {
      not_done_because: publish.sweep.reason,
      expired_snapshots: publish.sweep.snapshots,
      removed_objects: publish.sweep.objects,
      removed_bytes: publish.sweep.bytes,
      abandoned_uploads: publish.sweep.uploads,
    },
  }
}

/** The copy for analysts as JSON. */
export function analystCopyDocument(copy: AnalystCopyReport): Record<string, unknown> {
  return { path: copy.path, bytes: copy.bytes, problem: copy.problem?.message ?? null }
}

/** The copy for analysts in one line; null where it is as it should be. */
export function analystCopyText({ path, problem }: AnalystCopyReport): string | null {
  return problem === null ? null : `${path} is that of the publish before: ${problem.message}`
}

/** A run in a few lines. */
export function runText(report: RunReport): string {
  const { extract } = report
  const lines = [
    `${report.pipeline}: run ${report.runId} ${stateOf(report)} in ${durationText(report.durationMs)}${report.resumed ? ' (taken up again)' : ''}`,
    line(
      'extracted',
      `${countText(extract.pages, 'page')}, ${countText(extract.events, 'event')} of ${countText(report.organizations, 'organisation')} for ${countText(extract.credits, 'credit')}`,
    ),
  ]
  if (report.leftBehind > 0) lines.push(line('left', leftBehindText(report.leftBehind)))
  if (report.unread > 0) {
    const all = numberText(report.organizations)
    const text = `${numberText(report.unread)} of ${all} organisations not to the end; the next run goes on`
    lines.push(line('not read', text))
  }
  if (extract.unexpectedCharges > 0) {
    const pages = countText(extract.unexpectedCharges, 'page')
    lines.push(line('charges', `${pages} not charged as expected: jobtide credits shows them`))
  }
  if (extract.clockTrouble !== null) {
    lines.push(line('clocks', clocksText(extract.clockTrouble)))
  }
  if (report.load !== null) lines.push(line('loaded', loadText(report.load)))
  if (report.build !== null) lines.push(line('built', buildText(report.build)))
  if (report.publish !== null) lines.push(line('published', publishText(report.publish)))
  if (report.publishFailure !== null) {
    lines.push(line('published', failureText(report.publishFailure)))
  }
  const copy = report.analystCopy === null ? null : analystCopyText(report.analystCopy)
  if (copy !== null) lines.push(line('analysts', copy))
  lines.push(...quarantinedLines(report), ...quietLines(report))
  return lines.join('\n')
}

function clocksDocument(trouble: ClockTrouble | null): Record<string, unknown> | null {
  if (trouble === null) return null
  const { answers, notBelieved, date, ours } = trouble
  return {
    answers,
    not_believed: notBelieved,
    service: isoInstant(date),
    here: isoInstant(ours),
    service_ahead_ms: date - ours,
  }
}

function stateOf({ publishFailure, endedEarly }: RunReport): string {
  if (publishFailure !== null) return 'ended without a snapshot'
  return endedEarly === null ? 'done' : 'stopped early'
}

function failureText(failure: PublishError): string {
  return `${failure instanceof RefusedLossError ? 'refused' : 'failed'}: ${printable(failure.message)}`
}

/** Clocks that do not agree, and what is done about it. */
export function clocksText({ date, ours }: Pick<ClockTrouble, 'date' | 'ours'>): string {
  const ahead = `${durationText(Math.abs(date - ours))} ${date > ours ? 'ahead of' : 'behind'}`
  return (
    `the service's Date was ${ahead} this machine's clock (${minuteText(date)}, here ${minuteText(ours)}): ` +
    'coverage ends at the earlier, windows count from the later and are longer; set the clock that is wrong'
  )
}

/** What became of pages of an earlier run that asked something else. */
export function leftBehindText(pages: number): string {
  return `${countText(pages, 'page')} of an unfinished run did not fit this one: kept, and asked for anew`
}

/** A load in one line. */
export function loadText(load: LoadReport): string {
  const again = load.sightings - load.inserted - load.updated
  const rejected =
    load.rejected === 0 ? '' : `, ${numberText(load.rejected)} rejected (jobtide rejects)`
  const suppressed =
    load.suppressed === 0 ? '' : `, ${numberText(load.suppressed)} left out as forgotten`
  const unknown =
    load.newUnknownFields.length === 0
      ? ''
      : `; fields not known to Jobtide, kept in the journal: ${load.newUnknownFields.join(', ')}`
  if (load.inserted === 0 && load.updated === 0) {
    return `nothing new: no row changed (${numberText(again)} seen again${rejected}${suppressed})${unknown}`
  }
  return `${numberText(load.inserted)} new, ${numberText(load.updated)} changed, ${numberText(again)} seen again${rejected}${suppressed}${unknown}`
}

/** A build in one line. */
export function buildText(build: BuildReport): string {
  const all = `${countText(build.models.length, 'model')}, ${countText(build.checks.length, 'check')} passed`
  if (build.fullRefreshReason !== null) return all
  const changed = build.models.reduce((sum, { rowsChanged }) => sum + (rowsChanged ?? 0), 0)
  const anew = build.models.filter(({ rowsChanged }) => rowsChanged === null).length
  const made = anew === 0 ? '' : `, ${countText(anew, 'table')} made anew`
  return `${all}; ${countText(changed, 'row')} changed${made}`
}

/** A publish in one line. */
export function publishText(publish: PublishStageReport): string {
  return [publishedText(publish), ...sweepLines(publish.sweep)].join(`\n${' '.repeat(LABEL)}`)
}

function sweepLines({ reason, snapshots, objects, bytes }: PublishStageReport['sweep']): string[] {
  const swept = `${countText(snapshots.length, 'old snapshot')} and ${countText(objects, 'object')} removed, ${bytesText(bytes)}`
  return [
    ...(objects === 0 ? [] : [swept]),
    ...(reason === null ? [] : [`not all is swept: ${reason}`]),
  ]
}

function publishedText(publish: PublishStageReport): string {
  if (publish.nothingRead) {
    return `nothing: nothing was read yet, so what readers see stays as it is\n${' '.repeat(LABEL)}${publish.destination}`
  }
  const where = `snapshot ${publish.snapshotId}`
  if (publish.unchanged) return `nothing new: ${where} already shows all of it`
  const files =
    publish.newFiles === 0
      ? 'no new Parquet file'
      : `${numberText(publish.newFiles)} new of ${countText(publish.files, 'Parquet file')}, ${bytesText(publish.newBytes)}`
  return `${where}: ${files}\n${' '.repeat(LABEL)}${publish.destination}`
}

const LABEL = 13
const SET_ASIDE_SHOWN = 5

function line(label: string, text: string): string {
  return `  ${label.padEnd(LABEL - 2)}${text}`
}

// Where it is sure, it is said as what the run ended with.
function quietLines({ unknownList }: RunReport): string[] {
  if (unknownList === null || unknownList.isSure) return []
  const { problem } = unknownList
  return [line('no events', problem.message), `${' '.repeat(LABEL)}→ ${problem.hint}`]
}

function quarantinedLines(report: RunReport): string[] {
  const found = [
    ...report.extract.quarantined.map(({ organization, reason }) => ({
      name: organization.value,
      reason,
    })),
    ...report.skipped,
  ]
  if (found.length === 0) return []
  const shown = found
    .slice(0, SET_ASIDE_SHOWN)
    .map(({ name, reason }) => `${' '.repeat(LABEL)}${name}: ${reason}`)
  const more =
    found.length > SET_ASIDE_SHOWN
      ? [
          `${' '.repeat(LABEL)}and ${found.length - SET_ASIDE_SHOWN} more: ops.organizations_quarantined`,
        ]
      : []
  const others = report.unknownList === null ? ', the others went on' : ''
  const advice =
    'the service does not know them: correct or remove them in the list; tried again after 7 days'
  return [
    line('quarantined', `${countText(found.length, 'organisation')}${others}`),
    ...shown,
    ...more,
    `${' '.repeat(LABEL)}→ ${advice}`,
  ]
}
