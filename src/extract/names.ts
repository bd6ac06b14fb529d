/**
 * The names of companies in one run. A list may name a company by its page and by its id, and only events show that both
 * are the same. Ids are learnt when a batch has been read to its end, because a slug that two companies share must not
 * be taken for one of them. A URL with a number, and the old URL of a renamed company, are answered under another slug:
 * an id is accepted only if an event confirms the slug, or if the batch asks for nothing else.
 */

import type { BatchHistory } from '../journal/batch-history.ts'
import { filtersText } from '../journal/coverage.ts'
import { canonicalName } from '../journal/history.ts'
import type { BatchRecord, OrganizationLearnt, OrganizationRef } from '../journal/records.ts'
import { companySlug } from '../support/text.ts'
import type { EventFacts } from './page-record.ts'

type LearntId = Pick<OrganizationLearnt, 'organization' | 'organization_id'>

export class Names {
  /** By the requested URL or slug. */
  readonly #ids: Map<string, string>
  /** By event types and filters: how many days back each organisation was read. */
  readonly #read = new Map<string, Map<string, number>>()
  /** By batch_id: ids by slug, and all ids under ''. */
  readonly #seen = new Map<string, Map<string, Set<string>>>()
  readonly #learnt = new Set<string>()

  /** @param batches of the run, those read before included @param ids learnt before, by the requested URL or slug */
  constructor(batches: Iterable<BatchHistory> = [], ids: ReadonlyMap<string, string> = new Map()) {
    this.#ids = new Map(ids)
    for (const { batch, state } of batches) if (state === 'finished') this.add(batch)
  }

  /** Notes the ids on a page of a batch. */
  look(batch: BatchRecord, events: readonly EventFacts[]): void {
    if (!hasUrls(batch)) return
    const ids = this.#seen.get(batch.batch_id) ?? new Map<string, Set<string>>()
    this.#seen.set(batch.batch_id, ids)
    for (const { organization } of events) {
      if (organization === null) continue
      const { organization_id: id, slug, network_url: url } = organization
      for (const name of new Set(['', companySlug(slug ?? ''), companySlug(url ?? '')]))
        ids.set(name, (ids.get(name) ?? new Set()).add(id))
    }
  }

  /** The ids that the pages of a batch showed, once it was read to its end: each is learnt once in a run. */
  learn(batch: BatchRecord): LearntId[] {
    const ids = this.#seen.get(batch.batch_id)
    this.#seen.delete(batch.batch_id)
    if (ids === undefined) return []
    const isAlone = batch.organizations.length === 1
    return batch.organizations.flatMap((organization) => {
      const { by, value } = organization
      if (by === 'id' || this.#learnt.has(value)) return []
      const [id, another] = ids.get(isAlone ? '' : companySlug(value)) ?? []
      if (id === undefined || another !== undefined) return []
      this.#learnt.add(value)
      this.#ids.set(value, id)
      return [{ organization, organization_id: id }]
    })
  }

  /** Adds a batch that was read to its end. */
  add(batch: BatchRecord): void {
    const read = this.#readOf(batch)
    for (const one of batch.organizations) {
      const name = canonicalName(this.#ids, one)
      read.set(name, Math.max(read.get(name) ?? 0, daysOf(batch)))
    }
  }

  /** The organisations of a batch that were not read yet for its event types and window. */
  unread(batch: BatchRecord): readonly OrganizationRef[] {
    const read = this.#readOf(batch)
    return batch.organizations.filter(
      (one) => (read.get(canonicalName(this.#ids, one)) ?? 0) < daysOf(batch),
    )
  }

  #readOf({ event_types: types, filters }: BatchRecord): Map<string, number> {
    const question = `${types.join()} ${filtersText(filters)}`
    const read = this.#read.get(question) ?? new Map<string, number>()
    this.#read.set(question, read)
    return read
  }
}

function daysOf({ days_ago: days }: BatchRecord): number {
  return days ?? Number.POSITIVE_INFINITY
}

export function hasUrls({ organizations }: BatchRecord): boolean {
  return organizations.some(({ by }) => by === 'url')
}
