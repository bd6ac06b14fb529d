/** The queries of sql/reports: what commands and pages show. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import type { SqlValue } from './rows.ts'
import type { Warehouse } from './warehouse.ts'

/**
 * Runs `sql/reports/<name>.sql`, in which parameters stand by name: `$pipeline`. What it does not name is left out. `Row` is
 * the caller's word for what it returns.
 */
export async function queryReport<Row extends object>(
  warehouse: Warehouse,
  name: string,
  parameters: Readonly<Record<string, SqlValue>> = {},
): Promise<Row[]> {
  const sql = readFileSync(join(sqlFolder, 'reports', `${name}.sql`), 'utf8')
  const named = Object.entries(parameters).filter(([found]) => sql.includes(`$${found}`))
  return warehouse.all<Row>(sql, Object.fromEntries(named))
}
