/**
 * Proves a published snapshot again, from the store alone: pointer → manifest (hash) → every file (bytes, SHA-256,
 * rows) → the Delta logs and `current/`, which must show the same files. Changes nothing.
 */

import { existsSync, statSync } from 'node:fs'
import { ConfigError, StorageError, messageOf } from '../support/errors.ts'
import { quotePath } from '../warehouse/sql-text.ts'
import { CURRENT_FOLDER, currentFiles, readCurrentRecord } from './current.ts'
import { logFolder, planCommit, readStoredLog, sequenceOf, type LogSource } from './delta.ts'
import { NewerFormatError, PublishError } from './errors.ts'
import { sha256OfFile } from './export.ts'
import {
  POINTER_KEY,
  isOfThisFormat,
  objectsOf,
  parseManifest,
  parsePointer,
  snapshotKeys,
  totalsOf,
  viewsSql,
  changedManifests,
  readManifests,
  snapshotIds,
  type Manifest,
  type ManifestFile,
  type ManifestTable,
  type NamedObject,
} from './manifest.ts'
import { withObject, withScratchEngine, type ObjectSource, type Step } from './scratch.ts'
import type { ObjectStore } from './store/object-store.ts'

/** `format`: an older format, examined no further. The next publish fixes `delta` and `current`. */
export type FindingKind =
  | ('pointer' | 'manifest' | 'format' | 'missing' | 'size' | 'sha256' | 'rows' | 'columns')
  | ('views' | 'delta' | 'current')

export interface Finding {
  readonly kind: FindingKind
  readonly table: string | null
  readonly object: string
  readonly message: string
}

type Report = (kind: FindingKind, object: string, message: string) => void

export interface VerifyOptions extends ObjectSource {
  /** Null for the snapshot that the pointer names. */
  readonly snapshotId: string | null
  readonly onProgress?: (step: Step) => void
}

export type VerifyReport = Readonly<Awaited<ReturnType<typeof verifySnapshot>>>

/**
 * Verifies one snapshot.
 * @returns its id (null when no manifest could be read), its manifest (null also for one of an older format), and where
 * it was copied from, if it was
 * @throws ConfigError when there is no such snapshot
 * @throws PublishError when it is swept away meanwhile, or the store refuses
 * @throws NewerFormatError for a destination of a newer version
 */
export async function verifySnapshot(options: VerifyOptions) {
  const { store } = options
  const findings: Finding[] = []
  const report: Report = (kind, object, message) => {
    const table = /^(?:tables|current)\/([^/]+)\//.exec(object)?.[1] ?? null
    findings.push({ kind, table, object, message })
  }
  const { subject = null, pointer } = await verifyChain(store, options.snapshotId, report)
  const manifest = subject !== null && isOfThisFormat(subject) ? subject : null
  if (manifest !== null) await verifyContents(options, manifest, pointer, report)
  else if (subject !== null) {
    const older = `it has the older format ${subject.format_version}: publish first, which puts a whole new snapshot in its place`
    report('format', snapshotKeys(subject.snapshot_id).manifest, older)
  }
  const snapshotId = subject?.snapshot_id ?? null
  // The manifest of an expired snapshot goes first; objects missing from it after that are not damage.
  if (findings.length > 0 && snapshotId !== null) {
    if ((await store.head(snapshotKeys(snapshotId).manifest)) === null) {
      const what = `snapshot ${snapshotId} was deleted by garbage collection while it was verified`
      throw new PublishError(what, { hint: 'Verify the one that readers see now.' })
    }
  }
  const { destination } = store
  // Where `views.sql` reads the files, when the snapshot was copied here from there.
  const from = manifest?.destination ?? destination
  const copiedFrom = from === destination ? null : from
  const totals = totalsOf(subject ?? { tables: [] })
  return { snapshotId, destination, ...totals, manifest, copiedFrom, findings }
}

/**
 * Compares each manifest with what names its hash: the pointer names the newest, each manifest the one before. Faults
 * are reported; there is no subject when there is no manifest to continue with.
 */
async function verifyChain(store: ObjectStore, snapshotId: string | null, report: Report) {
  // The pointer first, because its target existed before it.
  const stored = await store.get(POINTER_KEY)
  const ids = snapshotIds(await store.list('snapshots/'))
  if (stored === null && ids.length === 0) {
    const hint = `There is no ${POINTER_KEY} there. Check the address.`
    throw new ConfigError(`nothing was published to ${store.destination}`, { hint })
  }
  let pointer: ReturnType<typeof parsePointer> | null = null
  try {
    if (stored !== null) pointer = parsePointer(stored.bytes, POINTER_KEY)
    else report('pointer', POINTER_KEY, 'it is missing, so readers find no snapshot')
  } catch (error) {
    if (error instanceof NewerFormatError) throw error
    report('pointer', POINTER_KEY, messageOf(error))
  }
  const id = snapshotId ?? pointer?.snapshot_id ?? ''
  if (snapshotId !== null && !ids.includes(snapshotId) && id !== pointer?.snapshot_id) {
    const hint = 'List what is there with `jobtide snapshots`.'
    throw new ConfigError(`there is no snapshot ${id} in ${store.destination}`, { hint })
  }
  const found = await readManifests(store, ids, parseManifest, (key, error) => {
    // A snapshot that is complete for the version that wrote it is not damaged.
    if (error instanceof NewerFormatError) throw error
    report('manifest', key, error.message)
  })
  if (pointer !== null && !ids.includes(pointer.snapshot_id))
    report('missing', pointer.manifest_key, `${POINTER_KEY} names it but it is missing`)
  for (const [key, message] of changedManifests(found, pointer)) report('manifest', key, message)
  return {
    subject: found.get(id)?.manifest,
    /** The version of the pointer, where it names the subject. */
    pointer: id === pointer?.snapshot_id ? (stored?.version ?? null) : null,
  }
}

/** Whether the manifest agrees with its views, its files, and what shows these: Delta logs and `current/`. */
async function verifyContents(
  { store, scratchFolder, signal, onProgress }: VerifyOptions,
  manifest: Manifest,
  pointer: string | null,
  report: Report,
): Promise<void> {
  const keys = snapshotKeys(manifest.snapshot_id)
  const views = await store.get(keys.views)
  // The first line is for people who copied the snapshot to change.
  const withoutRoot = (text: string) => text.replace(/^set variable root = '(?:[^']|'')*';\n/, '')
  if (views === null) report('missing', keys.views, 'it is missing')
  else if (withoutRoot(Buffer.from(views.bytes).toString()) !== withoutRoot(viewsSql(manifest))) {
    report('views', keys.views, 'it does not match the manifest: it was changed')
  }
  const beside: Parameters<Report>[] = []
  const reportBeside: Report = (...finding) => beside.push(finding)
  const total = objectsOf(manifest).length
  let done = 0
  await withScratchEngine(scratchFolder, async (warehouse) => {
    const source = { store, warehouse, scratchFolder, ...(signal && { signal }) }
    for (const table of manifest.tables) {
      for (const file of table.files) {
        signal?.throwIfAborted()
        await verifyFile(source, table, file, report)
        done += 1
        onProgress?.({ done, total, name: file.key })
      }
      if (pointer !== null) await verifyDeltaLog(source, manifest, table, reportBeside)
    }
    if (pointer !== null) await verifyCurrent(source, manifest, reportBeside)
  })
  // A publisher that has moved the pointer since also works on these.
  if ((await store.get(POINTER_KEY))?.version !== pointer) return
  for (const finding of beside) report(...finding)
}

/** Gives `work` the path of an object with the bytes that it should have; `onFault` gets what is wrong with another. */
export function withProven(
  source: ObjectSource,
  { key, bytes, sha256 }: NamedObject,
  onFault: (kind: 'missing' | 'size' | 'sha256', message: string) => void,
  work: (path: string) => Promise<void>,
): Promise<void> {
  return withObject(source, key, async (path) => {
    if (path === null) {
      const isLink = existsSync(source.store.localPath(key) ?? '')
      const link = 'it is behind a symbolic link, which is not followed'
      return onFault('missing', isLink ? link : 'it is missing')
    }
    const { size } = statSync(path)
    if (size !== bytes) {
      const what = size < bytes ? 'cut short' : 'changed'
      return onFault('size', `it has ${size} bytes where ${bytes} belong: it was ${what}`)
    }
    const found = await sha256OfFile(path)
    if (found === sha256) return work(path)
    return onFault('sha256', `its bytes differ: their SHA-256 is ${found}`)
  })
}

function verifyFile(
  source: LogSource,
  { schema }: ManifestTable,
  file: ManifestFile,
  report: Report,
): Promise<void> {
  const reportOf = (kind: FindingKind, message: string) => report(kind, file.key, message)
  return withProven(source, file, reportOf, async (path) => {
    const from = quotePath(path)
    try {
      const count = `select num_rows from parquet_file_metadata(${from})`
      const rows = await source.warehouse.number(count)
      if (rows !== file.rows)
        return reportOf('rows', `it has ${rows} rows where ${file.rows} belong`)
      const found = await source.warehouse.all<{ name: string; type: string; id: number | null }>(
        `select column_name as name, column_type as type, field_id::integer as id
         from (describe select * from read_parquet(${from}, hive_partitioning = false))
         left join parquet_schema(${from}) on name = column_name and field_id is not null`,
      )
      const is = found.map(({ name, type, id }) => `${name} ${type} ${id}`).join(', ')
      const belong = schema.map((own) => `${own.name} ${own.type} ${own.field_id}`).join(', ')
      if (is !== belong) reportOf('columns', `its columns are ${is} instead of ${belong}`)
    } catch (error) {
      // A full disk or memory says nothing about the file.
      if (error instanceof StorageError) throw error
      reportOf('rows', `it cannot be read: ${messageOf(error).split('\n', 1)[0]}`)
    }
  })
}

const MEND = '`jobtide publish` brings it up to date'

/** Whether the Delta log of a table of the snapshot that the pointer names agrees with the manifest. */
async function verifyDeltaLog(
  source: LogSource,
  manifest: Manifest,
  table: ManifestTable,
  report: Report,
): Promise<void> {
  const object = logFolder(table.name)
  try {
    const { state } = await readStoredLog(source, table.name)
    if (planCommit(state, manifest, table) === null) return
    const at = sequenceOf(state)
    if (at !== manifest.sequence)
      return report('delta', object, `it shows snapshot ${at}, not ${manifest.sequence}; ${MEND}`)
    const other = 'it names other files or columns than the snapshot: remove it'
    report('delta', object, `${other}, and \`jobtide publish\` writes it again`)
  } catch (error) {
    if (error instanceof StorageError) throw error
    report('delta', object, `it cannot be read: ${messageOf(error)}; ${MEND}`)
  }
}

/** Whether `current/`, where it is there, has the files of the snapshot that the pointer names, and no others. */
async function verifyCurrent(source: ObjectSource, manifest: Manifest, report: Report) {
  const { store } = source
  const keys = (await store.list(CURRENT_FOLDER)).map(({ key }) => key)
  if (keys.length === 0) return
  const { record } = await readCurrentRecord(store)
  if (record?.snapshot_id !== manifest.snapshot_id) {
    const is = record === null ? 'no snapshot' : `snapshot ${record.snapshot_id}`
    return report('current', CURRENT_FOLDER, `it shows ${is}; ${MEND}`)
  }
  const wanted = currentFiles(manifest)
  for (const [key, file] of wanted) {
    source.signal?.throwIfAborted()
    const onFault = (_: string, message: string) => report('current', key, `${message}; ${MEND}`)
    await withProven(source, { ...file, key }, onFault, () => Promise.resolve())
  }
  for (const key of keys.filter((one) => one.endsWith('.parquet') && !wanted.has(one)))
    report('current', key, `no table of the snapshot has it; ${MEND}`)
}
