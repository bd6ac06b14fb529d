/** Reads the data of a report from the warehouse: each part is a query of sql/reports. Reads only. */

import { companySlug } from '../support/text.ts'
import { DAY } from '../support/units.ts'
import { makeReportView, queryReport } from '../warehouse/query-report.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type {
  Attrition,
  Burst,
  Change,
  Count,
  CoverageRow,
  Flow,
  Freshness,
  OrganizationChanges,
  TrendMonth,
  Week,
  Year,
} from './rows.ts'
import type { ReportWindow } from './window.ts'

export interface ReportHead {
  readonly window: ReportWindow
  /** The organisations it is about, null for all; and unknown entries of the list, as written. */
  readonly scope: { readonly listed: number; readonly unknown: readonly string[] } | null
  readonly year: Year
  /** By part, each sorted by how many more left than expected. */
  readonly attrition: readonly Attrition[]
  readonly counts: readonly Count[]
  readonly changes: readonly Change[]
  readonly organizations: readonly OrganizationChanges[]
  readonly bursts: readonly Burst[]
  readonly coverage: readonly CoverageRow[]
  readonly freshness: Freshness
}

export interface ReportData extends ReportHead {
  /** Since when moves count as flows. */
  readonly flowsFrom: number
  readonly weeks: readonly Week[]
  readonly flows: readonly Flow[]
  /** The months of each organisation; those with most changes first. */
  readonly trends: readonly (readonly TrendMonth[])[]
}

/** An organisation as a list names it: by id, or by page URL or slug. */
export interface ListedOrganization {
  readonly by: 'id' | 'url'
  readonly value: string
}

export const NOT_READ_BEFORE = 'the period before was not completely observed'

/** How many rows each part has at most. */
export const MOST = {
  changes: 400,
  organizations: 200,
  flows: 60,
  bursts: 60,
  missing: 25,
  attrition: 25,
  pages: 5_000,
  changesOfPage: 100,
}
const SMALL_MULTIPLES = 12
const WEEKS = 26
const FLOW_DAYS = 365

type List = readonly ListedOrganization[] | null

/** Reads the changes that became known in a window, at these organisations; null: at all. */
export async function readReport(
  warehouse: Warehouse,
  window: ReportWindow,
  list: List,
): Promise<ReportData> {
  const { head, query, trends } = await readParts(warehouse, window, list, MOST.changes)
  const flowsFrom = Math.min(window.from, window.to - FLOW_DAYS * DAY)
  // Sorted by changes, then by leavers: small organisations without news have no chart.
  const both = [...head.organizations, ...head.attrition]
  const ids = new Set(both.flatMap(({ organization_id: id }) => id ?? []))
  const shown = [...ids].slice(0, SMALL_MULTIPLES)
  const months = await trends(shown)
  return {
    ...head,
    flowsFrom,
    weeks: await query<Week>('weeks', { weeks: WEEKS }),
    flows: await query<Flow>('flows', { rows: MOST.flows, flows_from_at: new Date(flowsFrom) }),
    trends: shown.map((id) => months.get(id) ?? []).filter((own) => own.length > 0),
  }
}

/** Reads the summary and all organisations, with a function that reads the changes and months of some of them. */
export async function readByOrganization(warehouse: Warehouse, window: ReportWindow, list: List) {
  const { head, query, trends } = await readParts(warehouse, window, list, 1)
  const organizations = await query<OrganizationChanges>('by_organization', {
    rows: MOST.pages,
    with_others: true,
  })
  const read = async (ids: readonly string[]) => {
    const changes = await query<Change>('changes', {
      organizations: JSON.stringify(ids),
      rows: MOST.changesOfPage,
      by_organization: true,
    })
    return { changes: byOrganization(changes), trends: await trends(ids) }
  }
  return { head, organizations, read }
}

function byOrganization<Row extends { readonly organization_id: string }>(rows: readonly Row[]) {
  const found = new Map<string, Row[]>()
  for (const row of rows) {
    const own = found.get(row.organization_id) ?? []
    found.set(row.organization_id, own)
    own.push(row)
  }
  return found
}

/** Reads only the summary. @param rows the most changes of each kind */
export async function readHead(
  warehouse: Warehouse,
  window: ReportWindow,
  list: List,
  rows: number,
): Promise<ReportHead> {
  return (await readParts(warehouse, window, list, rows)).head
}

async function readParts(warehouse: Warehouse, window: ReportWindow, list: List, rows: number) {
  await makeReportView(warehouse, 'known_changes')
  const scope = list && (await resolveList(warehouse, list))
  const query = <Row extends object>(name: string, more: object = {}) =>
    queryReport<Row>(warehouse, `report_${name}`, {
      from_at: new Date(window.from),
      to_at: new Date(window.to),
      before_at: new Date(2 * window.from - window.to),
      organizations: scope && JSON.stringify(scope.ids),
      ...more,
    })
  const freshness = (await query<Freshness>('freshness'))[0] as Freshness
  const year = (await query<Year>('year'))[0] as Year
  const { month_on } = year
  const ofMonth = async <Row extends object>(name: string, more: object) =>
    month_on === null ? [] : query<Row>(name, { month_on, ...more })
  const coverage = await query<CoverageRow>('coverage', { rows: MOST.missing })
  const counts = await query<Count>('counts')
  const head: ReportHead = {
    window,
    scope: scope && { listed: list?.length ?? 0, unknown: scope.unknown },
    year,
    attrition: await ofMonth<Attrition>('attrition', { rows: MOST.attrition }),
    counts: isReadBefore(coverage)
      ? counts
      : counts.map((count) => ({ ...count, changes_before: null })),
    changes: await query<Change>('changes', { rows, by_organization: false }),
    organizations: await query<OrganizationChanges>('by_organization', {
      rows: MOST.organizations,
      with_others: false,
    }),
    bursts: await query<Burst>('bursts', { rows: MOST.bursts }),
    coverage,
    freshness,
  }
  const trends = async (ids: readonly string[]) =>
    byOrganization(await ofMonth<TrendMonth>('trends', { shown: JSON.stringify(ids) }))
  return { head, query, trends }
}

function isReadBefore([first]: readonly CoverageRow[]): boolean {
  return (
    first !== undefined &&
    first.organizations > 0 &&
    first.whole_before === first.organizations &&
    2 * first.seen_before > first.organizations
  )
}

/** The ids of listed organisations, and the entries without data, as written. */
export async function resolveList(warehouse: Warehouse, list: readonly ListedOrganization[]) {
  const known = await queryReport<{
    organization_id: string
    slug: string | null
    url: string | null
  }>(warehouse, 'report_organizations')
  const ids = new Map<string, string[]>()
  const add = (key: string, id: string) => ids.set(key, [...(ids.get(key) ?? []), id])
  for (const { organization_id: id, slug, url } of known) {
    add(id, id)
    const slugs = [slug, url, id].filter((one) => one !== null).map(companySlug)
    for (const one of new Set(slugs)) add(`slug ${one}`, id)
  }
  const found = list.map(({ by, value }) => ({
    value,
    ids: ids.get(by === 'id' ? value : `slug ${companySlug(value)}`) ?? [],
  }))
  return {
    ids: [...new Set(found.flatMap((one) => one.ids))],
    unknown: found.filter((one) => one.ids.length === 0).map((one) => one.value),
  }
}
