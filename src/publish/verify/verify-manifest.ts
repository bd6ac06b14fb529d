/** Whether a manifest contradicts itself. Pure; what the objects hold is looked at elsewhere. */

import { sum } from '../../support/numbers.ts'
import { objectsOf, type ManifestFile, type ManifestTable } from '../manifest.ts'

export function contradictions(tables: readonly ManifestTable[]): string[] {
  const repeated = twice(tables.map(({ name }) => name)).map((name) => `table ${name} twice`)
  return [
    ...repeated.map((what) => `it names the ${what}`),
    ...tables.flatMap((table) =>
      [...wrongColumns(table), ...wrongSums(table)].map((what) => `${table.name}: ${what}`),
    ),
  ]
}

function wrongColumns({
  schema,
  key,
  partition_by: split,
  last_field_id: last,
  files,
}: ManifestTable) {
  const names = schema.map(({ name }) => name)
  const ids = schema.map(({ field_id: id }) => id)
  const bounded = files.flatMap(({ min, max, nulls }) => Object.keys({ ...min, ...max, ...nulls }))
  const needed = new Set([...key, ...(split === null ? [] : [split.column]), ...bounded])
  return [
    ...[...twice(names), ...twice(ids)].map((what) => `it has the column ${what} twice`),
    ...ids.filter((id) => id > last).map((id) => `field id ${id} is above the last one, ${last}`),
    ...[...needed]
      .filter((name) => !names.includes(name))
      .map((name) => `it sorts, splits or bounds by ${name}, which is no column`),
  ]
}

function wrongSums(table: ManifestTable): string[] {
  const { rows, bytes, files, partitions, deletion_vector: vector } = table
  const live = (of: readonly ManifestFile[]) => sum(of.map((file) => file.rows - file.deletes))
  const objects = objectsOf({ tables: [table] })
  const names = new Set(
    [...partitions, ...files.map(({ partition: name }) => ({ name }))].map(({ name }) => name),
  )
  const sums: (readonly [string, number, number])[] = [
    ['rows', rows, live(files)],
    ['bytes', bytes, sum(objects.map((object) => object.bytes))],
    ['deletes', vector?.rows ?? 0, sum(files.map((file) => file.deletes))],
    ...[...names].map((name): [string, number, number] => [
      `rows in ${name}`,
      sum(partitions.map((one) => (one.name === name ? one.rows : 0))),
      live(files.filter((file) => file.partition === name)),
    ]),
  ]
  return [
    ...twice(objects.map(({ key }) => key)).map((key) => `it names ${key} twice`),
    // Also a table without rows has a file: that is where its columns stand.
    ...(files.length === 0 ? ['it names no file'] : []),
    ...sums
      .filter(([, said, summed]) => said !== summed)
      .map(([what, said, summed]) => `it says ${said} ${what}, and its parts add up to ${summed}`),
  ]
}

function twice<T>(values: readonly T[]): T[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}
