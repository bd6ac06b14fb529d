/**
 * Sightings: how the service notices a change and what it writes about it. A change is seen once, days to months after
 * it happened; a few are announced before it, and a few are seen again later with something corrected, under the same
 * natural key.
 */

import { isoInstant } from '../support/clock.ts'
import { DAY, SECOND } from '../support/units.ts'
import type { JobChangeEvent } from './events.ts'
import type { Change } from './history.ts'
import { pickAddition, pickWord, type MadeUpOrganization, type MadeUpPerson } from './made-up.ts'
import { logNormal, pickWeighted, type Random } from './random.ts'

export interface Sighting {
  readonly event: JobChangeEvent
  /** Whether this is a later sighting of a change seen before, with something corrected. */
  readonly isCorrection: boolean
}

const CORRECTED = 0.02
const FOUND_VERY_LATE = 0.015
const ANNOUNCED = 0.02
const LONGEST_NOTICE_DAYS = 120
// Chosen: half of the changes are seen within 12 days, one in nine on the same day, one in twenty after four months.
const MEDIAN_LAG_DAYS = 12
const LAG_SIGMA = 1.5
const SOONEST_DAYS = 1
const LONGEST_LAG_DAYS = 720

/** The sightings of one change, first one first. */
export function* sightingsOf(
  random: Random,
  person: MadeUpPerson,
  change: Change,
  organization: MadeUpOrganization['tracked'],
): Generator<Sighting> {
  const changedAt = toldDate(change.at, person.givesDays)
  const detectedAt = changedAt + lagDays(random) * DAY + secondsOfDay(random)
  const event: JobChangeEvent = {
    event_type: change.type,
    ...dates(changedAt, detectedAt),
    title: { current: change.title, previous: change.previousTitle },
    person: personAs(random, person, change.title, organization.name),
    organization,
  }
  if (random() >= CORRECTED) {
    yield { event, isCorrection: false }
    return
  }
  const seenAgainAt = detectedAt + Math.ceil(5 + random() * 115) * DAY
  const { before, after } = correction(random, event, person)
  yield { event: before, isCorrection: false }
  yield { event: { ...after, ...dates(changedAt, seenAgainAt) }, isCorrection: true }
}

/** The first of the month for most people, the day itself for those who give days. */
export function toldDate(at: number, givesDays: boolean): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), givesDays ? date.getUTCDate() : 1)
}

// Negative for what is announced.
function lagDays(random: Random): number {
  if (random() < ANNOUNCED) return -Math.ceil(random() * LONGEST_NOTICE_DAYS)
  if (random() < FOUND_VERY_LATE) return 180 + Math.floor(random() * (LONGEST_LAG_DAYS - 180))
  const days = logNormal(random, MEDIAN_LAG_DAYS, LAG_SIGMA) - SOONEST_DAYS
  return Math.min(LONGEST_LAG_DAYS, Math.max(0, Math.floor(days)))
}

function secondsOfDay(random: Random): number {
  return Math.floor(random() * (DAY / SECOND)) * SECOND
}

function dates(changedAt: number, detectedAt: number) {
  return {
    detected_at: isoInstant(detectedAt),
    changed_at: isoInstant(changedAt),
    detection_lag_days: Math.max(0, Math.floor((detectedAt - changedAt) / DAY)),
  }
}

function personAs(
  random: Random,
  person: MadeUpPerson,
  title: string,
  organizationName: string,
): JobChangeEvent['person'] {
  const { profileId, handle, firstName, lastName, words } = person
  const isHandleKnown = random() >= 0.02
  const headlines = {
    full: `${title} ${words.at} ${organizationName}`,
    bar: `${title} | ${organizationName}`,
    bare: title,
    none: null,
  }
  return {
    profile_id: profileId,
    handle: isHandleKnown ? handle : null,
    full_name: `${firstName} ${lastName}`,
    first_name: firstName,
    last_name: lastName,
    headline: headlines[pickWeighted(random, { full: 0.6, bar: 0.2, bare: 0.15, none: 0.05 })],
    network_url: isHandleKnown ? `https://network.example/in/${handle}` : null,
  }
}

/** The event as it was first, and with one thing put right. Nothing that belongs to the natural key changes. */
function correction(
  random: Random,
  event: JobChangeEvent,
  person: MadeUpPerson,
): Record<'before' | 'after', JobChangeEvent> {
  const what = pickWeighted(random, { headline: 0.4, name: 0.3, title: 0.3 })
  if (what === 'headline') {
    const headline = `${event.title.current} · ${event.organization.name}`
    return { before: event, after: { ...event, person: { ...event.person, headline } } }
  }
  if (what === 'name') {
    const added = pickWord(random, person.words.family)
    const last_name = `${person.lastName}-${added}`
    const full_name = `${person.firstName} ${last_name}`
    return { before: event, after: { ...event, person: { ...event.person, last_name, full_name } } }
  }
  const added = pickAddition(random)
  const wrong = (text: string | null) => (text === null ? null : `${text} (${added})`)
  const title =
    event.event_type === 'title_change'
      ? { ...event.title, previous: wrong(event.title.previous) }
      : { ...event.title, current: wrong(event.title.current) }
  return { before: { ...event, title }, after: event }
}
