/**
 * Finds which organisations of a batch were read under another name: a list may name one by its page and by its id, and
 * only events show that both are the same. The service counts duplicates within one batch once.
 */

import type { BatchHistory } from '../journal/batch-history.ts'
import { filtersText } from '../journal/filters.ts'
import { canonicalName } from '../journal/history.ts'
import type { BatchRecord, OrganizationRef } from '../journal/records.ts'
import type { LearntId } from './learn-ids.ts'

/** The batches that a run has read to their end, by the names known by then. */
export class KnownNames {
  readonly #ids: Map<string, string>
  /** By event types and filters: how far back each was read, in days. */
  readonly #read = new Map<string, Map<string, number>>()

  /** @param ids learnt before, by the requested URL or slug */
  constructor(batches: Iterable<BatchHistory>, ids: ReadonlyMap<string, string> = new Map()) {
    this.#ids = new Map(ids)
    for (const { batch, state } of batches) if (state === 'finished') this.add(batch, [])
  }

  /** Adds a batch that was read to its end, and the ids that its pages showed. */
  add(batch: BatchRecord, learnt: readonly LearntId[]): void {
    for (const { organization, organization_id: id } of learnt) {
      this.#ids.set(organization.value, id)
    }
    const read = this.#readOf(batch)
    for (const one of batch.organizations) {
      const name = canonicalName(this.#ids, one)
      read.set(name, Math.max(read.get(name) ?? 0, daysOf(batch)))
    }
  }

  /** The organisations of a batch that were not read for its event types and its window. */
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

/** Whether a batch asks for a company by its page. */
export function hasUrls({ organizations }: BatchRecord): boolean {
  return organizations.some(({ by }) => by === 'url')
}
