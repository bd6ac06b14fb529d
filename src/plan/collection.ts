/**
 * Plans a pipeline of `kind: collect`: the requests to its endpoint, and their possible cost. A recent answer is not
 * requested again, even if it was "not found". Pure.
 */

import type { Endpoint } from '../api/endpoints/endpoint.ts'
import { lookupKey } from '../journal/run-history.ts'
import type { History } from '../journal/history.ts'
import type { LookupRecord } from '../journal/records.ts'
import { sha256Hex } from '../support/hash.ts'
import { stableJson } from '../support/json.ts'

export interface CollectQuestion {
  readonly pipeline: string
  readonly endpoint: string
  readonly lookups: readonly Lookup[]
  /** Answers younger than this are not requested again, in milliseconds. */
  readonly refreshMs: number
  /** The most pages of one list, 1 or more. */
  readonly pages: number
  /** Whether recent refusals are requested again, to show their reason. */
  readonly repeatsRefused?: true
}

export type Lookup = Pick<LookupRecord, 'subject' | 'request'>

/**
 * Leaves out what was answered recently (`fresh`), some of it not found or refused (`absent`). The price, in credits,
 * is that of one page for each lookup, and of the most pages that each list may have.
 * @param declared the endpoint: which requests have pages, and the possible price of one
 * @param nowMs milliseconds since 1970 UTC
 */
export function planCollection(
  { endpoint, lookups, refreshMs, pages, repeatsRefused }: CollectQuestion,
  { answered }: Pick<History, 'answered'>,
  declared: Pick<Endpoint, 'price' | 'pages'>,
  nowMs: number,
) {
  const due: LookupRecord[] = []
  const price = { least: 0, most: 0 }
  let absent = 0
  for (const { subject, request } of lookups) {
    const key = lookupKey(endpoint, request)
    const known = answered.get(key)
    const isAskedAgain = repeatsRefused === true && known?.outcome === 'refused'
    if (known !== undefined && nowMs - known.at < refreshMs && !isAskedAgain) {
      if (known.outcome !== 'found') absent += 1
      continue
    }
    const batchId = String(due.length + 1).padStart(6, '0')
    due.push({ batch_id: batchId, lookup_key: key, subject, request })
    const { least, most } = declared.price(request)
    price.least += least
    price.most += most * (declared.pages === null ? 1 : pages)
  }
  return { lookups: due, fresh: lookups.length - due.length, absent, price }
}

/** Identifies a question, so that a run of the same one is recognised. The order of the list does not matter. */
export function collectQuestionSha256({ pipeline, endpoint, lookups }: CollectQuestion): string {
  const keys = lookups.map(({ request }) => lookupKey(endpoint, request)).toSorted()
  return sha256Hex(stableJson({ pipeline, endpoint, keys }))
}
