/**
 * `current/<table>/*.parquet`: what readers see now, under names that stay, for tools that know only files. Copies made right
 * after the pointer has moved, never links: who writes into them must not destroy a snapshot. Each file is whole; new files come
 * first, then old ones go, and `current/snapshot.json` comes last and says what all that is. So what a killed publisher left, or
 * somebody changed, is seen by the next publish and fixed.
 */

import { z } from 'zod'
import { atOnce } from '../support/at-once.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import { sha256Hex } from '../support/hash.ts'
import { jsonOrNull, stableJson } from '../support/json.ts'
import type { Logger } from '../support/logger.ts'
import {
  POINTER_KEY,
  parsePointer,
  type Manifest,
  type ManifestTable,
  type NamedObject,
} from './manifest.ts'
import { ofThisFormat, readCurrent } from './read-snapshot.ts'
import type { ObjectStore, ObjectVersion } from './store/object-store.ts'

export const CURRENT_FOLDER = 'current/'
const RECORD_KEY = `${CURRENT_FOLDER}snapshot.json`
const AT_ONCE = 8

const recordSchema = z.object({
  snapshot_id: z.string(),
  written_at: z.string(),
  /** SHA-256 by key. */
  files: z.record(z.string(), z.string()),
  /** By table: up to which version its Delta log shows which description of it, as {@link hashOf} has it. */
  logs: z.record(z.string(), z.object({ version: z.int(), table: z.string() })),
})

type Record = z.infer<typeof recordSchema>
export type LogVersions = Record['logs']

export interface CurrentOptions {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly logger: Logger
  readonly signal?: AbortSignal
}

/** The files of a snapshot under the names that stay, and what they are copied from. */
export function currentFiles({ tables }: Pick<Manifest, 'tables'>): Map<string, NamedObject> {
  return new Map(
    tables.flatMap(({ name, files }) => {
      const counts = new Map<string, number>()
      return files.map((file): [string, NamedObject] => {
        const nth = (counts.get(file.partition) ?? 0) + 1
        counts.set(file.partition, nth)
        const [, year = null] = /_year=(.*)$/.exec(file.partition) ?? []
        const ofYear = year === null ? [] : [/^-?\d+$/.test(year) ? year : 'no-year']
        const parts = [name, ...ofYear, ...(nth > 1 ? [`part-${nth}`] : [])]
        return [`${CURRENT_FOLDER}${name}/${parts.join('-')}.parquet`, file]
      })
    }),
  )
}

/** What of a table its Delta log shows. */
export function hashOf({ files, schema, grain }: ManifestTable): string {
  return sha256Hex(
    stableJson({ files: files.map(({ key, bytes, rows }) => [key, bytes, rows]), schema, grain }),
  )
}

/** What `current/` shows, as its record says; null where there is none, or it says nothing. */
export async function readCurrentRecord(store: ObjectStore) {
  const stored = await store.get(RECORD_KEY)
  const text = Buffer.from(stored?.bytes ?? []).toString()
  return {
    version: stored?.version ?? null,
    record: recordSchema.safeParse(jsonOrNull(text)).data ?? null,
  }
}

/** `current/` of a store, as the publish that is at work finds it. */
export class CurrentFolder {
  readonly #options: CurrentOptions
  readonly #record: Record | null
  readonly #version: ObjectVersion | null
  /** What this publish has copied: whatever the record says of the same file was before. */
  readonly #copied = new Map<string, string>()
  #isBeaten = false
  #hasChanged = false

  private constructor(
    options: CurrentOptions,
    found: Awaited<ReturnType<typeof readCurrentRecord>>,
  ) {
    this.#options = options
    this.#record = found.record
    this.#version = found.version
  }

  static async open(options: CurrentOptions): Promise<CurrentFolder> {
    return new CurrentFolder(options, await readCurrentRecord(options.store))
  }

  /** The Delta logs that need not be read, where they have come to this version and no further. */
  get logs(): LogVersions {
    return this.#record?.logs ?? {}
  }

  /** Copies what is not there yet, and removes what is there no more. @param again all, whatever is there */
  async show(manifest: Manifest, again = false): Promise<void> {
    const { store } = this.#options
    await this.#bringTo(manifest, again)
    // A slow publisher must not leave older files over newer ones.
    for (let shown = manifest; ;) {
      const stored = await store.get(POINTER_KEY)
      const pointer = stored && parsePointer(stored.bytes, store.urlOf(POINTER_KEY))
      if (pointer === null || pointer.snapshot_id === shown.snapshot_id) return
      const now = await readCurrent(store)
      if (now === null) return
      this.#isBeaten = true
      shown = ofThisFormat(now.manifest, store.destination)
      await this.#bringTo(shown, false)
    }
  }

  async #bringTo(manifest: Manifest, again: boolean): Promise<void> {
    const { store, signal, logger } = this.#options
    const wanted = currentFiles(manifest)
    const listed = new Map((await store.list(CURRENT_FOLDER)).map((object) => [object.key, object]))
    const writtenAt = listed.get(RECORD_KEY)?.modifiedAt ?? Number.NEGATIVE_INFINITY
    const isThere = (key: string, { bytes, sha256 }: NamedObject) => {
      const found = listed.get(key)
      if (found?.bytes !== bytes) return false
      const own = this.#copied.get(key)
      if (own !== undefined) return own === sha256
      // Who changed it since has changed its time as well.
      return !again && this.#record?.files[key] === sha256 && found.modifiedAt <= writtenAt
    }
    const missing = [...wanted].filter(([key, file]) => !isThere(key, file))
    await atOnce(missing, AT_ONCE, async ([key, file]) => {
      signal?.throwIfAborted()
      await store.copy(file.key, key, file.bytes)
      this.#copied.set(key, file.sha256)
    })
    // Whatever it is called: a wildcard over the folder would take it for rows of the table.
    const gone = [...listed.keys()].filter((key) => key.endsWith('.parquet') && !wanted.has(key))
    if (gone.length > 0) await store.remove(gone)
    if (missing.length + gone.length === 0) return
    this.#hasChanged = true
    logger.debug({ copied: missing.length, removed: gone.length }, 'publish.current_copied')
  }

  /** Says what is there now. Another publisher that was faster says so itself. */
  async close(manifest: Manifest, logs: LogVersions): Promise<void> {
    const { store, clock } = this.#options
    const files = [...currentFiles(manifest)].map(([key, { sha256 }]) => [key, sha256] as const)
    const said = { snapshot_id: manifest.snapshot_id, files: Object.fromEntries(files), logs }
    const { written_at: _, ...before } = this.#record ?? { written_at: '' }
    if (this.#isBeaten || (!this.#hasChanged && stableJson(before) === stableJson(said))) return
    const record: Record = { ...said, written_at: isoInstant(clock.now()) }
    await store.replace(RECORD_KEY, Buffer.from(`${stableJson(record, 2)}\n`), this.#version)
  }
}

/** Removes all of it: of a destination that is not to have it, nothing may go on showing an old day. */
export async function removeCurrent(store: ObjectStore): Promise<void> {
  const found = await store.list(CURRENT_FOLDER)
  if (found.length > 0) await store.remove(found.map(({ key }) => key))
}

/** Copies every file again, where there is such a folder: what an object there was before may name people. */
export async function rewriteCurrent(options: CurrentOptions, manifest: Manifest): Promise<void> {
  if ((await options.store.list(CURRENT_FOLDER)).length === 0) return
  const folder = await CurrentFolder.open(options)
  await folder.show(manifest, true)
  await folder.close(manifest, {})
}
