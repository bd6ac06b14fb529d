/**
 * Learns the ids of companies that were asked for by URL or slug, from the events of their pages. By its id a company is
 * found faster, and whatever it is called later. What is learnt of a batch is said when the batch was read: a slug that
 * two companies share must not be taken for one of them.
 */

import { eventOrganizations, type EventOrganization } from '../api/schemas.ts'
import type { OrganizationRef, BatchRecord } from '../journal/records.ts'
import { companySlug } from './company-slug.ts'

/** A company whose id became known. */
export interface LearntId {
  readonly organization: OrganizationRef
  readonly organizationId: string
}

/** Collects ids over the pages of batches. */
export interface IdLearner {
  /** Looks at the events of a page of `batch`. */
  look(batch: BatchRecord, events: readonly unknown[]): void
  /** What the pages of a batch have shown, each company once in a run. Call it when the batch was read to its end. */
  learn(batch: BatchRecord): LearntId[]
}

/** A learner for one run. */
export function createIdLearner(): IdLearner {
  /** By batch_id: ids by slug, and under '' all of them. */
  const seen = new Map<string, Map<string, Set<string>>>()
  const learnt = new Set<string>()

  return {
    look(batch, events) {
      if (!batch.organizations.some(({ by }) => by === 'url')) return
      const ids = seen.get(batch.batch_id) ?? new Map<string, Set<string>>()
      seen.set(batch.batch_id, ids)
      for (const organization of eventOrganizations(events)) {
        for (const slug of ['', ...slugsOf(organization)]) {
          ids.set(slug, (ids.get(slug) ?? new Set()).add(organization.organization_id))
        }
      }
    },
    learn(batch) {
      const ids = seen.get(batch.batch_id)
      seen.delete(batch.batch_id)
      if (ids === undefined) return []
      const isAlone = batch.organizations.length === 1
      return batch.organizations.flatMap((organization) => {
        if (organization.by === 'id' || learnt.has(organization.value)) return []
        const [id, another] = ids.get(isAlone ? '' : companySlug(organization.value)) ?? []
        if (id === undefined || another !== undefined) return []
        learnt.add(organization.value)
        return [{ organization, organizationId: id }]
      })
    },
  }
}

function slugsOf({ slug, network_url: url }: EventOrganization): Set<string> {
  const names = [slug, url].filter((name) => name !== null)
  return new Set(names.map(companySlug).filter((name) => name !== ''))
}
