/** The figures of a report, computed from rows in TypeScript: nothing of its SQL is used. */

import type { ReportWindow } from '../../src/report/window.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'

interface Seen {
  readonly change: 'joined' | 'left' | 'rose'
  readonly organization: string
  readonly at: number
  /** In which it happened, such as `2024-05`. */
  readonly month: string
}

interface Anomaly extends Omit<Seen, 'at'> {
  readonly people: number
  readonly expected: number
  readonly score: number
}

interface Spell {
  readonly organization: string
  readonly joined: number | null
  readonly went: number | null
}

export interface Facts {
  readonly changes: readonly Seen[]
  readonly anomalies: readonly Anomaly[]
  readonly moves: readonly { readonly from: string; readonly to: string; readonly at: number }[]
  readonly stints: readonly Spell[]
  /** Since when each organisation is observed; null from the beginning. */
  readonly observedFrom: ReadonlyMap<string, number | null>
}

/** Reads the rows once. Names stand for organisations: in these tests each has one. */
export async function readFacts(warehouse: Warehouse): Promise<Facts> {
  const changes = await warehouse.all<Seen>(
    ['joiners', 'leavers', 'promotions']
      .map(
        (table, nth) =>
          `select '${['joined', 'left', 'rose'][nth]}' as change, organization_name as organization,
             epoch_ms(known_at)::double as at, ${['joined', 'left', 'promoted'][nth]}_on.strftime('%Y-%m') as month
             from ${table} where is_primary`,
      )
      .join(' union all '),
  )
  const moves = await warehouse.all<Facts['moves'][number]>(
    `select from_organization_name as "from", to_organization_name as "to", epoch_ms(detected_at)::double as at from moves`,
  )
  const anomalies = await warehouse.all<Anomaly>(
    `select change, name as organization, month_start_on.strftime('%Y-%m') as month, people, expected::decimal(9, 1)::double as expected,
       score::decimal(9, 1)::double as score
     from organization_anomalies join organizations using (organization_id) where is_layoff or is_hiring_burst`,
  )
  const stints = await warehouse.all<Spell>(
    `select organization_name as organization, epoch_ms(joined_at)::double as joined, epoch_ms(left_at)::double as went
     from stints where is_primary`,
  )
  const observed = await warehouse.all<{ organization: string; since: number | null }>(
    'select name as organization, epoch_ms(observed_from_on::timestamptz)::double as since from organizations',
  )
  const observedFrom = new Map(observed.map(({ organization, since }) => [organization, since]))
  return { changes, anomalies, moves, stints, observedFrom }
}

const weekBefore = (to: number, at: number) => Math.ceil((to - at) / (7 * DAY)) - 1
const day = (at: number) =>
  new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(at)

export function weeks({ changes }: Facts, { to }: ReportWindow): string[] {
  return Array.from({ length: 26 }, (_, back) => {
    const own = changes.filter(({ at }) => at < to && weekBefore(to, at) === back)
    const count = (kind: string) => own.filter(({ change }) => change === kind).length
    return [day(to - (back + 1) * 7 * DAY), count('joined'), count('left'), count('rose')].join(
      ' | ',
    )
  })
}

export function flows({ moves }: Facts, { from, to }: ReportWindow): string[] {
  const since = Math.min(from, to - 365 * DAY)
  const counted = new Map<string, [number, number]>()
  for (const move of moves.filter(({ at }) => at >= since && at < to)) {
    const key = `${move.from} | ${move.to}`
    const [all, inWindow] = counted.get(key) ?? [0, 0]
    counted.set(key, [all + 1, inWindow + (move.at >= from ? 1 : 0)])
  }
  return [...counted].map(([key, [all, inWindow]]) => `${key} | ${all} | ${inWindow}`)
}

export function bursts({ changes, anomalies }: Facts, { from, to }: ReportWindow): string[] {
  return anomalies
    .filter((one) =>
      changes.some(
        ({ change, organization, at, month }) =>
          at >= from &&
          at < to &&
          change === one.change &&
          organization === one.organization &&
          month === one.month,
      ),
    )
    .map(({ organization, change, month, people, expected, score }) => {
      const what = change === 'joined' ? 'Many joined' : 'Many left'
      return [organization, what, month, people, expected, score].join(' | ')
    })
}

/** `Org 3: Known 4–17, Left in a year 20–35 %`, at the first of the month in which the window ends; no share before a year. */
export function peopleKnown(
  { stints, observedFrom }: Facts,
  { to }: ReportWindow,
  organization: string,
): string {
  const end = new Date(to)
  const month = Date.UTC(end.getUTCFullYear(), end.getUTCMonth())
  const before = Date.UTC(end.getUTCFullYear() - 1, end.getUTCMonth())
  const own = stints.filter((one) => one.organization === organization)
  const rates: number[] = []
  const counts = [false, true].map((alsoUnseen) => {
    const counted = own.filter(({ joined }) => alsoUnseen || joined !== null)
    const there = (at: number) =>
      counted.filter(
        ({ joined, went }) => (joined ?? -Infinity) < at && (went === null || went >= at),
      ).length
    const gone = counted.filter(({ went }) => went !== null && went >= before && went < month)
    rates.push((2 * gone.length) / (there(month) + there(before)))
    return [there(month), there(before)] as const
  })
  const [[low, lowBefore], [high]] = counts as [[number, number], [number, number]]
  const known = `${organization}: Known ${span(low, high)}`
  if (low + lowBefore < 20 || (observedFrom.get(organization) ?? -Infinity) > before) return known
  const shares = rates.map((rate) => Math.round(rate * 100)).toSorted((a, b) => a - b)
  return `${known}, Left in a year ${span(shares[0] ?? 0, shares[1] ?? 0)} %`
}

function span(low: number, high: number): string {
  return low === high ? `${low}` : `${low}–${high}`
}
