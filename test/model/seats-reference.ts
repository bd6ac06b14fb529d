/**
 * A second implementation without SQL of who held which seat at the top and who followed whom, from rows of joiners,
 * leavers and title_changes: first the changes of each person in order, then those of each seat, with a stack of
 * holders without a successor.
 */

import { DAY } from '../../src/support/units.ts'
import { understandTitle } from '../../src/titles/understand.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { groupBy } from './careers-reference.ts'
import { daysBetween, firstDay, lastDay } from './days.ts'

type Rows = Map<string, Record<string, unknown>>

interface Given {
  readonly event_key: string
  readonly kind: 'joined' | 'left' | 'changed'
  readonly profile_id: string
  readonly organization_id: string
  readonly stint_number: number
  readonly at: Date
  readonly title: string | null
  readonly previous_title: string | null
  readonly label: string | null
  /** Whether the person is certainly there on the day of the data. */
  readonly is_there: boolean
  readonly as_of: Date
}

interface Seat {
  readonly name: string
  readonly isInterim: boolean
  readonly level: number
}

interface Change extends Given {
  /** The change where no seat is kept: arrived, departed, promoted or moved. */
  readonly told: string
  readonly change: string
  readonly seat: Seat | null
  readonly previous: Seat | null
  /** The seat that is kept alongside another one, or that the person comes back to. */
  readonly kept: string | null
  /** The seat kept until now. */
  readonly released: string | null
}

/** One person's time in a seat. */
interface Time {
  readonly seat: Seat
  readonly began: Change | null
  readonly ended: Change | null
  /** Whether the person left the seat; null where no end was seen. */
  readonly isVacated: boolean | null
}

interface Succession {
  readonly gone: Time
  readonly next: Time
  readonly days: number
}

const LEVELS = ['director', 'vp', 'cxo']
const HANDOVER_DAYS = 31
const EXPIRES_AFTER_DAYS = 365
const CLUSTER_DAYS = 90

/** The rows of executive_changes and executive_seats, by their keys. @param observedUntil by organization_id */
export async function expectedSeats(
  warehouse: Warehouse,
  observedUntil: ReadonlyMap<string, string>,
): Promise<{ changes: Rows; seats: Rows }> {
  const seated = (await givenIn(warehouse)).map(changeOf).filter((one) => one !== null)
  const changes = [...groupBy(seated, stintOf).values()].flatMap(withKeptSeats)
  const organizations = [...groupBy(changes, (one) => one.organization_id)].map(([id, own]) =>
    seatsOfOrganization(own, Date.parse(observedUntil.get(id) ?? '')),
  )
  return {
    changes: new Map(organizations.flatMap((one) => one.changes)),
    seats: new Map(organizations.flatMap((one) => one.seats)),
  }
}

function seatsOfOrganization(changes: readonly Change[], until: number) {
  const stints = groupBy(changes, stintOf)
  const times = [...stints.values()].flatMap(timesOf)
  const successions = [...groupBy(times, ({ seat }) => seat.name).values()].flatMap(successionsOf)
  const departures = changes.filter(({ change }) => change === 'departed')
  const rows = changes.map((one): [string, Record<string, unknown>] => {
    const recent = departures.filter((other) => {
      const days = daysBetween(firstDay(other.at), firstDay(one.at))
      return days >= 0 && days <= CLUSTER_DAYS
    })
    const people = new Set(recent.map((other) => other.profile_id)).size
    const isDeparture = one.change === 'departed'
    return [
      one.event_key,
      {
        change: one.change,
        seat: one.seat?.name ?? null,
        is_interim: one.seat?.isInterim ?? null,
        previous_seat: one.previous?.name ?? null,
        ...predecessorOf(one, successions),
        ...vacancyOf(one, successions, until),
        departures_in_90_days: isDeparture ? people : null,
        is_cluster: isDeparture ? people >= 2 : null,
      },
    ]
  })
  return { changes: rows, seats: times.map((time) => seatRow(time, changes)) }
}

function seatRow(time: Time, changes: readonly Change[]): [string, Record<string, unknown>] {
  const { seat, began, ended } = time
  const ofStint = inOrder(changes.filter((one) => stintOf(one) === stintOf(of(time))))
  const hasHappened = ({ at, as_of: asOf }: Change) => firstDay(at) <= firstDay(asOf)
  const later = ofStint.slice(ofStint.indexOf(of(time)) + 1).filter(hasHappened)
  const isOver = ended === null ? later.some(({ kept }) => kept === null) : hasHappened(ended)
  return [
    [of(time).event_key, seat.name, seat.isInterim].join('|'),
    {
      began_event_key: began?.event_key ?? null,
      ended_event_key: ended?.event_key ?? null,
      held_from_at: began?.at ?? null,
      held_until_at: ended?.at ?? null,
      began_by: began?.change ?? null,
      // Who arrives in another seat has moved out of the one that they had kept.
      ended_by: ended?.change === 'arrived' ? 'moved' : (ended?.change ?? null),
      is_vacated: time.isVacated,
      is_current: (began === null || hasHappened(began)) && !isOver && of(time).is_there,
    },
  ]
}

function stintOf(one: Given): string {
  return JSON.stringify([one.organization_id, one.profile_id, one.stint_number])
}

function inOrder(changes: readonly Change[]): Change[] {
  return changes.toSorted(
    (a, b) =>
      a.at.getTime() - b.at.getTime() ||
      Number(b.told === 'arrived') - Number(a.told === 'arrived') ||
      (a.event_key < b.event_key ? -1 : 1),
  )
}

/** Within a stint: a person who takes a second office, or one for the time being, keeps their own. */
function withKeptSeats(changes: readonly Change[]): Change[] {
  const ordered = inOrder(changes)
  const kept = ordered.map((one, at) => {
    const { seat, previous, told } = one
    if (seat === null || previous === null || seat.name === previous.name) return null
    if (told !== 'promoted' && told !== 'moved') return null
    const next = ordered[at + 1]
    const comesBack =
      seat.isInterim && next?.previous?.name === seat.name && next.seat?.name === previous.name
    return comesBack || isBeside(one.title ?? '', one.previous_title ?? '') ? previous.name : null
  })
  return ordered.map((one, at) => {
    const [keeps = null, kept0 = null] = [kept[at], kept[at - 1]]
    const isBack =
      kept0 !== null &&
      one.seat?.name === kept0 &&
      one.previous !== null &&
      ordered[at - 1]?.seat?.name === one.previous.name
    return {
      ...one,
      change: keeps !== null || isBack ? one.told : one.change,
      seat: isBack ? null : one.seat,
      previous: keeps === null ? one.previous : null,
      kept: isBack ? kept0 : keeps,
      released:
        isBack || [keeps, one.seat?.name, one.previous?.name].includes(kept0 ?? '') ? null : kept0,
    }
  })
}

/** Whether a title names the one before among others: "Interim CEO & CFO". */
function isBeside(title: string, before: string): boolean {
  const [all, one] = [` ${title.toLowerCase()}`, before.toLowerCase()]
  return (
    ['& ', ' and ', ', ', '/ '].some((sign) => all.endsWith(`${sign}${one}`)) ||
    [' &', ' and ', ', ', ' /'].some((sign) => all.startsWith(` ${one}${sign}`))
  )
}

function of(time: Pick<Time, 'began' | 'ended'>): Change {
  const change = time.began ?? time.ended
  if (change === null) throw new Error('a time in a seat has a beginning or an end')
  return change
}

function seatOf(title: string | null): Seat | null {
  if (title === null) return null
  const understood = understandTitle(title)
  const level = LEVELS.indexOf(understood.level)
  if (level < 0 || understood.isSideRole) return null
  const { office, function: field, isInterim } = understood
  return { name: office ?? `${understood.level} ${field}`, isInterim, level }
}

/** The kind of a change at the top; null if it is not one. */
function changeOf(given: Given): Change | null {
  const seat = seatOf(given.title)
  const previous = given.kind === 'changed' ? seatOf(given.previous_title) : null
  if (seat === null && previous === null) return null
  const upOrOver = given.label === 'promotion' ? 'promoted' : 'moved'
  const told = { joined: 'arrived', left: 'departed', changed: upOrOver }[given.kind]
  const own = { ...given, told, change: told, seat, previous, kept: null, released: null }
  if (given.kind !== 'changed') return own
  if (seat?.name === previous?.name && seat?.isInterim === previous?.isInterim) return null
  if (seat === null) {
    const now = understandTitle(given.title ?? '')
    const isUnderstood = now.level !== 'unknown' || now.isSideRole
    return isUnderstood ? { ...own, change: 'stepped_down' } : null
  }
  const toTheChair = isChair(seat) && previous !== null && !isChair(previous)
  const isLower = previous !== null && seat.level < previous.level
  return { ...own, change: toTheChair || isLower ? 'stepped_down' : upOrOver }
}

function isChair({ name }: Seat): boolean {
  return name.endsWith('chairperson')
}

function isVacating(one: Change): boolean {
  return (
    one.change === 'departed' || (one.previous !== null && one.previous.name !== one.seat?.name)
  )
}

/** Within a stint: each beginning with the end after it. */
function timesOf(changes: readonly Change[]): Time[] {
  const sides = changes.flatMap((change) => {
    const isDeparture = change.change === 'departed'
    const begins = isDeparture ? null : change.seat
    const ends = isDeparture ? change.seat : change.previous
    const { released } = change
    const letGo = released === null ? null : { name: released, isInterim: false, level: 0 }
    return [
      ...(begins === null ? [] : [{ change, seat: begins, isEnd: false, isVacated: false }]),
      ...(ends === null
        ? []
        : [{ change, seat: ends, isEnd: true, isVacated: isVacating(change) }]),
      ...(letGo === null ? [] : [{ change, seat: letGo, isEnd: true, isVacated: true }]),
    ]
  })
  const bySeat = groupBy(sides, ({ seat }) => `${seat.name}|${seat.isInterim}`)
  return [...bySeat.values()].flatMap((ofSeat) => {
    const times: Time[] = []
    for (const { change, seat, isEnd, isVacated } of ofSeat.toSorted(
      (a, b) =>
        a.change.at.getTime() - b.change.at.getTime() ||
        Number(a.isEnd) - Number(b.isEnd) ||
        (a.change.event_key < b.change.event_key ? -1 : 1),
    )) {
      const open = times.at(-1)
      if (!isEnd) times.push({ seat, began: change, ended: null, isVacated: null })
      else if (open?.ended === null) times[times.length - 1] = { ...open, ended: change, isVacated }
      else times.push({ seat, began: null, ended: change, isVacated })
    }
    return times
  })
}

/** Within a seat: who followed whom, permanent and interim holders separately. */
function successionsOf(times: readonly Time[]): Succession[] {
  return [true, false].flatMap((was) =>
    [true, false].flatMap((next) =>
      follow(
        times.filter(({ seat, isVacated }) => seat.isInterim === was && isVacated === true),
        times.filter(({ seat, began }) => seat.isInterim === next && began),
      ),
    ),
  )
}

function follow(goings: readonly Time[], comings: readonly Time[]): Succession[] {
  const dayOf = (change: Change | null) => firstDay(change?.at ?? new Date(Number.NaN)) / DAY
  const goingDays = goings.map(({ ended }) => dayOf(ended))
  const placeOf = (coming: Time) => {
    const day = dayOf(coming.began)
    const before = Math.max(...goingDays.filter((one) => one <= day))
    const after = Math.min(...goingDays.filter((one) => one > day))
    const isOwn = goings.includes(coming) && dayOf(coming.ended) === after
    const takesOver = after - day <= HANDOVER_DAYS && !isOwn && after - day < day - before
    return takesOver ? after : day
  }
  const steps = [
    ...goings.map((time) => ({
      time,
      day: dayOf(time.ended),
      place: dayOf(time.ended),
      goes: true,
    })),
    ...comings.map((time) => ({ time, day: dayOf(time.began), place: placeOf(time), goes: false })),
  ].toSorted(
    (a, b) =>
      a.place - b.place ||
      Number(b.goes) - Number(a.goes) ||
      (a.goes ? 1 : -1) * (a.day - b.day) ||
      (keyOf(a) < keyOf(b) ? -1 : 1),
  )
  const waiting: { time: Time; day: number }[] = []
  const successions: Succession[] = []
  for (const { time, day, goes } of steps) {
    if (goes) {
      waiting.push({ time, day })
      continue
    }
    const last = waiting.pop()
    if (last === undefined || day - last.day > EXPIRES_AFTER_DAYS) continue
    successions.push({ gone: last.time, next: time, days: day - last.day })
  }
  return successions
}

function keyOf({ time, goes }: { time: Time; goes: boolean }): string {
  return (goes ? time.ended : time.began)?.event_key ?? ''
}

/** The person, unless it is the same one: no one succeeds themselves. */
function otherThan(one: Change, other: Change | null | undefined): string | null {
  return other === null || other === undefined || other.profile_id === one.profile_id
    ? null
    : other.profile_id
}

/** A permanent holder takes precedence over an interim one. */
function predecessorOf(one: Change, successions: readonly Succession[]) {
  const before = successions.filter(({ next }) => next.began === one)
  const { gone } = before.find((each) => !each.gone.seat.isInterim) ?? before[0] ?? {}
  return {
    predecessor_event_key: gone?.ended?.event_key ?? null,
    predecessor_profile_id: otherThan(one, gone?.ended),
  }
}

function vacancyOf(one: Change, successions: readonly Succession[], until: number) {
  const left = one.change === 'departed' ? one.seat : one.previous
  const after = successions.filter(
    ({ gone }) => gone.ended === one && gone.seat.name === left?.name,
  )
  const permanent = after.find(({ next }) => !next.seat.isInterim)
  const interim = after.find(({ next }) => next.seat.isInterim)
  const first =
    interim !== undefined && (permanent === undefined || interim.days < permanent.days)
      ? interim
      : permanent
  const came = first?.next.began ?? null
  const isGoing = isVacating(one)
  const daysTo = (from: number, to: number) => Math.max(0, daysBetween(from, to))
  const observed = daysTo(firstDay(one.at), until)
  const atMost = (days: number) => Math.min(days, EXPIRES_AFTER_DAYS)
  const end = came === null ? until : firstDay(came.at)
  return {
    successor_event_key: came?.event_key ?? null,
    successor_profile_id: otherThan(one, came),
    successor_is_interim: first?.next.seat.isInterim ?? null,
    successor_is_internal: came === null ? null : came.change !== 'arrived',
    permanent_successor_event_key: permanent?.next.began?.event_key ?? null,
    permanent_vacancy_days: permanent === undefined ? null : Math.max(0, permanent.days),
    vacancy_days: isGoing ? atMost(daysTo(firstDay(one.at), end)) : null,
    vacancy_days_min: isGoing ? atMost(daysTo(lastDay(one.at), end)) : null,
    vacancy_days_max: came === null ? null : daysTo(firstDay(one.at), lastDay(came.at)),
    is_vacant: isGoing ? came === null && observed <= EXPIRES_AFTER_DAYS : null,
    is_expired: isGoing ? came === null && observed > EXPIRES_AFTER_DAYS : null,
  }
}

async function givenIn(warehouse: Warehouse): Promise<Given[]> {
  return warehouse.all<Given>(
    `select given.*, as_of_on as as_of, coalesce(utc_date(joined_at) <= as_of_on, true)
       and (is_open or coalesce(utc_date(left_at) > as_of_on, false))
       and coalesce(utc_date(uncertain_from_at) > as_of_on, true) as is_there
     from (
       select event_key, 'joined' as kind, profile_id, organization_id, stint_number, joined_at as at,
         title, null as previous_title, null as label
       from joiners
       union all
       select event_key, 'left', profile_id, organization_id, stint_number, left_at, title, null, null
       from leavers
       where not is_stepping_aside
       union all
       select event_key, 'changed', profile_id, organization_id, stint_number, left_at, next_title, title, 'lateral'
       from leavers
       where is_stepping_aside
       union all
       select event_key, 'changed', profile_id, organization_id, stint_number, changed_at, title,
         previous_title, label
       from title_changes
       where not is_flip
     ) as given
     join stints using (profile_id, organization_id, stint_number)
     left join core.uncertain_stints using (profile_id, organization_id, stint_number)
     cross join core.as_of`,
  )
}
