/**
 * What each table of `main` is: grain, key, partition, columns. For models it is read from the header of their SQL file,
 * so that a model is described in one place; for the two loaded tables it stands here, beside sql/schema.
 * The build orders and comments by it, the publisher sorts and partitions by it.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import { EXIT, JobtideError } from '../support/errors.ts'

/** One table for analysts. */
export interface TableDefinition {
  readonly name: string
  /** One sentence: what one row is. */
  readonly grain: string
  /** Columns that are unique together and never null. Snapshots are sorted by them. */
  readonly key: readonly string[]
  /** Snapshots keep one file for each calendar year (UTC) of this column; null keeps the table in one file. */
  readonly partitionByYearOf: string | null
  /** Columns that stay out of snapshots because they change on every sighting. */
  readonly leftOut: readonly string[]
}

/** One model: a SQL file with one `select` that makes one table. */
export interface ModelFile extends TableDefinition {
  readonly purpose: string
  /** Column name → what it holds, in the order of the header. */
  readonly columns: ReadonlyMap<string, string>
  readonly sql: string
  readonly path: string
}

/** The tables that `load` fills; sql/schema/000001_events.sql creates them. */
export const loadedTables: readonly TableDefinition[] = [
  {
    name: 'job_change_events',
    grain: 'One row per job-change event.',
    key: ['profile_id', 'organization_id', 'event_type', 'changed_at', 'event_key'],
    partitionByYearOf: 'changed_at',
    leftOut: ['attributes_seen_at', 'last_seen_at', 'last_run_id', 'times_seen'],
  },
  {
    name: 'person_organizations',
    grain: 'One row per person and organisation.',
    key: ['profile_id', 'organization_id'],
    partitionByYearOf: null,
    leftOut: [],
  },
]

const LAYERS = ['staging', 'core', 'marts'] as const

/**
 * Reads every model below `folder` (default: the models that ship with Jobtide), in file order, not in run order.
 * @throws JobtideError naming file and header line when a header is incomplete
 */
export function readModelFiles(folder: string = join(sqlFolder, 'models')): ModelFile[] {
  return LAYERS.flatMap((layer) =>
    sqlFilesIn(join(folder, layer)).map((path) => parseModelFile(path, readFileSync(path, 'utf8'))),
  )
}

/** Every table that a snapshot holds: the loaded ones, then core and mart models. Staging models are not published. */
export function publishedTables(models: readonly ModelFile[]): TableDefinition[] {
  return [...loadedTables, ...models.filter((model) => !model.name.startsWith('stg_'))]
}

/** The `.sql` files directly in `folder`, sorted by name; none when the folder is missing. */
export function sqlFilesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.sql'))
      .toSorted()
      .map((name) => join(folder, name))
  } catch {
    return []
  }
}

/**
 * Reads the header of one model:
 *
 *     -- grain: one row per …
 *     -- key: column, column
 *     -- purpose: …
 *     -- partition: year of column        (optional)
 *     -- columns:
 *     --   column: what it holds
 */
export function parseModelFile(path: string, sql: string): ModelFile {
  const header = sql.split('\n').filter((line) => line.startsWith('--'))
  const field = (name: string): string => {
    const line = header.find((text) => text.startsWith(`-- ${name}: `))
    if (line === undefined) throw new JobtideError(EXIT.defect, `${path}: no "-- ${name}:" line`)
    return line.slice(`-- ${name}: `.length).trim()
  }
  const partition = header.find((line) => line.startsWith('-- partition: year of '))
  const columns = header
    .slice(header.indexOf('-- columns:') + 1)
    .map((line) => /^-- {3}([a-z0-9_]+): (.+)$/.exec(line))
    .filter((match) => match !== null)
  if (columns.length === 0) throw new JobtideError(EXIT.defect, `${path}: no "-- columns:" list`)
  return {
    name: basename(path, '.sql'),
    grain: field('grain'),
    key: field('key').split(/,\s*/),
    purpose: field('purpose'),
    partitionByYearOf: partition?.slice('-- partition: year of '.length).trim() ?? null,
    leftOut: [],
    columns: new Map(columns.map((match) => [match[1] ?? '', match[2] ?? ''])),
    sql,
    path,
  }
}
