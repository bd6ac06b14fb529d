/**
 * A warehouse whose journal is gone, with the list of its segments. A run there would buy everything again, and a load would
 * make coverage and runs say that nothing was read: so what writes or buys stops here, and what shows says what is left.
 */

import { existsSync } from 'node:fs'
import type { Journal } from '../journal/journal.ts'
import type { SpentBefore } from '../journal/records.ts'
import { StorageError } from '../support/errors.ts'
import { withWarehouse } from '../warehouse/warehouse.ts'
import type { DataDirectory } from './data-directory.ts'

const BEGIN_AGAIN =
  'Put `journal` and `journal.seals` back from a backup. Or make a new journal of what the warehouse knows: `jobtide salvage`. Or buy everything again: `--begin-again` on run, extract or backfill, where the budget of the month still counts what was spent; a destination is taken over with `--adopt-destination`.'

/**
 * What the warehouse knows was spent this month, where it holds pages and the journal has no record; else null.
 * @throws JournalLossError when the list of its segments is left
 * @throws LockedError when another process has the warehouse open for writing
 */
export async function spentWithoutJournal(
  journal: Journal,
  directory: DataDirectory,
): Promise<{ readonly spent: readonly SpentBefore[]; readonly problem: StorageError } | null> {
  journal.check()
  if (journal.segments().length > 0 || !existsSync(directory.warehouse)) return null
  return withWarehouse({ path: directory.warehouse, mode: 'read' }, async (warehouse) => {
    const [known] = await warehouse.all<{
      pages: number
      credits: number
      events: number
      up_to: string | null
    }>(
      `select count(*)::int as pages, coalesce(sum(credits_used), 0)::double as credits,
         (select count(*)::int from job_change_events) as events,
         (select strftime(max(detected_at), '%Y-%m-%d %H:%M') from job_change_events) as up_to
       from ops.pages`,
    )
    if (known === undefined || known.pages === 0) return null
    const { pages, credits, events, up_to: upTo } = known
    const spent = await warehouse.all<SpentBefore>(
      `select coalesce(runs.pipeline, '') as pipeline, strftime(requested_at, '%Y-%m-%d') as day,
         sum(credits_used)::double as credits
       from ops.pages left join ops.runs using (run_id)
       where date_trunc('month', requested_at) = (select date_trunc('month', max(requested_at)) from ops.pages)
       group by all having sum(credits_used) > 0 order by all`,
    )
    const problem = new StorageError(
      `the journal in ${directory.root} is gone; its warehouse holds ${events} events${upTo === null ? '' : ` up to ${upTo} UTC`}, of ${pages} requests for ${credits} credits`,
      { hint: BEGIN_AGAIN, context: { events, up_to: upTo, requests: pages, credits } },
    )
    return { spent, problem }
  })
}

/** @throws StorageError where the warehouse holds pages and the journal is gone; see spentWithoutJournal for others */
export async function refuseLostJournal(journal: Journal, directory: DataDirectory): Promise<void> {
  const lost = await spentWithoutJournal(journal, directory)
  if (lost !== null) throw lost.problem
}
