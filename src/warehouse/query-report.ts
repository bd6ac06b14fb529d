/** The queries of sql/reports: what commands and pages show. */

import { sqlText } from '../support/assets.ts'
import { ConfigError } from '../support/errors.ts'
import { relationsIn } from './columns.ts'
import type { SqlValue } from './rows.ts'
import { quoteIdentifier } from './sql-text.ts'
import type { Warehouse } from './warehouse.ts'

/** Runs `sql/reports/<name>.sql`. Parameters, such as `$pipeline`, that it does not name are left out. */
export async function queryReport<Row extends object>(
  warehouse: Warehouse,
  name: string,
  parameters: Readonly<Record<string, SqlValue>> = {},
): Promise<Row[]> {
  const sql = sqlText(`reports/${name}.sql`)
  const named = Object.entries(parameters).filter(([found]) => sql.includes(`$${found}`))
  return warehouse.all<Row>(sql, Object.fromEntries(named))
}

/** Makes `sql/reports/<name>.sql` a temporary view of that name. @throws ConfigError if its tables were never built */
export async function makeReportView(warehouse: Warehouse, name: string): Promise<void> {
  const relations = await relationsIn(warehouse)
  if (!relations.some((one) => one.schema === 'main' && one.name === 'joiners')) {
    throw new ConfigError('the warehouse has no tables for analysts yet: they were never built', {
      hint: 'Run `jobtide build`, or a pipeline.',
    })
  }
  const sql = sqlText(`reports/${name}.sql`)
  await warehouse.run(`create or replace temp view ${quoteIdentifier(name)} as ${sql}`)
}
