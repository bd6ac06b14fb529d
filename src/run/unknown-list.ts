/**
 * Finds out whether the service knows no organisation of a list: it tracks none of them, or all were read and none ever sent an
 * event. An id that the service does not know has no events, as a company where nothing happens. Pure.
 */

import { UnavailableError } from '../api/errors.ts'
import type { History } from '../journal/history.ts'
import {
  coverageReport,
  isSilent,
  wantedOf,
  type OrganizationCoverage,
} from '../plan/coverage-report.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { ConfigError, EXIT, JobtideError } from '../support/errors.ts'
import { DAY } from '../support/units.ts'
import type { Job } from './job.ts'

/** The problem of a list, and whether it is certain enough to end a run with exit 2. */
export interface UnknownList {
  readonly problem: ConfigError
  /** False where the organisations may simply be quiet: they were not looked at for long. */
  readonly isSure: boolean
}

// Three months of one organisation, or three days of thirty: at one event in a month, silence for so long is one in twenty.
const SURE_DAYS = 90
// Everything there is: as long as the longest window in days.
const ALL_DAYS = 365
const SHOWN = 3

/**
 * Judges the list of a job by all that was ever read.
 * @param nowMs milliseconds since 1970 UTC, by the service's clock
 * @returns null where at least one organisation sent an event, or was not looked at yet
 */
export function unknownList(
  { question, organizationsFile }: Pick<Job, 'question' | 'organizationsFile'>,
  history: History,
  nowMs: number,
): UnknownList | null {
  const wanted = { ...wantedOf(question), window: question.initialWindow }
  const report = coverageReport(wanted, history, nowMs)
  const refused = report.organizations.filter((one) => one.quarantined !== null && one.events === 0)
  const silent = report.organizations.filter((one) => one.quarantined === null && isSilent(one))
  if (refused.length + silent.length < report.organizations.length) return null
  if (silent.length === 0) {
    const refusals = refused.map((one) => ({
      name: one.askedAs,
      reason: one.quarantined?.reason ?? '',
    }))
    return { problem: noneTracked(organizationsFile, refusals), isSure: true }
  }
  // An empty answer to a filtered question says nothing about the list.
  if (question.filters !== undefined) return null
  const days = silent.reduce((sum, one) => sum + daysRead(one), 0)
  const problem = noneSentEvents(organizationsFile, refused.length, silent.length)
  return { problem, isSure: days >= SURE_DAYS }
}

/**
 * Why a run of `kind: collect` found nothing of what it asked for; null where it, or one before, found something, or had
 * nothing to ask. Earlier results may be gone by now: then the list is right.
 */
export function nothingFound(
  {
    pipeline,
    organizationsFile,
    collection,
  }: Pick<Job, 'pipeline' | 'organizationsFile' | 'collection'>,
  { runs }: Pick<History, 'runs'>,
  { lookups, events }: RunHistory,
): JobtideError | null {
  if (lookups.size === 0 || events > 0) return null
  const answered = [...lookups.values()].filter(({ isDone }) => isDone)
  if (answered.length === 0)
    return new UnavailableError('the service could not answer any of the requests', null)
  const found = [...runs.values()].some(
    ({ started, events: items }) => started.pipeline === pipeline && items > 0,
  )
  if (collection?.declared.mayBeEmpty === true || found || answered.length < lookups.size)
    return null
  return new ConfigError(`the service has no data for the entries of ${organizationsFile}`, {
    hint: 'Correct the list; billed entries are not requested again before refresh_days.',
  })
}

/**
 * Why a search by hand was not answered to its end; null where it was, or was not asked. One that the service refuses is another
 * thing than one that finds nothing. The journal tells, so that a run that was killed meanwhile says the same when it goes on.
 */
export function searchRefused({ lookups }: Pick<RunHistory, 'lookups'>): JobtideError | null {
  const [search] = lookups.values()
  if (search?.isDone === false) return new UnavailableError('the service has no answer yet', null)
  if (search?.refusal === undefined) return null
  const message = `the service refused the search: ${search.refusal}`
  const hint = 'Correct the filters that the service names; earlier results stay unchanged.'
  return new JobtideError(EXIT.usage, message, { hint })
}

/** Why a run that read what it could has covered nothing; null where it covered something, or had nothing to ask. */
export function nothingCovered(
  { organizationsFile }: Pick<Job, 'organizationsFile'>,
  { quarantined }: Pick<History, 'quarantined'>,
  { batches, batchesDone, events }: RunHistory,
): JobtideError | null {
  if (batches.size === 0 || batchesDone > 0) return null
  const asked = [...batches.values()].flatMap(({ batch }) => batch.organizations)
  const refused = [...new Set(asked.map(({ value }) => value))].flatMap((name) => {
    const reason = quarantined.get(name)?.reason
    return reason === undefined ? [] : { name, reason }
  })
  if (events === 0) return noneTracked(organizationsFile, refused)
  const [first] = refused
  const why = first === undefined ? '' : `: ${first.name}: ${first.reason}`
  return new UnavailableError(`no organisation could be read to its end${why}`, null, {
    hint: 'Nothing is covered, and bought pages are kept. Report it to the provider.',
  })
}

const DOMAIN = /^(?:https?:\/\/)?[a-z\d-]+(?:\.[a-z\d-]+)+\/?$/i
const DOMAINS =
  'A domain such as acme.com names no organisation: give its organization_id, or the address of its page on the network. '

/** The error for a list whose every organisation the service refused. */
export function noneTracked(
  organizationsFile: string,
  refused: readonly { readonly name: string; readonly reason: string }[],
): ConfigError {
  const shown = refused.slice(0, SHOWN).map(({ name, reason }) => `${name} (${reason})`)
  const more = refused.length - shown.length
  return new ConfigError(
    `none of ${listText(refused.length, organizationsFile)} is tracked by the service: ${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`,
    {
      hint: `${refused.some(({ name }) => DOMAIN.test(name)) ? DOMAINS : ''}Correct the list, or name another with --organizations FILE; what was refused is tried again after 7 days.`,
      context: { refused: refused.length, silent: 0 },
    },
  )
}

function noneSentEvents(organizationsFile: string, refused: number, silent: number): ConfigError {
  const refusals = refused === 0 ? '' : `, ${refused} of them refused by the service`
  return new ConfigError(
    `none of ${listText(refused + silent, organizationsFile)} ever sent an event${refusals}`,
    {
      hint: 'Check the ids: the service answers an unknown id with an empty page. Correct the list, or name another with --organizations FILE.',
      context: { refused, silent },
    },
  )
}

function listText(organizations: number, file: string): string {
  return `${organizations} organisation${organizations === 1 ? '' : 's'} in ${file}`
}

function daysRead({ from, watermark }: OrganizationCoverage): number {
  if (watermark === null) return 0
  return from === null ? ALL_DAYS : Math.round((watermark - from) / DAY)
}
