import { describe, expect, it } from 'vitest'
import { collectGarbage, parseKeep, type GcOptions } from '../../../src/publish/retention.ts'
import { POINTER_KEY, snapshotKeys, type Manifest } from '../../../src/publish/manifest.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { DAY, HOUR } from '../../../src/support/units.ts'
import {
  START,
  idOf,
  manifestOf,
  memoryStore,
  missingObjects,
  publishManifest,
  putSnapshot,
  type MemoryStore,
} from './gc-world.ts'

const collect = (store: ObjectStore, options: Partial<GcOptions> = {}) =>
  collectGarbage({ store, keep: parseKeep(2), logger: silentLogger, ...options })

/** A store with the time that the test sets. */
class Nights {
  now = START
  readonly store: MemoryStore = memoryStore(() => this.now)
  readonly manifests: Manifest[] = []

  /** Publishes a snapshot a day later. */
  async publish(contents: readonly string[], after = this.manifests.at(-1) ?? null) {
    this.now += DAY
    const id = idOf(this.manifests.length + 1)
    const manifest = manifestOf({ id, createdAt: this.now, contents, after })
    await publishManifest(this.store, manifest, after)
    this.manifests.push(manifest)
    return manifest
  }

  put(key: string, ageMs: number): void {
    const modifiedAt = this.now - ageMs
    this.store.objects.set(key, { bytes: Buffer.from(key), modifiedAt, version: key })
  }

  keys(prefix = ''): string[] {
    return [...this.store.objects.keys()].filter((key) => key.startsWith(prefix)).toSorted()
  }

  snapshots(): string[] {
    return [...new Set(this.keys('snapshots/').map((key) => key.split('/')[1] ?? ''))]
  }
}

/** Four nights, each with a file that the next one lacks, and `a`, which all have. */
async function fourNights(): Promise<Nights> {
  const nights = new Nights()
  for (const night of [1, 2, 3, 4]) await nights.publish(['a', `only of night ${night}`])
  return nights
}

describe('garbage collection', () => {
  it('deletes the snapshots that are not kept and only their files: 2 of 4, 6 objects', async () => {
    const nights = await fourNights()
    const report = await collect(nights.store)
    expect(report).toMatchObject({ reason: null, snapshots: [idOf(1), idOf(2)], objects: 6 })
    expect(report.bytes).toBeGreaterThan('only of night 1only of night 2'.length)
    expect(nights.snapshots()).toEqual([idOf(3), idOf(4)])
    expect(nights.keys('tables/')).toHaveLength(3)
    expect(missingObjects(nights.store, new Set([3, 4].map(idOf)))).toEqual([])
    expect(await collect(nights.store)).toMatchObject({ reason: null, snapshots: [], objects: 0 })
  })

  it('deletes unreferenced objects once they are 24 hours older than the pointer, by the clock of the store', async () => {
    const nights = await fourNights()
    const [file, views] = [`tables/joiners/all/${idOf(7)}/${'a'.repeat(64)}.parquet`, idOf(8)]
    nights.put(file, DAY)
    nights.put(snapshotKeys(views).views, DAY + 1)
    expect(await collect(nights.store, { keep: null })).toMatchObject({ objects: 1 })
    expect(nights.store.objects.has(file)).toBe(true)
    // Time alone deletes nothing: the publisher that wrote it may still replace the current pointer.
    nights.now += 10 * DAY
    expect(await collect(nights.store, { keep: null })).toMatchObject({ objects: 0 })
    await nights.publish(['a'])
    expect(await collect(nights.store, { keep: null })).toMatchObject({ objects: 1 })
    expect(nights.store.objects.has(file)).toBe(false)
  })

  it('deletes the snapshot of a publisher that was killed or lost the race after a day, and none before', async () => {
    const nights = await fourNights()
    const [, , third = null, fourth = null] = nights.manifests
    for (const [n, after] of [[60, fourth] as const, [61, third] as const]) {
      const contents = [`only of ${n}`]
      const manifest = manifestOf({ id: idOf(n), createdAt: START, contents, after })
      await putSnapshot(nights.store, manifest, after)
    }
    expect(await collect(nights.store, { keep: parseKeep(9) })).toMatchObject({ objects: 0 })
    nights.now += HOUR
    await nights.publish(['a'])
    const report = await collect(nights.store, { keep: parseKeep(9) })
    expect(report).toMatchObject({ reason: null, snapshots: [], objects: 6 })
    expect(nights.snapshots()).toEqual([1, 2, 3, 4, 5].map(idOf))
  })

  it('keeps both snapshots from before the pointer was set back, because readers saw the first one', async () => {
    const nights = await fourNights()
    await nights.publish(['third again'], nights.manifests[1])
    await nights.publish(['fourth again'])
    expect(await collect(nights.store, { keep: parseKeep(10) })).toMatchObject({ objects: 0 })
    expect(await collect(nights.store, { keep: parseKeep(4) })).toMatchObject({
      snapshots: [idOf(1), idOf(2)],
    })
  })

  it('deletes nothing if a listed manifest cannot be read', async () => {
    const nights = await fourNights()
    const get = nights.store.get.bind(nights.store)
    const hidden = snapshotKeys(idOf(2)).manifest
    nights.store.get = (key) => (key === hidden ? Promise.resolve(null) : get(key))
    const { reason, objects } = await collect(nights.store, { keep: parseKeep(10) })
    expect(reason).toContain(`${hidden} is listed but missing; nothing is deleted`)
    expect(objects).toBe(0)
  })

  it('keeps the snapshots from before the pointer was removed by hand', async () => {
    const nights = await fourNights()
    nights.store.objects.delete(POINTER_KEY)
    expect(await collect(nights.store)).toMatchObject({ reason: 'nothing is published there' })
    await nights.publish(['new'], null)
    expect(await collect(nights.store, { keep: parseKeep(5) })).toMatchObject({ objects: 0 })
    expect(await collect(nights.store, { keep: parseKeep(3) })).toMatchObject({
      snapshots: [idOf(1), idOf(2)],
    })
  })

  it('leaves objects without a name of Jobtide’s alone', async () => {
    const nights = await fourNights()
    const foreign = [
      'README.txt',
      'tables/joiners/part-00000-0b7c.snappy.parquet',
      'snapshots/today/manifest.json',
      `snapshots/${idOf(1)}/note.txt`,
    ]
    for (const key of foreign) nights.put(key, 400 * DAY)
    expect(await collect(nights.store)).toMatchObject({ reason: null, objects: 6 })
    expect(foreign.filter((key) => !nights.store.objects.has(key))).toEqual([])
  })

  it('deletes the files of a Delta log from before its checkpoint of 31 days ago', async () => {
    const nights = await fourNights()
    const log = (file: string) => `tables/joiners/_delta_log/${file}`
    const name = (version: number) => String(version).padStart(20, '0')
    for (const n of [0, 1, 2]) nights.put(log(`${name(n)}.json`), 40 * DAY)
    nights.put(log(`${name(2)}.checkpoint.parquet`), 32 * DAY)
    nights.put(log(`${name(3)}.json`), DAY)
    expect(await collect(nights.store, { keep: null })).toMatchObject({ objects: 2 })
    const left = [`${name(2)}.checkpoint.parquet`, `${name(2)}.json`, `${name(3)}.json`]
    expect(nights.keys('tables/joiners/_delta_log/')).toEqual(left.map(log))
  })

  it('abandons uploads that were begun a day before the pointer moved', async () => {
    const nights = await fourNights()
    nights.store.purge = async ({ uploadsBegunBefore, versions }) =>
      uploadsBegunBefore === nights.now - DAY && versions !== true ? 3 : 0
    expect(await collect(nights.store)).toMatchObject({ uploads: 3 })
  })

  it.each<[string, (text: string, other: string) => string, RegExp]>([
    ['is no JSON', () => '{', /01JD0+3\/manifest\.json was not written by .*; nothing is deleted/],
    [
      'has other bytes',
      (text) => `${text} `,
      /01JD0+3\/manifest\.json: its SHA-256 is .*, but the snapshot after it/,
    ],
    [
      'is of a later format',
      (text) => text.replace(/("format_version": )\d/, '$19'),
      /a newer Jobtide: its format is 9/,
    ],
    ['is that of another snapshot', (_, other) => other, /is the manifest of 01JD0+2; nothing is/],
  ])('deletes nothing while a manifest %s', async (_, damage, reason) => {
    const nights = await fourNights()
    const textOf = (n: number) =>
      Buffer.from(nights.store.objects.get(snapshotKeys(idOf(n)).manifest)?.bytes ?? []).toString()
    const damaged = Buffer.from(damage(textOf(3), textOf(2)))
    nights.store.objects.get(snapshotKeys(idOf(3)).manifest)!.bytes = damaged
    const before = nights.keys()
    const report = await collect(nights.store)
    expect(report.reason).toMatch(reason)
    expect(nights.keys()).toEqual(before)
  })
})
