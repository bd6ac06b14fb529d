/** `views.sql`: one view for each table over exactly the files of one snapshot. Pure. */

import { quoteIdentifier } from '../warehouse/sql-text.ts'
import { liveRowsSql } from './live-rows.ts'
import { objectsOf, type Manifest } from './manifest.ts'

/**
 * SQL that any DuckDB takes as it is.
 * @param urlOf the absolute address of a key
 */
export function viewsSql(manifest: Manifest, urlOf: (key: string) => string): string {
  const head = `-- Jobtide snapshot ${manifest.snapshot_id} of ${manifest.created_at}. Paste it into DuckDB.\n`
  const views = manifest.tables.map((table) =>
    [
      `-- ${table.grain.replaceAll(/\s+/g, ' ')}`,
      `create or replace view ${quoteIdentifier(table.name)} as`,
      `${liveRowsSql({ table, urlOf })};`,
    ].join('\n'),
  )
  return `${[head, ...views].join('\n')}\n`
}

/** Places that Jobtide publishes to: an absolute folder, or a bucket. */
const PLACE = /^(?:\/|s3:\/\/)/

/**
 * Where a stored `views.sql` reads the files of its snapshot: the destination that it was published to, also after the
 * snapshot was copied elsewhere. Null when it is not the `views.sql` of the manifest for any place.
 */
export function placeOfViews(text: string, manifest: Manifest): string | null {
  const [first] = objectsOf(manifest)
  const end = first === undefined ? -1 : text.indexOf(`/${first.key}'`)
  if (end === -1) return null
  const begin = text.lastIndexOf("\n  '", end)
  const place = text.slice(begin + "\n  '".length, end).replaceAll("''", "'")
  if (begin === -1 || !PLACE.test(place)) return null
  return viewsSql(manifest, (key) => `${place}/${key}`) === text ? place : null
}
