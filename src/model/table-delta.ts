/**
 * What a night changed in each table, as the models and checks that read it need to know: nothing, some rows, or all of it.
 */

import { quoteIdentifier } from '../warehouse/warehouse.ts'
import { DIFF_SIGN } from './difference.ts'

/** The column by which loads say whom they touched. */
export const PERSON = 'profile_id'

/** One table tonight. `rowsOfPeople` and `changed` name temporary tables in SQL. */
export interface TableDelta {
  readonly name: string
  readonly columns: readonly string[]
  /** `none`: as it was for whatever reads it; `rows`: what `changed` says; `whole`: any row may be another. */
  readonly change: 'none' | 'rows' | 'whole'
  /** All rows that touched people have now; null where the table is not kept by people. */
  readonly rowsOfPeople: string | null
  /** The differences, in `compared` columns and `DIFF_SIGN`; null unless `change` is `rows`. */
  readonly changed: string | null
  /**
   * The columns of `changed`; null where it holds, without `DIFF_SIGN`, all rows of touched people as they are now: what they were
   * before has the same natural key.
   */
  readonly compared: readonly string[] | null
}

/** A table that nothing happened to. */
export function unchanged(name: string, columns: readonly string[]): TableDelta {
  return {
    name,
    columns,
    change: 'none',
    rowsOfPeople: null,
    changed: null,
    compared: null,
  }
}

/** A table of which any row may have changed. */
export function changedWholly(name: string, columns: readonly string[]): TableDelta {
  return { ...unchanged(name, columns), change: 'whole' }
}

/**
 * A select of the groups, by `scope`, whose rows tonight's changes of some tables may alter; null when that may be any.
 * @param words the only columns that matter besides `scope`; null: all matter
 */
export function changedKeysOf(
  reads: readonly TableDelta[],
  incrementalBy: readonly string[],
  words: ReadonlySet<string> | null,
): string | null {
  const changed = reads.filter(({ change }) => change !== 'none')
  if (!changed.every((table) => hasColumns(table, incrementalBy) && table.change === 'rows'))
    return null
  const groups = incrementalBy.map(quoteIdentifier).join(', ')
  const selects: string[] = []
  for (const { columns, compared, changed: differences } of changed) {
    if (compared === null) {
      selects.push(`select ${groups} from ${differences}`)
      continue
    }
    // A row that differs only in columns that are not read is as it was.
    const read = columns.filter(
      (column) => incrementalBy.includes(column) || words === null || words.has(column),
    )
    if (!read.every((column) => compared.includes(column))) return null
    const names = read.map(quoteIdentifier).join(', ')
    selects.push(
      `select ${groups} from (
           select ${names} from ${differences} group by ${names} having sum(${DIFF_SIGN}) <> 0
       )`,
    )
  }
  return selects.length === 0
    ? `select ${incrementalBy.map(() => 'null').join(', ')} limit 0`
    : selects.join(' union ')
}

/** Whether a table has all of `columns`. */
export function hasColumns(table: TableDelta, columns: readonly string[]): boolean {
  return columns.every((column) => table.columns.includes(column))
}

/** Whether it is known which of its rows are new, and which are gone. */
export function areDifferencesKnown({ change, compared }: TableDelta): boolean {
  return change === 'none' || compared !== null
}
