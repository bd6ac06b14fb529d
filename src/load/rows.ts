/** The statements of `load`, and how far a segment is loaded. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'

/** How far a segment that an erasure rewrote is loaded: past the end of any, and a sealed one never grows. */
export const ANY_END = 2n ** 53n

/** The text of `sql/load/<name>.sql`. */
export function loadSql(name: string): string {
  return readFileSync(join(sqlFolder, 'load', `${name}.sql`), 'utf8')
}
