/** Which organisations a request names: ids, company URLs and trailing slugs, looked up among the tracked ones. */

import type { EventSource, TrackedOrganization } from './events.ts'
import { BadRequest, LIMITS, type SearchRequest } from './search-request.ts'

/** What to do with an organisation id that nobody tracks: answer 400, or find no events. */
export type UnknownIds = 'refuse' | 'ignore'

/** Which of the untracked companies of a request a 400 names. */
export type UnknownNames = 'first' | 'all' | 'none'

/** Looks up the companies of requests. */
export interface CompanyDirectory {
  /**
   * The numbers of the organisations a request names, ascending; undefined when it names none, which asks for all.
   * @throws BadRequest for a company that is not tracked, and for more than 50 companies
   */
  named(request: SearchRequest): number[] | undefined
}

/** A directory of the organisations of `source`. */
export function createCompanyDirectory(
  source: EventSource,
  unknownIds: UnknownIds,
  unknownNames: UnknownNames = 'first',
): CompanyDirectory {
  const byId = new Map<string, number>()
  const bySlug = new Map<string, number[]>()
  for (const [number, organization] of source.organizations.entries()) {
    byId.set(organization.organization_id, number)
    const slug = slugOfOrganization(organization)
    if (slug !== undefined) bySlug.set(slug, [...(bySlug.get(slug) ?? []), number])
  }

  function namedByIds(ids: readonly string[], numbers: Set<number>, unknown: Unknown[]): number {
    const distinct = new Set(ids)
    for (const id of distinct) {
      const number = byId.get(id)
      if (number !== undefined) numbers.add(number)
      else if (unknownIds === 'refuse') unknown.push({ by: 'organization_ids', name: id })
    }
    return distinct.size
  }

  // A slug that several organisations share names all of them and counts as one company; it counts as none when an
  // id named one of them already.
  function namedByUrls(urls: readonly string[], numbers: Set<number>, unknown: Unknown[]): number {
    const namedById = new Set(numbers)
    const counted = new Set<string>()
    for (const url of urls) {
      const slug = slugOf(url)
      const found = bySlug.get(slug) ?? []
      if (found.length === 0) unknown.push({ by: 'company_urls', name: url })
      else if (!found.some((number) => namedById.has(number))) counted.add(slug)
      for (const number of found) numbers.add(number)
    }
    return counted.size
  }

  return {
    named(request) {
      const { organizationIds, companyUrls } = request
      if (organizationIds.length === 0 && companyUrls.length === 0) return undefined
      const numbers = new Set<number>()
      const unknown: Unknown[] = []
      const companies =
        namedByIds(organizationIds, numbers, unknown) + namedByUrls(companyUrls, numbers, unknown)
      if (unknown.length > 0) throw new BadRequest(refusalOf(unknown, unknownNames))
      if (companies > LIMITS.companies) {
        throw new BadRequest(
          `organization_ids and company_urls name ${companies} companies; at most ${LIMITS.companies} are allowed`,
        )
      }
      return [...numbers].toSorted((a, b) => a - b)
    },
  }
}

/** A company that nobody tracks, as the request named it. */
interface Unknown {
  readonly by: 'organization_ids' | 'company_urls'
  readonly name: string
}

function refusalOf(unknown: readonly Unknown[], names: UnknownNames): string {
  const [first] = unknown
  switch (names) {
    case 'first':
      return `${first?.by}: ${first?.by === 'company_urls' ? 'company' : 'organization'} not tracked: ${first?.name}`
    case 'all':
      return `companies not tracked: ${unknown.map(({ name }) => name).join(', ')}`
    case 'none':
      return 'a company of the request is not tracked'
  }
}

function slugOfOrganization(organization: TrackedOrganization): string | undefined {
  const name = organization.slug ?? organization.network_url
  return name === null ? undefined : slugOf(name)
}

/** The slug in a company URL: what follows `/company/`, else the last part of the path; a bare slug is itself. */
function slugOf(companyUrl: string): string {
  const [path = ''] = companyUrl.split(/[?#]/, 1)
  const parts = path.split('/').filter((part) => part !== '')
  const slug = parts[parts.indexOf('company') + 1 || parts.length - 1] ?? parts.at(-1) ?? ''
  return decode(slug).toLowerCase()
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
