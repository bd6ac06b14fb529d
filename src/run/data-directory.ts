/** Where things are below one data directory. */

import { join, resolve } from 'node:path'
import { isWithin, wayBelow } from '../support/file-modes.ts'

/** The folders and files of Jobtide itself; what has one of these names and a further ending is of it, too (`journal.seals`). */
const OWN_NAMES = [
  'journal',
  'jobtide.duckdb',
  'analyst.duckdb',
  'locks',
  'scratch',
  'published',
  'reports',
  'certificates',
  'outbox',
  'suppressed.json',
  'forget.pending.json',
  'metrics.prom',
  'demo',
]

/**
 * The names of what a run or an erasure removes or empties: reports, which are made again, and what killed processes leave:
 * private files and databases in the making, folders of searches, and what a query spilled.
 */
export const REMOVED =
  /^(?:(?:forget\.pending|suppressed)\.json\.\d+\.tmp|scratch(?:\.forget-\d+)?|published|reports|journal\.salvage(?:\.seals)?|(?:jobtide|analyst)\.duckdb(?:\.(?:new|tmp|replay|restore|erased))+(?:\.wal|\.[\da-f-]{36})?)$/

/** The layout of the data directory `root`. */
export function dataDirectory(root: string) {
  const path = resolve(root)
  return {
    root: path,
    journal: join(path, 'journal'),
    warehouse: join(path, 'jobtide.duckdb'),
    /** Files in the making; may be deleted whenever nothing runs. */
    scratch: join(path, 'scratch'),
    /** Pages for people; made again from the warehouse, and emptied by an erasure. */
    reports: join(path, 'reports'),
    /** Copies of published files whose store is not a folder; may be deleted whenever nothing runs. */
    published: join(path, 'published'),
  }
}

export type DataDirectory = Readonly<ReturnType<typeof dataDirectory>>

/** What Jobtide itself keeps in the data directory `root`, where `path` is that or lies below it; else null. */
export function ownEntryAt(root: string, path: string): string | null {
  const [first = ''] = wayBelow(root, path) ?? []
  const isIt = (name: string) =>
    first === name || first.startsWith(`${name}.`) || isWithin(join(root, name), path)
  const own = OWN_NAMES.find(isIt)
  if (own === undefined) return null
  return join(root, first.startsWith(own) ? first : own)
}
