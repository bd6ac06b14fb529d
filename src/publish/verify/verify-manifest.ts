/** Whether a manifest fits itself: keys, sums, columns. Pure; what the objects hold is looked at elsewhere. */

import { messageOf } from '../../support/errors.ts'
import { sum } from '../../support/numbers.ts'
import { DELETION_VECTOR_FOLDER, fileKey } from '../keys.ts'
import type { Manifest, ManifestTable } from '../manifest.ts'
import { withoutOwner } from '../own-keys.ts'
import { checkKey } from '../store/object-store.ts'
import type { Report } from './verify-findings.ts'

/** Names of tables and columns as Jobtide gives them: they mean the same in SQL, in a path and on a screen. */
const NAME = /^[A-Za-z][A-Za-z0-9_]*$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

/** Reports every contradiction in the manifest that is stored as `object`, and what Jobtide would not write into one. */
export function verifyManifest(manifest: Manifest, object: string, report: Report): void {
  if (!INSTANT.test(manifest.created_at)) {
    const message = `it was made at ${manifest.created_at}, which is no time`
    report({ kind: 'manifest', table: null, object, message })
  }
  for (const table of manifest.tables) {
    for (const message of contradictions(table)) {
      report({ kind: 'manifest', table: table.name, object, message })
    }
  }
  for (const name of repeated(manifest.tables.map((table) => table.name))) {
    report({ kind: 'manifest', table: name, object, message: 'it names the table twice' })
  }
}

/** Whether the objects of a table stand under the keys that their names and hashes give them, and the names are plain. */
export function hasPlainKeys(table: ManifestTable): boolean {
  return wrongKeys(table).length === 0 && wrongNames(table).length === 0
}

function contradictions(table: ManifestTable): string[] {
  return [...wrongKeys(table), ...wrongNames(table), ...wrongColumns(table), ...wrongSums(table)]
}

function wrongKeys({ name, files, deletion_vector: deleted }: ManifestTable): string[] {
  const named = [
    ...files.map((file) => ({ key: file.key, own: fileKey(name, file.partition, file.sha256) })),
    ...(deleted === null
      ? []
      : [{ key: deleted.key, own: fileKey(name, DELETION_VECTOR_FOLDER, deleted.sha256) }]),
  ]
  const problems = named.flatMap(({ key, own }) => {
    if (withoutOwner(key) !== own) return [`it names ${key} where ${own} belongs`]
    try {
      checkKey(key)
      return []
    } catch (error) {
      return [messageOf(error)]
    }
  })
  return [
    ...problems,
    ...repeated(named.map(({ key }) => key)).map((key) => `it names ${key} twice`),
  ]
}

function wrongNames({ name, schema, files }: ManifestTable): string[] {
  return [
    ...(NAME.test(name) ? [] : [`${name} is no name of a table`]),
    ...schema
      .filter((column) => !NAME.test(column.name))
      .map((column) => `${column.name} is no name of a column`),
    // Also a table without rows has a file: that is where its columns stand.
    ...(files.length === 0 ? ['it names no file of the table'] : []),
  ]
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

function wrongSums({
  rows,
  bytes,
  files,
  partitions,
  deletion_vector: deleted,
}: ManifestTable): string[] {
  const problems: string[] = []
  const expect = (what: string, said: number, summed: number) => {
    if (said !== summed) problems.push(`it says ${said} ${what}, and its parts add up to ${summed}`)
  }
  const live = (of: typeof files) => sum(of.map((file) => file.rows - file.deletes))
  expect('rows', rows, live(files))
  expect('bytes', bytes, sum(files.map((file) => file.bytes)) + (deleted?.bytes ?? 0))
  expect('deleted rows', deleted?.rows ?? 0, sum(files.map((file) => file.deletes)))
  for (const name of new Set(
    [...partitions, ...files.map((file) => ({ name: file.partition }))].map((part) => part.name),
  )) {
    const said = partitions.find((part) => part.name === name)
    if (said === undefined) problems.push(`it names files of ${name} and not that partition`)
    else expect(`rows in ${name}`, said.rows, live(files.filter((file) => file.partition === name)))
  }
  return problems
}

function repeated<T>(values: readonly T[]): T[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}
