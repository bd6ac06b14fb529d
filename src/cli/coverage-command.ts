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
  wantedOf,
  type OrganizationCoverage,
  type UnreadStretch,
} from '../plan/coverage-report.ts'
import { tellSkipped } from '../plan/skipped-lines.ts'
import { refuseLostJournal } from '../run/lost-journal.ts'
import { readJob } from '../run/job.ts'
import { minuteText } from '../support/clock.ts'
import { ConfigError } from '../support/errors.ts'
import { agoText, countText, counted, durationText, numberText } from '../support/numbers.ts'
import { companyText } from '../support/text.ts'
import { MINUTE } from '../support/units.ts'
import { queryReport } from '../warehouse/query-report.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { readWarehouse, refuseEmpty } from './reading.ts'
import { facts, table, type Report } from './report.ts'

const ROWS_SHOWN = 20

/** Shows coverage of a pipeline's organisations, or of all that were ever asked for. */
export async function coverageCommand(
  context: Context,
  pipeline: string | undefined,
  { all = false, prove = false, ...overrides }: OptionsOf<'coverage'>,
): Promise<Report> {
  if (pipeline === undefined && overrides.organizations !== undefined) {
    throw new ConfigError('a list alone does not say how far back it should be covered', {
      hint: 'Name the pipeline as well: jobtide coverage nightly --organizations FILE',
    })
  }
  const { values, organizations } = await readCoverage(context, pipeline, overrides)
  const shown = all ? Number.POSITIVE_INFINITY : ROWS_SHOWN
  const report = prove ? proof(values, organizations, shown) : summary(values, shown)
  return { ...report, values }
}

async function readCoverage(
  context: Context,
  pipeline: string | undefined,
  overrides: { readonly organizations?: string },
) {
  const { directory, clock } = context
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
  const rows = organizations.map((one) => rowOf(one, known.get(one.organizationId)))
  const values = {
    dataDir: directory.root,
    pipeline: job?.pipeline ?? null,
    filters: filtersText(wanted?.filters) || null,
    at: new Date(now),
    // Each counted once, however many questions included it.
    organizations: countOf(rows),
    ...coverage,
    oldestWatermark: dateOrNull(coverage.oldestWatermark),
    newestWatermark: dateOrNull(coverage.newestWatermark),
    withoutEvents: rows.filter(isWithoutEvents).length,
    rows,
    warehouse: why === null ? null : { unavailable: why },
  }
  return { values, organizations }
}

interface KnownOrganization {
  readonly organization_id: string
  readonly name: string | null
  readonly events: number
}

type Found = Awaited<ReturnType<typeof readCoverage>>['values']
type Row = ReturnType<typeof rowOf>

function rowOf(one: OrganizationCoverage, known: KnownOrganization | undefined) {
  const { organizationId, askedAs, question, watermark, events, quarantined } = one
  return {
    organizationId,
    askedAs,
    filters: question || null,
    name: known?.name ?? null,
    coveredFrom: dateOrNull(watermark === null ? null : one.from),
    coveredTo: dateOrNull(watermark),
    confirmedTo: dateOrNull(one.confirmedTo),
    gaps: gapsOf(one).map(stretchValues),
    // The warehouse holds the answers to all questions.
    events: question === '' ? known?.events || events : events,
    lastEventReceivedAt: dateOrNull(one.lastEventAt),
    quarantined: quarantined && { ...quarantined, at: new Date(quarantined.at) },
  }
}

function stretchValues({ eventTypes, from, to }: UnreadStretch) {
  return { eventTypes, from: dateOrNull(from), to: new Date(to) }
}

function dateOrNull(at: number | null): Date | null {
  return at === null ? null : new Date(at)
}

// An empty answer to a filtered question says nothing about the organisation.
function isWithoutEvents({ filters, coveredTo, events }: Row): boolean {
  return filters === null && coveredTo !== null && events === 0
}

function countOf(rows: readonly { readonly organizationId: string }[]): number {
  return new Set(rows.map((row) => row.organizationId)).size
}

function summary(found: Found, shown: number): Report {
  const { pipeline, filters, rows, at: now, withoutEvents: silent, warehouse } = found
  const { read, neverRead, quarantined, withGaps, oldestWatermark, newestWatermark } = found
  const ageOf = (age: number) => (age < MINUTE ? 'now' : durationText(age))
  const watermarkText = (at: Date | null) =>
    at === null ? null : `${minuteText(+at)} UTC (${agoText(+now - +at)})`
  const questions = new Set(rows.map((row) => row.filters)).size
  const noGaps = neverRead === 0 ? 'none' : 'none in what was fetched'
  const again = rows.filter((row) => +(row.coveredTo ?? 0) !== +(row.confirmedTo ?? 0)).length
  return {
    title: `${pipeline === null ? '' : `${pipeline}: `}${countText(found.organizations, 'organisation')}, ${questions > 1 ? `${questions} questions: ` : ''}${numberText(read)} fetched, ${numberText(neverRead)} not fetched to the end, ${numberText(quarantined)} quarantined`,
    sections: [
      facts({
        'asked for': filters,
        'oldest watermark': watermarkText(oldestWatermark),
        'newest watermark': watermarkText(newestWatermark),
        gaps: withGaps === 0 ? noGaps : `in ${countText(withGaps, 'organisation')}`,
        'no events': counted(silent, 'organisation', 'fetched that never sent one'),
        'asked again': counted(again, 'organisation', EMPTY_LATELY),
      }),
      table(
        null,
        rows,
        [
          ['organisation', ({ askedAs }) => companyText(askedAs), 'id'],
          ['up to (UTC)', 'coveredTo', 'instant'],
          ['age', ({ coveredTo }) => coveredTo && ageOf(+now - +coveredTo), 'count'],
          ['gaps', ({ gaps }) => gaps.length, 'number'],
          ['events', 'events', 'number'],
          ...(questions > 1 ? [FILTERS] : []),
          ['note', noteOf],
        ],
        { shown },
      ),
    ],
    notes: warehouse === null ? [] : [`without names and counts: ${warehouse.unavailable}`],
  }
}

const EMPTY_LATELY = 'whose last answer was empty; free while that lasts'
const FILTERS = ['filters', ({ filters }: Pick<Row, 'filters'>) => filters ?? ''] as const

function noteOf(row: Row): string {
  if (row.quarantined !== null) return `quarantined: ${row.quarantined.reason}`
  if (row.coveredTo === null) return 'not to the end'
  if (isWithoutEvents(row)) return 'no event yet'
  return row.askedAs === row.organizationId ? (row.name ?? '') : row.organizationId
}

const PLACES: Readonly<Record<UnreadStretch['place'], string>> = {
  never: 'not to the end',
  before: 'before first fetch',
  between: 'between fetches',
  since: 'since last fetch',
}

function proof(
  { pipeline, organizations: count, at: now }: Found,
  all: readonly OrganizationCoverage[],
  shown: number,
): Report {
  const unread = all.flatMap(({ organizationId, askedAs, question, unread: stretches }) =>
    stretches.map((one) => ({
      organizationId,
      askedAs,
      filters: question || null,
      ...stretchValues(one),
      place: one.place,
    })),
  )
  const organizations = countText(count, 'organisation')
  const until = `${minuteText(+now)} UTC`
  const since = pipeline === null ? 'since it was first fetched' : `in the window of ${pipeline}`
  const title =
    unread.length === 0
      ? `nothing was left out: ${organizations}, each fetched without a gap ${since}, up to ${until}`
      : `not fetched: ${countText(unread.length, 'stretch', 'stretches')} of ${numberText(countOf(unread))} of ${organizations}, by ${until}`
  const onlySince = unread.length > 0 && unread.every(({ place }) => place === 'since')
  const noGaps = 'no gaps: each was fetched without a break up to the start of its row'
  return {
    title: onlySince ? [title, noGaps] : title,
    sections: [
      table(
        'not_looked_at',
        Object.keys(PLACES).flatMap((place) => unread.filter((row) => row.place === place)),
        [
          ['organisation', (row) => companyText(row.askedAs), 'id'],
          ...(pipeline === null && unread.some(({ filters }) => filters !== null) ? [FILTERS] : []),
          [
            'event types',
            (row) => (row.eventTypes.length === EVENT_TYPES.length ? 'all' : row.eventTypes.join()),
          ],
          ['from (UTC)', ({ from }) => (from === null ? 'the beginning' : minuteText(+from))],
          ['to (UTC)', ({ to }) => (+to === +now ? 'now' : minuteText(+to))],
          ['where', ({ place }) => PLACES[place]],
        ],
        { shown },
      ),
    ],
  }
}
