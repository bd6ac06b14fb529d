/**
 * Finds out whether the service knows no organisation of a list: it tracks none of them, or all were read and none ever
 * sent an event. An unknown id has no events, like a company where nothing happens. Pure.
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
import { countText, sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import type { Job } from './job.ts'

export type ListVerdict = ReturnType<typeof judgeList>

/**
 * Judges the list of a job by all that was ever read of it, after a run that nothing stopped.
 * @param nowMs milliseconds since 1970 UTC, by the service's clock
 */
export function judgeList(job: Job, history: History, run: RunHistory, nowMs: number) {
  const isFound = run.started.command === 'find'
  const isOfChanges = !isFound && job.collection === null
  const judge = isOfChanges ? nothingCovered : nothingFound
  return {
    /** The problem of a list without an organisation that the service knows; else null. */
    unknownList: isOfChanges && run.events === 0 ? unknownList(job, history, nowMs) : null,
    /** Why the run covered or found nothing; null if it did, or had nothing to ask for. */
    nothingCovered: isFound ? searchRefused(run) : judge(run, history, job),
  }
}

// Three months of one organisation, or three days of thirty: at one event in a month, silence for so long is one in twenty.
const SURE_DAYS = 90
// Everything there is: as long as the longest window in days.
const ALL_DAYS = 365
const SHOWN = 3

/** @returns null where at least one organisation sent an event, or was not looked at yet */
function unknownList({ question, organizationsFile }: Job, history: History, nowMs: number) {
  const wanted = { ...wantedOf(question), window: question.initialWindow }
  const { organizations } = coverageReport(wanted, history, nowMs)
  const refused = organizations.filter((one) => one.quarantined !== null && one.events === 0)
  const silent = organizations.filter((one) => one.quarantined === null && isSilent(one))
  if (refused.length + silent.length < organizations.length) return null
  if (silent.length === 0) {
    const refusals = refused.map(({ askedAs: name, quarantined }) => {
      return { name, reason: quarantined?.reason ?? '' }
    })
    return { problem: noneTracked(organizationsFile, refusals), isSure: true }
  }
  // An empty answer to a filtered question says nothing about the list.
  if (question.filters !== undefined) return null
  const refusals = refused.length === 0 ? '' : `, ${refused.length} of them refused by the service`
  const problem = new ConfigError(
    `none of ${listText(organizations.length, organizationsFile)} ever sent an event${refusals}`,
    {
      hint: `Check the ids: the service answers an unknown id with an empty page. ${CORRECT}.`,
      context: { refused: refused.length, silent: silent.length },
    },
  )
  return {
    problem,
    /** False where the organisations may simply be quiet: then the run does not end with exit 2. */
    isSure: sum(silent.map(daysRead)) >= SURE_DAYS,
  }
}

/**
 * Why a run of `kind: collect` found nothing of what it asked for; null where it, or one before, found something: earlier
 * results may be gone by now, and the list is right.
 */
function nothingFound(
  { lookups, events }: RunHistory,
  { runs }: History,
  { pipeline, organizationsFile, collection }: Job,
): JobtideError | null {
  if (lookups.size === 0 || events > 0) return null
  const answered = [...lookups.values()].filter(({ isDone }) => isDone)
  if (answered.length === 0) {
    return new UnavailableError('the service could not answer any of the requests', null)
  }
  const isRight =
    collection?.declared.mayBeEmpty === true ||
    answered.length < lookups.size ||
    [...runs.values()].some((one) => one.started.pipeline === pipeline && one.events > 0)
  if (isRight) return null
  return new ConfigError(`the service has no data for the entries of ${organizationsFile}`, {
    hint: 'Correct the list. Billed entries are not requested again before refresh_days.',
  })
}

/**
 * Why a search by hand was not answered to its end; null where it was, or was not asked. Read from the journal, so that
 * a killed run says the same when it continues.
 */
export function searchRefused({ lookups }: Pick<RunHistory, 'lookups'>): JobtideError | null {
  const [search] = lookups.values()
  if (search?.isDone === false) return new UnavailableError('the service has no answer yet', null)
  if (search?.refusal === undefined) return null
  const message = `the service refused the search: ${search.refusal}`
  const hint = 'Correct the filters that the service names. Earlier results stay unchanged.'
  return new JobtideError(EXIT.usage, message, { hint })
}

function nothingCovered(
  { batches, batchesDone, events }: RunHistory,
  { quarantined }: History,
  { organizationsFile }: Job,
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
  return new UnavailableError(`no organisation could be fetched to its end${why}`, null, {
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
  const more = refused.length > SHOWN ? ` and ${refused.length - SHOWN} more` : ''
  const domains = refused.some(({ name }) => DOMAIN.test(name)) ? DOMAINS : ''
  return new ConfigError(
    `none of ${listText(refused.length, organizationsFile)} is tracked by the service: ${shown.join(', ')}${more}`,
    {
      hint: `${domains}${CORRECT}. Those refused are tried again after 7 days.`,
      context: { refused: refused.length, silent: 0 },
    },
  )
}

const CORRECT = 'Correct the list, or name another with --organizations FILE'
const listText = (organizations: number, file: string) =>
  `${countText(organizations, 'organisation')} in ${file}`

function daysRead({ from, watermark }: OrganizationCoverage): number {
  if (watermark === null) return 0
  return from === null ? ALL_DAYS : Math.round((watermark - from) / DAY)
}
