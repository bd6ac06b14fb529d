/**
 * Orders the events of a person at an organisation, and finds the effect of each on the main job or the side role. A
 * second implementation without SQL of the rules in sql/models/core/ambiguous_facts.sql.
 */

import { understandTitle, type UnderstoodTitle } from '../../src/titles/understand.ts'
import { DAY } from '../../src/support/units.ts'
import { naturalKey, type GivenEvent } from '../helpers/warehouse.ts'

export type Track = 'main' | 'side'
type Type = 'joined' | 'left' | 'title_change' | 'nothing'

/** The effect of an event on the main job or on a side role. */
export interface Act {
  readonly event: GivenEvent
  readonly track: Track
  readonly type: Type
  readonly title: string | null
  readonly previous: string | null
  /** For a change of title between a main job and a side role: its effect on the side role. */
  readonly isSecond: boolean
  /** A change of title that joins or leaves. */
  readonly isTurn: boolean
  /** When it took effect, but never before the previous act; milliseconds. */
  at: number
}

/** Something that happened once, however often it was reported: the act that counts, and all that report it. */
export interface Fact extends Act {
  readonly said: readonly Act[]
}

/** The acts of one track in order, and the facts that count. */
export interface Timeline {
  readonly track: Track
  readonly acts: readonly Act[]
  readonly facts: readonly Fact[]
}

const SAID_AGAIN_DAYS = 62

/** The timelines of one person at one organisation, main jobs first. */
export function timelinesOf(pair: readonly GivenEvent[]): Timeline[] {
  const acts = actsOf(pair)
  return (['main', 'side'] as const)
    .map((track) =>
      inOrder(
        track,
        acts.filter((one) => one.track === track),
      ),
    )
    .filter((one) => one.acts.length > 0)
}

type Kind = 'main' | 'side' | 'seat' | 'end' | 'advice' | null

const understood = new Map<string, UnderstoodTitle>()

function understand(title: string): UnderstoodTitle {
  const known = understood.get(title) ?? understandTitle(title)
  understood.set(title, known)
  return known
}

/** What the title alone says about the job. */
export function kindOf(title: string | null): Kind {
  if (title === null) return null
  const { isSideRole, isEndMarker, isAdvisory } = understand(title)
  if (isEndMarker) return 'end'
  if (isSideRole) return /works council|betriebsrat/i.test(title) ? 'seat' : 'side'
  return isAdvisory ? 'advice' : 'main'
}

interface Kinded {
  readonly event: GivenEvent
  readonly kind: Kind
  readonly before: Kind
  readonly isChange: boolean
}

function actsOf(pair: readonly GivenEvent[]): Act[] {
  const kinded = withAdvice(
    pair
      .toSorted((a, b) => time(a) - time(b) || detected(a) - detected(b) || compare(a, b))
      .map((event) => {
        const isChange = event.event_type === 'title_change'
        const before = isChange ? kindOf(event.title_previous ?? null) : null
        return { event, kind: kindOf(titleOf(event)), before, isChange }
      }),
  )
  const isSideOnly =
    kinded.some(({ kind }) => kind === 'side') &&
    kinded.every(({ kind, before }) => kind !== 'main' && before !== 'main')
  return kinded.flatMap((one, place) => actsOfEvent(one, isSideOnly, kinded.slice(0, place)))
}

/** Advice is a side role until a change of title from it to an office at the top, or until such an office is joined. */
function withAdvice(all: readonly Kinded[]): Kinded[] {
  const isOffice = ({ event, kind }: Kinded) =>
    kind === 'main' && understand(titleOf(event) ?? '').level === 'cxo'
  const ledFrom = all
    .filter((one) => one.before === 'advice' && isOffice(one))
    .map(({ event }) => ({ title: event.title_previous ?? null, at: time(event) }))
  const isOther = ({ event, kind, before }: Kinded) =>
    kind !== 'advice' || before === 'main' || event.event_type === 'left'
  const otherAt = Math.min(...all.filter(isOther).map(({ event }) => time(event)))
  const joins = (one: Kinded) =>
    one.event.event_type === 'joined' && time(one.event) === otherAt && isOffice(one)
  if (all.some(joins)) {
    const advised = all.filter(({ event }) => time(event) < otherAt)
    ledFrom.push(...advised.map(({ event }) => ({ title: titleOf(event), at: otherAt })))
  }
  // A person who takes a staff seat from a main job keeps the job.
  const isSeatOfJob = all.some(
    ({ kind, before }) => kind === 'seat' && (before === 'main' || before === 'advice'),
  )
  const resolved = (kind: Kind, title: string | null, event: GivenEvent): Kind => {
    if (kind === 'seat') return isSeatOfJob ? 'main' : 'side'
    if (kind !== 'advice') return kind
    const isOutside = ledFrom.some((one) => one.title === title && time(event) <= one.at)
    return isOutside ? 'side' : 'main'
  }
  return all.map((one) => ({
    ...one,
    kind: resolved(one.kind, titleOf(one.event), one.event),
    before: resolved(one.before, one.event.title_previous ?? null, one.event),
  }))
}

function actsOfEvent(one: Kinded, isSideOnly: boolean, earlier: readonly Kinded[]): Act[] {
  const { event, kind, before, isChange } = one
  const isTurn =
    isChange && (kind === 'end' || (kind !== null && before !== null && kind !== before))
  const act = { event, isTurn, isSecond: false, previous: null, at: time(event) }
  const title = titleOf(event)
  const left = isChange ? (event.title_previous ?? null) : null
  const own = (track: Track, type: Type, name: string | null, previous: string | null = null) => ({
    ...act,
    track,
    type,
    title: name,
    previous,
  })
  const second = (type: Type, name: string | null): Act => ({
    ...act,
    track: 'side',
    type,
    title: name,
    isSecond: true,
    isTurn: true,
  })
  const ofNone: Track = isSideOnly || speaksOfSideRole(one, earlier) ? 'side' : 'main'
  if (kind === 'end') {
    const track: Track = before === 'side' ? 'side' : ofNone
    if (event.event_type === 'joined' || before === 'end') {
      return [own(track, 'nothing', isChange && before !== 'end' ? left : null)]
    }
    return [own(track, 'left', isChange ? left : null)]
  }
  if (!isChange) return [own((kind as Track | null) ?? ofNone, event.event_type as Type, title)]
  if (kind === 'side' && before === 'main') {
    return [own('main', 'left', left), second('joined', title)]
  }
  if (kind === 'main' && before === 'side') {
    return [own('main', 'joined', title), second('left', left)]
  }
  if (before === 'end' && (kind === 'main' || kind === 'side')) return [own(kind, 'joined', title)]
  return [own((kind as Track | null) ?? ofNone, 'title_change', title, left)]
}

/**
 * For an event without a title: whether an earlier change of title led from the main job to a side role, and none back.
 */
function speaksOfSideRole({ kind }: Kinded, earlier: readonly Kinded[]): boolean {
  if (kind !== null) return false
  const latest = (events: readonly Kinded[]) =>
    Math.max(-Infinity, ...events.map(({ event }) => time(event)))
  const aside = latest(earlier.filter((one) => one.kind === 'side' && one.before === 'main'))
  const main = latest(
    earlier.filter(
      (one) =>
        (one.kind === null && one.event.event_type === 'joined') ||
        (one.kind === 'main' && one.event.event_type !== 'left'),
    ),
  )
  return aside > main
}

// ——— order ———

interface Dated {
  readonly act: Act
  readonly first: number
  readonly last: number
  readonly precision: string
  readonly isBoundary: boolean
  isAlone: boolean
}

interface Placed {
  readonly act: Act
  readonly first: number
  readonly last: number
  readonly precision: string
  readonly sortAt: number
  readonly isDeferred: boolean
  readonly sharesInstant: boolean
}

function inOrder(track: Track, acts: readonly Act[]): Timeline {
  const dated = datedOf(acts.filter(({ type }) => type !== 'nothing'))
  const placed = placedOf(dated)
  const sayings = sayingsOf(placed)
  const changes = acts.filter(({ type }) => type === 'title_change' || type === 'nothing')
  const positioned = [
    ...placed.map((one, turn) => ({ ...positionOf(one, placed[turn + 1], changes), turn })),
    ...changes.map((act) => ({ act, sortAt: changeAt(act, placed), order: 3, turn: -1 })),
  ].toSorted(
    (a, b) =>
      a.sortAt - b.sortAt ||
      a.order - b.order ||
      a.turn - b.turn ||
      compare(a.act.event, b.act.event),
  )
  let latest = -Infinity
  for (const { act } of positioned) {
    if (isBoundary(act)) latest = Math.max(latest, act.at)
    act.at = Math.max(act.at, latest)
  }
  const inPlace = positioned.map(({ act }) => act)
  const facts = [
    ...sayings.map(factOf),
    ...changes
      .filter(({ type }) => type === 'title_change')
      .map((act) => Object.assign(act, { said: [act] })),
  ]
  const placeOf = new Map(inPlace.map((act, place) => [act, place]))
  const byPlace = (a: Fact, b: Fact) => (placeOf.get(a) ?? 0) - (placeOf.get(b) ?? 0)
  return { track, acts: inPlace, facts: facts.toSorted(byPlace) }
}

function isBoundary({ type }: Act): boolean {
  return type === 'joined' || type === 'left'
}

/** The possible days of each act, and whether its order is unambiguous. */
function datedOf(acts: readonly Act[]): Dated[] {
  const dated = acts
    .toSorted(
      (a, b) =>
        time(a.event) - time(b.event) ||
        detected(a.event) - detected(b.event) ||
        (a.type < b.type ? -1 : Number(a.type > b.type)) ||
        compare(a.event, b.event),
    )
    .map((act): Dated => {
      const { first, last, precision } = rangeOf(act.event)
      return { act, first, last, precision, isBoundary: isBoundary(act), isAlone: true }
    })
  const boundaries = dated.filter((one) => one.isBoundary)
  for (const [place, one] of dated.entries()) {
    const before = dated.slice(0, place).filter((other) => other.isBoundary)
    if (!one.isBoundary) {
      one.isAlone = before.every((other) => one.first > other.last)
      continue
    }
    const nth = boundaries.indexOf(one)
    one.isAlone = !overlap(boundaries[nth - 1], one) && !overlap(one, boundaries[nth + 1])
  }
  return dated
}

function overlap(one: Dated | undefined, next: Dated | undefined): boolean {
  if (one === undefined || next === undefined) return false
  return one.act.type !== next.act.type && next.first <= one.last
}

/** Joinings and leavings, with those moved that come after the next one. */
function placedOf(dated: readonly Dated[]): Placed[] {
  const boundaries = dated.filter((one) => one.isBoundary)
  return boundaries
    .map((one, nth) => {
      const [before, next] = [boundaries[nth - 1], boundaries[nth + 1]]
      const place = dated.indexOf(one)
      const earlier = dated.slice(0, place + 1).findLast(({ isAlone }) => isAlone)
      const later = dated.slice(place).find(({ isAlone }) => isAlone)
      const isDeferred =
        next !== undefined &&
        overlap(one, next) &&
        comesAfter(one, next, before?.act.title ?? null, {
          wasThere: earlier === undefined ? null : earlier.act.type !== 'left',
          joinsLater: later === undefined ? null : later.act.type === 'joined',
        })
      const at = time(one.act.event)
      const isAt = (other: Dated | undefined) => other !== undefined && time(other.act.event) === at
      return {
        ...one,
        nth,
        isDeferred,
        sortAt: isDeferred ? time(next.act.event) : at,
        sharesInstant: isAt(before) || isAt(next),
      }
    })
    .toSorted(
      (a, b) => a.sortAt - b.sortAt || Number(a.isDeferred) - Number(b.isDeferred) || a.nth - b.nth,
    )
}

/** Whether `one` comes second although it is dated first. */
function comesAfter(
  one: Dated,
  next: Dated,
  titleBefore: string | null,
  { wasThere, joinsLater }: { wasThere: boolean | null; joinsLater: boolean | null },
): boolean {
  const [title, other] = [one.act.title, next.act.title]
  if (one.act.type === 'left') {
    if (wasThere !== null) return !wasThere
    if (joinsLater === false) return false
    return title === null || other === null || title === other
  }
  if (wasThere === false) return false
  if (one.first === next.first) return wasThere === true || joinsLater === false
  if (detected(next.act.event) >= detected(one.act.event)) return false
  return wasThere === true && !(title !== null && title === other && title !== titleBefore)
}

function sayingsOf(placed: readonly Placed[]): Placed[][] {
  const sayings: Placed[][] = []
  for (const one of placed) {
    const run = sayings.at(-1)
    const last = run?.at(-1)
    const isAgain =
      last !== undefined &&
      last.act.type === one.act.type &&
      last.act.title === one.act.title &&
      (Math.abs(one.first - last.first) <= SAID_AGAIN_DAYS ||
        (one.act.type === 'left' && last.precision === 'year' && one.first <= last.last) ||
        isAnnouncedAgain(last.act.event, one.act.event))
    if (isAgain) run?.push(one)
    else sayings.push([one])
  }
  return sayings
}

/** Whether the one detected first had not happened when the other was detected. */
function isAnnouncedAgain(a: GivenEvent, b: GivenEvent): boolean {
  return detected(b) >= detected(a) ? detected(b) < time(a) : detected(a) < time(b)
}

function factOf(sayings: readonly Placed[]): Fact {
  const [counts] = sayings
    .map(({ act }) => act)
    .toSorted(
      (a, b) =>
        Number(a.type === 'left' && a.isTurn) - Number(b.type === 'left' && b.isTurn) ||
        detected(b.event) - detected(a.event) ||
        time(b.event) - time(a.event) ||
        compare(b.event, a.event),
    )
  if (counts === undefined) throw new Error('a fact is said at least once')
  return Object.assign(counts, { said: sayings.map(({ act }) => act) })
}

/** A leaving in a month or a year comes after the changes of title in it, unless it names the title before. */
function positionOf(one: Placed, next: Placed | undefined, changes: readonly Act[]) {
  const { act, first, last, sortAt } = one
  const within = changes.filter(
    (change) =>
      change.type === 'title_change' &&
      time(change.event) >= sortAt &&
      dayOf(time(change.event)) <= last &&
      (next === undefined || time(change.event) < next.sortAt) &&
      !(act.title !== null && act.title === change.previous && namesAnother(change, act.title)),
  )
  if (act.type === 'left' && last > first && within.length > 0) {
    return { act, sortAt: Math.max(...within.map(({ event }) => time(event))), order: 5 }
  }
  const isLater = (act.type === 'left' || one.isDeferred) && !one.sharesInstant
  return { act, sortAt, order: isLater ? 4 : 2 }
}

function namesAnother(change: Act, title: string): boolean {
  return change.title !== null && change.title !== title
}

/** A change of title in a month or a year comes after a joining in it if the person was not there. */
function changeAt(change: Act, placed: readonly Placed[]): number {
  const at = time(change.event)
  const { last, precision } = rangeOf(change.event)
  if (change.type !== 'title_change' || precision === 'day') return at
  const nth = placed.findIndex(({ sortAt }) => sortAt > at)
  const next = placed[nth]
  const before = placed[nth - 1]
  if (next?.act.type !== 'joined' || next.first > last || before?.act.type === 'joined') return at
  return next.sortAt
}

// ——— days ———

/** The possible days of an event, since 1970. */
function rangeOf(event: GivenEvent): { first: number; last: number; precision: string } {
  const date = new Date(time(event))
  const first = dayOf(time(event))
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  if (date.getTime() !== Date.UTC(year, month)) return { first, last: first, precision: 'day' }
  const endOfMonth = Date.UTC(year, month + 1) / DAY - 1
  if (month > 0) return { first, last: endOfMonth, precision: 'month' }
  const seen = Math.max(endOfMonth, dayOf(detected(event)))
  return { first, last: Math.min(Date.UTC(year, 11, 31) / DAY, seen), precision: 'year' }
}

export function dayOf(at: number): number {
  return Math.floor(at / DAY)
}

/** The last day of the month if the instant begins it, else the day of the instant. */
export function latestDay(at: number): number {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return at === Date.UTC(year, month) ? Date.UTC(year, month + 1) / DAY - 1 : dayOf(at)
}

export function time(event: GivenEvent): number {
  return Date.parse(event.changed_at)
}

function detected(event: GivenEvent): number {
  return Date.parse(event.detected_at ?? event.changed_at)
}

export function titleOf(event: GivenEvent): string | null {
  const previous = event.event_type === 'left' ? event.title_previous : null
  return event.title_current ?? previous ?? null
}

/** event_key of an event. */
export function keyOf(event: GivenEvent): string {
  return event.event_key ?? naturalKey(event)
}

function compare(a: GivenEvent, b: GivenEvent): number {
  const [one, other] = [keyOf(a), keyOf(b)]
  return one < other ? -1 : Number(one > other)
}
