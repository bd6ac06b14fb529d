/** Renders job changes as lines: the summary of a report, and changes not yet sent. Reads only. */

import { countText, numberText, sum } from '../support/numbers.ts'
import type { Line } from '../support/text.ts'
import { makeReportView, queryReport } from '../warehouse/query-report.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { QUESTION, answerOf } from './answer.ts'
import { credits, linkTarget, shown, transfersText, WORDS } from './html.ts'
import {
  NOT_READ_BEFORE,
  resolveList,
  type ListedOrganization,
  type ReportHead,
} from './read-report.ts'
import type { Burst, Change, Count, OfOrganization, OrganizationChanges } from './rows.ts'

/** The C-level, vice presidents and directors: `is_executive`. */
const DIRECTORS = 'directors and above'
export const OF_DIRECTORS = 'at director level or above'
const EXECUTIVES = 10
const ORGANIZATIONS = 5
const BURSTS = 4
/** How many changes a digest names. */
export const DIGEST_CHANGES = 24

/** Lines under a label. */
export type DigestPart = ReturnType<typeof headDigest>['parts'][number]

/**
 * The summary of a report for a digest, as data and as lines.
 * @param more the command that shows everything
 */
export function headDigest(data: ReportHead, more: string) {
  const executives = data.changes.filter((one) => one.is_executive).slice(0, EXECUTIVES)
  const organizations = data.organizations.slice(0, ORGANIZATIONS)
  const bursts = data.bursts.slice(0, BURSTS)
  const answer = answerOf(data)
  const parts = [
    part(QUESTION, answer),
    ...data.counts.map((one) => part(WORDS[one.change], [countsText(one)])),
    part('transfers', [transfersText(data.counts)]),
    part(DIRECTORS, executives.map(changeLine)),
    part('most changes', organizations.map(organizationText)),
    part('bursts', bursts.map(burstText)),
    part('read', [...missingTexts(data), ...unknownTexts(data)]),
    part('cost', [credits(data.freshness.credits)]),
    part('more', [more]),
  ].filter(({ lines }) => lines.length > 0)
  return { year: data.year, answer, executives, organizations, bursts, parts }
}

function part(label: string, texts: readonly (Line | string | null)[]) {
  return { label, lines: linesOf(texts) }
}

function organizationText(one: OrganizationChanges): string {
  return `${nameOf(one)}: ${one.joined} joined, ${one.went} left, ${one.rose} promoted`
}

function burstText(one: Burst): string {
  const { people, change, month_start_on: month, expected } = one
  return `${nameOf(one)}: ${people} ${change} in ${month.slice(0, 7)}, expected ${expected}`
}

function linesOf(texts: readonly (Line | string | null)[]): Line[] {
  return texts.flatMap((one) => (typeof one === 'string' ? { text: one, link: null } : (one ?? [])))
}

function countsText(one: Count): string {
  const before =
    one.changes_before === null
      ? NOT_READ_BEFORE
      : `${numberText(one.changes_before)} in the period before`
  return `${numberText(one.changes)} (${before}), ${numberText(one.executives)} ${OF_DIRECTORS}`
}

function nameOf(one: OfOrganization): string {
  return shown(one.organization) ?? one.organization_id
}

function changeLine(one: Change): Line {
  const who = shown(one.person_full_name) ?? 'name not known'
  const titles = [one.title_before, one.title_after].map(shown).filter((title) => title !== null)
  const places = [one.from_organization, one.to_organization].map(shown)
  const where = one.change === 'rose' ? [shown(one.organization)] : places
  const named = where.filter((place) => place !== null).join(' → ')
  const did = one.change === 'rose' ? 'was promoted' : one.change
  const text = `${who} ${did}: ${titles.join(' → ')}, ${named}`
  return { text, link: linkTarget(one.person_network_url) }
}

/** The unread part of the window. */
export function missingTexts({ coverage: [first] }: Pick<ReportHead, 'coverage'>): string[] {
  const missing = (first?.organizations ?? 0) - (first?.whole ?? 0)
  if (missing <= 0) return []
  return [
    `${countText(missing, 'organisation')} not fetched for the whole period: changes may be missing there`,
  ]
}

/** Listed organisations without any data. */
export function unknownTexts({ scope }: Pick<ReportHead, 'scope'>): string[] {
  const { unknown = [] } = scope ?? {}
  if (unknown.length === 0) return []
  const more = unknown.length > UNKNOWN_SHOWN ? ' …' : ''
  const names = unknown.slice(0, UNKNOWN_SHOWN).map(shown).join(', ')
  return [`Nothing is known of ${countText(unknown.length, 'organisation')}: ${names}${more}`]
}

const UNKNOWN_SHOWN = 5

type Counted = Pick<Count, 'change' | 'changes' | 'executives'> & {
  /** When the first of them became known. */
  readonly known_from_on: string | null
}

/** Changes to send. */
export interface Untold {
  readonly counts: readonly Counted[]
  /** How many there are. */
  readonly total: number
  /** The first of them, executives first. */
  readonly changes: readonly Change[]
  /** The command that shows all of them; null if `changes` is complete. */
  readonly command: string | null
}

/**
 * The names of the changes of these organisations that are not in `told`: texts of 16 characters, separated by blanks, empty
 * for none. A name stands for the same change in every build.
 */
export async function readUntold(
  warehouse: Warehouse,
  told: string,
  list: readonly ListedOrganization[],
): Promise<string> {
  await makeReportView(warehouse, 'known_changes')
  const { ids } = await resolveList(warehouse, list)
  const [row] = await queryReport<{ names: string | null }>(warehouse, 'digest_untold', {
    told,
    organizations: JSON.stringify(ids),
  })
  return row?.names ?? ''
}

/** The changes with these names; a change that the warehouse no longer has is left out. */
export async function readChanges(
  warehouse: Warehouse,
  names: string,
  rows: number = DIGEST_CHANGES,
): Promise<Untold> {
  await makeReportView(warehouse, 'known_changes')
  const counted = await queryReport<Counted>(warehouse, 'digest_counts', { names })
  const changes = await queryReport<Change>(warehouse, 'digest_changes', { names, rows })
  const total = sum(counted.map((one) => one.changes))
  const [from] = counted.flatMap((one) => one.known_from_on ?? []).toSorted()
  return {
    counts: counted,
    total,
    changes,
    command: total > changes.length ? `jobtide report --from ${from}` : null,
  }
}

/** The digest as lines: figures, changes, and how many more there are. */
export function untoldLines({ counts, total, changes, command }: Untold): Line[][] {
  const executives = sum(counts.map((one) => one.executives))
  const figures = counts.map((one) => `${numberText(one.changes)} ${WORDS[one.change]}`).join(', ')
  const rest = `and ${numberText(total - changes.length)} more: ${command}`
  return [
    linesOf([`${figures}; ${numberText(executives)} ${OF_DIRECTORS}`]),
    changes.map(changeLine),
    ...(command === null ? [] : [linesOf([rest])]),
  ]
}
