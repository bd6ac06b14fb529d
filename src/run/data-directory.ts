/** Where things are below one data directory. */

import { join, resolve } from 'node:path'

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
