/**
 * Keeps `current/<table>/*.parquet`, the files that readers see now, under stable names. They are copies, never links,
 * so that writing into them cannot destroy a snapshot. `current/snapshot.json` is written last and records their state,
 * so that the next publish repairs any difference.
 */

import { z } from 'zod'
import { atOnce } from '../support/at-once.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import { jsonOrNull, stableJson } from '../support/json.ts'
import { logVersions, syncDeltaLogs, type SyncOptions } from './delta.ts'
import {
  ofThisFormat,
  readCurrent,
  readPointer,
  type Manifest,
  type NamedObject,
} from './manifest.ts'
import type { ObjectStore } from './store/object-store.ts'

export const CURRENT_FOLDER = 'current/'
const RECORD_KEY = `${CURRENT_FOLDER}snapshot.json`
const AT_ONCE = 8

const recordSchema = z.object({
  snapshot_id: z.string(),
  written_at: z.string(),
  /** SHA-256 by key. */
  files: z.record(z.string(), z.string()),
  logs: logVersions,
})

type Record = z.infer<typeof recordSchema>

/** With the snapshot that the pointer names. */
export interface CurrentOptions extends Omit<SyncOptions, 'known'> {
  readonly clock: Clock
}

/** The files of a snapshot under stable names, with their originals. */
export function currentFiles({ tables }: Pick<Manifest, 'tables'>): Map<string, NamedObject> {
  const found = new Map<string, NamedObject>()
  for (const { name, files } of tables) {
    for (const file of files) {
      const [, year = null] = /_year=(.*)$/.exec(file.partition) ?? []
      const ofYear = year === null ? '' : `-${/^-?\d+$/.test(year) ? year : 'no-year'}`
      const keyOf = (part: string) => `${CURRENT_FOLDER}${name}/${name}${ofYear}${part}.parquet`
      let key = keyOf('')
      for (let nth = 2; found.has(key); nth += 1) key = keyOf(`-part-${nth}`)
      found.set(key, file)
    }
  }
  return found
}

/** The content of `current/` according to its record; null where there is none. */
export async function readCurrentRecord(store: ObjectStore) {
  const stored = await store.get(RECORD_KEY)
  const text = Buffer.from(stored?.bytes ?? []).toString()
  return {
    version: stored?.version ?? null,
    record: recordSchema.safeParse(jsonOrNull(text)).data ?? null,
  }
}

/**
 * Copies missing files, removes outdated ones, brings the Delta logs up to date, then records the state of both.
 * @param again copies every file, whatever is there
 */
export async function updateCurrent(options: CurrentOptions, again = false): Promise<void> {
  const { store, clock, manifest } = options
  const found = await readCurrentRecord(store)
  /** The files copied here: an older record about the same file does not count. */
  const copied = new Map<string, string>()
  const show = (of: Manifest) => bringTo(options, of, again ? null : found.record, copied)
  const hasChanged = await show(manifest)
  let shown = manifest
  // A slow publisher must not leave older files over newer ones.
  for (;;) {
    const pointed = await readPointer(store)
    if (pointed === null || pointed.pointer.snapshot_id === shown.snapshot_id) break
    const now = await readCurrent(store)
    if (now === null) break
    shown = ofThisFormat(now.manifest, store.destination)
    await show(shown)
  }
  const logs = await syncDeltaLogs({ ...options, known: found.record?.logs ?? {} })
  const files = [...currentFiles(manifest)].map(([key, { sha256 }]) => [key, sha256] as const)
  const said = { snapshot_id: manifest.snapshot_id, files: Object.fromEntries(files), logs }
  const { written_at: _, ...before } = found.record ?? { written_at: '' }
  const isSaid = !hasChanged && stableJson(before) === stableJson(said)
  // A faster publisher records the content.
  if (isSaid || shown !== manifest) return
  const record: Record = { ...said, written_at: isoInstant(clock.now()) }
  await store.replace(RECORD_KEY, Buffer.from(`${stableJson(record, 2)}\n`), found.version)
}

/** Copies missing files and removes the rest; returns whether there were any. @param copied here, SHA-256 by key */
async function bringTo(
  { store, signal, logger }: SyncOptions,
  manifest: Manifest,
  record: Record | null,
  copied: Map<string, string>,
): Promise<boolean> {
  const wanted = currentFiles(manifest)
  const listed = new Map((await store.list(CURRENT_FOLDER)).map((object) => [object.key, object]))
  const writtenAt = listed.get(RECORD_KEY)?.modifiedAt ?? Number.NEGATIVE_INFINITY
  const isThere = (key: string, { bytes, sha256 }: NamedObject) => {
    const found = listed.get(key)
    if (found?.bytes !== bytes) return false
    const own = copied.get(key)
    if (own !== undefined) return own === sha256
    // A later change would also have changed its time.
    return record?.files[key] === sha256 && found.modifiedAt <= writtenAt
  }
  const missing = [...wanted].filter(([key, file]) => !isThere(key, file))
  await atOnce(missing, AT_ONCE, async ([key, file]) => {
    signal?.throwIfAborted()
    await store.copy(file.key, key)
    copied.set(key, file.sha256)
  })
  // Whatever its name, a wildcard over the folder would read it as rows of the table.
  const gone = [...listed.keys()].filter((key) => key.endsWith('.parquet') && !wanted.has(key))
  if (gone.length > 0) await store.remove(gone)
  if (missing.length + gone.length === 0) return false
  logger.debug({ copied: missing.length, removed: gone.length }, 'publish.current_copied')
  return true
}
