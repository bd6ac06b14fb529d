/** The figures of a report, computed from rows in TypeScript without its SQL. */

import type { ReportWindow } from '../../src/report/window.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'

interface Seen {
  readonly change: 'joined' | 'left' | 'rose'
  readonly organization: string
  readonly at: number
  /** The month in which it happened, such as `2024-05`. */
  readonly month: string
}

interface Anomaly extends Omit<Seen, 'at'> {
  readonly people: number
  readonly expected: number
  readonly score: number
}

export interface Facts {
  readonly changes: readonly Seen[]
  readonly anomalies: readonly Anomaly[]
  readonly moves: readonly { readonly from: string; readonly to: string; readonly at: number }[]
}

/** Reads the rows once. Names stand for organisations: in these tests each has one. */
export async function readFacts(warehouse: Warehouse): Promise<Facts> {
  const changes = await warehouse.all<Seen>(
    ['joiners', 'leavers', 'promotions']
      .map(
        (table, nth) =>
          `select '${['joined', 'left', 'rose'][nth]}' as change, organization_name as organization,
             epoch_ms(known_at)::double as at, ${['joined', 'left', 'promoted'][nth]}_on.strftime('%Y-%m') as month
             from ${table} where is_primary${nth < 2 ? ' and not is_transfer' : ''}`,
      )
      .join(' union all '),
  )
  const moves = await warehouse.all<Facts['moves'][number]>(
    `select from_organization_name as "from", to_organization_name as "to", epoch_ms(detected_at)::double as at from moves where is_flow`,
  )
  const anomalies = await warehouse.all<Anomaly>(
    `select change, name as organization, month_start_on.strftime('%Y-%m') as month, people, expected::decimal(9, 1)::double as expected,
       score::decimal(9, 1)::double as score
     from organization_anomalies join organizations using (organization_id) where is_layoff or is_hiring_burst`,
  )
  return { changes, anomalies, moves }
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

interface Rated {
  readonly organization: string
  readonly headcount: number
  readonly leavers: number | null
  readonly mean: number | null
}

/**
 * `Org 3: 17, 25 %` or `Org 3: 12, no rate` for every organisation in its last month up to one: its headcount, and the
 * share that left in a year.
 */
export async function trends(warehouse: Warehouse, month: string): Promise<Map<string, string>> {
  const rows = await warehouse.all<Rated>(
    `select o.name as organization, h.headcount, a.leavers, a.headcount as mean
     from organization_headcount_monthly h
     join organizations o using (organization_id)
     left join attrition a
       on a.organization_id = h.organization_id and a.month_start_on = h.month_start_on and a.function = 'all' and a.level = 'all'
     where h.month_start_on = (
       select max(last.month_start_on) from organization_headcount_monthly last
       where last.organization_id = h.organization_id and last.month_start_on <= $1::date
     )`,
    [month],
  )
  return new Map(
    rows.map(({ organization, headcount, leavers, mean }) => [
      organization,
      `${headcount}, ${leavers === null || mean === null ? 'no rate' : share(leavers / mean)}`,
    ]),
  )
}

/** `Org 3 | 25 % | 4` for each with 10 people or more on average. */
export async function attrition(warehouse: Warehouse, month: string): Promise<string[]> {
  const rows = await warehouse.all<{ organization: string; leavers: number; mean: number }>(
    `select name as organization, leavers, headcount as mean from attrition join organizations using (organization_id)
     where function = 'all' and level = 'all' and month_start_on = $1::date`,
    [month],
  )
  return rows.map(
    ({ organization, leavers, mean }) => `${organization} | ${share(leavers / mean)} | ${leavers}`,
  )
}

function share(rate: number): string {
  return `${rate < 0.0995 ? Number((rate * 100).toFixed(1)) : Math.round(rate * 100)} %`
}
