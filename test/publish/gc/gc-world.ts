/**
 * What the tests of garbage collection share: a store in memory, snapshots made by hand, and a world in which several
 * machines use one store, with latencies, pauses, lost answers and killed processes.
 */

import {
  POINTER_KEY,
  buildManifest,
  formatJson,
  objectsOf,
  pointerTo,
  snapshotKeys,
  type Manifest,
} from '../../../src/publish/manifest.ts'
import { fileKey } from '../../../src/publish/keys.ts'
import { withOwnKeys } from '../../../src/publish/own-keys.ts'
import type { ObjectStore, StoredObject } from '../../../src/publish/store/object-store.ts'
import { isoInstant, type Clock } from '../../../src/support/clock.ts'
import { sha256Hex } from '../../../src/support/hash.ts'
import { sum } from '../../../src/support/numbers.ts'
import { DAY } from '../../../src/support/units.ts'

/** 2026-11-20 02:15 UTC. */
export const START = Date.UTC(2026, 10, 20, 2, 15)

/** A store in memory, whose objects a test can see and change. */
export interface MemoryStore extends ObjectStore {
  readonly objects: Map<string, { bytes: Uint8Array; modifiedAt: number; version: string }>
}

/** An empty store. @param now its clock, milliseconds since 1970 UTC */
export function memoryStore(now: () => number): MemoryStore {
  const objects: MemoryStore['objects'] = new Map()
  let versions = 0
  const write = (key: string, bytes: Uint8Array) => {
    versions += 1
    objects.set(key, { bytes, modifiedAt: now(), version: String(versions) })
  }
  return {
    objects,
    destination: 'memory',
    urlOf: (key) => `memory/${key}`,
    put: async (key, bytes) => write(key, bytes),
    putFile: () => Promise.reject(new Error('no file is put in these tests')),
    get: async (key) => objects.get(key) ?? null,
    async head(key) {
      const found = objects.get(key)
      return found === undefined ? null : { bytes: found.bytes.length }
    },
    async list(prefix): Promise<StoredObject[]> {
      return [...objects]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, { bytes, modifiedAt }]) => ({ key, bytes: bytes.length, modifiedAt }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    },
    async replace(key, bytes, expected) {
      if ((objects.get(key)?.version ?? null) !== expected) return false
      write(key, bytes)
      return true
    },
    download: () => Promise.resolve(false),
    localPath: () => null,
    async remove(keys) {
      for (const key of keys) objects.delete(key)
    },
    purge: async () => 0,
  }
}

/** The id of the snapshot number `n` of a test: it sorts by `n`. */
export function idOf(n: number): string {
  return `01JD${String(n).padStart(22, '0')}`
}

/** A manifest of one table with a file for each of `contents`; those of `after` keep their keys, others get own ones. */
export function manifestOf(facts: {
  id: string
  createdAt: number
  contents: readonly string[]
  deleted?: string
  after?: Manifest | null
}): Manifest {
  const { id, createdAt, contents, deleted, after = null } = facts
  const objectOf = (content: string, folder: string) => {
    const sha256 = sha256Hex(Buffer.from(content))
    return { rows: 1, bytes: content.length, sha256, key: fileKey('joiners', folder, sha256) }
  }
  const files = contents.map((content) => ({
    ...objectOf(content, 'changed_year=2024'),
    partition: 'changed_year=2024',
    deletes: 0,
    min: {},
    max: {},
    nulls: {},
  }))
  const deletion_vector = deleted === undefined ? null : objectOf(deleted, '_deletion_vector')
  const table = {
    name: 'joiners',
    grain: 'One row per joining.',
    key: ['event_key'],
    partition_by: null,
    schema: [],
    last_field_id: 0,
    rows: files.length,
    bytes: sum(files.map((file) => file.bytes)),
    partitions: [{ name: 'changed_year=2024', rows: files.length, fingerprint: '' }],
    deletion_vector,
    files,
  }
  const written = [...files, ...(deletion_vector === null ? [] : [deletion_vector])]
  const own = withOwnKeys(
    { table, files: written.map((file) => ({ ...file, path: '' })) },
    after?.tables[0],
    id,
  )
  return buildManifest({
    snapshot_id: id,
    sequence: (after?.sequence ?? 0) + 1,
    previous:
      after === null
        ? null
        : {
            snapshot_id: after.snapshot_id,
            manifest_sha256: pointerTo(after.snapshot_id, formatJson(after)).manifest_sha256,
          },
    created_at: isoInstant(createdAt),
    run_id: null,
    journal_id: '01M82GZFCDS2H9RXZ13JAAZES0',
    not_kept: { people: 0, events_before: null },
    versions: { jobtide: '0.0.0', duckdb: 'v1' },
    tables: [own.table],
    new_bytes: 0,
    coverage: {
      organizations: 1_200,
      intervals: 1_200,
      covered_from: { min: null, max: null },
      covered_to: { min: isoInstant(createdAt - DAY), max: isoInstant(createdAt) },
      sha256: '0'.repeat(64),
    },
    checks: { passed: 84, checked_at: isoInstant(createdAt) },
    credits: { total: 0, of_run: 0 },
  })
}

/** Puts the files of a snapshot that `after` does not have, then its views and manifest; does not move the pointer. */
export async function putSnapshot(
  store: ObjectStore,
  manifest: Manifest,
  after: Manifest | null = null,
): Promise<void> {
  const keys = snapshotKeys(manifest.snapshot_id)
  const known = new Set(after === null ? [] : objectsOf(after).map(({ key }) => key))
  for (const { key, bytes } of objectsOf(manifest)) {
    if (!known.has(key)) await store.put(key, Buffer.alloc(bytes, 'x'))
  }
  await store.put(keys.views, Buffer.from(`-- ${manifest.snapshot_id}\n`))
  await store.put(keys.manifest, Buffer.from(formatJson(manifest)))
}

/** The bytes of the pointer to a snapshot. */
export function pointerBytes(manifest: Manifest): Uint8Array {
  return Buffer.from(formatJson(pointerTo(manifest.snapshot_id, formatJson(manifest))))
}

/** Publishes a snapshot in place of `after`. */
export async function publishManifest(
  store: ObjectStore,
  manifest: Manifest,
  after: Manifest | null = null,
): Promise<void> {
  await putSnapshot(store, manifest, after)
  const version = (await store.get(POINTER_KEY))?.version ?? null
  if (!(await store.replace(POINTER_KEY, pointerBytes(manifest), version))) throw new Error('lost')
}

/** Objects that snapshots need and that are not there: of every snapshot of `ids` whose manifest is, and of the pointer's. */
export function missingObjects(store: MemoryStore, ids: ReadonlySet<string>): string[] {
  const pointer = store.objects.get(POINTER_KEY)
  const current =
    pointer === undefined
      ? null
      : (JSON.parse(Buffer.from(pointer.bytes).toString()) as { snapshot_id: string }).snapshot_id
  return [...new Set([...ids, ...(current === null ? [] : [current])])].flatMap((id) => {
    const key = snapshotKeys(id).manifest
    const stored = store.objects.get(key)
    if (stored === undefined) return id === current ? [key] : []
    const manifest = JSON.parse(Buffer.from(stored.bytes).toString()) as Manifest
    return objectsOf(manifest)
      .map((object) => object.key)
      .filter((needed) => !store.objects.has(needed))
  })
}

/** What can happen to a request: how long until it takes effect, then until its answer, and what of it gets lost. */
export interface Fate {
  readonly untilEffectMs: number
  readonly untilAnswerMs: number
  /** `answer`: an error comes at the time of the answer, which may be before the effect. */
  readonly lost: 'nothing' | 'answer'
}

/** Several machines, one store, one time. */
export interface World {
  /** The true time, which is the store's, milliseconds since 1970 UTC. */
  now(): number
  /** A machine's clock. @param skewMs how far its wall clock is ahead */
  clock(skewMs: number): Clock
  /** A machine's way to `store`. @param isDead once true, nothing of its requests comes back */
  connect(
    store: ObjectStore,
    fateOf: (operation: string, key: string) => Fate,
    isDead: () => boolean,
  ): ObjectStore
  /** Runs all that was begun to its end, or for as long as anything happens. */
  run(): Promise<void>
}

/** A world without machines. */
export function newWorld(): World {
  let nowMs = START
  let order = 0
  const agenda: { at: number; order: number; happen: () => void }[] = []
  const at = (ms: number, happen: () => void) => {
    order += 1
    const event = { at: nowMs + Math.max(0, ms), order, happen }
    agenda.push(event)
    return event
  }
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    now: () => nowMs,
    clock: (skewMs) => ({
      now: () => nowMs + skewMs,
      // The monotonic clock begins elsewhere, so that code that mixes the two up is wrong by decades.
      monotonic: () => nowMs - START + 5_000,
      sleep: (ms) =>
        new Promise((resolve) => {
          at(ms, resolve)
        }),
    }),
    connect(store, fateOf, isDead) {
      return new Proxy(store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target)
          if (typeof member !== 'function' || name === 'urlOf') return member
          return (...values: unknown[]) =>
            new Promise((resolve, reject) => {
              if (isDead()) return
              const fate = fateOf(String(name), String(values[0]))
              let result: Promise<unknown> = Promise.resolve()
              at(fate.untilEffectMs, () => {
                result = Promise.resolve(Reflect.apply(member, target, values) as unknown)
                result.catch(() => undefined)
                if (fate.lost === 'nothing') {
                  at(fate.untilAnswerMs, () => {
                    if (!isDead()) result.then(resolve, reject)
                  })
                }
              })
              if (fate.lost === 'answer') {
                at(fate.untilAnswerMs, () => {
                  if (!isDead()) reject(new Error(`no answer to ${String(name)}`))
                })
              }
            })
        },
      })
    },
    async run() {
      for (;;) {
        await settle()
        agenda.sort((a, b) => a.at - b.at || a.order - b.order)
        const next = agenda.shift()
        if (next === undefined) return
        nowMs = next.at
        next.happen()
      }
    },
  }
}
