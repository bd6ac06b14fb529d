/**
 * Detects a warehouse whose journal and seal list are gone or an older copy. A run would buy pages again, and a load would
 * shrink coverage and runs, so commands that write or buy stop here, and commands that only read report the loss.
 */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Journal } from '../journal/journal.ts'
import { readHistory } from '../journal/read-history.ts'
import { isAnswered } from '../journal/spending.ts'
import type { SpentBefore } from '../journal/records.ts'
import { ANY_END } from '../load/load.ts'
import { BOUGHT_AGAIN, NEWER_BACK } from '../publish/guard.ts'
import { StorageError } from '../support/errors.ts'
import { withWarehouse } from '../warehouse/warehouse.ts'
import type { DataDirectory } from './data-directory.ts'

const BEGIN_AGAIN =
  'Restore the journal from its backup: `jobtide restore-journal`. Or buy everything again: `--begin-again` on run, extract or backfill. The budget of the month still counts what was spent. `--adopt-destination` takes the destination over.'

const OLDER = `${NEWER_BACK} Or use the older journal: move \`jobtide.duckdb\` away, and run once with --accept-shrink. ${BOUGHT_AGAIN}`

/**
 * The credits spent this month according to the warehouse, if it holds pages and the journal has no record; else null.
 * @throws JournalLossError when the list of its segments is left
 * @throws StorageError when the warehouse was loaded from a newer journal
 * @throws LockedError when another process has the warehouse open for writing, and the journal has no record
 */
export async function spentWithoutJournal(
  journal: Journal,
  directory: DataDirectory,
  loaded?: readonly LoadedSegment[],
): Promise<{ readonly spent: readonly SpentBefore[]; readonly problem: StorageError } | null> {
  const { losses } = journal.check()
  const segments = journal.segments()
  if (!existsSync(directory.warehouse)) return null
  if (segments.length > 0) {
    const from = loaded ?? (await rowsOf<LoadedSegment>(directory.warehouse, LOADED))
    await refuseOlder(journal, directory, new Set(losses.keys()), from)
    return null
  }
  return withWarehouse({ path: directory.warehouse, mode: 'read' }, async (warehouse) => {
    type Known = { pages: number; credits: number; events: number; up_to: string | null }
    const [known] = await warehouse.all<Known>(
      `select count(*)::int as pages, coalesce(sum(credits_used), 0)::double as credits,
         (select count(*)::int from job_change_events) as events,
         (select strftime(max(least(detected_at, first_seen_at)), '%Y-%m-%d %H:%M') from job_change_events) as up_to
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

export interface LoadedSegment {
  readonly segment: string
  readonly bytes: number
}

export const LOADED = `select segment, bytes::double as bytes from ops.journal_positions where bytes < ${ANY_END} order by segment`

async function refuseOlder(
  journal: Journal,
  directory: DataDirectory,
  losses: ReadonlySet<string>,
  loaded: readonly LoadedSegment[],
): Promise<void> {
  const present = new Set(journal.segments())
  const gone = loaded.filter(({ segment }) => !present.has(segment) && !losses.has(segment))
  // An erasure also shortens a segment, but leaves every request in it. Accepted losses are in no segment.
  const isShorter = loaded.some(
    ({ segment, bytes }) =>
      present.has(segment) && bytes > statSync(join(journal.folder, segment)).size,
  )
  // Asked for only then: there may be a million.
  const pages =
    isShorter && losses.size === 0
      ? await rowsOf<{ request_id: string }>(directory.warehouse, PAGES)
      : []
  const lacks = pages.length === 0 ? 0 : lacking(journal, pages)
  if (gone.length + lacks === 0) return
  // The journal may have taken the place of one that is gone: then the warehouse knows that one, until the next load.
  const runs = [...readHistory(journal).runs.values()]
  if (runs.some(({ started }) => (started.spent_before ?? []).length > 0)) return
  const what =
    gone.length > 0
      ? `${gone.length} of ${loaded.length} segments that were loaded are not in it, the newest of them ${gone.at(-1)?.segment}`
      : `${lacks} of ${pages.length} pages that were loaded are not in it`
  throw new StorageError(`the journal in ${directory.root} is older than its warehouse: ${what}`, {
    hint: OLDER,
    context: { segments: gone.map(({ segment }) => segment), pages: lacks },
  })
}

const PAGES = 'select request_id from ops.pages where body_sha256 is not null'

/** Nothing where the warehouse cannot be read, because it is damaged or in use: what loads says so. */
async function rowsOf<T extends object>(path: string, sql: string): Promise<readonly T[]> {
  try {
    return await withWarehouse({ path, mode: 'read' }, (warehouse) => warehouse.all<T>(sql))
  } catch {
    return []
  }
}

function lacking(journal: Journal, pages: readonly { readonly request_id: string }[]): number {
  const there = new Set<string>()
  for (const segment of journal.segments()) {
    for (const { record } of journal.read(segment)) {
      if (isAnswered(record)) there.add(record.request_id)
    }
  }
  return pages.filter(({ request_id: id }) => !there.has(id)).length
}

/**
 * @param loaded what {@link LOADED} returns, where the caller has asked for it
 * @throws StorageError where the warehouse holds pages and the journal is gone or older; see spentWithoutJournal for others
 */
export async function refuseLostJournal(
  journal: Journal,
  directory: DataDirectory,
  loaded?: readonly LoadedSegment[],
): Promise<void> {
  const lost = await spentWithoutJournal(journal, directory, loaded)
  if (lost !== null) throw lost.problem
}
