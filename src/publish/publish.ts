/**
 * One snapshot from a warehouse to a store: data files, then views and manifest, then the pointer, then `current/` and the Delta
 * logs. Readers follow the pointer, so they see the whole new snapshot or the whole previous one, whatever fails in between. What
 * a failed publish left in the store is never looked at, and is garbage a day later.
 */

import { atOnce } from '../support/at-once.ts'
import { incompatibilities, refuseIncompatible } from './columns.ts'
import { CurrentFolder, removeCurrent } from './current.ts'
import { syncDeltaLogs } from './delta/sync.ts'
import { PublishError } from './errors.ts'
import { exportSnapshot, type Before, type ExportedSnapshot } from './export.ts'
import {
  POINTER_KEY,
  formatJson,
  isOfThisFormat,
  objectsOf,
  parsePointer,
  pointerTo,
  snapshotKeys,
  totalsOf,
  viewsSql,
  type Manifest,
} from './manifest.ts'
import type { PublishOptions, PublishReport } from './publish-options.ts'
import { readCurrent, type CurrentSnapshot } from './read-snapshot.ts'
import { isEmpty, isOfAnotherJournal, refuseLoss } from './refuse-loss.ts'
import { withScratch } from './scratch.ts'
import type { ObjectStore } from './store/object-store.ts'

/**
 * Publishes the tables as one snapshot. The warehouse may be open for reading only; it must not be in a transaction.
 * @throws PublishError when the store refuses, a table cannot be published, readers could be hurt by a change of columns, or
 *   another publisher was first
 * @throws RefusedLossError when the destination shows the rows of another journal, or more than this warehouse holds
 * @throws JobtideError with exit code 6 when the last build failed a check
 */
export async function publishSnapshot(options: PublishOptions): Promise<PublishReport> {
  return withScratch(options.scratchFolder, () => publishFromScratch(options))
}

async function publishFromScratch(options: PublishOptions): Promise<PublishReport> {
  const { store, made, logger } = options
  const { destination } = store
  const current = made === undefined ? await readCurrent(store) : made.current
  const exported = await exportSnapshot(options, beforeOf(current))
  const { manifest, unchanged, newFiles } = exported
  const before = current?.manifest ?? null
  if (isEmpty(manifest) && (before === null || isOfAnotherJournal(before, manifest))) {
    // An empty snapshot would tell readers that nothing ever happened.
    const nothing = { ...totalsOf({ tables: [] }), newFiles: 0, newBytes: 0, destination }
    const snapshotId = before?.snapshot_id ?? null
    return { snapshotId, unchanged: true, nothingRead: true, replacedFormat: null, ...nothing }
  }
  if (before !== null) refuseWorse(options, before, manifest)
  const isOld = before !== null && !isOfThisFormat(before)
  if (isOld) {
    const told = { format: before.format_version, snapshot: before.snapshot_id, at: destination }
    logger.warn(told, 'publish.older_format_replaced')
  }
  // Also where nothing changed: a file that was lost was written again.
  await putFiles(options, exported)
  const shown = unchanged && before !== null && isOfThisFormat(before) ? before : manifest
  const report = {
    snapshotId: shown.snapshot_id,
    nothingRead: false,
    unchanged,
    replacedFormat: isOld ? before.format_version : null,
    ...totalsOf(shown),
    newFiles: unchanged ? 0 : newFiles,
    newBytes: unchanged ? 0 : manifest.new_bytes,
    destination,
  }
  if (!unchanged) {
    await putSnapshot(options, manifest, current)
    await options.onPublished?.(report)
  }
  await showToOthers(options, shown, exported.listed)
  return report
}

/** For readers that do not know manifests. Also of a snapshot that was there before: its publisher may have been killed before. */
async function showToOthers(
  options: PublishOptions,
  manifest: Manifest,
  listed: readonly string[],
): Promise<void> {
  const { store, hasCurrent = true } = options
  if (!hasCurrent) {
    await removeCurrent(store)
    await syncDeltaLogs({ ...options, manifest, listed })
    return
  }
  const folder = await CurrentFolder.open(options)
  await folder.show(manifest)
  const logs = await syncDeltaLogs({ ...options, manifest, listed, known: folder.logs })
  await folder.close(manifest, logs)
}

function beforeOf(current: CurrentSnapshot | null): Before {
  if (current === null) return { manifest: null, sequence: 0, previous: null }
  const { manifest, pointer } = current
  const { snapshot_id, manifest_sha256 } = pointer
  return {
    manifest: isOfThisFormat(manifest) ? manifest : null,
    sequence: manifest.sequence,
    previous: { snapshot_id, manifest_sha256 },
  }
}

/** Refuses a snapshot that would take from readers what they see. */
function refuseWorse(
  options: PublishOptions,
  before: CurrentSnapshot['manifest'],
  manifest: Manifest,
): void {
  const { destination } = options.store
  refuseLoss(before, manifest, destination, options)
  // An older version had other tables: what it says of them is not read.
  if (options.acceptSchemaChange === true || !isOfThisFormat(before)) return
  refuseIncompatible(incompatibilities(before.tables, manifest.tables), destination)
}

const AT_ONCE = 4

async function putFiles(
  { store, signal, logger, onProgress }: PublishOptions,
  { files }: ExportedSnapshot,
): Promise<void> {
  let done = 0
  await atOnce(files, AT_ONCE, async ({ key, path, rows, bytes }) => {
    signal?.throwIfAborted()
    await store.putFile(key, path, signal)
    logger.debug({ key, rows, bytes }, 'publish.file_written')
    done += 1
    onProgress?.({ phase: 'upload', done, total: files.length, name: key })
  })
}

/** Stores views and manifest, and moves the pointer: readers see nothing of the snapshot before that. */
async function putSnapshot(
  { store, signal, logger }: PublishOptions,
  manifest: Manifest,
  current: CurrentSnapshot | null,
): Promise<void> {
  const { snapshot_id: id } = manifest
  const keys = snapshotKeys(id)
  const text = formatJson(manifest)
  await store.put(keys.views, Buffer.from(viewsSql(manifest)))
  await store.put(keys.manifest, Buffer.from(text))
  await proveStored(store, manifest, text, current)
  signal?.throwIfAborted()
  const pointer = Buffer.from(formatJson(pointerTo(id, text)))
  if (!(await store.replace(POINTER_KEY, pointer, current?.version ?? null))) {
    throw await lostTo(store, current)
  }
  logger.info({ snapshot: id, at: store.destination }, 'publish.pointer_moved')
}

/** An answer of a store is no proof, and something else may delete there. */
async function proveStored(
  store: ObjectStore,
  manifest: Manifest,
  text: string,
  current: CurrentSnapshot | null,
): Promise<void> {
  const sizes = new Map((await store.list('tables/')).map(({ key, bytes }) => [key, bytes]))
  const lost = objectsOf(manifest).find(({ key, bytes }) => sizes.get(key) !== bytes)
  const { manifest: manifestKey } = snapshotKeys(manifest.snapshot_id)
  const stored = lost === undefined ? await store.get(manifestKey) : null
  if (stored !== null && Buffer.from(stored.bytes).equals(Buffer.from(text))) return
  throw new PublishError(`${store.urlOf(lost?.key ?? manifestKey)} was written and is not there`, {
    hint: `Does something else delete there? Run publish again${current === null ? '' : '; readers keep the snapshot before'}.`,
  })
}

async function lostTo(store: ObjectStore, current: CurrentSnapshot | null): Promise<PublishError> {
  const url = store.urlOf(POINTER_KEY)
  const stored = await store.get(POINTER_KEY)
  const from = current?.pointer.snapshot_id ?? 'no snapshot'
  const to = stored === null ? 'no snapshot' : parsePointer(stored.bytes, url).snapshot_id
  const hint = 'Run publish again.'
  return new PublishError(`another publisher moved ${url} from ${from} to ${to}`, {
    hint,
    context: { from, to },
  })
}
