/**
 * The proof that nothing is left of somebody: every file is read, byte by byte and once more as what it is (pages of the
 * journal unpacked, tables of databases and Parquet files value by value), and searched for their texts.
 */

import { closeSync, mkdirSync, openSync, readSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { openJournal } from '../../journal/journal.ts'
import type { ObjectStore } from '../../publish/store/object-store.ts'
import type { Clock } from '../../support/clock.ts'
import { asStorageError } from '../../support/errors.ts'
import { MIB } from '../../support/units.ts'
import {
  openWarehouse,
  quoteIdentifier,
  quoteText,
  withWarehouse,
  type Warehouse,
} from '../../warehouse/warehouse.ts'
import type { Marker } from './forget-texts.ts'

/** Something that is left. It says where, not what. */
export interface Match {
  /** Path or address of the file or object. */
  readonly where: string
  readonly matches: number
}

/** What was searched, and what is left. */
export interface Proof {
  readonly files: number
  readonly bytes: number
  readonly matches: readonly Match[]
}

/** What a search needs. */
export interface ProofOptions {
  readonly markers: readonly Marker[]
  /** A folder of its own for passing files; removed after. */
  readonly scratchFolder: string
  readonly clock: Clock
  readonly signal?: AbortSignal
  /** Called after each file. */
  readonly onFile?: (done: number, total: number) => void
}

/** A file to search. */
interface Subject {
  readonly where: string
  /** Brings it here; null when it went away meanwhile. */
  readonly fetch: () => Promise<string | null>
}

/** Searches every file below `folder`, but those in `without`. No database there may be open in this process. */
export async function searchFolder(
  folder: string,
  options: ProofOptions,
  without: readonly string[] = [],
): Promise<Proof> {
  const subjects = filesBelow(folder)
    .filter((path) => !without.includes(path))
    .map((path) => ({ where: path, fetch: () => Promise.resolve(path) }))
  return searchAll(subjects, options)
}

/** Searches every object of a store that is no folder. */
export async function searchStore(store: ObjectStore, options: ProofOptions): Promise<Proof> {
  const objects = await store.list('')
  const subjects = objects.map(({ key }) => ({
    where: store.urlOf(key),
    async fetch() {
      const path = join(options.scratchFolder, basename(key))
      return (await store.download(key, path, options.signal)) ? path : null
    },
  }))
  return searchAll(subjects, options)
}

async function searchAll(subjects: readonly Subject[], options: ProofOptions): Promise<Proof> {
  const { markers, scratchFolder, signal, onFile } = options
  const needles = needlesOf(markers)
  makeFolder(scratchFolder)
  const engine = await openWarehouse({ path: ':memory:', mode: 'write' })
  const matches: Match[] = []
  let bytes = 0
  try {
    for (const [index, { where, fetch }] of subjects.entries()) {
      signal?.throwIfAborted()
      const path = await fetch()
      if (path !== null) {
        const raw = searchBytes(path, needles)
        bytes += raw.bytes
        const found = raw.matches + (await searchContent(path, where, options, engine, needles))
        if (found > 0) matches.push({ where, matches: found })
        if (path !== where && path.startsWith(scratchFolder)) rmSync(path, { force: true })
      }
      onFile?.(index + 1, subjects.length)
    }
    return { files: subjects.length, bytes, matches }
  } finally {
    engine.close()
    rmSync(scratchFolder, { recursive: true, force: true })
  }
}

/** Every spelling in which a text can stand in a file: as it is, in UTF-16, and as JSON writes it. */
function needlesOf(markers: readonly Marker[]): Buffer[] {
  const spellings = markers.flatMap(({ text, isUnique }) => {
    const json = JSON.stringify(text)
    const ascii = json.replaceAll(
      /[^\0-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    if (!isUnique) return [json, ascii].map((spelling) => Buffer.from(spelling))
    const inQuotes = [json, ascii].map((spelling) => Buffer.from(spelling.slice(1, -1)))
    // As the checkpoint of the journal keeps texts that have no other characters.
    const latin = /^[\0-\xff]*$/.test(text) ? [Buffer.from(text, 'latin1')] : []
    return [Buffer.from(text), Buffer.from(text, 'utf16le'), ...latin, ...inQuotes]
  })
  return [...new Map(spellings.map((needle) => [needle.toString('hex'), needle])).values()]
}

function searchBytes(
  path: string,
  needles: readonly Buffer[],
): { readonly bytes: number; readonly matches: number } {
  const longest = needles.reduce((most, needle) => Math.max(most, needle.length), 1)
  // What may be the beginning of a text at the end of one piece is looked at again with the next one.
  const overlap = longest - 1
  const buffer = Buffer.allocUnsafe(4 * MIB + overlap)
  let kept = 0
  let bytes = 0
  let matches = 0
  let file: number | null = null
  try {
    file = openSync(path, 'r')
    for (;;) {
      const read = readSync(file, buffer, kept, buffer.length - kept, null)
      if (read === 0) return { bytes, matches }
      bytes += read
      const piece = buffer.subarray(0, kept + read)
      matches += needles.filter((needle) => piece.includes(needle)).length
      kept = Math.min(overlap, piece.length)
      buffer.copyWithin(0, piece.length - kept, piece.length)
    }
  } catch (error) {
    throw asStorageError(error, path)
  } finally {
    if (file !== null) closeSync(file)
  }
}

async function searchContent(
  path: string,
  name: string,
  { markers, clock }: ProofOptions,
  engine: Warehouse,
  needles: readonly Buffer[],
): Promise<number> {
  if (name.endsWith('.journal')) return searchSegment(path, clock, needles)
  if (name.endsWith('.duckdb')) {
    return withWarehouse({ path, mode: 'read' }, (warehouse) => searchTables(warehouse, markers))
  }
  if (!name.endsWith('.parquet')) return 0
  return searchRelation(
    engine,
    `read_parquet(${quoteText(path)}, hive_partitioning = false)`,
    markers,
  )
}

function searchSegment(path: string, clock: Clock, needles: readonly Buffer[]): number {
  let matches = 0
  for (const frame of openJournal(join(path, '..'), clock).read(basename(path))) {
    const payload = frame.payload()
    matches += needles.filter((needle) => payload.includes(needle)).length
  }
  return matches
}

async function searchTables(warehouse: Warehouse, markers: readonly Marker[]): Promise<number> {
  const tables = await warehouse.all<{ schema_name: string; table_name: string }>(
    'select schema_name, table_name from duckdb_tables() where database_name = current_database()',
  )
  let matches = 0
  for (const { schema_name: schema, table_name: table } of tables) {
    const name = `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`
    matches += await searchRelation(warehouse, name, markers)
  }
  return matches
}

/** How many rows of a relation hold one of the texts, whatever the type of the column. */
async function searchRelation(
  warehouse: Warehouse,
  relation: string,
  markers: readonly Marker[],
): Promise<number> {
  const { columns } = await warehouse.table(`select * from ${relation} limit 0`)
  const texts = columns.filter(({ type }) => /VARCHAR|JSON|STRUCT|MAP|BLOB/.test(type))
  const conditions = texts.flatMap(({ name }) => {
    const column = `cast(${quoteIdentifier(name)} as varchar)`
    return markers.map(({ text, isUnique }) =>
      isUnique ? `contains(${column}, ${quoteText(text)})` : `${column} = ${quoteText(text)}`,
    )
  })
  if (conditions.length === 0) return 0
  const [row] = await warehouse.all<{ row_count: bigint }>(
    `select count(*) as row_count from ${relation} where ${conditions.join(' or ')}`,
  )
  return Number(row?.row_count ?? 0)
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
  } catch (error) {
    throw asStorageError(error, folder)
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw asStorageError(error, folder)
  }
}
