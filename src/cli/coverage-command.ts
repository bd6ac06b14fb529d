/**
 * `coverage`: shows how far each organisation was read, the gaps, and with `--prove` the unread intervals. All of it comes
 * from the journal; the warehouse, if readable, only adds names and event counts.
 */

import { serviceTime } from '../journal/clock-history.ts'
import { filtersText } from '../journal/coverage.ts'
import { openJournal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import { EVENT_TYPES } from '../journal/records.ts'
import {
  coverageOfAll,
  coverageReport,
  gapsOf,
  isNeverRead,
  isSilent,
  wantedOf,
  type CoverageReport,
  type OrganizationCoverage,
  type UnreadStretch,
} from '../plan/coverage-report.ts'
import { tellSkipped } from '../plan/skipped-lines.ts'
import { refuseLostJournal } from '../run/lost-journal.ts'
import { readJob } from '../run/job.ts'
import { minuteText } from '../support/clock.ts'
import { ConfigError } from '../support/errors.ts'
import { countText, numberText } from '../support/numbers.ts'
import { MINUTE } from '../support/units.ts'
import { queryReport } from '../warehouse/query-report.ts'
import type { Context } from './context.ts'
import { readWarehouse, refuseEmpty } from './reading.ts'
import { countFact, table, agoText, companyText, durationText, type Report } from './report.ts'

export interface CoverageOptions {
  readonly all?: boolean
  readonly prove?: boolean
  /** The list to use instead of the pipeline's. */
  readonly organizations?: string
}

const ROWS_SHOWN = 20

/** Shows coverage of a pipeline's organisations, or of all that were ever asked for. */
export async function coverageCommand(
  context: Context,
  pipeline: string | undefined,
  { all = false, prove = false, ...overrides }: CoverageOptions,
): Promise<Report> {
  const { directory, clock } = context
  if (pipeline === undefined && overrides.organizations !== undefined) {
    throw new ConfigError('a list alone does not say how far back it should be covered', {
      hint: 'Name the pipeline as well: jobtide coverage nightly --organizations FILE',
    })
  }
  const job = pipeline === undefined ? null : await readJob(pipeline, overrides, directory.root)
  tellSkipped(context.logger, job?.skipped ?? [])
  const journal = openJournal(directory.journal, clock)
  // For a named pipeline there is a result before the first run: all of it is unread.
  if (job === null) await refuseEmpty(journal, directory)
  else await refuseLostJournal(journal, directory)
  const history = readHistory(journal)
  const now = serviceTime(history, clock.now())
  // A fixed window is requested again each time.
  const wanted = job && wantedOf(job.question)
  const { value, why } = await readWarehouse(directory.warehouse, (warehouse) =>
    queryReport<KnownOrganization>(warehouse, 'coverage_organizations'),
  )
  const known = new Map(value?.map((row) => [row.organization_id, row]))
  // Without a pipeline, each question that was asked: one never covers another.
  const { organizations, ...coverage } =
    job === null ? coverageOfAll(history, now) : coverageReport(wanted, history, now)
  const found: Found = {
    pipeline: job?.pipeline ?? null,
    question: filtersText(wanted?.filters),
    coverage,
    rows: organizations.map((one) => ({ ...one, known: known.get(one.organizationId) })),
    now,
    shown: all ? Number.POSITIVE_INFINITY : ROWS_SHOWN,
  }
  return {
    ...(prove ? proof(found) : summary(found, why)),
    values: {
      dataDir: directory.root,
      pipeline: found.pipeline,
      filters: found.question || null,
      at: new Date(now),
      organizations: countOf(found),
      ...coverage,
      oldestWatermark: dateOrNull(coverage.oldestWatermark),
      newestWatermark: dateOrNull(coverage.newestWatermark),
      withoutEvents: found.rows.filter(isWithoutEvents).length,
      rows: found.rows.map(rowValues),
      warehouse: why === null ? null : { unavailable: why },
    },
  }
}

interface KnownOrganization {
  readonly organization_id: string
  readonly name: string | null
  readonly events: number
}

interface Row extends OrganizationCoverage {
  readonly known: KnownOrganization | undefined
}

interface Found {
  readonly pipeline: string | null
  /** The filters of the pipeline, in a line; empty for none. */
  readonly question: string
  readonly coverage: Omit<CoverageReport, 'organizations'>
  readonly rows: readonly Row[]
  /** Milliseconds since 1970 UTC, by the service's clock. */
  readonly now: number
  readonly shown: number
}

// An empty answer to a filtered question says nothing about the organisation.
function isWithoutEvents(row: Row): boolean {
  return row.question === '' && isSilent(row) && (row.known?.events ?? 0) === 0
}

// The warehouse holds the answers to all questions.
function eventsOf({ question, known, events }: Row): number {
  return question === '' ? (known?.events ?? events) : events
}

/** Counts each organisation once, however many questions included it. */
function countOf({ rows }: Pick<Found, 'rows'>): number {
  return new Set(rows.map((row) => row.organizationId)).size
}

function rowValues(row: Row) {
  const { organizationId, askedAs, from, watermark, confirmedTo } = row
  const { lastEventAt, quarantined, known, question } = row
  return {
    organizationId,
    askedAs,
    filters: question || null,
    name: known?.name ?? null,
    coveredFrom: dateOrNull(watermark === null ? null : from),
    coveredTo: dateOrNull(watermark),
    confirmedTo: dateOrNull(confirmedTo),
    gaps: gapsOf(row).map(stretchValues),
    events: eventsOf(row),
    lastEventReceivedAt: dateOrNull(lastEventAt),
    quarantined: quarantined && { ...quarantined, at: new Date(quarantined.at) },
  }
}

function stretchValues({ eventTypes, from, to }: UnreadStretch) {
  return { eventTypes, from: dateOrNull(from), to: new Date(to) }
}

function summary(
  { pipeline, question, coverage, rows, now, shown }: Found,
  why: string | null,
): Report {
  const { read, neverRead, quarantined, withGaps, oldestWatermark, newestWatermark } = coverage
  const ageOf = (at: number) => (now - at < MINUTE ? 'now' : durationText(now - at))
  const watermarkText = (at: number) => `${minuteText(at)} UTC (${agoText(now - at)})`
  const questions = new Set(rows.map((row) => row.question)).size
  const noGaps = neverRead === 0 ? 'none' : 'none in what was read'
  const silent = rows.filter(isWithoutEvents).length
  const again = rows.filter((row) => row.watermark !== row.confirmedTo).length
  return {
    title: `${pipeline === null ? '' : `${pipeline}: `}${countText(countOf({ rows }), 'organisation')}, ${questions > 1 ? `${questions} questions: ` : ''}${numberText(read)} read, ${numberText(neverRead)} not read to the end, ${numberText(quarantined)} quarantined`,
    sections: [
      [
        question !== '' && ['asked for', question],
        oldestWatermark !== null && ['oldest watermark', watermarkText(oldestWatermark)],
        newestWatermark !== null && ['newest watermark', watermarkText(newestWatermark)],
        ['gaps', withGaps === 0 ? noGaps : `in ${countText(withGaps, 'organisation')}`],
        countFact('no events', silent, 'organisation', 'read that never sent one'),
        countFact('asked again', again, 'organisation', EMPTY_LATELY),
      ],
      table(
        null,
        rows,
        [
          ['organisation', ({ askedAs }) => companyText(askedAs), 'id'],
          ['up to (UTC)', 'watermark', 'instant'],
          ['age', ({ watermark }) => watermark && ageOf(watermark), 'count'],
          ['gaps', (row) => gapsOf(row).length, 'number'],
          ['events', eventsOf, 'number'],
          ...(questions > 1 ? [FILTERS] : []),
          ['note', noteOf],
        ],
        { shown },
      ),
    ],
    notes: why === null ? [] : [`without names and counts: ${why}`],
  }
}

const EMPTY_LATELY = 'whose last answer was empty; free while that lasts'
const FILTERS = ['filters', ({ question }: Row) => question] as const

function noteOf(row: Row): string {
  if (row.quarantined !== null) return `quarantined: ${row.quarantined.reason}`
  if (isNeverRead(row)) return 'not to the end'
  if (isWithoutEvents(row)) return 'no event yet'
  return row.askedAs === row.organizationId ? (row.known?.name ?? '') : row.organizationId
}

const OF = ['filters', ({ filters }: { readonly filters: string | null }) => filters ?? ''] as const

const PLACES: Readonly<Record<UnreadStretch['place'], string>> = {
  never: 'not to the end',
  before: 'before first read',
  between: 'between reads',
  since: 'since last read',
}

function proof({ pipeline, rows, now, shown }: Found): Report {
  const unread = rows.flatMap(({ organizationId, askedAs, question: of, unread: stretches }) =>
    stretches.map((one) => ({
      organizationId,
      askedAs,
      filters: of || null,
      ...stretchValues(one),
      place: one.place,
    })),
  )
  const organizations = countText(countOf({ rows }), 'organisation')
  const unreadOrganizations = new Set(unread.map((row) => row.organizationId)).size
  const until = `${minuteText(now)} UTC`
  const since = pipeline === null ? 'since it was first read' : `in the window of ${pipeline}`
  const title =
    unread.length === 0
      ? `nothing was left out: ${organizations}, each read without a gap ${since}, up to ${until}`
      : `not read: ${countText(unread.length, 'stretch', 'stretches')} of ${numberText(unreadOrganizations)} of ${organizations}, by ${until}`
  const onlySince = unread.length > 0 && unread.every(({ place }) => place === 'since')
  return {
    title: onlySince
      ? [title, 'no gaps: each was read without a break up to the start of its row']
      : title,
    sections: [
      table(
        'not_looked_at',
        Object.keys(PLACES).flatMap((place) => unread.filter((row) => row.place === place)),
        [
          ['organisation', (row) => companyText(row.askedAs), 'id'],
          ...(pipeline === null && unread.some(({ filters }) => filters !== null) ? [OF] : []),
          [
            'event types',
            (row) => (row.eventTypes.length === EVENT_TYPES.length ? 'all' : row.eventTypes.join()),
          ],
          ['from (UTC)', ({ from }) => (from === null ? 'the beginning' : minuteText(+from))],
          ['to (UTC)', ({ to }) => (+to === now ? 'now' : minuteText(+to))],
          ['where', ({ place }) => PLACES[place]],
        ],
        { shown },
      ),
    ],
  }
}

function dateOrNull(at: number | null): Date | null {
  return at === null ? null : new Date(at)
}
