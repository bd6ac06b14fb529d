/** Where things are below one data directory. */

import { join, resolve } from 'node:path'

export interface DataDirectory {
  readonly root: string
  readonly journal: string
  readonly warehouse: string
  /** Files in the making; may be deleted whenever nothing runs. */
  readonly scratch: string
  /** Copies of published files whose store is not a folder; may be deleted whenever nothing runs. */
  readonly published: string
}

/** The layout of the data directory `root`. */
export function dataDirectory(root: string): DataDirectory {
  const path = resolve(root)
  return {
    root: path,
    journal: join(path, 'journal'),
    warehouse: join(path, 'jobtide.duckdb'),
    scratch: join(path, 'scratch'),
    published: join(path, 'published'),
  }
}
