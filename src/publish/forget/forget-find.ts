/** Which published files name somebody who is to be forgotten: in any text column, also in rows that no longer count. */

import { quoteIdentifier, quoteText, type Warehouse } from '../../warehouse/warehouse.ts'
import { PublishError } from '../errors.ts'
import type { FileCache } from '../file-cache.ts'
import type { Manifest, ManifestFile, ManifestTable } from '../manifest.ts'

/** Who is to be forgotten. */
export interface Forgotten {
  readonly profileIds: readonly string[]
  /** Texts that only they have: handle, name, headline, address, titles. */
  readonly texts: readonly string[]
}

/** Where files are searched. */
export interface FileSearch {
  /** Reads Parquet; its tables are not looked at. */
  readonly warehouse: Warehouse
  readonly files: FileCache
  readonly signal?: AbortSignal | undefined
  /** Called after each file. */
  readonly onFile?: (done: number, total: number) => void
}

const VALUES = 'temp.erased_values'

/** SQL, for `where`: whether a column holds anything of those who are forgotten. False for null. */
export function holdsErased(column: string): string {
  return `coalesce(${quoteIdentifier(column)} in (select value from ${VALUES}), false)`
}

/** The columns of a table that may name somebody. */
export function textColumns({ schema }: Pick<ManifestTable, 'schema'>): string[] {
  return schema.filter(({ type }) => type === 'VARCHAR').map(({ name }) => name)
}

/** Notes what to look for: ids, texts, and the keys of their events, which are made of the ids. */
export async function noteErased(
  search: FileSearch,
  { profileIds, texts }: Forgotten,
  manifests: readonly Manifest[],
): Promise<void> {
  const { warehouse } = search
  await warehouse.run(`create or replace temp table ${VALUES} (value varchar not null)`)
  for (const value of new Set([...profileIds, ...texts])) {
    await warehouse.run(`insert into ${VALUES} values ($1)`, [value])
  }
  for (const { table, file } of distinctFiles(manifests)) {
    const columns = textColumns(table)
    if (!columns.includes('event_key') || !columns.includes('profile_id')) continue
    if (!table.key.includes('event_key')) continue
    await warehouse.run(
      `insert into ${VALUES}
       select distinct event_key from ${await readSql(search, file.key)} where ${holdsErased('profile_id')}`,
    )
  }
}

/**
 * Counts, by key of the file, the rows that name somebody who is forgotten; files without any are left out.
 * @throws PublishError when a file is not there, or the store refuses
 */
export async function findHolders(
  search: FileSearch,
  manifests: readonly Manifest[],
): Promise<ReadonlyMap<string, number>> {
  const holders = new Map<string, number>()
  const files = distinctFiles(manifests)
  for (const [index, { table, file }] of files.entries()) {
    search.signal?.throwIfAborted()
    const condition = textColumns(table).map(holdsErased).join(' or ')
    if (condition !== '') {
      const [row] = await search.warehouse.all<{ row_count: bigint }>(
        `select count(*) as row_count from ${await readSql(search, file.key)} where ${condition}`,
      )
      const rows = Number(row?.row_count ?? 0)
      if (rows > 0) holders.set(file.key, rows)
    }
    search.onFile?.(index + 1, files.length)
  }
  return holders
}

/** Every file once, with a table that it belongs to. */
function distinctFiles(
  manifests: readonly Manifest[],
): { readonly table: ManifestTable; readonly file: ManifestFile }[] {
  const found = manifests
    .flatMap(({ tables }) => tables)
    .flatMap((table) => table.files.map((file) => [file.key, { table, file }] as const))
  return [...new Map(found).values()]
}

async function readSql({ files }: FileSearch, key: string): Promise<string> {
  return `read_parquet(${quoteText(await pathOf(files, key))}, hive_partitioning = false)`
}

/** A local file with the bytes of an object. @throws PublishError when the store has none */
export async function pathOf(files: FileCache, key: string): Promise<string> {
  const path = await files.pathOf(key)
  if (path !== null) return path
  throw new PublishError(`${key} is not there, although a snapshot names it`, {
    hint: 'Something other than Jobtide removed it: restore it, or let its snapshot go with `jobtide publish --keep`.',
  })
}
