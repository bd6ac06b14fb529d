/** What a commit must say so that a table's Delta log shows what the manifest says. Pure. */

import { sha256Hex } from '../../support/hash.ts'
import { jsonOrNull, stableJson } from '../../support/json.ts'
import { PublishError } from '../errors.ts'
import type { Manifest, ManifestFile, ManifestTable } from '../manifest.ts'
import { APP_ID, PROTOCOL, tableFolder, type Action, type AddFile, type LogState } from './log.ts'

/**
 * The actions of the next commit, in the order of their lines; null when the log shows this table as it is. The same facts give
 * the same actions, so that two publishers of one snapshot write the same bytes.
 */
export function planCommit({
  state,
  manifest,
  table,
}: {
  readonly state: LogState
  readonly manifest: Manifest
  readonly table: ManifestTable
}): Action[] | null {
  const at = Date.parse(manifest.created_at)
  const metaData = {
    id: state.metaData?.id ?? tableId(table.name, manifest.snapshot_id),
    name: table.name,
    description: table.grain,
    format: { provider: 'parquet', options: {} },
    schemaString: schemaString(table),
    partitionColumns: [],
    createdTime: state.metaData?.createdTime ?? at,
    configuration: {},
  }
  const changes: Action[] = [
    ...(state.protocol === undefined ? [{ protocol: PROTOCOL }] : []),
    ...(stableJson(metaData) === stableJson(state.metaData) ? [] : [{ metaData }]),
    ...fileActions(state, table, at),
  ]
  if (changes.length === 0) return null
  const commitInfo = {
    timestamp: at,
    operation: 'WRITE',
    operationParameters: { mode: 'Overwrite', partitionBy: '[]' },
    engineInfo: `Jobtide/${manifest.versions.jobtide}`,
    isBlindAppend: false,
    snapshot_id: manifest.snapshot_id,
    // What engines show in a table's history.
    userMetadata: manifest.snapshot_id,
  }
  const txn = { appId: APP_ID, version: manifest.sequence, lastUpdated: at }
  return [{ commitInfo }, { txn }, ...changes]
}

// A UUID that follows from the table and its first snapshot, so that two publishers of one snapshot agree on it.
function tableId(table: string, snapshotId: string): string {
  const hash = sha256Hex(Buffer.from(`delta ${table} ${snapshotId}`))
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
}

/** Files that the log has and the manifest has not go; those it lacks, or names with another size or count of rows, come. */
function fileActions({ files }: LogState, table: ManifestTable, at: number): Action[] {
  // Keys are made of characters that stand for themselves in a URI, so the path needs no encoding.
  const wanted = table.files.map((file): AddFile => ({
    path: file.key.slice(tableFolder(table.name).length),
    partitionValues: {},
    size: file.bytes,
    modificationTime: at,
    dataChange: true,
    stats: fileStats(file, table.schema),
  }))
  const paths = new Set(wanted.map(({ path }) => path))
  const factsOf = (file?: AddFile) => {
    const { numRecords } = Object(jsonOrNull(file?.stats ?? '')) as { numRecords?: number }
    return `${file?.size} ${numRecords}`
  }
  const removed = [...files.values()].filter(({ path }) => !paths.has(path))
  const added = wanted.filter((file) => factsOf(file) !== factsOf(files.get(file.path)))
  const byPath = (a: AddFile, b: AddFile) => (a.path < b.path ? -1 : 1)
  const gone = { deletionTimestamp: at, dataChange: true, extendedFileMetadata: true }
  return [
    ...removed.toSorted(byPath).map(({ path, size }) => ({
      remove: { path, ...gone, partitionValues: {}, size },
    })),
    ...added.toSorted(byPath).map((add) => ({ add })),
  ]
}

type DeltaType = string | { type: 'array'; elementType: DeltaType; containsNull: boolean }

const PRIMITIVES: Readonly<Record<string, string>> = {
  BOOLEAN: 'boolean',
  TINYINT: 'byte',
  SMALLINT: 'short',
  INTEGER: 'integer',
  BIGINT: 'long',
  FLOAT: 'float',
  DOUBLE: 'double',
  VARCHAR: 'string',
  BLOB: 'binary',
  DATE: 'date',
  'TIMESTAMP WITH TIME ZONE': 'timestamp',
}

/**
 * The `schemaString` of a table. Every column may be null there: the protocol has no way to add one that may not.
 * @throws PublishError for a column whose type the Delta protocol does not have
 */
export function schemaString(table: Pick<ManifestTable, 'name' | 'schema'>): string {
  const fields = table.schema.map(({ name, type, comment }) => {
    const word = deltaType(type)
    if (word === undefined) {
      const what = `${table.name}.${name} is a ${type}, which a Delta table cannot hold`
      throw new PublishError(what, {
        hint: 'In the model, cast it to a plain type: bigint, double, decimal, varchar, date, timestamptz or a list of one.',
      })
    }
    return { name, type: word, nullable: true, metadata: comment === null ? {} : { comment } }
  })
  return JSON.stringify({ type: 'struct', fields })
}

/** The Delta protocol's word for DuckDB's `type`; undefined where it has none. */
function deltaType(type: string): DeltaType | undefined {
  if (type.endsWith('[]')) {
    const elementType = deltaType(type.slice(0, -2))
    return elementType && { type: 'array', elementType, containsNull: true }
  }
  const decimal = /^DECIMAL\((\d+),\s*(\d+)\)$/.exec(type)
  return decimal === null ? PRIMITIVES[type] : `decimal(${decimal[1]},${decimal[2]})`
}

/** How many characters of a text a bound keeps, as in the protocol's own writers. */
const LONGEST_TEXT = 32
const LAST_CHARACTER = '\u{10FFFF}'

type Side = 'min' | 'max'

/**
 * What the log says of the values in a file, so that an engine can pass files over. A bound that is too wide costs a reader time
 * and one that is too narrow costs it rows, so what cannot be said exactly is left out.
 */
export function fileStats(file: ManifestFile, columns: ManifestTable['schema']): string {
  // What is undefined is left out of JSON.
  const byColumn = (valueOf: (name: string, type: string) => string | number | undefined) =>
    Object.fromEntries(columns.map(({ name, type }) => [name, valueOf(name, type)]))
  return JSON.stringify({
    numRecords: file.rows,
    minValues: byColumn((name, type) => boundOf(file.min[name], type, 'min')),
    maxValues: byColumn((name, type) => boundOf(file.max[name], type, 'max')),
    // A column that is younger than the file has neither bounds nor nulls in the manifest, and is null in every row. So
    // nothing is said of a column without either: "no nulls" would make readers pass over rows that have one.
    nullCount: byColumn(
      (name) => file.nulls[name] ?? (file.min[name] === undefined ? undefined : 0),
    ),
  })
}

// Not for floating-point numbers: NaN is larger than all others to some engines and in no bound.
function boundOf(text: string | undefined, type: string, side: Side): string | number | undefined {
  if (text === undefined) return undefined
  if (/^(?:TINY|SMALL|BIG)INT$|^INTEGER$/.test(type)) {
    return Number.isSafeInteger(Number(text)) ? Number(text) : undefined
  }
  if (type === 'DATE') return /^\d{4}-\d\d-\d\d$/.test(text) ? text : undefined
  if (type === 'TIMESTAMP WITH TIME ZONE') return timeBound(text, side)
  return type === 'VARCHAR' ? textBound(text, side) : undefined
}

function textBound(text: string, side: Side): string {
  const characters = Array.from(text)
  const kept = characters.slice(0, LONGEST_TEXT).join('')
  if (side === 'min' || characters.length <= LONGEST_TEXT) return kept
  // Larger than everything that begins with what is kept, but for texts that go on with the last character itself.
  return characters[LONGEST_TEXT] === LAST_CHARACTER ? text : kept + LAST_CHARACTER
}

const TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:\+00)?$/

// Readers know times in statistics to the millisecond: down for the smallest, up for the largest.
function timeBound(text: string, side: Side): string | undefined {
  const found = TIME.exec(text)
  if (found === null) return undefined
  const [, day = '', time = '', fraction = ''] = found
  const millis = Number(fraction.padEnd(6, '0')) / 1_000
  const rounded = side === 'min' ? Math.floor(millis) : Math.ceil(millis)
  return new Date(Date.parse(`${day}T${time}Z`) + rounded).toISOString()
}
