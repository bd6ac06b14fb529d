/** Describes the result of a run and its stages as facts for people and values for programs. Pure. */

import type { ClockTrouble } from '../extract/options.ts'
import type { LoadReport } from '../load/load.ts'
import type { BuildReport } from '../model/build.ts'
import { skippedValues } from '../plan/skipped-lines.ts'
import { RefusedError } from '../publish/errors.ts'
import type { AnalystCopyReport } from '../run/analyst-copy.ts'
import { problemIn, type DatabaseOutcome } from '../run/databases.ts'
import type { Certificate } from '../run/forget/erase.ts'
import type { RunReport } from '../run/run.ts'
import type { PublishStageReport } from '../run/stages.ts'
import { isoInstant, minuteText } from '../support/clock.ts'
import { EXIT, StorageError, errorDocument, type JobtideError } from '../support/errors.ts'
import {
  bytesText,
  countText,
  counted,
  durationText,
  firstTexts,
  numberText,
  sum,
} from '../support/numbers.ts'
import { cut } from '../support/text.ts'
import { facts, type Fact, type Report } from './report.ts'

/**
 * The problem of an unsuccessful run: a failed stage, an early end, a list without a known organisation, a database that was
 * not loaded, or no disk space for the copy for analysts.
 */
export function problemOf(run: RunReport): JobtideError | null {
  const { stageFailure, endedEarly, unknownList, analystCopy, databases } = run
  const wrongList = unknownList?.isSure === true ? unknownList.problem : null
  return stageFailure ?? endedEarly ?? wrongList ?? problemIn(databases) ?? staleCopy(analystCopy)
}

/**
 * Only a full disk counts: analysts lack the copy until there is space. A program that writes the warehouse has usually ended
 * by the next publish.
 */
export function staleCopy(copy: AnalystCopyReport | null): JobtideError | null {
  return copy?.problem instanceof StorageError ? copy.problem : null
}

/**
 * An erasure that was not complete when a run began, or is not when it ends.
 * @param began when it began before the run, milliseconds since 1970 UTC; null if it did not
 * @param certificate of the erasure at the end of the run; null for none
 */
export function erasureState(
  began: number | null,
  certificate: Pick<Certificate, 'is_complete' | 'remaining'> | null,
) {
  const notContinued = ['this run did not continue it: run `jobtide forget --yes`']
  const { is_complete: isComplete = began === null, remaining = notContinued } = certificate ?? {}
  const begunAt = began === null ? null : isoInstant(began)
  return begunAt === null && isComplete ? null : { begunAt, isComplete, remaining }
}

/** A run, with the erasure that it should have completed, if any. */
type Ended = RunReport & { readonly erasure?: ReturnType<typeof erasureState> }

function erasureFact({ erasure = null }: Ended): Fact {
  if (erasure === null) return false
  const { begunAt, isComplete, remaining } = erasure
  const begun = begunAt === null ? '' : `, begun on ${begunAt.slice(0, 10)}`
  return ['erasure', isComplete ? `completed${begun}` : [`NOT COMPLETE${begun}:`, ...remaining]]
}

export function runReport(run: Ended): Report {
  const { extract } = run
  const again = run.resumed ? ' (resumed)' : ''
  const { stageFailure, load, build } = run
  return {
    title: `${run.pipeline}: run ${run.runId} ${stateOf(run)} in ${durationText(run.durationMs)}${again}`,
    sections: [
      indented([
        ...facts({
          extracted: extractText(run),
          left: leftBehindText(run.leftBehind),
          'to fetch':
            run.unread > 0 &&
            `${numberText(run.unread)} of ${numberText(run.organizations)} organisations are not fetched to the end; the next run continues`,
          charges: counted(extract.unexpectedCharges, 'page', UNEXPECTED),
          cut: counted(extract.listsCut, 'list', LIST_CUT),
          'no filter': notFilterText(extract.filterErrors),
          clocks: extract.clockTrouble && clocksText(extract.clockTrouble),
          loaded: load && loadText(load),
          built: build && buildText(build),
          published: run.publish && publishText(run.publish),
        }),
        ...run.databases.map(databaseFact),
        stageFailure !== null && [
          load === null ? 'loaded' : build === null ? 'built' : 'published',
          `${stageFailure instanceof RefusedError ? 'refused' : 'failed'}: ${stageFailure.message}`,
        ],
        analystCopyFact(run.analystCopy),
        erasureFact(run),
        quarantinedFact(run),
        // A certain problem is reported as the error of the run instead.
        run.unknownList?.isSure === false && [
          'no events',
          [run.unknownList.problem.message, `→ ${run.unknownList.problem.hint}`],
        ],
      ]),
    ],
    values: runValues(run),
    problem: problemOf(run),
  }
}

const LABEL_WIDTH = 9
const UNEXPECTED = 'not charged as expected: jobtide credits shows them'
const LIST_CUT =
  'incomplete: more pages than pages: in the file allows, or items moved between pages'
const NAMES_SHOWN = 10
const LONGEST_NAME = 60

export function notFilterText(filters: readonly string[]): string {
  return filters.length > 0 ? `${namesText(filters)}: the service does not recognise this` : ''
}

function namesText(names: readonly string[], where?: string): string {
  const short = names.map((name, at) => (at < NAMES_SHOWN ? cut(name, LONGEST_NAME) : name))
  return firstTexts(short, NAMES_SHOWN, where).join(', ')
}

function extractText({ endpoint, organizations, extract }: RunReport): string {
  const { pages, events, credits, quarantined } = extract
  const spent = `for ${countText(credits, 'credit')}`
  if (endpoint !== null) {
    return `${countText(events, 'item')} of ${countText(organizations, 'lookup')} (${endpoint}) ${spent}`
  }
  const read = countText(organizations - quarantined.length, 'organisation')
  return `${countText(pages, 'page')}, ${countText(events, 'event')} of ${read} ${spent}`
}

// The stages go below the name of the run, with labels of equal width.
function indented(facts: readonly Fact[]): Fact[] {
  return facts.map((fact) => fact && [`  ${fact[0].padEnd(LABEL_WIDTH)}`, fact[1]])
}

export function runValues(run: Ended): object {
  const { runId, pipeline, endpoint, resumed, organizations, durationMs } = run
  const { unknownList, load, build, publish, databases, analystCopy, erasure = null } = run
  const { clockTrouble: clocks, quarantined, ...extract } = run.extract
  const about = { runId, pipeline, endpoint, resumed, organizations, durationMs }
  const made = { publish, databases, analystCopy, erasure }
  const problem = problemOf(run)
  return {
    ...about,
    ...made,
    complete: run.endedEarly === null && run.stageFailure === null,
    exitCode: problem?.exitCode ?? EXIT.done,
    message: problem?.message ?? null,
    error: problem && errorDocument(problem),
    warning: problem === null ? (unknownList?.problem.message ?? null) : null,
    organizationsUnread: run.unread,
    pagesLeftBehind: run.leftBehind,
    skippedLines: skippedValues(run.skippedLines),
    extract: {
      ...extract,
      clocks: clocks && { ...clocksValues(clocks), serviceAheadMs: clocks.date - clocks.ours },
      quarantined: quarantined.map(({ organization, reason }) => {
        return { organization: organization.value, reason }
      }),
      skipped: run.skipped.map(({ name, reason }) => ({ organization: name, reason })),
    },
    load: load && loadValues(load),
    build: build && buildValues(build),
  }
}

function stateOf(run: RunReport): string {
  if (run.stageFailure !== null) return 'ended without a snapshot'
  if (run.endedEarly !== null) return 'stopped early'
  const problem = problemOf(run)
  return problem === null ? 'done' : `ended with exit ${problem.exitCode}`
}

type Clocks = Pick<ClockTrouble, 'date' | 'ours' | 'wentBack'>

export function clocksValues({ date, ours, wentBack, ...trouble }: Clocks): object {
  const dateOf = (at: number | undefined) => (at === undefined ? null : new Date(at))
  const times = { service: new Date(date), here: new Date(ours) }
  const back = { before: dateOf(wentBack?.from), voidAfter: dateOf(wentBack?.voidAfter) }
  return { ...trouble, ...times, ...back }
}

export function clocksText({ date, ours, wentBack }: Clocks): string {
  const [said, here] = [minuteText(date), minuteText(ours)]
  if (wentBack !== null) {
    const { from: before, voidAfter } = wentBack
    const since = voidAfter === 0 ? 'all coverage' : `coverage after ${minuteText(voidAfter)}`
    return `the service's clock had reached ${minuteText(before)}, and now said ${said} (here ${here}): ${since} is void, and the next run reads it again. Check both clocks`
  }
  const ahead = `${durationText(Math.abs(date - ours))} ${date > ours ? 'ahead of' : 'behind'}`
  return `the service's Date was ${ahead} this machine's clock (${said}, here ${here}): coverage ends at the earlier time, and windows are longer. Correct the clock that is wrong`
}

/** Pages of an earlier run with another question. */
export function leftBehindText(pages: number): string {
  return counted(
    pages,
    'page',
    'of an unfinished run did not fit this one: kept, but requested again',
  )
}

export function loadValues({ sightings, ...load }: LoadReport): object {
  return { events: sightings, ...load }
}

export function loadText(load: LoadReport): string {
  const { answers, sightings, inserted, updated, rejected, suppressed, newUnknownFields } = load
  const seen = [
    `${numberText(sightings - inserted - updated)} already known`,
    rejected > 0 && `${numberText(rejected)} rejected (jobtide rejects)`,
    suppressed > 0 && `${numberText(suppressed)} left out as erased`,
  ].filter(Boolean)
  const names = namesText(newUnknownFields, ' (ops.unknown_fields)')
  const unknown = names === '' ? '' : `; unknown fields, kept in the journal: ${names}`
  const others = `${countText(answers, 'row')} of other endpoints${unknown}`
  if (answers > 0 && sightings === 0 && rejected === 0) return others
  return inserted === 0 && updated === 0
    ? `nothing new: no row changed (${seen.join(', ')})${unknown}`
    : `${numberText(inserted)} new, ${numberText(updated)} changed, ${seen.join(', ')}${unknown}`
}

export function buildValues({ checks, ...build }: BuildReport): object {
  return { ...build, checksPassed: checks.length }
}

export function buildText(build: BuildReport): readonly string[] {
  const { models, checks, skipped, selected, dropped } = build
  const all = `${countText(models.length, 'model')}, ${countText(checks.length, 'check')} passed`
  const gone = dropped.length === 0 ? [] : [`dropped ${dropped.join(', ')}: the file is gone`]
  if (build.fullRefreshReason !== null) return [all, ...gone]
  const rows = countText(sum(models.map(({ rowsChanged }) => rowsChanged ?? 0)), 'row')
  if (selected !== null) {
    return [
      `${all}: those selected; ${rows} changed`,
      'publish waits for a whole `jobtide build`, which checks the others',
    ]
  }
  return [
    `${all}; ${rows} changed`,
    ...gone,
    `skipped ${countText(skipped.models, 'model')} and ${countText(skipped.checks, 'check')}: their inputs did not change`,
  ]
}

export function publishText(publish: PublishStageReport): string[] {
  const { gc, destination, newFiles, snapshotId } = publish
  const files =
    newFiles === 0
      ? 'no new Parquet file'
      : `${numberText(newFiles)} new of ${countText(publish.files, 'Parquet file')}, ${bytesText(publish.newBytes)}`
  const lines = [
    ...(publish.nothingRead
      ? ['nothing: nothing was fetched yet, so readers see no change', destination]
      : publish.unchanged
        ? [`nothing new: snapshot ${snapshotId} already shows all of it`]
        : [`snapshot ${snapshotId}: ${files}`, destination]),
    publish.replacedFormat !== null &&
      `a whole new snapshot, in place of one of the older format ${publish.replacedFormat}`,
    gc.objects > 0 &&
      `${countText(gc.snapshots.length, 'old snapshot')} and ${countText(gc.objects, 'object')} removed, ${bytesText(gc.bytes)}`,
    gc.reason !== null && `old files stay: ${gc.reason}`,
  ]
  return lines.filter((line) => line !== false)
}

export function databaseFact({ database, schema, tables, problem }: DatabaseOutcome): Fact {
  const loaded = tables.filter(({ rowsChanged }) => rowsChanged !== null)
  const names = loaded.length === 0 ? 'nothing new' : loaded.map(({ name }) => name).join(', ')
  const said = problem?.message ?? `${database} (schema ${schema}): ${names}`
  return ['database', problem === null ? said : `not loaded: ${said}`]
}

/** The copy for analysts, where it is not as it should be. */
export function analystCopyFact(copy: AnalystCopyReport | null): Fact {
  if (copy === null || copy.problem === null) return false
  const { path, problem } = copy
  return ['analysts', `${path} is still that of the previous publish: ${problem.message}`]
}

const QUARANTINED_SHOWN = 5

function quarantinedFact({ extract, skipped, unknownList, endpoint }: RunReport): Fact {
  const found = [
    ...extract.quarantined.map(({ organization, reason }) => `${organization.value}: ${reason}`),
    ...skipped.map(({ name, reason }) => `${name}: ${reason}`),
  ]
  if (found.length === 0) return false
  if (endpoint !== null) {
    const hint = '→ the next run asks again. Correct or remove the ones that the service refuses'
    return ['not answered', [...firstTexts(found, QUARANTINED_SHOWN), hint]]
  }
  const others = unknownList === null ? ', the others continued' : ''
  return [
    'quarantined',
    [
      `${countText(found.length, 'organisation')}${others}`,
      ...firstTexts(found, QUARANTINED_SHOWN, ': ops.organizations_quarantined'),
      '→ the service does not know them: correct or remove them in the list. They are tried again after 7 days',
    ],
  ]
}
