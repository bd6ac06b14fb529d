/**
 * One table of a snapshot: its list of deleted rows, each of its files, and what these add up to. Files are looked at one
 * after another, so that no more than one of them has to be here at a time.
 */

import { messageOf } from '../../support/errors.ts'
import { quoteText } from '../../warehouse/warehouse.ts'
import { fetchObject } from '../fetch-files.ts'
import type { Manifest, ManifestFile, ManifestTable } from '../manifest.ts'
import { engineVersion, fingerprintSql } from '../partitions.ts'
import { DELETED, KEYS, PARTS, verifyFile, type VerifyWork } from './verify-file.ts'
import type { FindingKind } from './verify-findings.ts'

/** How a table is verified. */
export interface TableVerification extends Omit<VerifyWork, 'canCount'> {
  /** Called after each file. */
  readonly onFile: (file: ManifestFile) => void
  readonly signal: AbortSignal | undefined
}

/**
 * Verifies one table; its list of deleted rows stays in `DELETED` until the next one.
 * @returns false when that list could not be read
 */
export async function verifyTable(
  work: TableVerification,
  table: ManifestTable,
  versions: Manifest['versions'],
): Promise<boolean> {
  const { warehouse, files, signal } = work
  await warehouse.run(`
    create or replace temp table ${DELETED} (file varchar, position bigint);
    create or replace temp table ${PARTS} (name varchar, row_count bigint, xor_hash ubigint, sum_hash hugeint);
    create or replace temp table ${KEYS} (key_group varchar, hash_a ubigint, hash_b ubigint)`)
  const isListKnown = await verifyDeleted(work, table)
  files.keepOnly([])
  let isWhole = isListKnown
  const groups = keyGroups(table)
  for (const [group, members] of groups) {
    const isShared = members.length > 1
    for (const file of members) {
      signal?.throwIfAborted()
      // Which of its rows count is not known without the list.
      const counted = { ...work, canCount: isListKnown || file.deletes === 0 }
      if (!(await verifyFile(counted, table, file, isShared ? group : null))) isWhole = false
      files.keepOnly([])
      work.onFile(file)
    }
    if (isShared) await verifyKeys(work, table, group)
  }
  // Sums over files of which some cannot be read would only repeat that.
  if (isWhole) await verifyPartitions(work, table, versions)
  return isListKnown
}

/** Files that could hold the same key: all of them, unless the key says in which partition a row is. */
function keyGroups({
  files,
  key,
  partition_by: split,
}: ManifestTable): Map<string, ManifestFile[]> {
  const isSplit = split !== null && key.includes(split.column)
  const groups = new Map<string, ManifestFile[]>()
  for (const file of files) {
    const name = isSplit ? file.partition : 'all files'
    groups.set(name, [...(groups.get(name) ?? []), file])
  }
  return groups
}

async function verifyKeys(
  { warehouse, report }: TableVerification,
  table: ManifestTable,
  group: string,
): Promise<void> {
  const [found] = await warehouse.all<{ repeated: bigint }>(
    `select count(*) as repeated from (select 1 from ${KEYS} where key_group = ${quoteText(group)} group by hash_a, hash_b having count(*) > 1)`,
  )
  await warehouse.run(`delete from ${KEYS}`)
  const repeated = Number(found?.repeated)
  if (repeated === 0) return
  const message = `${repeated} keys (${table.key.join(', ')}) stand in more than one row of ${group}`
  report({ kind: 'key', table: table.name, object: `tables/${table.name}/`, message })
}

/** Reads the list of deleted rows into `DELETED`. @returns false when it could not be read; that is reported */
async function verifyDeleted(work: TableVerification, table: ManifestTable): Promise<boolean> {
  const { deletion_vector: deleted } = table
  if (deleted === null) return true
  const { warehouse, files, report } = work
  const wrong = (kind: FindingKind, message: string) =>
    report({ kind, table: table.name, object: deleted.key, message })
  const fetched = await fetchObject(files, deleted)
  if (fetched.kind !== 'whole') {
    wrong(fetched.kind, fetched.message)
    return false
  }
  try {
    await warehouse.run(
      `insert into ${DELETED} select file, position from read_parquet(${quoteText(fetched.path)}, hive_partitioning = false)`,
    )
  } catch (error) {
    wrong('unreadable', `it cannot be read: ${messageOf(error).split('\n', 1)[0]}`)
    return false
  }
  for (const message of await deletedProblems(work, table)) wrong('deleted', message)
  return true
}

async function deletedProblems(
  { warehouse }: TableVerification,
  { files, deletion_vector: deleted }: ManifestTable,
): Promise<string[]> {
  const found = await warehouse.all<{
    file: string | null
    listed: bigint
    distinct_rows: bigint
    first: bigint | null
    last: bigint | null
  }>(
    `select file, count(*) as listed, count(distinct position) as distinct_rows, min(position) as first, max(position) as last
     from ${DELETED} group by file`,
  )
  const problems: string[] = []
  const total = found.reduce((sum, { listed }) => sum + Number(listed), 0)
  if (total !== deleted?.rows) problems.push(`it lists ${total} rows where ${deleted?.rows} belong`)
  const bySha256 = new Map(found.map((row) => [row.file, row]))
  for (const { sha256, rows, deletes: said, key } of files) {
    const row = bySha256.get(sha256)
    bySha256.delete(sha256)
    const listed = Number(row?.listed ?? 0)
    if (listed !== said) problems.push(`it lists ${listed} rows of ${key} where ${said} belong`)
    if (row === undefined) continue
    if (listed !== Number(row.distinct_rows)) problems.push(`it lists rows of ${key} twice`)
    if (Number(row.first) < 0 || Number(row.last) >= rows) {
      problems.push(`it lists row ${row.first} to ${row.last} of ${key}, which has ${rows} rows`)
    }
  }
  return [
    ...problems,
    ...[...bySha256.keys()].map((sha256) => `it lists rows of ${sha256}, no file of the table`),
  ]
}

async function verifyPartitions(
  { warehouse, report }: TableVerification,
  { name, partitions }: ManifestTable,
  versions: Manifest['versions'],
): Promise<void> {
  const found = await warehouse.all<{ name: string; row_count: bigint; fingerprint: string }>(
    `select name, sum(row_count) as row_count, ${fingerprintSql('xor_hash', 'sum_hash')} as fingerprint
     from ${PARTS} group by name`,
  )
  const isSameEngine = (await engineVersion(warehouse)) === versions.duckdb
  for (const partition of partitions) {
    const own = found.find((one) => one.name === partition.name)
    const rows = Number(own?.row_count ?? 0)
    const object = `tables/${name}/${partition.name}/`
    if (rows !== partition.rows) {
      const message = `it has ${rows} rows that count where ${partition.rows} belong`
      report({ kind: 'rows', table: name, object, message })
    } else if (
      isSameEngine &&
      partition.fingerprint !== null &&
      (own?.fingerprint ?? '') !== partition.fingerprint
    ) {
      const message = 'its rows are not those that were published'
      report({ kind: 'fingerprint', table: name, object, message })
    }
  }
}
