/** Rows on their way into the warehouse, and the statements of `load`. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import type { SqlValue } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

/** How far a segment that an erasure rewrote is loaded: past the end of any, and a sealed one never grows. */
export const ANY_END = 2n ** 53n

/** Values by column. */
export type Row = Readonly<Record<string, SqlValue>>

/** Appends rows that have the same columns. */
export async function appendRows(
  warehouse: Warehouse,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const columns = Object.keys(first).map(
    (name) => [name, rows.map((row) => row[name] ?? null)] as const,
  )
  await warehouse.append(table, Object.fromEntries(columns))
}

/** The text of `sql/load/<name>.sql`. */
export function loadSql(name: string): string {
  return readFileSync(join(sqlFolder, 'load', `${name}.sql`), 'utf8')
}
