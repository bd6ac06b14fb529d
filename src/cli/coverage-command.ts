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
  const { value, why } = await readWarehouse(directory.warehouse, (warehouse) =>
    queryReport<KnownOrganization>(warehouse, 'coverage_organizations'),
  )
  const known = value && new Map(value.map((row) => [row.organization_id, row]))
  const coverage = coverageReport(wanted, history, now)
  const rows = coverage.organizations.map((one) =>
    organizationRow(one, known?.get(one.organizationId)),
  )
  const isWithoutEvents = (one: OrganizationCoverage) =>
    isSilent(one) && (known?.get(one.organizationId)?.events ?? 0) === 0
  const silent = known && coverage.organizations.filter(isWithoutEvents)
  const found: Found = { pipeline: job?.pipeline ?? null, coverage, rows, silent, now }
  const shown = all ? Number.POSITIVE_INFINITY : ROWS_SHOWN
  const { values, ...report } = prove ? proof(found, shown) : summary(found, shown, why)
  output.report({
    ...report,
    values: {
      data_dir: directory.root,
      pipeline: found.pipeline,
      at: isoInstant(now),
      organizations: rows.length,
      read: coverage.read,
      never_read: coverage.neverRead,
      quarantined: coverage.quarantined,
      with_gaps: coverage.withGaps,
      without_events: silent?.length ?? null,
      oldest_watermark: instantOrNull(coverage.oldestWatermark),
      newest_watermark: instantOrNull(coverage.newestWatermark),
      rows,
      warehouse: why === null ? null : { unavailable: why },
      ...values,
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
  /** In the order of the coverage. */
  readonly rows: readonly OrganizationRow[]
  /** Those that were read and never sent an event; null where the warehouse cannot be read. */
  readonly silent: readonly OrganizationCoverage[] | null
  /** Milliseconds since 1970 UTC, by the service's clock. */
  readonly now: number
}

type OrganizationRow = ReturnType<typeof organizationRow>

function organizationRow(one: OrganizationCoverage, known: KnownOrganization | undefined) {
  const { organizationId, askedAs, watermark, quarantined } = one
  return {
    organization_id: organizationId,
    asked_as: askedAs,
    name: known?.name ?? null,
    covered_from: instantOrNull(watermark === null ? null : one.from),
    covered_to: instantOrNull(watermark),
    gaps: gapsOf(one).map(stretchValues),
    events: known?.events ?? null,
    last_event_received_at: instantOrNull(one.lastEventAt),
    quarantined: quarantined && { at: isoInstant(quarantined.at), reason: quarantined.reason },
  }
}

function stretchValues({ eventTypes, from, to }: UnreadStretch) {
  return { event_types: eventTypes, from: instantOrNull(from), to: isoInstant(to) }
}

function summary(
  { pipeline, coverage, rows, silent, now }: Found,
  shown: number,
  why: string | null,
): Report {
  const { read, neverRead, quarantined, withGaps, oldestWatermark, newestWatermark } = coverage
  const ageOf = (at: number) => (now - at < MINUTE ? 'now' : durationText(now - at))
  const watermarkText = (at: number) => `${minuteText(at)} UTC (${agoText(now - at)})`
  const noGaps = neverRead === 0 ? 'none' : 'none in what was read'
  const lines = coverage.organizations.map((one, place) => ({ one, row: rows[place] }))
  return {
    title: `${pipeline === null ? '' : `${pipeline}: `}${countText(rows.length, 'organisation')}, ${numberText(read)} read, ${numberText(neverRead)} never read, ${numberText(quarantined)} quarantined`,
    sections: [
      [
        oldestWatermark !== null && ['oldest watermark', watermarkText(oldestWatermark)],
        newestWatermark !== null && ['newest watermark', watermarkText(newestWatermark)],
        ['gaps', withGaps === 0 ? noGaps : `in ${countText(withGaps, 'organisation')}`],
        silent !== null &&
          silent.length > 0 && [
            'no events',
            `${countText(silent.length, 'organisation')} read, and never sent one`,
          ],
      ],
      table(
        null,
        lines,
        [
          ['organisation', ({ one }) => companyText(one.askedAs), 'id'],
          ['up to (UTC)', ({ one }) => one.watermark, 'instant'],
          ['age', ({ one }) => one.watermark && ageOf(one.watermark), 'count'],
          ['gaps', ({ row }) => row?.gaps.length, 'number'],
          ['events', ({ one, row }) => row?.events ?? one.events, 'number'],
          ['note', ({ one, row }) => noteOf(one, row?.name ?? '', silent?.includes(one) === true)],
        ],
        { shown },
      ),
    ],
    notes: why === null ? [] : [`without names and counts: ${why}`],
  }
}

function noteOf(one: OrganizationCoverage, name: string, isWithoutEvents: boolean): string {
  if (one.quarantined !== null) return `quarantined: ${one.quarantined.reason}`
  if (isNeverRead(one)) return 'never read'
  if (isWithoutEvents) return 'no event yet'
  return one.askedAs === one.organizationId ? name : one.organizationId
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
