/**
 * `coverage`: how far each organisation was read, where the gaps are, and, with `--prove`, what was not looked at. All of
 * it comes from the journal; the warehouse, where it can be read, only adds names and counts of events.
 */

import { serviceTime } from '../journal/history.ts'
import { openJournal } from '../journal/journal.ts'
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
} from '../plan/coverage-report.ts'
import { readJob } from '../run/job.ts'
import { isoInstant } from '../support/clock.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import { MINUTE } from '../support/units.ts'
import type { Context } from './context.ts'
import { refuseEmpty } from './refuse-empty.ts'
import { queryReport } from './report-query.ts'
import { table, type Report } from './report.ts'
import { agoText, companyText, countText, durationText, minuteText, numberText } from './text.ts'
import { readWarehouse } from './warehouse-reader.ts'

/** Options of `coverage`. */
export interface CoverageOptions {
  /** Shows every row instead of the first ones. */
  readonly all?: boolean
  /** Lists what was not looked at. */
  readonly prove?: boolean
}

const ROWS_SHOWN = 20

/** Shows coverage of a pipeline's organisations, or of all that were ever asked for. */
export async function coverageCommand(
  context: Context,
  pipeline: string | undefined,
  { all = false, prove = false }: CoverageOptions,
): Promise<ExitCode> {
  const { directory, clock, output } = context
  const job = pipeline === undefined ? null : await readJob(pipeline, {}, directory.root)
  const journal = openJournal(directory.journal, clock)
  // With a pipeline there is something to say before the first run: nothing of it was read.
  if (job === null) refuseEmpty(journal, directory)
  const history = readHistory(journal)
  const now = serviceTime(history, clock.now())
  // A fixed window is wanted again each time; since-last begins with the initial window and goes on from there.
  const wanted = job && {
    ...job.question,
    window: job.question.window === 'since-last' ? job.question.initialWindow : job.question.window,
  }
  const reading = await readWarehouse(directory.warehouse, (warehouse) =>
    queryReport<KnownOrganization>(warehouse, 'coverage_organizations'),
  )
  const known =
    reading.kind === 'read' ? new Map(reading.value.map((row) => [row.organization_id, row])) : null
  const coverage = coverageReport(wanted, history, now)
  const rows = coverage.organizations.map((one) => organizationRow(one, known, now))
  const found: Found = { pipeline: job?.pipeline ?? null, coverage, rows, now }
  const shown = all ? Number.POSITIVE_INFINITY : ROWS_SHOWN
  const why = reading.kind === 'read' ? null : reading.why
  const report = prove ? proof(found, shown) : summary(found, shown, why)
  output.report({
    ...report,
    values: {
      data_dir: directory.root,
      ...summaryValues(found, known !== null),
      warehouse: why === null ? null : { unavailable: why },
      ...report.values,
    },
  })
  return EXIT.done
}

/** What the warehouse knows of an organisation. */
interface KnownOrganization {
  readonly organization_id: string
  readonly name: string | null
  readonly events: number
}

interface Found {
  readonly pipeline: string | null
  readonly coverage: CoverageReport
  readonly rows: readonly OrganizationRow[]
  /** Milliseconds since 1970 UTC, by the service's clock. */
  readonly now: number
}

type OrganizationRow = ReturnType<typeof organizationRow>

function organizationRow(
  one: OrganizationCoverage,
  known: ReadonlyMap<string, KnownOrganization> | null,
  now: number,
) {
  const inWarehouse = known?.get(one.organizationId)
  const watermark = one.watermark
  return {
    json: {
      organization_id: one.organizationId,
      asked_as: one.askedAs,
      name: inWarehouse?.name ?? null,
      covered_from: instantOrNull(watermark === null ? null : one.from),
      covered_to: instantOrNull(watermark),
      gaps: gapsOf(one).map(stretchValues),
      events: inWarehouse?.events ?? null,
      last_event_received_at: instantOrNull(one.lastEventAt),
      quarantined: one.quarantined && {
        at: isoInstant(one.quarantined.at),
        reason: one.quarantined.reason,
      },
    },
    age:
      watermark === null ? '-' : now - watermark < MINUTE ? 'now' : durationText(now - watermark),
    eventsShown: inWarehouse?.events ?? one.events,
    isSilent: known !== null && isSilent(one) && (inWarehouse?.events ?? 0) === 0,
    isNeverRead: isNeverRead(one),
  }
}

function stretchValues({ eventTypes, from, to }: UnreadStretch) {
  return { event_types: eventTypes, from: instantOrNull(from), to: isoInstant(to) }
}

function summaryValues({ pipeline, coverage, rows, now }: Found, isWarehouseRead: boolean) {
  return {
    pipeline,
    at: isoInstant(now),
    organizations: rows.length,
    read: coverage.read,
    never_read: coverage.neverRead,
    quarantined: coverage.quarantined,
    with_gaps: coverage.withGaps,
    without_events: isWarehouseRead ? rows.filter((row) => row.isSilent).length : null,
    oldest_watermark: instantOrNull(coverage.oldestWatermark),
    newest_watermark: instantOrNull(coverage.newestWatermark),
    rows: rows.map(({ json }) => json),
  }
}

function summary(
  { pipeline, coverage, rows, now }: Found,
  shown: number,
  why: string | null,
): Report {
  const { read, neverRead, quarantined, withGaps, oldestWatermark, newestWatermark } = coverage
  const silent = rows.filter((row) => row.isSilent).length
  const instantText = (at: number) => `${minuteText(at)} UTC (${agoText(now - at)})`
  const noGaps = neverRead === 0 ? 'none' : 'none in what was read'
  return {
    title: `${pipeline === null ? '' : `${pipeline}: `}${countText(rows.length, 'organisation')}, ${numberText(read)} read, ${numberText(neverRead)} never read, ${numberText(quarantined)} quarantined`,
    sections: [
      [
        oldestWatermark !== null && ['oldest watermark', instantText(oldestWatermark)],
        newestWatermark !== null && ['newest watermark', instantText(newestWatermark)],
        ['gaps', withGaps === 0 ? noGaps : `in ${countText(withGaps, 'organisation')}`],
        silent > 0 && [
          'no events',
          `${countText(silent, 'organisation')} read, and never sent one`,
        ],
      ],
      table(
        null,
        rows,
        [
          ['organisation', ({ json }) => companyText(json.asked_as), 'id'],
          ['up to (UTC)', ({ json }) => json.covered_to, 'instant'],
          ['age', 'age', 'count'],
          ['gaps', ({ json }) => json.gaps.length, 'number'],
          ['events', 'eventsShown', 'number'],
          ['note', noteOf],
        ],
        { shown },
      ),
    ],
    notes: why === null ? [] : [`without names and counts: ${why}`],
  }
}

function noteOf({ json, ...row }: OrganizationRow): string {
  if (json.quarantined !== null) return `quarantined: ${json.quarantined.reason}`
  if (row.isNeverRead) return 'never read'
  if (row.isSilent) return 'no event yet'
  return json.asked_as === json.organization_id ? (json.name ?? '') : json.organization_id
}

const PLACES: Readonly<Record<UnreadStretch['place'], string>> = {
  never: 'never read',
  before: 'before first read',
  between: 'between reads',
  since: 'since last read',
}
const PLACE_ORDER = Object.keys(PLACES)

function proof({ pipeline, coverage, rows, now }: Found, shown: number): Report {
  const unread = coverage.organizations.flatMap((one) =>
    one.unread.map((stretch) => ({
      organization_id: one.organizationId,
      asked_as: one.askedAs,
      ...stretchValues(stretch),
      place: stretch.place,
    })),
  )
  const organizations = countText(rows.length, 'organisation')
  const until = `${minuteText(now)} UTC`
  if (unread.length === 0) {
    const since = pipeline === null ? 'since it was first read' : `in the window of ${pipeline}`
    return {
      title: `nothing was left out: ${organizations}, each read without a gap ${since}, up to ${until}`,
      values: { not_looked_at: [] },
    }
  }
  const unreadOrganizations = new Set(unread.map((row) => row.organization_id)).size
  const title = `not looked at: ${countText(unread.length, 'stretch', 'stretches')} of ${numberText(unreadOrganizations)} of ${organizations}, by ${until}`
  const onlySince = unread.every(({ place }) => place === 'since')
  return {
    title: onlySince
      ? `${title}\nno gaps: each was read without a break, up to where its row begins`
      : title,
    sections: [
      table(
        'not_looked_at',
        unread.toSorted((a, b) => PLACE_ORDER.indexOf(a.place) - PLACE_ORDER.indexOf(b.place)),
        [
          ['organisation', (row) => companyText(row.asked_as), 'id'],
          [
            'event types',
            ({ event_types: types }) =>
              types.length === EVENT_TYPES.length ? 'all' : types.join(),
          ],
          ['from (UTC)', ({ from }) => (from === null ? 'the beginning' : instantText(from))],
          ['to (UTC)', ({ to }) => (Date.parse(to) === now ? 'now' : instantText(to))],
          ['where', ({ place }) => PLACES[place]],
        ],
        { shown },
      ),
    ],
  }
}

function instantText(iso: string): string {
  return minuteText(Date.parse(iso))
}

function instantOrNull(at: number | null): string | null {
  return at === null ? null : isoInstant(at)
}
