/** The queries of sql/reports: what commands and pages show. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import type { SqlValue } from './rows.ts'
import { quoteIdentifier } from './sql-text.ts'
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
  const sql = sqlOf(name)
  const named = Object.entries(parameters).filter(([found]) => sql.includes(`$${found}`))
  return warehouse.all<Row>(sql, Object.fromEntries(named))
}

/** Makes `sql/reports/<name>.sql` a temporary view of this name, which the queries after it can read. The warehouse stays as it is. */
export async function makeReportView(warehouse: Warehouse, name: string): Promise<void> {
  await warehouse.run(`create or replace temp view ${quoteIdentifier(name)} as ${sqlOf(name)}`)
}

function sqlOf(name: string): string {
  return readFileSync(join(sqlFolder, 'reports', `${name}.sql`), 'utf8')
}
