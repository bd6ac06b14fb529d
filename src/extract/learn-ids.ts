/**
 * Learns the ids of companies that were requested by URL or slug, from the events of their pages. A company is found
 * faster by its id, and under any later name. The ids of a batch are reported when it has been read to its end: a slug
 * that two companies share must not be taken for one of them. A URL with a number, and the old URL of a renamed
 * company, are answered under another slug. An id that remains when all others of a batch are known may therefore
 * belong to a company that was not requested, so it is accepted only where an event confirms it or where the batch asks
 * for nothing else.
 */

import type { BatchRecord, OrganizationLearnt } from '../journal/records.ts'
import { companySlug } from '../support/text.ts'
import type { EventFacts } from './page-record.ts'

export type LearntId = Pick<OrganizationLearnt, 'organization' | 'organization_id'>

/** Collects the ids of one run over the pages of its batches. */
export class IdLearner {
  /** By batch_id: ids by slug, and under '' all of them. */
  readonly #seen = new Map<string, Map<string, Set<string>>>()
  readonly #learnt = new Set<string>()

  look(batch: BatchRecord, events: readonly EventFacts[]): void {
    if (!batch.organizations.some(({ by }) => by === 'url')) return
    const ids = this.#seen.get(batch.batch_id) ?? new Map<string, Set<string>>()
    this.#seen.set(batch.batch_id, ids)
    for (const { organization } of events) {
      if (organization === null) continue
      const { organization_id: id, slug, network_url: url } = organization
      for (const name of new Set(['', companySlug(slug ?? ''), companySlug(url ?? '')])) {
        ids.set(name, (ids.get(name) ?? new Set()).add(id))
      }
    }
  }

  /**
   * The ids that the pages of a batch have shown, each company once in a run. Call it when the batch was read to its
   * end.
   */
  learn(batch: BatchRecord): LearntId[] {
    const ids = this.#seen.get(batch.batch_id)
    this.#seen.delete(batch.batch_id)
    if (ids === undefined) return []
    const isAlone = batch.organizations.length === 1
    return batch.organizations.flatMap((organization) => {
      if (organization.by === 'id' || this.#learnt.has(organization.value)) return []
      const [id, another] = ids.get(isAlone ? '' : companySlug(organization.value)) ?? []
      if (id === undefined || another !== undefined) return []
      this.#learnt.add(organization.value)
      return [{ organization, organization_id: id }]
    })
  }
}
