/**
 * What an incremental build changed in one table, as the models and checks that read the table need to know it.
 *
 * A model is refreshed in one of these modes:
 *
 * | mode      | when                                                  | its TableDelta                                |
 * |-----------|-------------------------------------------------------|-----------------------------------------------|
 * | unchanged | no table that it reads has changed                    | `none`                                        |
 * | by person | `incremental_by: profile_id`                          | `rows`, with `peopleRows`                     |
 * | by key    | `incremental_by` other columns, changed keys known    | `rows`                                        |
 * | whole     | no `incremental_by`, or an input's delta is not known | `rows` where a model reads it, else `all`     |
 * | view      | a view that is not by person stores nothing           | `all`                                         |
 *
 * A delta is made in five steps: the changed keys of the inputs → the rows that the table has for these keys → the rows that it
 * should have → their difference, which is written → the changed keys for the models that read this one.
 */

import { quoteIdentifier } from '../warehouse/sql-text.ts'
import { DIFF_SIGN } from './difference.ts'

/** The column by which loads name the people with new or changed events. */
export const PERSON = 'profile_id'

/** One table in an incremental build. `peopleRows` and `delta` name temporary tables; SQL. */
export interface TableDelta {
  readonly name: string
  readonly columns: readonly string[]
  /** `none`: as before; `rows`: what `delta` says; `all`: any row may be another. */
  readonly change: 'none' | 'rows' | 'all'
  /** All rows of changed people as they are now; null where the table is not refreshed by person. */
  readonly peopleRows: string | null
  /** New rows, with `DIFF_SIGN` 1, and rows that are gone, with -1; null unless `change` is `rows`. */
  readonly delta: string | null
  /**
   * False where `delta` holds all rows of changed people as new ones, because what they were before is not known: in
   * loaded tables and views. Their keys are the same as before.
   */
  readonly isExact: boolean
}

export function unchanged(name: string, columns: readonly string[]): TableDelta {
  return { name, columns, change: 'none', peopleRows: null, delta: null, isExact: true }
}

export function changedInAll(name: string, columns: readonly string[]): TableDelta {
  return { ...unchanged(name, columns), change: 'all', isExact: false }
}

/** A select of the keys, of these columns, whose rows the deltas of `reads` may alter; null when that may be any key. */
export function changedKeysOf(
  reads: readonly TableDelta[],
  columns: readonly string[],
): string | null {
  const changed = reads.filter(({ change }) => change !== 'none')
  if (!changed.every((table) => table.change === 'rows' && hasColumns(table, columns))) return null
  const names = columns.map(quoteIdentifier).join(', ')
  return changed.map(({ delta }) => `select ${names} from ${delta}`).join(' union ')
}

export function hasColumns(table: TableDelta, columns: readonly string[]): boolean {
  return columns.every((column) => table.columns.includes(column))
}

/** The rows of a delta that are new; a select. */
export function newRows(delta: string): string {
  return `select * exclude (${DIFF_SIGN}) from ${delta} where ${DIFF_SIGN} > 0`
}
