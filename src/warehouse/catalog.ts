/**
 * Describes each table of `main` and `core`: grain, key, partition, columns. Those of models are in the header of their
 * SQL file, so that a model is described in one place; those of the loaded tables are here. The build uses them for
 * order and comments, the publisher for sorting and partitions.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import { EXIT, JobtideError } from '../support/errors.ts'

/**
 * Schemas of the tables for analysts: for everyday use in `main`, details, and tables of endpoints. No two tables share
 * a name.
 */
export type Tier = 'main' | 'detail' | 'service'
export const TIERS: readonly Tier[] = ['main', 'detail', 'service']
/** All of them in SQL, after `schema_name in`. */
export const IN_TIERS = `(${TIERS.map((tier) => `'${tier}'`).join(', ')})`
/** The same, and the schema for steps of the build. */
export const IN_BUILT = `(${[...TIERS, 'core'].map((schema) => `'${schema}'`).join(', ')})`

/** The name of a table for analysts without its tier. @param place such as `detail.role_spells`; undefined in another schema */
export function nameInTier(place: string): string | undefined {
  const tier = TIERS.find((one) => place.startsWith(`${one}.`))
  return tier === undefined ? undefined : place.slice(tier.length + 1)
}

export interface TableDefinition {
  readonly name: string
  /** One sentence: what one row is. */
  readonly grain: string
  /** Columns that are unique together and never null. Snapshots are sorted by them. */
  readonly key: readonly string[]
  /** A large table is split in snapshots by the calendar year (UTC) of this column; null never splits it. */
  readonly partitionByYearOf: string | null
  /** Columns that stay out of snapshots because they change on every sighting. */
  readonly leftOut: readonly string[]
  /** If a row can have many kilobytes: writers and readers hold a whole row group of a snapshot. */
  readonly rowGroupRows?: number
  /** A view stores no rows: it is computed where it is read. Default: a table. */
  readonly kind?: 'computed' | 'table' | 'view'
  /** Default: `main`. */
  readonly schema?: Tier | 'core'
  /** It exists from the first answer of one of these endpoints on. Default: it always exists. */
  readonly endpoints?: readonly string[]
}

/** One model: a SQL file with one `select` that makes one table. */
export interface ModelFile extends TableDefinition {
  readonly purpose: string
  /** Column name → description, in order. */
  readonly columns: ReadonlyMap<string, string>
  /** Whether a row depends only on rows of the same person in all that the model reads: `-- incremental_by: profile_id`. */
  readonly isByPerson: boolean
  /** The same for organisations, in every input that has the column: `-- incremental_by: organization_id`. */
  readonly isByOrganization: boolean
  readonly kind: 'table' | 'view'
  /** `core` holds steps on the way that analysts need not see; the others see {@link Tier}. */
  readonly schema: Tier | 'core'
  /** Whether snapshots hold it: only the models in `marts/`. */
  readonly isPublished: boolean
  /** Columns that hold only certain values, or null if `orNull`. */
  readonly values: readonly {
    readonly column: string
    readonly values: readonly string[]
    readonly orNull: boolean
  }[]
  /** Columns whose values, except null, are in a column of another table. */
  readonly references: readonly {
    readonly column: string
    readonly targetTable: string
    readonly targetColumn: string
  }[]
  /** Whether it is one of the user's own. Default: it is Jobtide's. */
  readonly isOwn?: boolean
  readonly sql: string
  readonly path: string
}

const WHOLE = { partitionByYearOf: null, leftOut: [] }

/** The tables that `load` fills, and views over what it filled; sql/schema creates them. */
export const loadedTables: readonly TableDefinition[] = [
  {
    ...WHOLE,
    name: 'job_change_events',
    grain: 'One row per job-change event.',
    key: ['profile_id', 'organization_id', 'event_type', 'changed_at', 'event_key'],
    partitionByYearOf: 'changed_at',
    leftOut: ['attributes_seen_at', 'last_seen_at', 'last_run_id', 'times_seen'],
  },
  {
    ...WHOLE,
    name: 'job_change_event_versions',
    grain: 'One row per corrected event and distinct set of attributes.',
    key: ['event_key', 'version_key'],
    leftOut: ['last_seen_at'],
  },
  {
    ...WHOLE,
    name: 'organization_coverage',
    grain:
      'One row per organisation, event types and unbroken interval of detection time that was read to the end, without filters.',
    key: ['organization_id', 'event_types', 'covered_to_at'],
    kind: 'view',
  },
  {
    ...WHOLE,
    name: 'organization_filters',
    grain: 'One row per organisation and set of filters with which it was requested.',
    key: ['organization_id', 'filters'],
    kind: 'view',
  },
  {
    ...WHOLE,
    name: 'answers',
    grain:
      'One row per answer of an endpoint that a pipeline of kind collect asked, and per activity or baseline that a signal delivered.',
    key: ['request_id'],
    rowGroupRows: 2_048,
  },
]

export function loadedTable(name: string): TableDefinition {
  const found = loadedTables.find((table) => table.name === name)
  if (found === undefined) throw new Error(`${name} is not loaded`)
  return found
}

/** The name of the endpoint of a signal delivery in the table answers. */
export const SIGNAL_DELIVERY = 'signal-delivery'

/** The entries that pipelines watch (src/run/watch-lists.ts): models read it in addition to the loaded tables. */
export const WATCH_ENTRIES = 'ops.watch_entries'

const LAYERS = ['staging', 'core', 'marts'] as const

export const SHIPPED_MODELS = join(sqlFolder, 'models')
/** Its models, cached, because builds and publishes ask for them and reading takes 15 ms. */
let shipped: readonly ModelFile[] | undefined

/** Reads every model below `folder`, in file order. @throws JobtideError naming file and line of a wrong header */
export function readModelFiles(folder: string = SHIPPED_MODELS): readonly ModelFile[] {
  const read = () => LAYERS.flatMap((layer) => sqlFilesIn(join(folder, layer)).map(readModelFile))
  return folder === SHIPPED_MODELS ? (shipped ??= read()) : read()
}

/** The names of all tables of loads and of Jobtide's models; reads no file. */
export function shippedNames(): ReadonlySet<string> {
  const files = [...LAYERS, 'computed'].flatMap((layer) => sqlFilesIn(join(SHIPPED_MODELS, layer)))
  return new Set([
    ...loadedTables.map(({ name }) => name),
    ...files.map((path) => basename(path, '.sql')),
  ])
}

/** The schema of each table for analysts that a build makes, by its name; loaded tables are in `main`. */
export function schemasOfModels(): ReadonlyMap<string, string> {
  const computed = sqlFilesIn(join(SHIPPED_MODELS, 'computed')).map(readModelFile)
  return new Map([...readModelFiles(), ...computed].map(({ name, schema }) => [name, schema]))
}

/** Their end moves with every run, so a night without news would change a snapshot; the manifest summarises it. */
export const CHANGES_WITH_EVERY_RUN = ['organization_coverage', 'organization_filters']

/** Every table that a snapshot holds: the loaded ones, then the models in `marts/`. */
export function publishedTables(models: readonly ModelFile[]): TableDefinition[] {
  return [
    ...loadedTables.filter(({ name }) => !CHANGES_WITH_EVERY_RUN.includes(name)),
    ...models.filter((model) => model.isPublished),
  ]
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
 * Reads the header of one model. Those of the folder `core/` stand in the schema `core`, others in the schema of their tier;
 * snapshots hold those of `marts/`.
 *
 *     -- grain: one row per …
 *     -- key: column, column
 *     -- purpose: …
 *     -- incremental_by: profile_id               (optional: a row depends on rows of the same person alone;
 *                                                  with organization_id, of the same organisation)
 *     -- partition: year of column                (optional)
 *     -- tier: detail                             (optional: not for every day; what has an endpoint is in `service`)
 *     -- kind: view                               (optional: for rows that are cheap to put together when they are read)
 *     -- endpoint: name, name                     (optional: there is no such table before the first answer of one of them)
 *     -- values: column: a | b (or null)          (optional, one line for each column)
 *     -- references: column -> table.column       (optional, one line for each column)
 *     -- columns:
 *     --   column: what it holds
 * @throws JobtideError naming the file and the line that is missing or wrong
 */
export function readModelFile(path: string): ModelFile {
  const wrong = (problem: string) => new JobtideError(EXIT.defect, `${path}: ${problem}`)
  return parseModelFile(path, readFileSync(path, 'utf8'), wrong, false)
}

/** As {@link readModelFile}, of the text of a file. @param isOwn whether all lines of the header are optional */
export function parseModelFile(
  path: string,
  sql: string,
  wrong: (problem: string) => Error,
  isOwn: boolean,
): ModelFile {
  const header = sql.split('\n').filter((line) => line.startsWith('--'))
  const linesOf = (name: string) => {
    const start = `-- ${name}: `
    return header.flatMap((line) => (line.startsWith(start) ? line.slice(start.length).trim() : []))
  }
  const field = (name: string): string => {
    const [value] = linesOf(name)
    if (value === undefined && !isOwn) throw wrong(`no "-- ${name}:" line`)
    return value ?? ''
  }
  /** What the groups of `pattern` match in each line. */
  const each = (name: string, form: string, pattern: RegExp): string[][] =>
    linesOf(name).map((line) => {
      const match = pattern.exec(line)
      if (match === null) throw wrong(`"-- ${name}: ${line}" is not "${form}"`)
      return match.slice(1)
    })
  const kind = each('kind', 'view', /^view$/).length > 0 ? 'view' : 'table'
  const tier = each('tier', 'detail', /^detail$/).length > 0 ? 'detail' : 'main'
  const [[partition = null] = []] = each('partition', 'year of column', /^year of ([a-z0-9_]+)$/)
  const values = each('values', 'column: a | b', /^([a-z0-9_]+): (.+?)( \(or null\))?$/).map(
    ([column = '', list = '', orNull]) => {
      const allowed = list.split('|').map((value) => value.trim())
      return { column, values: allowed, orNull: orNull !== undefined }
    },
  )
  const reference = /^([a-z0-9_]+) -> ([a-z0-9_]+)\.([a-z0-9_]+)$/
  const references = each('references', 'column -> table.column', reference).map(
    ([column = '', targetTable = '', targetColumn = '']) => ({ column, targetTable, targetColumn }),
  )
  const columns = header
    .slice(header.indexOf('-- columns:') + 1)
    .map((line) => /^-- {3}([a-z0-9_]+): (.+)$/.exec(line))
    .filter((match) => match !== null)
  if (columns.length === 0 && !isOwn) throw wrong('no "-- columns:" list')
  const layer = basename(dirname(path))
  const incrementalBy = linesOf('incremental_by')
  const endpoints = linesOf('endpoint').flatMap((line) => line.split(/,\s*/))
  const model: ModelFile = {
    name: basename(path, '.sql'),
    grain: field('grain'),
    key: field('key').split(/,\s*/).filter(Boolean),
    purpose: field('purpose'),
    isByPerson: incrementalBy.includes(PERSON),
    isByOrganization: incrementalBy.includes(ORGANIZATION),
    values,
    references,
    partitionByYearOf: partition,
    leftOut: [],
    kind,
    endpoints,
    ...(endpoints.length > 0 ? { rowGroupRows: ROWS_WITH_TEXTS } : {}),
    schema: layer === 'core' && !isOwn ? 'core' : endpoints.length > 0 ? 'service' : tier,
    isPublished: isOwn || layer === 'marts',
    ...(isOwn ? { isOwn } : {}),
    columns: new Map(columns.map(([, name = '', comment = '']) => [name, comment])),
    sql,
    path,
  }
  if (
    incrementalBy.length > 1 ||
    incrementalBy.some((by) => by !== PERSON && by !== ORGANIZATION)
  ) {
    throw wrong('a model is incremental_by profile_id or organization_id, or rebuilt')
  }
  const constrained = [...values, ...references].map(({ column }) => column)
  if (kind === 'view' && constrained.length > 0)
    throw wrong('a view is checked at the tables that it reads: say values and references there')
  const named = [...model.key, ...incrementalBy, ...constrained]
  const unknown = columns.length > 0 && named.find((column) => !model.columns.has(column))
  if (unknown) throw wrong(`the header names ${unknown}, which is not in "-- columns:"`)
  return model
}

/** For tables whose rows have text of some kilobytes, such as answers of endpoints. */
const ROWS_WITH_TEXTS = 8_192

/** The column that names a person; models are `incremental_by` it, or rebuilt. */
export const PERSON = 'profile_id'

export const ORGANIZATION = 'organization_id'
