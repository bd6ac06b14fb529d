/** Whether a manifest fits itself: keys, names, columns, sums. Pure; what the objects hold is looked at elsewhere. */

import { sum } from '../../support/numbers.ts'
import { DELETION_VECTOR_FOLDER, fileKey } from '../keys.ts'
import { objectsOf, type Manifest, type ManifestTable } from '../manifest.ts'
import { withoutOwner } from '../own-keys.ts'
import { checkKey } from '../store/object-store.ts'
import type { Report } from './verify-findings.ts'

/** Names of tables and columns as Jobtide gives them: they mean the same in SQL, in a path and on a screen. */
const NAME = /^[A-Za-z][A-Za-z0-9_]*$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

/** Reports every contradiction in the manifest that is stored as `object`, and what Jobtide would not write into one. */
export function verifyManifest(manifest: Manifest, object: string, report: Report): void {
  const wrong = (table: string | null, message: string) =>
    report({ kind: 'manifest', table, object, message })
  const { created_at: at, tables } = manifest
  if (!INSTANT.test(at)) wrong(null, `it was made at ${at}, which is no time`)
  for (const name of repeated(tables.map((table) => table.name))) {
    wrong(name, 'it names the table twice')
  }
  for (const table of tables) {
    const problems = [...unsafeNames(table), ...wrongColumns(table), ...wrongSums(table)]
    for (const problem of problems) wrong(table.name, problem)
  }
}

/** What must not be opened or put into SQL: names that are not plain, keys that their names and hashes do not give. */
export function unsafeNames({ name, schema, files, deletion_vector: vector }: ManifestTable) {
  const folderOf = new Map(files.map(({ key, partition }) => [key, partition]))
  const objects = objectsOf({ tables: [{ files, deletion_vector: vector }] })
  const wrongKeys = objects.flatMap(({ key, sha256 }) => {
    const folder = key === vector?.key ? DELETION_VECTOR_FOLDER : (folderOf.get(key) ?? '')
    const own = fileKey(name, folder, sha256)
    if (withoutOwner(key) !== own) return [`it names ${key} where ${own} belongs`]
    return isPlain(key) ? [] : [`${JSON.stringify(key)} cannot be the key of an object`]
  })
  return [
    ...wrongKeys,
    ...repeated(objects.map(({ key }) => key)).map((key) => `it names ${key} twice`),
    ...(NAME.test(name) ? [] : [`${name} is no name of a table`]),
    ...schema
      .filter((column) => !NAME.test(column.name))
      .map((column) => `${column.name} is no name of a column`),
    // Also a table without rows has a file: that is where its columns stand.
    ...(files.length === 0 ? ['it names no file of the table'] : []),
  ]
}

function isPlain(key: string): boolean {
  try {
    checkKey(key)
    return true
  } catch {
    return false
  }
}

function wrongColumns({ schema, key, partition_by: split, last_field_id: last }: ManifestTable) {
  const names = schema.map((column) => column.name)
  const ids = schema.map((column) => column.field_id)
  return [
    ...repeated(names).map((name) => `it names the column ${name} twice`),
    ...repeated(ids).map((id) => `two columns have the field id ${id}`),
    ...ids.filter((id) => id > last).map((id) => `field id ${id} is above the last one, ${last}`),
    ...[...key, ...(split === null ? [] : [split.column])]
      .filter((name) => !names.includes(name))
      .map((name) => `it sorts or splits by ${name}, which is no column`),
  ]
}

function wrongSums({ rows, bytes, files, partitions, deletion_vector: vector }: ManifestTable) {
  const live = (of: typeof files) => sum(of.map((file) => file.rows - file.deletes))
  const names = [...partitions.map(({ name }) => name), ...files.map((file) => file.partition)]
  const sums: (readonly [string, number, number])[] = [
    ['rows', rows, live(files)],
    ['bytes', bytes, sum(files.map((file) => file.bytes)) + (vector?.bytes ?? 0)],
    ['deletes', vector?.rows ?? 0, sum(files.map((file) => file.deletes))],
    ...[...new Set(names)].map((name): [string, number, number] => [
      `rows in ${name}`,
      partitions.find((one) => one.name === name)?.rows ?? 0,
      live(files.filter((file) => file.partition === name)),
    ]),
  ]
  return sums
    .filter(([, said, summed]) => said !== summed)
    .map(([what, said, summed]) => `it says ${said} ${what}, and its parts add up to ${summed}`)
}

function repeated<T>(values: readonly T[]): T[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}
