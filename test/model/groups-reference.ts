/**
 * The tables about organisations computed a second time, without SQL, from rows of joiners, leavers, promotions, moves and
 * stints: counts by hand, vacancies by simulating the queue day by day, survival by going through everybody again for
 * each month. Slow and plain on purpose.
 */

import { DAY } from '../../src/support/units.ts'

/** A joining, a leaving or a promotion. */
export interface Change {
  readonly event_key: string
  readonly organization_id: string
  readonly profile_id: string
  readonly at: Date
  readonly function: string
  readonly level: string
  readonly is_primary: boolean
  readonly is_boomerang: boolean
  readonly known_same_month: boolean
}

export interface Move {
  readonly profile_id: string
  readonly from_organization_id: string
  readonly to_organization_id: string
  readonly is_direct: boolean
  readonly direction: string
}

export interface Stint {
  readonly organization_id: string
  readonly joined_at: Date | null
  readonly left_at: Date | null
  readonly is_primary: boolean
}

/** Everything that the group tables are made from. */
export interface Careers {
  readonly joiners: readonly Change[]
  readonly leavers: readonly Change[]
  readonly promotions: readonly Change[]
  readonly moves: readonly Move[]
  readonly stints: readonly Stint[]
  /** organization_id → first day of the month until which it was looked at. */
  readonly observedUntil: ReadonlyMap<string, string>
  /** event_key → when it was known first, to each who can know it. */
  readonly firstKnown: ReadonlyMap<string, Readonly<Record<'service' | 'warehouse', Date>>>
  /** event_key of a joining → of the leaving without which it is no internal move or no return. */
  readonly leavingsBefore: ReadonlyMap<string, string>
}

export type Rows = Map<string, Record<string, unknown>>

/** `2024-03-01` for any moment of March 2024. */
export function monthOf(at: Date): string {
  return `${at.toISOString().slice(0, 7)}-01`
}

function mondayOf(at: Date): string {
  const daysSinceMonday = (at.getUTCDay() + 6) % 7
  return new Date(at.getTime() - daysSinceMonday * DAY).toISOString().slice(0, 10)
}

/** organization_weekly or organization_monthly, by their keys. */
export function expectedPeriods(careers: Careers, period: 'week' | 'month'): Rows {
  const rows: Rows = new Map()
  const count = (change: Change, figures: readonly string[]) => {
    const start = period === 'week' ? mondayOf(change.at) : monthOf(change.at)
    const key = [change.organization_id, start, change.function, change.level].join('|')
    const row: Record<string, number> = (rows.get(key) as Record<string, number> | undefined) ?? {
      joiners: 0,
      leavers: 0,
      net: 0,
      promotions: 0,
      joiners_known_same_month: 0,
      leavers_known_same_month: 0,
      boomerangs: 0,
      side_joiners: 0,
      side_leavers: 0,
    }
    for (const figure of figures) row[figure] = (row[figure] ?? 0) + 1
    row['net'] = (row['joiners'] ?? 0) - (row['leavers'] ?? 0)
    rows.set(key, row)
  }
  for (const one of careers.joiners) {
    count(one, [
      one.is_primary ? 'joiners' : 'side_joiners',
      ...(one.is_primary && one.known_same_month ? ['joiners_known_same_month'] : []),
      ...(one.is_primary && one.is_boomerang ? ['boomerangs'] : []),
    ])
  }
  for (const one of careers.leavers) {
    count(one, [
      one.is_primary ? 'leavers' : 'side_leavers',
      ...(one.is_primary && one.known_same_month ? ['leavers_known_same_month'] : []),
    ])
  }
  for (const one of careers.promotions) if (one.is_primary) count(one, ['promotions'])
  return rows
}

/** talent_flows, by the two organisations. */
export function expectedShares(careers: Careers): Rows {
  const flows = groupBy(
    careers.moves,
    (move) => `${move.from_organization_id}|${move.to_organization_id}`,
  )
  const joined = countBy(careers.joiners)
  const left = countBy(careers.leavers)
  const rows: Rows = new Map()
  for (const [key, moves] of flows) {
    const [from = '', to = ''] = key.split('|')
    const back = flows.get(`${to}|${from}`)?.length ?? 0
    rows.set(key, {
      people: new Set(moves.map((move) => move.profile_id)).size,
      moves: moves.length,
      reverse_moves: back,
      net_moves: moves.length - back,
      share_of_leavers: moves.length / (left.get(from) ?? Number.NaN),
      share_of_joiners: moves.length / (joined.get(to) ?? Number.NaN),
      direct_moves: moves.filter((move) => move.is_direct).length,
      up_moves: moves.filter((move) => move.direction === 'up').length,
      down_moves: moves.filter((move) => move.direction === 'down').length,
    })
  }
  return rows
}

function countBy(changes: readonly Change[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const one of changes) {
    if (one.is_primary) counts.set(one.organization_id, (counts.get(one.organization_id) ?? 0) + 1)
  }
  return counts
}

/** time_to_backfill, by left_event_key. */
export function expectedBackfills(careers: Careers): Rows {
  const isPlace = (one: Change) =>
    one.is_primary && one.level !== 'unknown' && one.function !== 'unknown'
  const rows: Rows = new Map()
  for (const [left, joined] of queue(
    careers.leavers.filter(isPlace),
    careers.joiners.filter(isPlace),
  )) {
    const days = joined === null ? null : Math.max(0, daysBetween(firstDay(left), firstDay(joined)))
    const until = Date.parse(careers.observedUntil.get(left.organization_id) ?? '')
    rows.set(left.event_key, {
      joined_event_key: joined?.event_key ?? null,
      days_to_backfill: days,
      days_to_backfill_min: joined && Math.max(0, daysBetween(lastDay(left), firstDay(joined))),
      days_to_backfill_max: joined && daysBetween(firstDay(left), lastDay(joined)),
      is_open: joined === null,
      days_observed: days ?? Math.max(0, daysBetween(firstDay(left), until)),
    })
  }
  return rows
}

const TOP = ['director', 'vp', 'cxo']

/** The departures of executive_changes, by event_key. @param rises promotions from one level to another */
export function expectedDepartures(careers: Careers, rises: readonly Change[]): Rows {
  const isTop = (one: Change) => one.is_primary && TOP.includes(one.level)
  const departures = careers.leavers.filter(isTop)
  const matched = new Map(
    queue(
      departures.filter((one) => one.function !== 'unknown'),
      [...careers.joiners, ...rises].filter((one) => isTop(one) && one.function !== 'unknown'),
    ),
  )
  const byOrganization = groupBy(departures, (one) => one.organization_id)
  const rows: Rows = new Map()
  for (const one of departures) {
    const successor = matched.get(one)
    const end = successor
      ? firstDay(successor)
      : Date.parse(careers.observedUntil.get(one.organization_id) ?? '')
    const recent = (byOrganization.get(one.organization_id) ?? []).filter((other) => {
      const days = daysBetween(firstDay(other), firstDay(one))
      return days >= 0 && days <= 90
    }).length
    rows.set(one.event_key, {
      successor_event_key: successor?.event_key ?? null,
      vacancy_days: successor === undefined ? null : Math.max(0, daysBetween(firstDay(one), end)),
      is_vacant: successor === undefined ? null : successor === null,
      departures_in_90_days: recent,
      is_cluster: recent >= 2,
    })
  }
  return rows
}

/** Who fills which place: every day first the leavings, then those joinings that cannot have been earlier. */
function queue(
  leavings: readonly Change[],
  joinings: readonly Change[],
): [Change, Change | null][] {
  const place = (one: Change) => [one.organization_id, one.function, one.level].join('|')
  const hires = groupBy(joinings, place)
  return [...groupBy(leavings, place)].flatMap(([key, vacated]) => {
    const steps = [
      ...vacated.map((one) => ({ one, day: firstDay(one), opens: true })),
      ...(hires.get(key) ?? []).map((one) => ({ one, day: lastDay(one), opens: false })),
    ].toSorted(
      (a, b) =>
        a.day - b.day ||
        Number(b.opens) - Number(a.opens) ||
        (a.one.event_key < b.one.event_key ? -1 : 1),
    )
    const open: Change[] = []
    const filled = new Map<Change, Change>()
    for (const { one, opens } of steps) {
      if (opens) {
        open.push(one)
        continue
      }
      const oldest = open.shift()
      if (oldest !== undefined) filled.set(oldest, one)
    }
    return vacated.map((one): [Change, Change | null] => [one, filled.get(one) ?? null])
  })
}

/** tenure_at_exit, by organisation, cohort and months. */
export function expectedSurvival(careers: Careers): Rows {
  const lives = careers.stints.flatMap(({ organization_id, is_primary, joined_at, left_at }) => {
    const until = careers.observedUntil.get(organization_id) ?? ''
    if (!is_primary || joined_at === null || monthOf(joined_at) > until) return []
    const isExit = left_at !== null && monthOf(left_at) <= until
    const months = monthNumber(isExit ? monthOf(left_at) : until) - monthNumber(monthOf(joined_at))
    return [{ cohort: `${organization_id}|${joined_at.getUTCFullYear()}`, months, isExit }]
  })
  const rows: Rows = new Map()
  for (const [cohort, people] of groupBy(lives, (life) => life.cohort)) {
    for (const months of new Set(people.map((life) => life.months))) {
      let survival = 1
      for (let month = 0; month <= months; month += 1) {
        const staying = people.filter((life) => life.months >= month).length
        const gone = people.filter((life) => life.isExit && life.months === month).length
        survival *= 1 - gone / staying
      }
      rows.set(`${cohort}|${months}`, {
        exits: people.filter((life) => life.months === months && life.isExit).length,
        censored: people.filter((life) => life.months === months && !life.isExit).length,
        at_risk: people.filter((life) => life.months >= months).length,
        survival: Math.round(survival * 1e6) / 1e6,
      })
    }
  }
  return rows
}

const NEVER = new Date(0)

/** restatements without their corrections, by organisation, month, who knew, and month of knowing. */
export function expectedRestatements(careers: Careers): Rows {
  const facts = [
    ...careers.joiners.filter((one) => one.is_primary).map((one) => ({ one, name: 'joiners' })),
    ...careers.leavers.filter((one) => one.is_primary).map((one) => ({ one, name: 'leavers' })),
    ...careers.promotions
      .filter((one) => one.is_primary)
      .map((one) => ({ one, name: 'promotions' })),
  ]
  const rows: Rows = new Map()
  for (const knownTo of ['service', 'warehouse'] as const) {
    const knownMonth = (key: string) => monthOf(careers.firstKnown.get(key)?.[knownTo] ?? NEVER)
    const dated = facts.map(({ one, name }) => ({
      name,
      group: `${one.organization_id}|${monthOf(one.at)}|${knownTo}`,
      month: monthOf(one.at),
      known: [one.event_key, careers.leavingsBefore.get(one.event_key) ?? one.event_key]
        .map(knownMonth)
        .reduce((a, b) => (a > b ? a : b)),
    }))
    for (const [group, ofMonth] of groupBy(dated, (fact) => fact.group)) {
      const later = ofMonth.filter((fact) => fact.known > fact.month).map((fact) => fact.known)
      for (const known of new Set(later)) {
        const row: Record<string, number> = {}
        for (const name of ['joiners', 'leavers', 'promotions']) {
          const named = ofMonth.filter((fact) => fact.name === name)
          row[`${name}_before`] = named.filter((fact) => fact.known < known).length
          row[`${name}_added`] = named.filter((fact) => fact.known === known).length
        }
        rows.set(`${group}|${known}`, row)
      }
    }
  }
  return rows
}

function groupBy<T>(values: readonly T[], key: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const group = groups.get(key(value))
    if (group === undefined) groups.set(key(value), [value])
    else group.push(value)
  }
  return groups
}

function firstDay(change: Change): number {
  return Math.floor(change.at.getTime() / DAY) * DAY
}

/** The last day a change can have been on: the end of the month where only the month is known. */
function lastDay(change: Change): number {
  const isMonth = change.at.getUTCDate() === 1 && change.at.getTime() % DAY === 0
  if (!isMonth) return firstDay(change)
  return Date.UTC(change.at.getUTCFullYear(), change.at.getUTCMonth() + 1, 0)
}

function daysBetween(from: number, to: number): number {
  return (to - from) / DAY
}

function monthNumber(month: string): number {
  return Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7))
}
