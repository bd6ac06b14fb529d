/** One table of a snapshot without somebody: the partitions that hold them are written anew, all else stays as it is. */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sum } from '../../support/numbers.ts'
import { quoteIdentifier } from '../../warehouse/warehouse.ts'
import { writeDataFile, type DataFile } from '../data-file.ts'
import { DeletionVectorWriter } from '../deletion-vector.ts'
import { liveRowsSql, localRows } from '../live-rows.ts'
import type { ManifestFile, ManifestTable } from '../manifest.ts'
import type { ScratchFile } from '../parquet.ts'
import { holdsErased, pathOf, textColumns, type FileSearch } from './forget-find.ts'

/** A table to write anew. */
export interface TableWithout {
  readonly table: ManifestTable
  /** Keys of the files that name somebody who is forgotten. */
  readonly holders: ReadonlySet<string>
  /** Where new files are written; made where it is missing. */
  readonly folder: string
}

/** A table without those who are forgotten, and its files that are new. */
export interface RewrittenTable {
  readonly table: ManifestTable
  readonly written: readonly ScratchFile[]
}

/**
 * Writes the table anew. Of each partition that holds them, deleted rows included, all other rows go to one new file: rows
 * of theirs go, and where others' rows name them (as a successor, say) that column becomes null. A partition may be left
 * without rows.
 * @throws PublishError when a file is not there, or the store refuses
 */
export async function tableWithout(
  search: FileSearch,
  { table, holders, folder }: TableWithout,
): Promise<RewrittenTable> {
  const { warehouse, files: cache } = search
  mkdirSync(folder, { recursive: true })
  const touched = new Set(
    table.files.filter(({ key }) => holders.has(key)).map(({ partition }) => partition),
  )
  const kept = table.files.filter(({ partition }) => !touched.has(partition))
  const added: ManifestFile[] = []
  const written: ScratchFile[] = []
  for (const partition of touched) {
    const { entry, file } = await writePartition(search, table, partition, folder)
    added.push(entry)
    written.push(file)
  }
  const deleted = await DeletionVectorWriter.of(warehouse)
  if (table.deletion_vector !== null && kept.some((file) => file.deletes > 0)) {
    await deleted.keep(await pathOf(cache, table.deletion_vector.key), kept)
  }
  const { deletionVector: list } = await deleted.write(table.name, kept, folder)
  if (list !== null) written.push(list.file)
  // As the publisher has them: partition by partition, in the order of their names.
  const files = [...kept, ...added].toSorted((a, b) =>
    a.partition === b.partition ? 0 : a.partition < b.partition ? -1 : 1,
  )
  const rowsOf = (name: string) =>
    sum(files.filter(({ partition }) => partition === name).map((file) => file.rows - file.deletes))
  return {
    written,
    table: {
      ...table,
      rows: sum(files.map((file) => file.rows - file.deletes)),
      bytes: sum(files.map(({ bytes }) => bytes)) + (list?.entry.bytes ?? 0),
      partitions: table.partitions.map((partition) =>
        touched.has(partition.name)
          ? { name: partition.name, rows: rowsOf(partition.name), fingerprint: null }
          : partition,
      ),
      deletion_vector: list?.entry ?? null,
      files,
    },
  }
}

async function writePartition(
  { warehouse, files: cache }: FileSearch,
  table: ManifestTable,
  partition: string,
  folder: string,
): Promise<DataFile> {
  const files = table.files.filter((file) => file.partition === partition)
  const live = liveRowsSql(await localRows(table, files, ({ key }) => pathOf(cache, key)))
  const { name, key, schema: columns } = table
  return writeDataFile(
    warehouse,
    { table: name, partition, columns, key, from: `from (${withoutErased(table, live)})` },
    join(folder, `${name}.${partition}.without.parquet`),
  )
}

// A row is somebody's when its key names them, or when it is a row of theirs by any other key.
function withoutErased(table: ManifestTable, live: string): string {
  const texts = new Set(textColumns(table))
  const owning = [...texts].filter((name) => table.key.includes(name) || name === 'profile_id')
  const columns = table.schema.map(({ name }) => {
    const quoted = quoteIdentifier(name)
    if (!texts.has(name) || owning.includes(name)) return quoted
    return `case when ${holdsErased(name)} then null else ${quoted} end as ${quoted}`
  })
  const theirs = owning.map(holdsErased).join(' or ') || 'false'
  return `select ${columns.join(', ')} from (${live}) where not (${theirs})`
}
