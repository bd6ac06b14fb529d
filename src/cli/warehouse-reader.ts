/** Reading what the warehouse adds to a command that is right without it: whatever is wrong with it becomes a sentence. */

import { EXIT, JobtideError } from '../support/errors.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'

/** What was read, or why nothing was. */
export type Reading<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'unreadable'; readonly why: string }

const SCHEMA_FILE_OF_VIEWS = '000003_organizations.sql'

/** Reads from the warehouse at `path`; it may be missing, locked, damaged, or of an earlier version of Jobtide. */
export async function readWarehouse<T>(
  path: string,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<Reading<T>> {
  try {
    return await withWarehouse({ path, mode: 'read' }, async (warehouse) => {
      if (!(await hasViews(warehouse))) {
        const why = `the warehouse ${path} is of an earlier version: \`jobtide load\` brings it up to date`
        return { kind: 'unreadable', why }
      }
      return { kind: 'read', value: await work(warehouse) }
    })
  } catch (error) {
    // A defect is no reason to go on without the warehouse: it is to be seen.
    if (!(error instanceof JobtideError) || error.exitCode === EXIT.defect) throw error
    return { kind: 'unreadable', why: error.message }
  }
}

async function hasViews(warehouse: Warehouse): Promise<boolean> {
  const rows = await warehouse.all('select 1 from ops.schema_files where file_name = $1', [
    SCHEMA_FILE_OF_VIEWS,
  ])
  return rows.length > 0
}
