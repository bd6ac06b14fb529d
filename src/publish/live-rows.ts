/**
 * The rows of a published table, as SQL over its files: all rows of whole files, and of files with deletes those that the
 * deletion vector does not name. The only place that says how the two are put together.
 */

import { quoteIdentifier, quotePath } from '../warehouse/sql-text.ts'
import type { NamedObject } from './file-cache.ts'
import type { Manifest, ManifestFile, ManifestTable } from './manifest.ts'

export interface RowSource {
  readonly table: ManifestTable
  /** The address of an object: a path, or what DuckDB's `read_parquet` takes. */
  readonly urlOf: (key: string) => string
  readonly files?: readonly ManifestFile[]
}

/** Local copies of some files of a table, and of its deletion vector where they need it. */
export async function localRows(
  table: ManifestTable,
  files: readonly ManifestFile[],
  pathOf: (object: NamedObject) => Promise<string>,
): Promise<RowSource> {
  const vector = files.some((file) => file.deletes > 0) ? table.deletion_vector : null
  const paths = new Map<string, string>()
  for (const object of vector === null ? files : [...files, vector]) {
    paths.set(object.key, await pathOf(object))
  }
  return { table, files, urlOf: (key) => paths.get(key) ?? key }
}

/** A select of the rows that are not deleted, with the table's columns in their order; for a view, or in brackets. */
export function liveRowsSql(source: RowSource): string {
  return selectOf(source, [])
}

/** As {@link liveRowsSql}, and where each row is: `stored_in` (SHA-256 of the file) and `stored_at` (position, from 0). */
export function locatedRowsSql(source: RowSource): string {
  return selectOf(source, [`${FILE} as stored_in`, 'file_row_number as stored_at'])
}

const FILE = 'parse_filename(filename, true)'
// Paths such as changed_year=2019 would otherwise add a column that the table does not have.
const NO_HIVE = 'hive_partitioning = false'

function selectOf(source: RowSource, located: readonly string[]): string {
  const { table, urlOf } = source
  const files = source.files ?? table.files
  const columns = [...table.schema.map(({ name }) => quoteIdentifier(name)), ...located].join(', ')
  const whole = files.filter((file) => file.deletes === 0)
  const withDeletes = files.filter((file) => file.deletes > 0)
  const selectFrom = (of: readonly ManifestFile[], options: string) => {
    const list = of.map((file) => `  ${quotePath(urlOf(file.key))}`).join(',\n')
    return `select ${columns} from read_parquet([\n${list}\n], ${NO_HIVE}${options})`
  }
  const positions = ', filename = true, file_row_number = true'
  const selects: string[] = []
  if (whole.length > 0 || withDeletes.length === 0) {
    selects.push(selectFrom(whole, located.length > 0 ? positions : ''))
  }
  if (withDeletes.length > 0) {
    const vector = quotePath(urlOf(table.deletion_vector?.key ?? ''))
    selects.push(
      `${selectFrom(withDeletes, positions)}\nwhere (${FILE}, file_row_number) not in (select file, position from read_parquet(${vector}, ${NO_HIVE}))`,
    )
  }
  return selects.join('\nunion all\n')
}

/**
 * `views.sql`: one view for each table over exactly the files of one snapshot, as SQL that any DuckDB takes. It names every
 * file by its address at the destination that it was published to.
 */
export function viewsSql(manifest: Manifest): string {
  const urlOf = (key: string) => `${manifest.destination}/${key}`
  const head = `-- Jobtide snapshot ${manifest.snapshot_id} of ${manifest.created_at}. Paste it into DuckDB.\n`
  const views = manifest.tables.map((table) =>
    [
      `-- ${table.grain.replaceAll(/\s+/g, ' ')}`,
      `create or replace view ${quoteIdentifier(table.name)} as`,
      `${liveRowsSql({ table, urlOf })};`,
    ].join('\n'),
  )
  return `${[head, ...views].join('\n')}\n`
}
