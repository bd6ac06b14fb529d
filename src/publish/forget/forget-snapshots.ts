/**
 * The publisher's part of forgetting: snapshots that name somebody are written anew, under new ids and each at its place in
 * the chain, and a further one with the same rows follows the last, so that the pointer and the Delta logs move forward.
 */

import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { isoInstant, type Clock } from '../../support/clock.ts'
import { stableJson } from '../../support/json.ts'
import type { Logger } from '../../support/logger.ts'
import { newUlid, ulidTime } from '../../support/ulid.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { syncDeltaLogs } from '../delta/sync.ts'
import { PublishError } from '../errors.ts'
import { FileCache } from '../file-cache.ts'
import { POINTER_KEY, type Manifest, type ManifestTable } from '../manifest.ts'
import { listSnapshots, readCurrent, type CurrentSnapshot } from '../read-snapshot.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { IntentWriter } from '../sweep/intent-writer.ts'
import type { Intent } from '../sweep/intent.ts'
import { movePointer, putManifest } from '../write-snapshot.ts'
import { findHolders, noteErased, type FileSearch, type Forgotten } from './forget-find.ts'
import { tableWithout, type RewrittenTable } from './forget-table.ts'

/** What forgetting in a store needs. */
export interface ForgetOptions {
  readonly store: ObjectStore
  readonly forgotten: Forgotten
  /** Reads and writes Parquet; its tables are not looked at. */
  readonly warehouse: Warehouse
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  /** ULID of the further snapshot; never used before. */
  readonly snapshotId: string
  /** The `snapshotId` of earlier calls that were stopped and are surely over: what they hold is not waited for. */
  readonly earlier?: readonly string[]
  readonly clock: Clock
  /** This process, for those who find the store busy. */
  readonly writer: IntentWriter
  readonly logger: Logger
  /** Stops between two objects. */
  readonly signal?: AbortSignal
  /** Called after each file that was searched. */
  readonly onFile?: (done: number, total: number) => void
}

/** What looking for people takes of it. */
export type SearchOptions = Omit<ForgetOptions, 'snapshotId' | 'earlier' | 'writer'>

/** Where published files name somebody. */
export interface StoreFindings {
  readonly snapshots: readonly string[]
  readonly files: number
  /** Rows of those files, each file counted once. */
  readonly rows: number
}

/** A snapshot or file, and what took its place. */
export interface Replaced {
  readonly before: string
  readonly after: string
}

function searchOf(options: SearchOptions): FileSearch {
  const { store, warehouse, scratchFolder, signal, onFile } = options
  const files = new FileCache(store, join(scratchFolder, 'published'), signal)
  return { warehouse, files, signal, ...(onFile === undefined ? {} : { onFile }) }
}

/** The rows that name somebody, by key of the file. */
export async function search(
  options: SearchOptions,
  manifests: readonly Manifest[],
): Promise<ReadonlyMap<string, number>> {
  const where = searchOf(options)
  await noteErased(where, options.forgotten, manifests)
  return findHolders(where, manifests)
}

/** What was found, in short. */
export function findingsIn(
  manifests: readonly Manifest[],
  holders: ReadonlyMap<string, number>,
): StoreFindings {
  const named = manifests.filter(({ tables }) =>
    tables.some(({ files }) => files.some(({ key }) => holders.has(key))),
  )
  return {
    snapshots: named.map(({ snapshot_id: id }) => id),
    files: holders.size,
    rows: [...holders.values()].reduce((sum, rows) => sum + rows, 0),
  }
}

/** What the publisher's part came to. */
export interface Rewritten {
  readonly findings: StoreFindings
  readonly replaced: readonly Replaced[]
  readonly holders: readonly string[]
  readonly written: readonly string[]
  /** Snapshots whose place was taken. */
  readonly old: readonly Manifest[]
}

/** Writes snapshots anew; for one call. */
export class Rewriting {
  readonly #options: ForgetOptions
  readonly #search: FileSearch
  readonly #written = new Set<string>()
  /** Tables that several snapshots share are written once. */
  readonly #tables = new Map<string, RewrittenTable>()

  constructor(options: ForgetOptions) {
    this.#options = options
    this.#search = searchOf(options)
  }

  /** @throws PublishError when the store refuses, a file is missing, or another publisher was first */
  async run(intent: Intent): Promise<Rewritten> {
    const { store } = this.#options
    const current = await readCurrent(store)
    const manifests = (await listSnapshots(store)).toSorted((a, b) => a.sequence - b.sequence)
    const holders = await search(this.#options, manifests)
    const holding = new Set(holders.keys())
    // What the manifest of a snapshot became: the next one names it.
    const became = new Map<string, { readonly manifest: Manifest; readonly sha256: string }>()
    for (const manifest of manifests) {
      this.#options.signal?.throwIfAborted()
      const rewritten = await this.#rewrite(manifest, holding, became)
      if (rewritten === manifest) continue
      const { manifest_sha256: sha256 } = await putManifest(store, rewritten)
      became.set(manifest.snapshot_id, { manifest: rewritten, sha256 })
    }
    if (current !== null) await this.#moveOn(intent, current, became)
    return {
      findings: findingsIn(manifests, holders),
      replaced: [...became].map(([before, { manifest }]) => ({
        before,
        after: manifest.snapshot_id,
      })),
      holders: [...holding],
      written: [...this.#written],
      old: manifests.filter(({ snapshot_id: id }) => became.has(id)),
    }
  }

  /** The manifest as it shall be; itself when nothing in it changes. */
  async #rewrite(
    manifest: Manifest,
    holding: ReadonlySet<string>,
    became: ReadonlyMap<string, { readonly manifest: Manifest; readonly sha256: string }>,
  ): Promise<Manifest> {
    const before =
      manifest.previous === null ? undefined : became.get(manifest.previous.snapshot_id)
    const holds = (table: ManifestTable) => table.files.some(({ key }) => holding.has(key))
    if (before === undefined && !manifest.tables.some(holds)) return manifest
    const tables: ManifestTable[] = []
    for (const table of manifest.tables) {
      tables.push(holds(table) ? await this.#tableWithout(table, holding) : table)
    }
    const previous =
      before === undefined
        ? manifest.previous
        : { snapshot_id: before.manifest.snapshot_id, manifest_sha256: before.sha256 }
    const content = { ...manifest, tables, previous }
    return { ...content, snapshot_id: derivedId(manifest.snapshot_id, content) }
  }

  async #tableWithout(table: ManifestTable, holders: ReadonlySet<string>): Promise<ManifestTable> {
    const { store, scratchFolder, signal } = this.#options
    const asked = stableJson(table)
    const known = this.#tables.get(asked)
    if (known !== undefined) return known.table
    const folder = join(scratchFolder, 'written')
    const rewritten = await tableWithout(this.#search, { table, holders, folder })
    for (const { key, path } of rewritten.written) {
      signal?.throwIfAborted()
      await store.putFile(key, path, signal)
      rmSync(path, { force: true })
      this.#written.add(key)
    }
    this.#tables.set(asked, rewritten)
    return rewritten.table
  }

  /** Lets the pointer name a snapshot after the rewritten one, and the Delta logs show it. */
  async #moveOn(
    intent: Intent,
    current: CurrentSnapshot,
    became: ReadonlyMap<string, { readonly manifest: Manifest; readonly sha256: string }>,
  ): Promise<void> {
    const { store, clock, snapshotId } = this.#options
    const before = became.get(current.pointer.snapshot_id)
    if (before === undefined) {
      // Nobody is named there, or not any more: a call before this one was stopped after it moved the pointer.
      await syncDeltaLogs({ ...this.#options, manifest: current.manifest })
      return
    }
    const manifest: Manifest = {
      ...before.manifest,
      snapshot_id: snapshotId,
      sequence: before.manifest.sequence + 1,
      previous: {
        snapshot_id: before.manifest.snapshot_id,
        manifest_sha256: before.sha256,
      },
      created_at: isoInstant(clock.now()),
      run_id: null,
      new_bytes: 0,
    }
    const pointer = await putManifest(store, manifest)
    if (!(await movePointer(store, intent, pointer, current))) {
      throw new PublishError(`another publisher moved ${store.urlOf(POINTER_KEY)} meanwhile`, {
        hint: 'Run `jobtide forget --yes` again: it goes on where it stopped.',
      })
    }
    await syncDeltaLogs({ ...this.#options, manifest })
  }
}

/** An id at the same place in time that follows from what the snapshot holds, so that a second call finds its own work. */
function derivedId(id: string, content: Manifest): string {
  const hash = createHash('sha256').update(stableJson(content)).digest()
  return newUlid(ulidTime(id), hash)
}
