/** Charges of a lost journal that the warehouse lacks, as the list of its segments tells them: of pages that were not loaded. */

import { totalsOf, type HeldRun } from '../../journal/held.ts'
import { chargeKey, chargesBeyond } from '../../journal/lost-charges.ts'
import { CREDITS_PER_PAGE, type Counts } from '../../journal/spending.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'

/** What the ledger knows, as the records of its requests add up (costOf in src/journal/spending.ts). */
const LEDGER = `
  select run_id, strftime(requested_at, '%Y-%m-%d') as day, count(*)::double as requests,
    count(*) filter (received_at is null)::double as unanswered,
    count(*) filter (outcome = 'received' and events > 0)::double as pages,
    coalesce(sum(events) filter (outcome = 'received'), 0)::double as events,
    coalesce(sum(credits_used) filter (outcome = 'received'), 0)::double as charged,
    count(*) filter (outcome = 'in_doubt')::double * ${CREDITS_PER_PAGE} as "inDoubt",
    count(*) filter (outcome = 'received' and (credits_sent is not null
      or credits_used <> if(events > 0, ${CREDITS_PER_PAGE}, 0)))::double as unexpected
  from ops.pages group by all`

/** @param folder of the journal that is gone */
export async function readUnloaded(warehouse: Warehouse, folder: string): Promise<HeldRun[]> {
  const rows = await warehouse.all<Counts & { readonly run_id: string; readonly day: string }>(
    LEDGER,
  )
  const known = rows.map(({ run_id, day, ...counts }) => [chargeKey(run_id, day), counts] as const)
  return chargesBeyond(folder, new Map(known))
}

export interface UnloadedTotals {
  readonly unloadedRequests: number
  /** Charged or in doubt. */
  readonly unloadedCredits: number
}

export function unloadedTotals(lost: readonly HeldRun[]): UnloadedTotals {
  const { requests, charged, inDoubt } = totalsOf(lost)
  return { unloadedRequests: requests, unloadedCredits: charged + inDoubt }
}
