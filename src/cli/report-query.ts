/** Reads the queries of sql/reports, one file each; parameters stand in them by name: `$pipeline`. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import type { SqlValue } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

const PARAMETER = /\$([a-z_]+)/g

/**
 * Runs `sql/reports/<name>.sql`; `Row` is the caller's word for what it returns.
 * @throws TypeError when a parameter of the query is not given
 */
export async function queryReport<Row extends object>(
  warehouse: Warehouse,
  name: string,
  parameters: Readonly<Record<string, SqlValue>> = {},
): Promise<Row[]> {
  const sql = readFileSync(join(sqlFolder, 'reports', `${name}.sql`), 'utf8')
  const names = [...new Set([...sql.matchAll(PARAMETER)].map(([, found = '']) => found))]
  const values = names.map((found) => {
    const value = parameters[found]
    if (value === undefined) throw new TypeError(`sql/reports/${name}.sql needs $${found}`)
    return value
  })
  // The engine's client binds by place.
  return warehouse.all<Row>(
    sql.replaceAll(PARAMETER, (_, found: string) => `$${names.indexOf(found) + 1}`),
    values,
  )
}
