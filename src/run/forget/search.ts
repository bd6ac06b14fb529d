/**
 * Proves that no data of erased people is left. Every file is read as bytes, and again by its format (journal pages unpacked,
 * databases and Parquet files value by value), and searched for the texts that identify them.
 */

import { createReadStream, existsSync, readdirSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { readSegment } from '../../journal/reader.ts'
import { PublishError } from '../../publish/errors.ts'
import { withObject, withScratchEngine } from '../../publish/scratch.ts'
import type { ObjectStore } from '../../publish/store/object-store.ts'
import { LockedError, StorageError, asStorageError, messageOf } from '../../support/errors.ts'
import { sum } from '../../support/numbers.ts'
import { MIB } from '../../support/units.ts'
import { tablesOf } from '../../warehouse/erase-rows.ts'
import { isLockOfThisProcess } from '../../warehouse/process-lock.ts'
import { quoteIdentifier, quotePath, quoteText } from '../../warehouse/sql-text.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import { dataDirectory } from '../data-directory.ts'
import type { SnapshotTarget } from '../job.ts'
import { isLockFile } from '../lock.ts'
import type { RunWorld } from '../stages.ts'
import type { Marker } from './pending.ts'

/** The world of an erasure. What its `onProgress` throws ends it; it can go on later. */
export type ErasureWorld = RunWorld & {
  /** Where snapshots are erased, given the destinations that the warehouse knows of. */
  readonly targets: (known: readonly string[]) => readonly SnapshotTarget[]
  /** Destinations that the operator says are gone for good; those of earlier erasures stay so. */
  readonly gone?: readonly string[]
}

/** Reports a step, unless the process is to stop. @throws the reason to stop */
export function tell({ stop, onProgress }: ErasureWorld, name: string, done = 0, total = 1): void {
  stop.throwIfAborted()
  onProgress({ stage: 'forget', name, done, total })
}

/** How an erasure searches for `markers`; with its own folder, because searching needs no lock. */
export function searchIn(world: ErasureWorld, name: string, markers: readonly Marker[]) {
  return {
    markers,
    scratchFolder: scratchOf(world),
    signal: world.stop,
    onFile: (done: number, total: number) => tell(world, name, done, total),
  }
}

export function scratchOf({ directory }: Pick<ErasureWorld, 'directory'>): string {
  return `${directory.scratch}.forget-${process.pid}`
}

export interface SearchReport {
  readonly files: number
  readonly bytes: number
  /** Paths of files, or keys of objects; of a database, with the table. */
  readonly matches: readonly string[]
  /** Files that could not be searched, which may hold anything. */
  readonly unsearched: readonly { readonly name: string; readonly why: string }[]
}

export function allOf(reports: readonly SearchReport[]): SearchReport {
  return {
    files: sum(reports.map(({ files }) => files)),
    bytes: sum(reports.map(({ bytes }) => bytes)),
    matches: reports.flatMap(({ matches }) => matches),
    unsearched: reports.flatMap(({ unsearched }) => unsearched),
  }
}

export interface SearchOptions {
  readonly markers: readonly Marker[]
  /** Used by this alone: emptied before, removed after. */
  readonly scratchFolder: string
  readonly signal?: AbortSignal
  readonly onFile?: (done: number, total: number) => void
}

/** Brings a file or object here for `work`. */
type Open = (name: string, work: (path: string) => Promise<void>) => Promise<void>

/** Searches every file below `folder`, but `without`. No database there may be open in this process. */
export async function searchFolder(folder: string, options: SearchOptions, without = '') {
  try {
    const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => path !== without && !isLockFile(path) && !isLockOfThisProcess(path))
    const open: Open = async (path, work) => {
      try {
        await work(path)
      } catch (error) {
        // One that was removed meanwhile holds nothing.
        if (existsSync(path)) throw error
      }
    }
    return await searchAll(paths.toSorted(), open, options)
  } catch (error) {
    throw asStorageError(error, folder)
  }
}

/** Searches objects of a store, and names them by their URLs. @throws PublishError if the store refuses, or an object is missing */
export async function searchStore(
  store: ObjectStore,
  keys: readonly string[],
  options: SearchOptions,
): Promise<SearchReport> {
  const open: Open = (key, work) =>
    withObject({ ...options, store }, key, async (path) => {
      if (path !== null) return work(path)
      throw new PublishError(`${store.urlOf(key)} is not there`, {
        hint: 'Something other than Jobtide removed it: restore it from a backup.',
      })
    })
  return searchAll(keys, open, options, (key) => store.urlOf(key))
}

async function searchAll(
  given: readonly string[],
  open: Open,
  { markers, scratchFolder, signal, onFile }: SearchOptions,
  nameOf = (path: string) => path,
): Promise<SearchReport> {
  const terms = new SearchTerms(markers.flatMap(spellingsOf))
  const matches: string[] = []
  const unsearched: { name: string; why: string }[] = []
  let bytes = 0
  await withScratchEngine(scratchFolder, async (engine) => {
    const search = async (path: string, name: string) => {
      let isFound = false
      try {
        const raw = await searchBytes(path, terms)
        bytes += raw.bytes
        isFound = raw.isFound
        const where = await searchContent(path, name, terms, engine)
        if (where !== null || isFound) matches.push(where ?? name)
      } catch (error) {
        // The next search may succeed: another program has the file open, or memory or disk were short.
        const isPassing = error instanceof LockedError || error instanceof StorageError
        if (isPassing || !existsSync(path)) throw error
        if (isFound) matches.push(name)
        else unsearched.push({ name, why: messageOf(error).split('\n', 1)[0] ?? '' })
      }
    }
    for (const [index, one] of given.entries()) {
      signal?.throwIfAborted()
      await open(one, (path) => search(path, nameOf(one)))
      onFile?.(index + 1, given.length)
    }
  })
  return { files: given.length, bytes, matches, unsearched }
}

/** Every spelling of a text in a file: plain, and as JSON writes it; in quotes if only whole values count. */
export function spellingsOf({ text, is_unique }: Marker): string[] {
  const json = JSON.stringify(text)
  const ascii = json.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return is_unique ? [text, json.slice(1, -1), ascii.slice(1, -1)] : [`"${text}"`, json, ascii]
}

/** Whether one of the texts stands in a text; those that stand in texts about others are a whole one. */
export function namingOf(markers: readonly Marker[]): (text: string) => boolean {
  const textsOf = (isUnique: boolean) =>
    markers.filter(({ is_unique }) => is_unique === isUnique).map(({ text }) => text)
  const terms = new SearchTerms(textsOf(true))
  const wholes = new Set(textsOf(false))
  return (text) => wholes.has(text) || terms.areIn(Buffer.from(text))
}

// A longer pattern exceeds RE2's memory limit.
const LONGEST_PATTERN = 16_384

const literal = (text: string) => text.replaceAll(/[\\^$.|?*+()[\]{}]/g, '\\$&')

/**
 * Searches for many texts in one pass, over bytes here and as patterns in the engine. One pass per text would be too slow:
 * more than a thousand texts identify a hundred people.
 */
export class SearchTerms {
  /** Regular expressions of RE2; a match means that a text was found. */
  readonly patterns: readonly string[]
  /** Bytes of the longest text, 1 or more. */
  readonly longest: number
  /** One character for each byte. */
  readonly #inBytes: RegExp

  constructor(texts: readonly string[]) {
    const all = [...new Set(texts)]
    const spelled = all.map((text) => Buffer.from(text).toString('latin1'))
    this.patterns = patternsOf(all)
    this.longest = spelled.reduce((most, { length }) => Math.max(most, length), 1)
    this.#inBytes = new RegExp(spelled.map(literal).join('|') || '(?!)')
  }

  areIn(bytes: Buffer): boolean {
    return this.#inBytes.test(bytes.toString('latin1'))
  }
}

function patternsOf(texts: readonly string[]): string[] {
  const patterns: string[] = []
  for (const text of texts.map(literal)) {
    const last = patterns.at(-1)
    const joined = last === undefined ? text : `${last}|${text}`
    if (last === undefined || joined.length > LONGEST_PATTERN) patterns.push(text)
    else patterns[patterns.length - 1] = joined
  }
  return patterns
}

async function searchBytes(path: string, terms: SearchTerms) {
  const overlap = terms.longest - 1
  // The end of a chunk may be the beginning of a text, so it is searched again with the next chunk.
  let kept = Buffer.alloc(0)
  let bytes = 0
  let isFound = false
  for await (const piece of createReadStream(path, { highWaterMark: 4 * MIB })) {
    bytes += (piece as Buffer).length
    const window = Buffer.concat([kept, piece as Buffer])
    isFound ||= terms.areIn(window)
    kept = window.subarray(Math.max(0, window.length - overlap))
  }
  return { bytes, isFound }
}

/** Searches what a file holds; null where nothing is found. */
async function searchContent(path: string, name: string, terms: SearchTerms, engine: Warehouse) {
  if (name.endsWith('.journal')) {
    for (const frame of readSegment(path)) {
      const payload = frame.payload()
      const texts = [payload, unescaped(payload)]
      if (texts.some((text) => terms.areIn(text))) return name
    }
  }
  if (name.endsWith('.parquet')) {
    const relation = `read_parquet(${quotePath(path)}, hive_partitioning = false)`
    if (await isIn(engine, relation, terms)) return name
  }
  if (!name.endsWith('.duckdb')) return null
  return withWarehouse({ path, mode: 'read' }, async (warehouse) => {
    for (const table of await tablesOf(warehouse)) {
      if (await isIn(warehouse, table.relation, terms)) return `${name}, table ${table.name},`
    }
    return null
  })
}

/** A page with its escapes resolved, because a service may escape any character, and a slash with a backslash. */
export function unescaped(payload: Buffer): Buffer {
  if (!payload.includes('\\u') && !payload.includes('\\/')) return payload
  const text = payload
    .toString()
    .replaceAll(/\\u([\da-fA-F]{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(text.replaceAll('\\/', '/'))
}

// These columns identify no one, and writing them as text would double the time.
const NO_TEXT = /^(?:BOOLEAN|DATE|TIME|INTERVAL)/
const NESTED = /\]$|^(?:STRUCT|MAP|UNION|VARIANT)/

/** Whether a row of a relation contains one of the texts: all its values, each in quotes, are searched as one text. */
async function isIn(warehouse: Warehouse, relation: string, terms: SearchTerms): Promise<boolean> {
  const columns = await warehouse.all<{ name: string; type: string }>(
    `select column_name as name, column_type as type from (describe from ${relation})`,
  )
  const values = columns
    .filter(({ type }) => !NO_TEXT.test(type))
    .map(({ name, type }) => {
      const value = quoteIdentifier(name)
      // As JSON writes them: in the engine's own text of them, quotes depend on what the value holds.
      return NESTED.test(type) ? `to_json(${value})` : value
    })
  if (values.length === 0) return false
  for (const pattern of terms.patterns) {
    const found = await warehouse.all(
      `select 1 from ${relation}
       where regexp_matches(concat('"', concat_ws('"', ${values.join(', ')}), '"'), ${quoteText(pattern)}) limit 1`,
    )
    if (found.length > 0) return true
  }
  return false
}

/** A sentence for each file or object that could not be searched: what it is, and what to do. */
export function unsearchedIn(unsearched: SearchReport['unsearched']): string[] {
  return unsearched.map(
    ({ name, why }) =>
      `${name} cannot be searched (${why}): remove it, or check it by hand and move it elsewhere`,
  )
}

/**
 * A sentence for each file or object that still names a person. Those of another data directory below `root`, such as that
 * of the demo, are one: an erasure there is a separate command.
 */
export function remainingIn(root: string, matches: readonly string[]): string[] {
  const sentences = matches.map((path) => {
    for (let at = dirname(path); at.startsWith(root + sep); at = dirname(at)) {
      const { journal, warehouse } = dataDirectory(at)
      if (!existsSync(journal) && !existsSync(warehouse)) continue
      return `${at} still names a person to be erased. It is another data directory: run forget there as well, with --data-dir`
    }
    return `${path} still names a person to be erased`
  })
  return [...new Set(sentences)]
}
