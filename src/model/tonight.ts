/**
 * What a night changed in each table, as the models and checks that read it need to know: nothing, some rows, or all of it.
 */

import { quoteIdentifier } from '../warehouse/warehouse.ts'
import { IS_NEW } from './difference.ts'

/** The column by which loads say whom they touched. */
export const PERSON = 'profile_id'

/** One table tonight. `rows_of_people`, `changed` and `rows` name temporary tables in SQL. */
export interface Tonight {
  readonly name: string
  readonly columns: readonly string[]
  /** `none`: as it was; `rows`: those in `changed`; `whole`: any row may be another. */
  readonly change: 'none' | 'rows' | 'whole'
  /** All rows that touched people have now; null where the table is not kept by people. */
  readonly rowsOfPeople: string | null
  /** Rows that are gone or new; null unless `change` is `rows`. */
  readonly changed: string | null
  /**
   * Whether `changed` says which are gone and which are new. Otherwise it holds all rows of touched people as they are now;
   * what they were before has the same natural key.
   */
  readonly saysWhichAreNew: boolean
}

/** A table that nothing happened to. */
export function unchanged(name: string, columns: readonly string[]): Tonight {
  return {
    name,
    columns,
    change: 'none',
    rowsOfPeople: null,
    changed: null,
    saysWhichAreNew: false,
  }
}

/** A table of which any row may have changed. */
export function changedWholly(name: string, columns: readonly string[]): Tonight {
  return { ...unchanged(name, columns), change: 'whole' }
}

/**
 * A select of the groups, by `scope`, whose rows tonight's changes of some tables may alter; null when that may be any.
 * @param words the only columns that matter besides `scope`; null: all matter
 */
export function touchedGroups(
  reads: readonly Tonight[],
  scope: readonly string[],
  words: ReadonlySet<string> | null,
): string | null {
  const changed = reads.filter(({ change }) => change !== 'none')
  if (!changed.every((table) => hasColumns(table, scope) && table.change === 'rows')) return null
  const groups = scope.map(quoteIdentifier).join(', ')
  const selects = changed.map((table) => {
    if (!table.saysWhichAreNew) return `select ${groups} from ${table.changed}`
    // A row that differs only in columns that are not read is as it was.
    const read = table.columns
      .filter((column) => scope.includes(column) || words === null || words.has(column))
      .map(quoteIdentifier)
    return `select ${groups} from (
      select ${read.join(', ')} from ${table.changed}
      group by ${read.join(', ')}
      having count(*) filter (${IS_NEW}) <> count(*) filter (not ${IS_NEW})
    )`
  })
  return selects.length === 0
    ? `select ${scope.map(() => 'null').join(', ')} limit 0`
    : selects.join(' union ')
}

/** Whether a table has all of `columns`. */
export function hasColumns(table: Tonight, columns: readonly string[]): boolean {
  return columns.every((column) => table.columns.includes(column))
}
