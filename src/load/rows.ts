/** The statements of `load`, and a position for rewritten segments. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'

/**
 * The loaded position of a segment that an erasure rewrote: past the end of any segment, because a sealed one never
 * grows.
 */
export const ANY_END = 2n ** 53n

export function loadSql(name: string): string {
  return readFileSync(join(sqlFolder, 'load', `${name}.sql`), 'utf8')
}
