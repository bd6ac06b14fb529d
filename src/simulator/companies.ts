/** Which organisations a request names: ids, company URLs and trailing slugs, looked up among the tracked ones. */

import { companySlug } from '../support/text.ts'
import type { EventSource } from './events.ts'
import { BadRequest, COMPANIES_MAX, type SearchRequest } from './search-request.ts'

/** Which of the untracked companies of a request a 400 names. */
export type UnknownNames = 'first' | 'all' | 'none'

/**
 * The positions of the organisations a request names; undefined when it names none, which asks for all. An id that nobody
 * tracks finds nothing. A slug that several organisations share names all of them and counts as one company; as none when
 * an id named one of them.
 * @throws BadRequest for a URL or slug that is not tracked, and for more than 50 companies
 */
export type NamedCompanies = (request: SearchRequest) => ReadonlySet<number> | undefined

export function companyDirectory(
  { organizations }: EventSource,
  unknownNames: UnknownNames,
): NamedCompanies {
  const numberById = new Map<string, number>()
  const numbersBySlug = new Map<string, number[]>()
  for (const [number, organization] of organizations.entries()) {
    numberById.set(organization.organization_id, number)
    const slug = companySlug(organization.slug ?? organization.network_url ?? '')
    numbersBySlug.set(slug, [...(numbersBySlug.get(slug) ?? []), number])
  }
  return ({ organizationIds, companyUrls }) => {
    if (organizationIds.length === 0 && companyUrls.length === 0) return undefined
    const ids = new Set(organizationIds)
    const byId = new Set([...ids].flatMap((id) => numberById.get(id) ?? []))
    const numbers = new Set(byId)
    const slugs = new Set<string>()
    const unknown: string[] = []
    for (const url of companyUrls) {
      const slug = companySlug(url)
      const found = slug === '' ? [] : (numbersBySlug.get(slug) ?? [])
      if (found.length === 0) unknown.push(url)
      else if (!found.some((number) => byId.has(number))) slugs.add(slug)
      for (const number of found) numbers.add(number)
    }
    if (unknown.length > 0) throw new BadRequest(refusalOf(unknown, unknownNames))
    const companies = ids.size + slugs.size
    if (companies <= COMPANIES_MAX) return numbers
    throw new BadRequest(
      `organization_ids and company_urls name ${companies} companies; at most ${COMPANIES_MAX} are allowed`,
    )
  }
}

function refusalOf(unknown: readonly string[], names: UnknownNames): string {
  switch (names) {
    case 'first':
      return `company_urls: company not tracked: ${unknown[0]}`
    case 'all':
      return `companies not tracked: ${unknown.join(', ')}`
    case 'none':
      return 'a company of the request is not tracked'
  }
}
