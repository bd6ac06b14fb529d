/**
 * One table of a snapshot against what the manifest says of it: the bytes of its objects, the columns and statistics of each
 * file, and the rows that are left without those that the deletion vector names.
 */

import { StorageError, messageOf } from '../../support/errors.ts'
import { quoteIdentifier, quotePath, quoteText } from '../../warehouse/sql-text.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import type { FileCache } from '../file-cache.ts'
import { liveRowsSql, localRows } from '../live-rows.ts'
import { objectsOf, type ManifestFile, type ManifestTable } from '../manifest.ts'
import { partitionDifferences } from '../partitions.ts'
import type { Report } from './verify-findings.ts'

export interface VerifyWork {
  /** In memory. */
  readonly warehouse: Warehouse
  readonly files: FileCache
  readonly report: Report
  readonly onObject: (object: { readonly key: string }) => void
  /** How many keys are compared at once. */
  readonly keysAtOnce: number
  readonly signal: AbortSignal | undefined
}

/**
 * @param isSameEngine whether the DuckDB at work wrote the snapshot: then rows are compared by content, else counted
 * @returns whether every object is what the manifest says; else it is reported, and not all of the rest is looked at
 */
export async function verifyTable(
  work: VerifyWork,
  table: ManifestTable,
  isSameEngine: boolean,
): Promise<boolean> {
  const { files, report, onObject, signal } = work
  const paths = new Map<string, string>()
  const objects = objectsOf({ tables: [table] })
  for (const object of objects) {
    signal?.throwIfAborted()
    const fetched = await files.fetch(object)
    if (fetched.kind === 'whole') paths.set(object.key, fetched.path)
    else report(fetched.kind, object.key, fetched.message)
    onObject(object)
  }
  let isReadable = true
  for (const file of table.files) {
    const path = paths.get(file.key)
    if (path !== undefined && !(await verifyFile(work, table, file, path))) isReadable = false
  }
  // Sums over objects of which some are damaged would only repeat that.
  if (paths.size < objects.length || !isReadable) return paths.size === objects.length
  const folder = `tables/${table.name}/`
  await reading(report, folder, () => verifyRows(work, table, paths, isSameEngine))
  return true
}

/**
 * Runs what reads objects whose bytes are proved; what DuckDB refuses is reported.
 * @throws StorageError when disk or memory are full, which says nothing of the objects
 */
async function reading<T>(
  report: Report,
  object: string,
  read: () => Promise<T>,
): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof StorageError) throw error
    report('unreadable', object, `it cannot be read: ${messageOf(error).split('\n', 1)[0]}`)
    return null
  }
}

/** @returns whether its rows can be read as those of the table */
async function verifyFile(
  { warehouse, report }: VerifyWork,
  table: ManifestTable,
  file: ManifestFile,
  path: string,
): Promise<boolean> {
  const isReadable = await reading(report, file.key, async () => {
    const problems = await columnProblems(warehouse, table, path)
    for (const problem of problems) report('columns', file.key, problem)
    if (problems.length > 0) return false
    // Only now it is known that the manifest's words for the types are those of the engine.
    const checks = table.schema.flatMap((column) => statisticsChecks(column, file))
    const [found] = await warehouse.all<{ rows: bigint; holds: boolean[] }>(
      `select count(*) as rows, [${checks.map(({ sql }) => `coalesce(${sql}, false)`).join(', ')}] as holds
       from read_parquet(${quotePath(path)}, hive_partitioning = false)`,
    )
    const rows = Number(found?.rows)
    if (rows !== file.rows) {
      report('rows', file.key, `it has ${rows} rows where ${file.rows} belong`)
    }
    for (const [at, { what }] of checks.entries()) {
      if (found?.holds[at] === true) continue
      report('statistics', file.key, `the ${what} is not the one of the manifest`)
    }
    return true
  })
  return isReadable === true
}

async function columnProblems(
  warehouse: Warehouse,
  { schema }: ManifestTable,
  path: string,
): Promise<string[]> {
  const found = await warehouse.all<{ name: string; type: string; id: bigint | null }>(
    `select column_name as name, column_type as type, field_id as id
     from (describe select * from read_parquet(${quotePath(path)}, hive_partitioning = false))
     left join parquet_schema(${quotePath(path)}) on name = column_name and field_id is not null`,
  )
  const names = (of: readonly { readonly name: string }[]) => of.map(({ name }) => name).join(', ')
  if (names(found) !== names(schema)) {
    return [`its columns are ${names(found)} where ${names(schema)} belong`]
  }
  return schema.flatMap(({ name, type, field_id: id }, at) => {
    const own = found[at]
    if (own?.type !== type) return [`${name} is ${own?.type} where ${type} belongs`]
    if (Number(own.id) === id) return []
    return [`${name} has the field id ${own.id} where ${id} belongs`]
  })
}

// Bounds of longer text are cut at 256 bytes: they hold, but are not values of the column.
const LONGEST_EXACT_BYTES = 250

/** What must be true of the rows of a file: SQL over all of them. */
function statisticsChecks({ name, type }: ManifestTable['schema'][number], file: ManifestFile) {
  const column = quoteIdentifier(name)
  const nulls = `count(*) filter (where ${column} is null) = ${file.nulls[name] ?? 0}`
  // The bounds of Parquet leave out what is not a number.
  const numbers = /^(?:DOUBLE|FLOAT)$/.test(type) ? ` filter (where not isnan(${column}))` : ''
  const bounds = (['min', 'max'] as const).flatMap((side) => {
    const text = file[side][name]
    if (text === undefined) return []
    const actual = `${side}(${column})${numbers}`
    const said = `try_cast(${quoteText(text)} as ${type})`
    const holds = `${said} ${side === 'min' ? '<=' : '>='} ${actual} and strlen(${actual}) > ${LONGEST_EXACT_BYTES}`
    const sql = `${said} is not distinct from ${actual}${type === 'VARCHAR' ? ` or (${holds})` : ''}`
    return [{ what: `${side === 'min' ? 'smallest' : 'largest'} ${name}`, sql: `(${sql})` }]
  })
  return [{ what: `number of nulls in ${name}`, sql: nulls }, ...bounds]
}

/** Verifies the rows that are left: what the deletion vector takes away, keys, and the partitions' rows. */
async function verifyRows(
  work: VerifyWork,
  table: ManifestTable,
  paths: ReadonlyMap<string, string>,
  isSameEngine: boolean,
): Promise<void> {
  const pathOf = async ({ key }: { readonly key: string }) => paths.get(key) ?? key
  const { warehouse, report } = work
  const { files, partitions, deletion_vector: vector } = table
  if (vector !== null) {
    const named = await warehouse.all<{ file: string; rows: bigint; last: bigint }>(
      `select file, count(distinct position) as rows, max(position) as last
       from read_parquet(${quotePath(await pathOf(vector))}, hive_partitioning = false) group by file`,
    )
    for (const { key, sha256, rows, deletes } of files) {
      const own = named.find(({ file }) => file === sha256)
      if (Number(own?.rows ?? 0) === deletes && Number(own?.last ?? 0) < Math.max(rows, 1)) continue
      report('rows', vector.key, `it does not name ${deletes} rows of ${key}`)
    }
  }
  await verifyKeys(work, table, liveRowsSql(await localRows(table, files, pathOf)))
  for (const partition of partitions) {
    const own = files.filter((file) => file.partition === partition.name)
    const source = `(${liveRowsSql(await localRows(table, own, pathOf))})`
    const by = { source, isSameEngine }
    for (const { kind, message } of await partitionDifferences(warehouse, table, [partition], by)) {
      report(kind, `tables/${table.name}/${partition.name}/`, message)
    }
  }
}

/** Verifies that each row has a key of its own. @param live a select of the rows */
async function verifyKeys(
  { warehouse, report, keysAtOnce }: VerifyWork,
  { name, key, rows }: ManifestTable,
  live: string,
): Promise<void> {
  const names = key.map(quoteIdentifier)
  const hash = `hash(${names.join(', ')})`
  const parts = Math.max(1, Math.ceil(rows / keysAtOnce))
  let partial = 0
  let repeated = 0
  for (let part = 0; part < parts; part += 1) {
    const [keys] = await warehouse.all<{ partial: bigint; repeated: bigint }>(
      `select count(*) filter (where is_partial) as partial, count(*) filter (where rows > 1) as repeated
       from (select bool_or(${names.map((one) => `${one} is null`).join(' or ')}) as is_partial, count(*) as rows
             from (${live}) where ${hash} % ${parts} = ${part}
             group by ${hash}, hash('key', ${names.join(', ')}))`,
    )
    partial += Number(keys?.partial)
    repeated += Number(keys?.repeated)
  }
  const folder = `tables/${name}/`
  if (partial > 0) report('key', folder, `${partial} rows have no whole key`)
  if (repeated > 0) {
    report('key', folder, `${repeated} keys (${key.join(', ')}) stand in more than one row`)
  }
}
