/**
 * One snapshot from a warehouse to a store: data files, then views and manifest, then the pointer, then the Delta logs of
 * the same files. Readers follow the pointer, so they see the whole new snapshot or the whole previous one, whatever fails
 * in between. What a failed publish left in the store is never looked at, and is garbage a day later.
 */

import { incompatibilities, refuseIncompatible } from './columns.ts'
import { syncDeltaLogs } from './delta/sync.ts'
import { PublishError } from './errors.ts'
import { exportSnapshot, type ExportedSnapshot } from './export-snapshot.ts'
import { FileCache } from './file-cache.ts'
import {
  POINTER_KEY,
  formatJson,
  objectsOf,
  parsePointer,
  pointerTo,
  sameContent,
  snapshotKeys,
  totalsOf,
  type Manifest,
} from './manifest.ts'
import type { PublishOptions, PublishReport } from './publish-options.ts'
import { readCurrent, type CurrentSnapshot } from './read-snapshot.ts'
import { isEmpty, isOfAnotherJournal, refuseLoss } from './refuse-loss.ts'
import { withScratch } from './scratch.ts'
import type { ObjectStore } from './store/object-store.ts'
import { viewsSql } from './live-rows.ts'

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
  const { store, cacheFolder, signal } = options
  const { destination } = store
  const cache = new FileCache(store, cacheFolder, signal)
  const { made } = options
  const current = made === undefined ? await readCurrent(store) : made.current
  const exported = await exportSnapshot(options, current, cache)
  const { manifest } = exported
  const before = current?.manifest ?? null
  if (isEmpty(manifest) && (before === null || isOfAnotherJournal(before, manifest))) {
    // An empty snapshot would tell readers that nothing ever happened.
    const nothing = { ...totalsOf({ tables: [] }), newFiles: 0, newBytes: 0, destination }
    return {
      snapshotId: before?.snapshot_id ?? null,
      unchanged: true,
      nothingRead: true,
      ...nothing,
    }
  }
  if (before !== null) {
    refuseLoss(before, manifest, destination, options)
    if (options.acceptSchemaChange !== true) {
      refuseIncompatible(incompatibilities(before.tables, manifest.tables), destination)
    }
  }
  const unchanged = before !== null && sameContent(before, manifest)
  // Also where nothing changed: a file that was lost was written again.
  await putFiles(options, exported, cache)
  const shown = unchanged ? before : manifest
  const report = {
    snapshotId: shown.snapshot_id,
    nothingRead: false,
    unchanged,
    ...totalsOf(shown),
    newFiles: unchanged ? 0 : exported.newFiles,
    newBytes: unchanged ? 0 : manifest.new_bytes,
    destination,
  }
  if (!unchanged) {
    await putSnapshot(options, manifest, current)
    await options.onPublished?.(report)
  }
  // Also of a snapshot that was there before: its publisher may have been killed before this.
  await syncDeltaLogs({ ...options, manifest: shown })
  cache.keepOnly(objectsOf(shown).map(({ key }) => key))
  return report
}

/** Uploads the missing files, and moves all of them out of the scratch folder. */
async function putFiles(
  { store, signal, logger, onProgress }: PublishOptions,
  { files, missing }: ExportedSnapshot,
  cache: FileCache,
): Promise<void> {
  for (const [index, { key, path, rows, bytes }] of files.entries()) {
    signal?.throwIfAborted()
    if (missing.has(key)) {
      await store.putFile(key, path, signal)
      logger.debug({ key, rows, bytes }, 'publish.file_written')
    }
    cache.take(key, path)
    onProgress?.({ phase: 'upload', done: index + 1, total: files.length, name: key })
  }
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
