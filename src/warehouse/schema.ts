/**
 * The fixed tables, from numbered files that are applied once, in order, each in its own transaction. A file that was
 * applied must not change afterwards: its checksum is kept and compared.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { EXIT, JobtideError } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'

/**
 * The interface to a warehouse that applying the schema needs; that file opens warehouses with this one, so it is not
 * imported.
 */
interface SchemaTarget {
  readonly path: string
  run(sql: string, parameters?: readonly string[]): Promise<void>
  all<Row extends object>(sql: string): Promise<Row[]>
  transaction<T>(work: () => Promise<T>): Promise<T>
}

const FILE_NAME = /^\d{6}_[a-z0-9_]+\.sql$/

/**
 * Brings the schema up to date, or changes nothing.
 * @throws JobtideError when the file was made by a newer Jobtide, or an applied schema file has changed
 */
export async function applySchema(warehouse: SchemaTarget, folder: string): Promise<void> {
  await warehouse.run(`
    create schema if not exists ops;
    create table if not exists ops.schema_files (
      file_name varchar not null,
      sha256 varchar not null
    );
  `)
  for (const { name, sql, sha256 } of await newFiles(warehouse, folder)) {
    await warehouse.transaction(async () => {
      await warehouse.run(sql)
      await warehouse.run('insert into ops.schema_files values ($1, $2)', [name, sha256])
    })
  }
}

/** The schema files that a warehouse does not have yet; throws as {@link applySchema} does. */
export async function newFiles(
  warehouse: Pick<SchemaTarget, 'path' | 'all'>,
  folder: string,
): Promise<{ readonly name: string; readonly sql: string; readonly sha256: string }[]> {
  const rows = await warehouse.all<{ file_name: string; sha256: string }>('from ops.schema_files')
  const applied = new Map(rows.map(({ file_name, sha256 }) => [file_name, sha256]))
  const names = readdirSync(folder)
    .filter((name) => FILE_NAME.test(name))
    .toSorted()
  refuseNewer(warehouse.path, [...applied.keys()], names)
  const files = names.map((name) => {
    const sql = readFileSync(join(folder, name), 'utf8')
    return { name, sql, sha256: sha256Hex(sql) }
  })
  const changed = files.find(({ name, sha256 }) => (applied.get(name) ?? sha256) !== sha256)
  if (changed === undefined) return files.filter(({ name }) => !applied.has(name))
  throw new JobtideError(EXIT.defect, `schema file ${changed.name} changed after it was applied`, {
    hint: 'Schema files only go forward: put the change into a new numbered file. `jobtide replay` rebuilds the warehouse from the journal.',
  })
}

function refuseNewer(path: string, applied: readonly string[], known: readonly string[]): void {
  const unknown = applied.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  throw new JobtideError(
    EXIT.usage,
    `the warehouse ${path} was made by a newer Jobtide: its schema has ${unknown.join(', ')}, and this one ends with ${known.at(-1)}`,
    { hint: 'Use that version of Jobtide, or name another folder with --data-dir.' },
  )
}
