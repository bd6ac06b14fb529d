/**
 * `coverage`: how far each organisation was read, where the gaps are, and, with `--prove`, what was not looked at. All of
 * it comes from the journal; the warehouse, where it can be read, only adds names and counts of events.
 */

import { openJournal } from '../journal/journal.ts'
import { serviceTime } from '../journal/history.ts'
import { readHistory } from '../journal/read-history.ts'
import { EVENT_TYPES } from '../journal/records.ts'
import {
  coverageReport,
  gapsOf,
  isNeverRead,
  isSilent,
  type CoverageReport,
  type OrganizationCoverage,
  type UnreadStretch,
  type Wanted,
} from '../plan/coverage-report.ts'
import { readJob, type Job } from '../run/job.ts'
import { isoInstant } from '../support/clock.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { MINUTE } from '../support/units.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import { refuseEmpty } from './refuse-empty.ts'
import {
  agoText,
  companyText,
  countText,
  durationText,
  minuteText,
  moreRowsText,
  numberText,
  tableText,
} from './text.ts'
import { readWarehouse, type Reading } from './warehouse-reader.ts'

/** Options of `coverage`. */
export interface CoverageOptions {
  /** Shows every row instead of the first ones. */
  readonly all?: boolean
  /** Lists what was not looked at. */
  readonly prove?: boolean
}

const ROWS_SHOWN = 20

/** What the warehouse knows of an organisation. */
interface KnownOrganization {
  readonly organization_id: string
  readonly name: string | null
  readonly events: number
}
type KnownOrganizations = ReadonlyMap<string, KnownOrganization>

/** Shows coverage of a pipeline's organisations, or of all that were ever asked for. */
export async function coverageCommand(
  context: Context,
  pipeline: string | undefined,
  options: CoverageOptions,
): Promise<ExitCode> {
  const { directory, clock, output } = context
  const job = pipeline === undefined ? null : await readJob(pipeline, {}, directory.root)
  const wanted = job === null ? null : wantedBy(job)
  const journal = openJournal(directory.journal, clock)
  // With a pipeline there is something to say before the first run: nothing of it was read.
  if (wanted === null) refuseEmpty(journal, directory)
  const history = readHistory(journal)
  const now = serviceTime(history, clock.now())
  const report = coverageReport(wanted, history, now)
  const known = await readWarehouse(directory.warehouse, readOrganizations)
  const names = known.kind === 'read' ? known.value : null
  const subject: Subject = { pipeline: job?.pipeline ?? null, report, now, names }
  output.document({
    data_dir: directory.root,
    ...coverageDocument(subject),
    warehouse: known.kind === 'read' ? null : { unavailable: known.why },
    ...(options.prove === true ? { not_looked_at: unreadDocument(subject) } : {}),
  })
  const rowsShown = options.all === true ? Number.POSITIVE_INFINITY : ROWS_SHOWN
  const view: View = { ...subject, rowsShown, columns: output.columns }
  output.text(
    options.prove === true ? proofText(view) : `${coverageText(view)}${warehouseNote(known)}`,
  )
  return EXIT.done
}

// A fixed window is wanted anew each time; since-last begins with the initial window and goes on from there.
function wantedBy({ question }: Job): Wanted {
  const { organizations, eventTypes, window, initialWindow } = question
  return { organizations, eventTypes, window: window === 'since-last' ? initialWindow : window }
}

async function readOrganizations(warehouse: Warehouse): Promise<KnownOrganizations> {
  const rows = await warehouse.all<KnownOrganization>(
    'select organization_id, name, cast(events as double) as events from ops.organizations',
  )
  return new Map(rows.map((row) => [row.organization_id, row]))
}

interface Subject {
  readonly pipeline: string | null
  readonly report: CoverageReport
  /** Milliseconds since 1970 UTC, by the service's clock. */
  readonly now: number
  /** Null when the warehouse cannot be read. */
  readonly names: KnownOrganizations | null
}

interface View extends Subject {
  readonly rowsShown: number
  readonly columns: number
}

function coverageDocument({ pipeline, report, now, names }: Subject): Record<string, unknown> {
  const { organizations } = report
  return {
    pipeline,
    at: isoInstant(now),
    organizations: organizations.length,
    read: report.read,
    never_read: report.neverRead,
    quarantined: report.quarantined,
    with_gaps: report.withGaps,
    without_events: names && organizations.filter((one) => isSilentIn(one, names)).length,
    oldest_edge: instantOrNull(report.oldestEdge),
    newest_edge: instantOrNull(report.newestEdge),
    rows: organizations.map((one) => ({
      organization_id: one.organizationId,
      asked_as: one.askedAs,
      name: names?.get(one.organizationId)?.name ?? null,
      covered_from: instantOrNull(one.edge === null ? null : one.from),
      covered_to: instantOrNull(one.edge),
      gaps: gapsOf(one).map(stretchDocument),
      events: names?.get(one.organizationId)?.events ?? null,
      last_event_received_at: instantOrNull(one.lastEventAt),
      quarantined:
        one.quarantined === null
          ? null
          : { at: isoInstant(one.quarantined.at), reason: one.quarantined.reason },
    })),
  }
}

function unreadDocument({ report }: Subject): Record<string, unknown>[] {
  return report.organizations.flatMap((one) =>
    one.unread.map((stretch) => ({
      organization_id: one.organizationId,
      asked_as: one.askedAs,
      ...stretchDocument(stretch),
      place: stretch.place,
    })),
  )
}

function stretchDocument({ eventTypes, from, to }: UnreadStretch): Record<string, unknown> {
  return { event_types: eventTypes, from: instantOrNull(from), to: isoInstant(to) }
}

// A journal of 0.1.0 does not say who its events are from, so that only the warehouse can tell, and for a URL not even that.
function isSilentIn(one: OrganizationCoverage, names: KnownOrganizations | null): boolean {
  if (names === null || !isSilent(one)) return false
  return (names.get(one.organizationId)?.events ?? 0) === 0
}

function coverageText(view: View): string {
  const { report, now, names, pipeline } = view
  const { organizations, oldestEdge, newestEdge } = report
  const silent = organizations.filter((one) => isSilentIn(one, names)).length
  const lines = [
    `${pipeline === null ? '' : `${pipeline}: `}${countText(organizations.length, 'organisation')}, ${numberText(report.read)} read, ${numberText(report.neverRead)} never read, ${numberText(report.quarantined)} quarantined`,
    ...(oldestEdge === null || newestEdge === null
      ? []
      : [
          `oldest edge  ${minuteText(oldestEdge)} UTC (${agoText(now - oldestEdge)})`,
          `newest edge  ${minuteText(newestEdge)} UTC (${agoText(now - newestEdge)})`,
        ]),
    `gaps         ${report.withGaps === 0 ? (report.neverRead === 0 ? 'none' : 'none in what was read') : `in ${countText(report.withGaps, 'organisation')}`}`,
    ...(silent === 0
      ? []
      : [`no events    ${countText(silent, 'organisation')} read, and never sent one`]),
  ]
  if (organizations.length === 0) return lines.join('\n')
  const shown = organizations.slice(0, view.rowsShown)
  const table = tableText(
    ['organisation', 'up to (UTC)', 'age', 'gaps', 'events', 'note'],
    shown.map((one) => [
      companyText(one.askedAs),
      one.edge === null ? '-' : minuteText(one.edge),
      one.edge === null ? '-' : ageText(now - one.edge),
      numberText(gapsOf(one).length),
      numberText(names?.get(one.organizationId)?.events ?? one.events),
      noteOf(one, names),
    ]),
    { width: view.columns, numeric: [false, false, true, true, true, false] },
  )
  return [...lines, '', table, ...moreRowsText(view.rowsShown, organizations.length)].join('\n')
}

function ageText(ms: number): string {
  return ms < MINUTE ? 'now' : durationText(ms)
}

function noteOf(one: OrganizationCoverage, names: KnownOrganizations | null): string {
  if (one.quarantined !== null) return `quarantined: ${one.quarantined.reason}`
  if (isNeverRead(one)) return 'never read'
  if (isSilentIn(one, names)) return 'no event yet'
  return one.askedAs === one.organizationId
    ? (names?.get(one.organizationId)?.name ?? '')
    : one.organizationId
}

const PLACES: Readonly<Record<UnreadStretch['place'], string>> = {
  never: 'never read',
  before: 'before first read',
  between: 'between reads',
  since: 'since last read',
}
const PLACE_ORDER = Object.keys(PLACES)

function proofText(view: View): string {
  const { report, now } = view
  const stretches = report.organizations
    .flatMap((one) => one.unread.map((stretch) => ({ one, stretch })))
    .toSorted((a, b) => PLACE_ORDER.indexOf(a.stretch.place) - PLACE_ORDER.indexOf(b.stretch.place))
  if (stretches.length === 0) return nothingLeftOut(view)
  const organizations = new Set(stretches.map(({ one }) => one.organizationId)).size
  const onlySince = stretches.every(({ stretch }) => stretch.place === 'since')
  const table = tableText(
    ['organisation', 'event types', 'from (UTC)', 'to (UTC)', 'where'],
    stretches
      .slice(0, view.rowsShown)
      .map(({ one, stretch }) => [
        companyText(one.askedAs),
        stretch.eventTypes.length === EVENT_TYPES.length ? 'all' : stretch.eventTypes.join(),
        stretch.from === null ? 'the beginning' : minuteText(stretch.from),
        stretch.to === now ? 'now' : minuteText(stretch.to),
        PLACES[stretch.place],
      ]),
    { width: view.columns },
  )
  return [
    `not looked at: ${countText(stretches.length, 'stretch', 'stretches')} of ${numberText(organizations)} of ${countText(report.organizations.length, 'organisation')}, by ${minuteText(now)} UTC`,
    ...(onlySince ? ['no gaps: each was read without a break, up to where its row begins'] : []),
    '',
    table,
    ...moreRowsText(view.rowsShown, stretches.length),
  ].join('\n')
}

function nothingLeftOut({ pipeline, report, now }: View): string {
  const since = pipeline === null ? 'since it was first read' : `in the window of ${pipeline}`
  return `nothing was left out: ${countText(report.organizations.length, 'organisation')}, each read without a gap ${since}, up to ${minuteText(now)} UTC`
}

function warehouseNote(known: Reading<unknown>): string {
  return known.kind === 'read' ? '' : `\nwithout names and counts: ${known.why}`
}

function instantOrNull(at: number | null): string | null {
  return at === null ? null : isoInstant(at)
}
