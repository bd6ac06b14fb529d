/** Which organisations a request names: ids, company URLs and trailing slugs, looked up among the tracked ones. */

import { companySlug } from '../support/text.ts'
import type { EventSource } from './events.ts'
import { BadRequest, COMPANIES_MAX, type SearchRequest } from './search-request.ts'

/** Which of the untracked companies of a request a 400 names. */
export type UnknownNames = 'first' | 'all' | 'none'

/** Looks up the companies of requests. An id that nobody tracks finds nothing; a URL or slug is refused. */
export class CompanyDirectory {
  readonly #byId = new Map<string, number>()
  readonly #bySlug = new Map<string, number[]>()
  readonly #unknownNames: UnknownNames

  constructor({ organizations }: EventSource, unknownNames: UnknownNames) {
    this.#unknownNames = unknownNames
    for (const [number, organization] of organizations.entries()) {
      this.#byId.set(organization.organization_id, number)
      const slug = companySlug(organization.slug ?? organization.network_url ?? '')
      this.#bySlug.set(slug, [...(this.#bySlug.get(slug) ?? []), number])
    }
  }

  /**
   * The positions of the organisations a request names; undefined when it names none, which asks for all. A slug that
   * several organisations share names all of them and counts as one company; as none when an id named one of them.
   * @throws BadRequest for a company that is not tracked, and for more than 50 companies
   */
  named({ organizationIds, companyUrls }: SearchRequest): ReadonlySet<number> | undefined {
    if (organizationIds.length === 0 && companyUrls.length === 0) return undefined
    const ids = new Set(organizationIds)
    const byId = new Set([...ids].flatMap((id) => this.#byId.get(id) ?? []))
    const numbers = new Set(byId)
    const slugs = new Set<string>()
    const unknown: string[] = []
    for (const url of companyUrls) {
      const slug = companySlug(url)
      const found = slug === '' ? [] : (this.#bySlug.get(slug) ?? [])
      if (found.length === 0) unknown.push(url)
      else if (!found.some((number) => byId.has(number))) slugs.add(slug)
      for (const number of found) numbers.add(number)
    }
    if (unknown.length > 0) throw new BadRequest(refusalOf(unknown, this.#unknownNames))
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
