/**
 * Proves a published snapshot again, from nothing but what is in the store: pointer → manifest (hash) → every file (bytes,
 * SHA-256, rows, columns) → the Delta logs and `current/`, which must show the same files; and that nothing else lies about.
 * Changes nothing.
 */

import { lstatSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { makeFolders } from '../support/atomic-file.ts'
import { StorageError, messageOf, onDisk } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import { quotePath } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { CURRENT_FOLDER, currentFiles, readCurrentRecord } from './current.ts'
import { planCommit } from './delta/commit-plan.ts'
import { logFolder, tableFolder } from './delta/log-files.ts'
import { readStoredLog, sequenceOf } from './delta/log.ts'
import { PublishError } from './errors.ts'
import { knownKey } from './keys.ts'
import {
  POINTER_KEY,
  isOfThisFormat,
  objectsOf,
  parsePointer,
  snapshotKeys,
  totalsOf,
  viewsSql,
  type Manifest,
  type ManifestFile,
  type ManifestTable,
  type NamedObject,
  type Pointer,
  type SnapshotTotals,
  type StoredManifest,
} from './manifest.ts'
import { sha256OfFile } from './parquet.ts'
import { noSnapshot, nothingPublished, readManifests, snapshotIds } from './read-snapshot.ts'
import { withScratchEngine, type Step } from './scratch.ts'
import type { ObjectStore, StoredObject } from './store/object-store.ts'

/**
 * What is wrong. Of pointer and manifests: `pointer`, `manifest`, `format` (an older one: nothing else is looked at). Of an
 * object: `missing`, `size`, `sha256`. Of a Parquet file: `unreadable`, `columns` (names, types, field ids), `rows` (their
 * number). Of what is made from the manifest: `views`, `delta` (the log tells something else). Beside the snapshot: `stale` (a
 * Delta log that is missing, unreadable or of another snapshot, or `current/`), `current` (a file there is another one), `extra`
 * (nothing names the object).
 */
export type FindingKind =
  | ('pointer' | 'manifest' | 'format' | 'missing' | 'size' | 'sha256' | 'unreadable')
  | ('columns' | 'rows' | 'views' | 'delta' | 'current' | 'stale' | 'extra')

export interface Finding {
  readonly kind: FindingKind
  readonly table: string | null
  readonly object: string
  readonly message: string
}

/** Takes what is wrong with an object, which is that of a table where its key says so. */
type Report = (kind: FindingKind, object: string, message: string) => void

export interface VerifyOptions {
  readonly store: ObjectStore
  /** Null for the snapshot that the pointer names. */
  readonly snapshotId: string | null
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  readonly onProgress?: (step: Step) => void
  readonly signal?: AbortSignal
}

export interface VerifyReport extends SnapshotTotals {
  /** Null when no manifest could be read. */
  readonly snapshotId: string | null
  readonly destination: string
  /** Null also for one of an older format. */
  readonly manifest: Manifest | null
  /** Where `views.sql` reads the files, when the snapshot was copied here from there; else null. */
  readonly copiedFrom: string | null
  readonly findings: readonly Finding[]
}

/**
 * Verifies one snapshot.
 * @throws PublishError when there is no such snapshot or it is swept away meanwhile, or the store refuses
 */
export async function verifySnapshot(options: VerifyOptions): Promise<VerifyReport> {
  const { store } = options
  const { destination } = store
  const findings: Finding[] = []
  const report: Report = (kind, object, message) => {
    const table = /^(?:tables|current)\/([^/]+)\//.exec(object)?.[1] ?? null
    findings.push({ kind, table, object, message })
  }
  // Before the manifests are read: then what it lists is in one of them, or is not published.
  const [pointer] = await store.list(POINTER_KEY)
  const objects = [...(await store.list('tables/')), ...(await store.list('snapshots/'))]
  const chain = await verifyChain(store, options.snapshotId, report)
  const found = chain?.manifest ?? null
  const told = {
    snapshotId: found?.snapshot_id ?? null,
    destination,
    ...totalsOf(found ?? { tables: [] }),
    findings,
  }
  if (chain === null || found === null) return { ...told, manifest: null, copiedFrom: null }
  const { manifest: object } = snapshotKeys(found.snapshot_id)
  if (!isOfThisFormat(found)) {
    const older = `it has the older format ${found.format_version}: publish first, which puts a whole new snapshot in its place`
    report('format', object, older)
    return { ...told, manifest: null, copiedFrom: null }
  }
  for (const table of found.tables) {
    for (const what of wrongSums(table)) report('manifest', object, `${table.name}: ${what}`)
  }
  await verifyViews(store, found, report)
  await verifyTables(options, { ...chain, manifest: found }, report)
  if (chain.all !== null) {
    // Publishers at work may have written what is not older than this.
    const oldBefore = (pointer?.modifiedAt ?? Number.NEGATIVE_INFINITY) - DAY
    await findExtra(store, objects, chain.all, oldBefore, report)
  }
  // A snapshot that is no longer kept goes manifest first; what is missing of it then is no damage.
  if (findings.length > 0 && (await store.head(object)) === null) {
    throw new PublishError(
      `snapshot ${found.snapshot_id} was deleted by garbage collection while it was verified`,
      { hint: 'Verify the one that readers see now.' },
    )
  }
  const copiedFrom = found.destination === destination ? null : found.destination
  return { ...told, manifest: found, copiedFrom }
}

interface Chain<M = StoredManifest> {
  readonly manifest: M
  readonly isCurrent: boolean
  readonly pointer: string | null
  /** Every manifest of the store; null when one cannot be read, so that what it names is not known. */
  readonly all: readonly StoredManifest[] | null
}

/**
 * Reads pointer and manifests, and holds each against the one that names its hash: the pointer names the newest, each the one
 * before. @returns null when there is no manifest to go on with; that is reported
 */
async function verifyChain(
  store: ObjectStore,
  snapshotId: string | null,
  report: Report,
): Promise<Chain | null> {
  // The pointer first: what it names was there before it did.
  const stored = await store.get(POINTER_KEY)
  const ids = snapshotIds(await store.list('snapshots/'))
  if (stored === null && ids.length === 0) throw nothingPublished(store.destination)
  if (stored === null) {
    report('pointer', POINTER_KEY, 'it is not there, so readers find none of the snapshots')
  }
  const pointer = stored === null ? null : readPointer(stored.bytes, report)
  const id = snapshotId ?? pointer?.snapshot_id
  if (id === undefined) return null
  if (!ids.includes(id) && id !== pointer?.snapshot_id) throw noSnapshot(id, store.destination)
  const found = await readManifests(store, ids, (key, { message }) =>
    report('manifest', key, message),
  )
  if (pointer !== null && !ids.includes(pointer.snapshot_id)) {
    report('missing', pointer.manifest_key, `${POINTER_KEY} names it and it is not there`)
  }
  const links = [...found.values()].map(({ manifest: { previous, snapshot_id: after } }) => {
    return { ...previous, who: `the snapshot after it, ${after},` }
  })
  for (const { snapshot_id: of = '', manifest_sha256: sha256, who } of [
    ...links,
    { ...pointer, who: POINTER_KEY },
  ]) {
    const own = found.get(of)?.sha256
    if (own === undefined || own === sha256) continue
    const message = `its SHA-256 is ${own}, and ${who} says ${sha256}: it was changed after it was published`
    report('manifest', snapshotKeys(of).manifest, message)
  }
  for (const { manifest } of found.values()) {
    const before = found.get(manifest.previous?.snapshot_id ?? '')?.manifest.sequence
    if (before === undefined || manifest.sequence === before + 1) continue
    const message = `it has number ${manifest.sequence}, and the snapshot before it ${before}`
    report('manifest', snapshotKeys(manifest.snapshot_id).manifest, message)
  }
  const subject = found.get(id)?.manifest
  if (subject === undefined) return null
  return {
    manifest: subject,
    isCurrent: id === pointer?.snapshot_id,
    pointer: stored?.version ?? null,
    all: found.size < ids.length ? null : [...found.values()].map(({ manifest }) => manifest),
  }
}

function readPointer(bytes: Uint8Array, report: Report): Pointer | null {
  try {
    return parsePointer(bytes, POINTER_KEY)
  } catch (error) {
    report('pointer', POINTER_KEY, messageOf(error))
    return null
  }
}

/** What of a table contradicts itself. */
export function wrongSums({ rows, bytes, files, partitions }: ManifestTable): string[] {
  const rowsOf = (of: readonly { readonly rows: number }[]) => sum(of.map((one) => one.rows))
  const sums: readonly (readonly [string, number, number])[] = [
    ['rows', rows, rowsOf(files)],
    ['rows in partitions', rows, rowsOf(partitions)],
    ['bytes', bytes, sum(files.map((file) => file.bytes))],
  ]
  const keys = new Set(files.map(({ key }) => key))
  return [
    ...(keys.size < files.length ? ['it names a file twice'] : []),
    ...sums
      .filter(([, said, summed]) => said !== summed)
      .map(([what, said, summed]) => `it says ${said} ${what}, and its parts add up to ${summed}`),
  ]
}

async function verifyViews(store: ObjectStore, manifest: Manifest, report: Report): Promise<void> {
  const { views: object } = snapshotKeys(manifest.snapshot_id)
  const stored = await store.get(object)
  const [first, ...rest] = Buffer.from(stored?.bytes ?? [])
    .toString()
    .split('\n')
  const [, ...own] = viewsSql(manifest).split('\n')
  if (stored === null) report('missing', object, 'it is not there')
  // The first line is for those to change who copied it.
  else if (
    first?.startsWith('set variable root = ') !== true ||
    rest.join('\n') !== own.join('\n')
  ) {
    report('views', object, 'it is not the one that belongs to the manifest: it was changed')
  }
}

async function verifyTables(
  { store, scratchFolder, signal, onProgress }: VerifyOptions,
  { manifest, isCurrent, pointer }: Chain<Manifest>,
  report: Report,
): Promise<void> {
  const beside: Parameters<Report>[] = []
  const total = objectsOf(manifest).length
  let done = 0
  await withScratchEngine(scratchFolder, async (warehouse) => {
    const source = { store, warehouse, scratchFolder, ...(signal === undefined ? {} : { signal }) }
    for (const table of manifest.tables) {
      for (const file of table.files) {
        signal?.throwIfAborted()
        await withObject(source, file, async (fetched) => {
          if (fetched.kind !== 'whole') report(fetched.kind, file.key, fetched.message)
          else await verifyFile(warehouse, table, file, fetched.path, report)
        })
        done += 1
        onProgress?.({ done, total, name: file.key })
      }
      if (isCurrent) {
        await verifyDeltaLog(source, manifest, table, (...finding) => beside.push(finding))
      }
    }
    if (isCurrent) await verifyCurrent(source, manifest, (...finding) => beside.push(finding))
  })
  // A publisher that has moved the pointer since is at work on these, too.
  const version = (await store.get(POINTER_KEY))?.version ?? null
  if (version !== pointer) return
  for (const finding of beside) report(...finding)
}

export interface ObjectSource {
  readonly store: ObjectStore
  /** Where a bucket's objects pass through. */
  readonly scratchFolder: string
  readonly signal?: AbortSignal
}

/** An object as a local file, or what is wrong with it. */
export type Fetched =
  | { readonly kind: 'whole'; readonly path: string }
  | { readonly kind: 'missing' | 'size' | 'sha256'; readonly message: string }

/** Brings an object here, proves size and SHA-256, and lets `work` see it. @throws PublishError when the store refuses */
export async function withObject<T>(
  { store, scratchFolder, signal }: ObjectSource,
  object: NamedObject,
  work: (fetched: Fetched) => Promise<T>,
): Promise<T> {
  const inStore = store.localPath(object.key)
  const path = inStore ?? join(scratchFolder, 'files', basename(object.key))
  if (inStore === null) onDisk(path, () => makeFolders(dirname(path)))
  try {
    const isThere =
      inStore === null
        ? await store.download(object.key, path, signal)
        : (await store.head(object.key)) !== null
    return await work(isThere ? await proved(object, path) : missing(inStore, object.key))
  } finally {
    if (inStore === null) rmSync(path, { force: true })
  }
}

async function proved({ bytes, sha256 }: NamedObject, path: string): Promise<Fetched> {
  const { size } = statSync(path)
  if (size !== bytes) {
    const what = size < bytes ? 'cut short' : 'changed'
    return { kind: 'size', message: `it has ${size} bytes where ${bytes} belong: it was ${what}` }
  }
  const found = await sha256OfFile(path)
  if (found === sha256) return { kind: 'whole', path }
  return { kind: 'sha256', message: `its bytes are others: their SHA-256 is ${found}` }
}

function missing(path: string | null, key: string): Fetched {
  let at = path
  for (const _ of path === null ? [] : key.split('/')) {
    if (at !== null && lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
      return {
        kind: 'missing',
        message: 'it lies behind a symbolic link, which is not followed',
      }
    }
    at = dirname(at ?? '')
  }
  return { kind: 'missing', message: 'it is not there' }
}

/** Whether a file, whose bytes are proved, has the rows and columns that the manifest says. */
async function verifyFile(
  warehouse: Warehouse,
  { schema }: ManifestTable,
  file: ManifestFile,
  path: string,
  report: Report,
): Promise<void> {
  try {
    const [counted] = await warehouse.all<{ rows: number }>(
      `select num_rows::double as rows from parquet_file_metadata(${quotePath(path)})`,
    )
    if (counted?.rows !== file.rows) {
      report('rows', file.key, `it has ${counted?.rows} rows where ${file.rows} belong`)
    }
    const found = await warehouse.all<{ name: string; type: string; id: number | null }>(
      `select column_name as name, column_type as type, field_id::integer as id
       from (describe select * from read_parquet(${quotePath(path)}, hive_partitioning = false))
       left join parquet_schema(${quotePath(path)}) on name = column_name and field_id is not null`,
    )
    const text = (of: typeof found) => of.map(({ name, type, id }) => `${name} ${type} ${id}`)
    const [is, belongs] = [text(found), text(schema.map((one) => ({ ...one, id: one.field_id })))]
    if (is.join() === belongs.join()) return
    report(
      'columns',
      file.key,
      `its columns are ${is.join(', ')} where ${belongs.join(', ')} belong`,
    )
  } catch (error) {
    // A disk or memory that is full says nothing of the file.
    if (error instanceof StorageError) throw error
    report('unreadable', file.key, `it cannot be read: ${messageOf(error).split('\n', 1)[0]}`)
  }
}

const MEND = '`jobtide publish` brings it up to date'

/** Whether the Delta log of a table of the snapshot that the pointer names tells the same as the manifest. */
async function verifyDeltaLog(
  source: ObjectSource & { readonly warehouse: Warehouse },
  manifest: Manifest,
  table: ManifestTable,
  report: Report,
): Promise<void> {
  const object = logFolder(table.name)
  const stale = (message: string) => report('stale', object, message)
  try {
    const { state, damaged } = await readStoredLog(source, table.name)
    for (const key of damaged) stale(`${key} cannot be read: ${MEND}`)
    if (state.version < 0) return stale(`there is no Delta log: ${MEND}`)
    const plan = planCommit({ state, manifest, table })
    if (plan === null) return
    const at = sequenceOf(state)
    if (at !== manifest.sequence) {
      const is = at < manifest.sequence ? 'stale' : 'ahead'
      return stale(`it is ${is}: at snapshot number ${at}, not ${manifest.sequence}; ${MEND}`)
    }
    const keyOf = (path: string) => tableFolder(table.name) + path
    for (const { metaData, protocol, add, remove } of plan) {
      if (metaData ?? protocol) report('delta', object, 'it has other columns')
      if (add) report('delta', object, `it does not name ${keyOf(add.path)} as the snapshot does`)
      if (remove) report('delta', object, `it names ${keyOf(remove.path)}, or other rows of it`)
    }
  } catch (error) {
    if (error instanceof StorageError) throw error
    stale(`it cannot be read: ${messageOf(error)}`)
  }
}

/** Whether `current/`, where it is there, has the files of the snapshot that the pointer names, and no others. */
async function verifyCurrent(
  source: ObjectSource,
  manifest: Manifest,
  report: Report,
): Promise<void> {
  const { store } = source
  const keys = (await store.list(CURRENT_FOLDER)).map(({ key }) => key)
  if (keys.length === 0) return
  const shown = await readCurrentRecord(store)
  if (shown?.snapshot_id !== manifest.snapshot_id) {
    const is = shown === null ? 'no snapshot' : `snapshot ${shown.snapshot_id}`
    return report('stale', CURRENT_FOLDER, `it shows ${is}; ${MEND}`)
  }
  const wanted = currentFiles(manifest)
  for (const [key, file] of wanted) {
    source.signal?.throwIfAborted()
    await withObject(source, { ...file, key }, async (fetched) => {
      if (fetched.kind !== 'whole') report('current', key, `${fetched.message}; ${MEND}`)
    })
  }
  for (const key of keys.filter((one) => one.endsWith('.parquet') && !wanted.has(one))) {
    report('current', key, `no table of the snapshot has it; ${MEND}`)
  }
}

/** Finds the objects that no manifest names, but for those that a publisher at work may have written. */
async function findExtra(
  store: ObjectStore,
  objects: readonly StoredObject[],
  manifests: readonly StoredManifest[],
  oldBefore: number,
  report: Report,
): Promise<void> {
  const named = new Set(
    manifests.flatMap((manifest) => {
      const keys = snapshotKeys(manifest.snapshot_id)
      return [keys.manifest, keys.views, ...objectsOf(manifest).map(({ key }) => key)]
    }),
  )
  for (const { key, modifiedAt } of objects) {
    const known = knownKey(key)
    if (named.has(key) || known?.kind === 'log') continue
    if (known !== null && modifiedAt >= oldBefore) continue
    if ((await store.head(key)) === null) continue
    const message =
      known === null
        ? 'nothing refers to it, and it is not named as Jobtide names files: remove it'
        : 'nothing refers to it; garbage collection after a publish deletes it'
    report('extra', key, message)
  }
}
