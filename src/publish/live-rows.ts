/**
 * The rows of a published table, as SQL over its files. A file is never changed; a row that is no longer so is named, by
 * file and position, in the table's file of deleted rows, and what replaces it stands in a newer file.
 */

import { quoteIdentifier, quoteText } from '../warehouse/warehouse.ts'
import type { NamedObject } from './fetch-files.ts'
import type { ManifestFile, ManifestTable } from './manifest.ts'

/** Where the rows of a table are read from. */
export interface RowSource {
  readonly table: ManifestTable
  /** The address of an object: a path, or what DuckDB's `read_parquet` takes. */
  readonly urlOf: (key: string) => string
  /** Only these files of the table; default: all. */
  readonly files?: readonly ManifestFile[]
}

/**
 * Local copies of some files of a table, and of its list of deleted rows where they need it.
 * @param pathOf brings an object here and says where it is
 */
export async function localRows(
  table: ManifestTable,
  files: readonly ManifestFile[],
  pathOf: (object: NamedObject) => Promise<string>,
): Promise<RowSource> {
  const list = files.some((file) => file.deletes > 0) ? table.deletion_vector : null
  const paths = new Map<string, string>()
  for (const object of [...files, ...(list === null ? [] : [list])]) {
    paths.set(object.key, await pathOf(object))
  }
  return { table, files, urlOf: (key) => paths.get(key) ?? key }
}

/** A select of the rows that count, with the table's columns in their order; for a view, or between brackets. */
export function liveRowsSql(source: RowSource): string {
  return selectOf(source, [])
}

/** As {@link liveRowsSql}, and where each row is: `stored_in` (SHA-256 of the file) and `stored_at` (position, from 0). */
export function locatedRowsSql(source: RowSource): string {
  return selectOf(source, [
    'parse_filename(filename, true) as stored_in',
    'file_row_number as stored_at',
  ])
}

function selectOf(source: RowSource, located: readonly string[]): string {
  const { table, urlOf } = source
  const files = source.files ?? table.files
  const columns = [...table.schema.map(({ name }) => quoteIdentifier(name)), ...located].join(', ')
  const whole = files.filter((file) => file.deletes === 0)
  const pitted = files.filter((file) => file.deletes > 0)
  const read = (of: readonly ManifestFile[], isLocated: boolean) => {
    const list = of.map((file) => `  ${quoteText(urlOf(file.key))}`).join(',\n')
    const where = isLocated ? ', filename = true, file_row_number = true' : ''
    // Paths such as changed_year=2019 would otherwise add a column that the table does not have.
    return `read_parquet([\n${list}\n], hive_partitioning = false${where})`
  }
  const selects: string[] = []
  if (whole.length > 0 || pitted.length === 0) {
    selects.push(`select ${columns} from ${read(whole, located.length > 0)}`)
  }
  if (pitted.length > 0) {
    const deleted = quoteText(urlOf(table.deletion_vector?.key ?? ''))
    selects.push(
      `select ${columns} from ${read(pitted, true)}\nwhere (parse_filename(filename, true), file_row_number) not in (select file, position from read_parquet(${deleted}, hive_partitioning = false))`,
    )
  }
  return selects.join('\nunion all\n')
}
