import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { thisWriter } from '../../../src/publish/sweep/intent-writer.ts'
import { intentKey, withIntent } from '../../../src/publish/sweep/intent.ts'
import {
  POINTER_KEY,
  formatJson,
  snapshotKeys,
  type Manifest,
} from '../../../src/publish/manifest.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { parseKeep } from '../../../src/publish/sweep/retention.ts'
import { LEASE_KEY, waitForSweeper } from '../../../src/publish/sweep/sweep-lease.ts'
import { sweepStore, type SweepOptions, type SweepStep } from '../../../src/publish/sweep/sweep.ts'
import { realClock, shiftedClock } from '../../../src/support/clock.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { DAY, HOUR } from '../../../src/support/units.ts'
import { signInTo } from '../../helpers/s3-credentials.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { virtualClock } from '../../helpers/virtual-clock.ts'
import {
  START,
  fileKey,
  idOf,
  manifestOf,
  memoryStore,
  missingObjects,
  pointerBytes,
  publishDays,
  putSnapshot,
  type MemoryStore,
} from './sweep-world.ts'

const clock = virtualClock(START)
const OWNER = idOf(50)

function sweep(store: ObjectStore, options: Partial<SweepOptions> = {}) {
  const common = { store, owner: OWNER, clock, logger: silentLogger }
  return sweepStore({ ...common, keep: parseKeep(2), ...options })
}

/** Puts objects as they were left `ageMs` ago. */
function putOld(store: MemoryStore, ageMs: number, ...keys: readonly string[]): void {
  for (const key of keys) {
    store.objects.set(key, { bytes: Buffer.from(key), modifiedAt: START - ageMs, version: key })
  }
}

const keysOf = (store: MemoryStore) => [...store.objects.keys()].toSorted()
const keysOfSnapshots = (...numbers: readonly number[]) =>
  numbers.flatMap((n) => Object.values(snapshotKeys(idOf(n))))

function rewrite(store: MemoryStore, key: string, change: (text: string) => string): void {
  const stored = store.objects.get(key)
  if (stored === undefined) throw new Error(`no ${key}`)
  stored.bytes = Buffer.from(change(Buffer.from(stored.bytes).toString()))
}

async function moveTo(store: MemoryStore, manifest: Manifest, contents: string[]): Promise<void> {
  await putSnapshot(store, manifest, contents)
  const version = store.objects.get(POINTER_KEY)?.version ?? null
  expect(await store.replace(POINTER_KEY, pointerBytes(manifest), version)).toBe(true)
}

/** Four nights, of which each has a file that the next one does not have, and `a`, which all have. */
async function fourNights(): Promise<{ store: MemoryStore; manifests: Manifest[] }> {
  const store = memoryStore(() => clock.now())
  const nights = [1, 2, 3, 4].map((night) => ['a', `of night ${night}`, `until night ${night + 1}`])
  const manifests = await publishDays(store, nights)
  return { store, manifests }
}

describe('a sweep', () => {
  it('removes the snapshots that are not kept and what only they had: 2 of 4, 8 objects', async () => {
    const { store } = await fourNights()
    const steps: SweepStep[] = []
    const report = await sweep(store, { onProgress: (step) => steps.push(step) })
    const bytes = (night: number) => `of night ${night}until night ${night + 1}`.length
    const texts = keysOfSnapshots(1, 2)
    expect(report).toMatchObject({
      reason: null,
      snapshots: [idOf(1), idOf(2)],
      objects: 8,
      uploads: 0,
    })
    expect(report.bytes).toBeGreaterThan(bytes(1) + bytes(2))
    expect(steps.at(-1)).toEqual({ done: 8, total: 8 })
    const data = ['a', ...[3, 4].flatMap((n) => [`of night ${n}`, `until night ${n + 1}`])]
    const rest = [POINTER_KEY, LEASE_KEY, ...keysOfSnapshots(3, 4), ...data.map(fileKey)]
    expect(keysOf(store)).toEqual(rest.toSorted())
    expect(texts.some((key) => store.objects.has(key))).toBe(false)
  })

  it('removes nothing the second time, and no snapshot where none expires', async () => {
    const { store } = await fourNights()
    expect(await sweep(store, { keep: null })).toMatchObject({ reason: null, objects: 0 })
    await sweep(store)
    expect(await sweep(store)).toMatchObject({ reason: null, snapshots: [], objects: 0, bytes: 0 })
  })

  it('keeps files and lists of deleted rows that any kept snapshot has', async () => {
    const store = memoryStore(() => clock.now())
    const [first = null] = await publishDays(store, [['a', 'b']])
    const contents = ['b', 'c']
    const facts = { id: idOf(2), createdAt: START, contents, deleted: 'rows of b', after: first }
    await moveTo(store, manifestOf(facts), contents)
    expect(await sweep(store)).toMatchObject({ reason: null, objects: 0 })
    expect(await sweep(store, { keep: parseKeep(1) })).toMatchObject({ reason: null, objects: 3 })
    expect(missingObjects(store, new Set([idOf(2)]))).toEqual([])
    expect(keysOf(store).filter((key) => key.startsWith('tables/'))).toHaveLength(3)
  })

  it('removes what killed publishers left: files, views, a snapshot that nobody ever saw', async () => {
    const { store, manifests } = await fourNights()
    const [, , third = null, fourth = null] = manifests
    // One was killed before it moved the pointer, one was not the first, one never came to its manifest.
    for (const [id, after] of [[idOf(60), fourth] as const, [idOf(61), third] as const]) {
      const contents = [`only of ${id}`]
      await putSnapshot(store, manifestOf({ id, createdAt: START, contents, after }), contents)
    }
    await store.put(snapshotKeys(idOf(62)).views, Buffer.from('--'))
    await store.put(fileKey('nobody'), Buffer.from('nobody'))
    const report = await sweep(store, { keep: parseKeep(4) })
    expect(report).toMatchObject({ reason: null, snapshots: [], objects: 8 })
    expect(keysOf(store).filter((key) => key.startsWith('snapshots/'))).toEqual(
      keysOfSnapshots(1, 2, 3, 4).toSorted(),
    )
    expect(missingObjects(store, new Set(manifests.map((one) => one.snapshot_id)))).toEqual([])
  })

  it('removes what followed a snapshot whose place was taken by another', async () => {
    const { store, manifests } = await fourNights()
    const [, second = null] = manifests
    const contents = ['third anew']
    const anew = manifestOf({ id: idOf(8), createdAt: START, contents, after: second })
    await moveTo(store, anew, contents)
    // The third and the fourth night are beside the chain now, which is 8, 2, 1.
    const report = await sweep(store, { keep: parseKeep(10) })
    expect(report).toMatchObject({ reason: null, snapshots: [], objects: 8 })
    expect(keysOf(store).filter((key) => key.startsWith('snapshots/'))).toEqual(
      keysOfSnapshots(1, 2, 8).toSorted(),
    )
  })

  it('keeps the snapshots of before somebody removed the pointer and began anew', async () => {
    const { store, manifests } = await fourNights()
    store.objects.delete(POINTER_KEY)
    expect(await sweep(store)).toMatchObject({ reason: 'nothing is published there', objects: 0 })
    const anew = manifestOf({ id: idOf(9), createdAt: START, contents: ['new'] })
    await moveTo(store, anew, ['new'])
    expect(await sweep(store, { keep: parseKeep(5) })).toMatchObject({ reason: null, objects: 0 })
    const report = await sweep(store, { keep: parseKeep(3) })
    expect(report.snapshots).toEqual([idOf(1), idOf(2)])
    expect(missingObjects(store, new Set(manifests.map((one) => one.snapshot_id)))).toEqual([])
  })

  it('leaves alone what is not named as Jobtide names its objects', async () => {
    const { store } = await fourNights()
    const foreign = [
      'README.txt',
      'tables/joiners/part-00000-0b7c.snappy.parquet',
      'tables/notes.txt',
      'snapshots/today/manifest.json',
      `snapshots/${idOf(1)}/note.txt`,
      'conditional-write-probe',
    ]
    putOld(store, 400 * DAY, ...foreign)
    expect(await sweep(store)).toMatchObject({ reason: null, objects: 8 })
    expect(foreign.filter((key) => !store.objects.has(key))).toEqual([])
  })

  it('removes the files of each Delta log from before its checkpoint of 31 days ago', async () => {
    const { store } = await fourNights()
    const name = (version: number) => String(version).padStart(20, '0')
    const log = (table: string, file: string) => `tables/${table}/_delta_log/${file}`
    const old = [`${name(0)}.json`, `${name(1)}.json`, `${name(2)}.json`]
    putOld(store, 40 * DAY, ...old.map((file) => log('joiners', file)))
    putOld(store, 40 * DAY, ...old.map((file) => log('moves', file)))
    putOld(store, 32 * DAY, log('joiners', `${name(2)}.checkpoint.parquet`))
    putOld(store, DAY, log('joiners', `${name(3)}.json`), log('joiners', '_last_checkpoint'))
    expect(await sweep(store, { keep: null })).toMatchObject({ reason: null, objects: 2 })
    expect(keysOf(store).filter((key) => key.includes('_delta_log'))).toEqual([
      log('joiners', `${name(2)}.checkpoint.parquet`),
      log('joiners', `${name(2)}.json`),
      log('joiners', `${name(3)}.json`),
      log('joiners', '_last_checkpoint'),
      ...old.map((file) => log('moves', file)),
    ])
  })

  it('forgets uploads of more than a day ago', async () => {
    const { store } = await fourNights()
    store.abandonUploads = async (begunBefore) => (begunBefore === START - DAY ? 3 : 0)
    expect(await sweep(store)).toMatchObject({ uploads: 3 })
  })

  it('removes nothing while a publisher is at work, and says whose intent it is', async () => {
    const { store } = await fourNights()
    const started_at = '2026-11-20T01:15:00.000Z'
    const intent = { snapshot_id: idOf(7), host: 'night', pid: 77, started_at }
    const key = intentKey(idOf(7))
    store.objects.set(key, {
      bytes: Buffer.from(JSON.stringify(intent)),
      modifiedAt: START - DAY,
      version: 'x',
    })
    const report = await sweep(store)
    expect(report).toEqual({
      reason: `a publisher is at work since 2026-11-19T02:15:00.000Z (process 77 on night); one that was killed counts for 24 hours: ${key}`,
      snapshots: [],
      objects: 0,
      bytes: 0,
      uploads: 0,
    })
    // A day after it was written, to the millisecond, it still counted.
    putOld(store, DAY + 1, key)
    expect(await sweep(store)).toMatchObject({ reason: null, objects: 9 })
  })

  it('asks the store how old an intent is, whatever its own clock says', async () => {
    const { store } = await fourNights()
    putOld(store, 23 * HOUR, intentKey(idOf(7)))
    const days = shiftedClock(clock)
    days.advance(3 * DAY)
    const report = await sweep(store, { clock: days })
    expect(report.reason).toMatch(/^a publisher is at work since 2026-11-19T03:15:00\.000Z;/)
    expect(report.objects).toBe(0)
  })

  it('is not in its own way', async () => {
    const { store } = await fourNights()
    putOld(store, HOUR, intentKey(OWNER))
    expect(await sweep(store)).toMatchObject({ reason: null, objects: 8 })
    expect(store.objects.has(intentKey(OWNER))).toBe(true)
  })

  it('gives the lease back when a signal stops it, and the next one goes on', async () => {
    const { store } = await fourNights()
    const stop = new AbortController()
    const onProgress = () => stop.abort(new Error('stopped'))
    await expect(sweep(store, { signal: stop.signal, onProgress })).rejects.toThrow('stopped')
    await waitForSweeper(store, clock)
    expect(clock.now()).toBe(START)
    expect(missingObjects(store, new Set([1, 2, 3, 4].map(idOf)))).toEqual([])
    expect(await sweep(store)).toMatchObject({ reason: null, objects: 6 })
  })
})

describe('a sweep of a store in which a manifest cannot be trusted', () => {
  async function reasonAfter(damage: (store: MemoryStore, key: string) => void): Promise<string> {
    const { store } = await fourNights()
    damage(store, snapshotKeys(idOf(3)).manifest)
    const before = keysOf(store).filter((key) => key !== LEASE_KEY)
    const report = await sweep(store)
    expect(keysOf(store).filter((key) => key !== LEASE_KEY)).toEqual(before)
    return report.reason ?? ''
  }

  it('removes nothing: it is no JSON', async () => {
    const reason = await reasonAfter((store, key) => rewrite(store, key, () => '{'))
    expect(reason).toMatch(
      /01JD0+3\/manifest\.json was not written by .*; nothing is swept as long/,
    )
  })

  it('removes nothing: a byte of it is another', async () => {
    const change = (text: string) => text.replace(/[0-9a-f]{64}(?=\.parquet)/, 'f'.repeat(64))
    const reason = await reasonAfter((store, key) => rewrite(store, key, change))
    expect(reason).toMatch(/01JD0+3\/manifest\.json is not what the snapshot after it/)
  })

  it('removes nothing: it is of a later Jobtide', async () => {
    const change = (text: string) => text.replace('"format_version": 3', '"format_version": 4')
    const reason = await reasonAfter((store, key) => rewrite(store, key, change))
    expect(reason).toMatch(/format_version.*nothing is swept/)
  })

  it('removes nothing: it is the manifest of another snapshot', async () => {
    const reason = await reasonAfter((store, key) => {
      const other = store.objects.get(snapshotKeys(idOf(2)).manifest)
      if (other !== undefined) store.objects.set(key, other)
    })
    expect(reason).toMatch(/is the manifest of 01JD0+2; nothing is swept/)
  })
})

/** A store whose owner is killed at request `at` (from 1); of the keys to remove every second one, from `first`, is gone. */
function killedAt(
  store: MemoryStore,
  at: number,
  first: 0 | 1,
): { store: ObjectStore; requests: () => number } {
  let requests = 0
  const killed = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function' || name === 'urlOf') return member
      return async (...values: unknown[]) => {
        requests += 1
        if (requests < at) return (await Reflect.apply(member, target, values)) as unknown
        const [keys] = values
        if (requests === at && name === 'remove' && Array.isArray(keys)) {
          await target.remove(keys.filter((_, index) => index % 2 === first) as string[])
        }
        throw new Error('killed')
      }
    },
  })
  return { store: killed, requests: () => requests }
}

describe('a sweeper that is killed', () => {
  async function crowded(): Promise<MemoryStore> {
    const { store, manifests } = await fourNights()
    const contents = ['of a loser']
    const loser = manifestOf({
      id: idOf(61),
      createdAt: START,
      contents,
      after: manifests[0] ?? null,
    })
    await putSnapshot(store, loser, contents)
    putOld(store, 2 * DAY, intentKey(idOf(61)))
    return store
  }
  const everySnapshot = new Set([1, 2, 3, 4, 61].map(idOf))

  it.each([0, 1] as const)(
    'at any request, having removed every second object from %i on, leaves every snapshot that still has a manifest whole, and the next one ends its work',
    async (first) => {
      const whole = await crowded()
      const counting = killedAt(whole, Number.POSITIVE_INFINITY, 0)
      await sweep(counting.store)
      const expected = keysOf(whole)
      expect(counting.requests()).toBe(21)
      for (let at = 1; at <= counting.requests(); at += 1) {
        const store = await crowded()
        await sweep(killedAt(store, at, first).store).catch(() => undefined)
        expect(missingObjects(store, everySnapshot), `killed at ${at}`).toEqual([])
        // Its lease is over after an hour and 5 minutes.
        const later = shiftedClock(clock)
        later.advance(2 * HOUR)
        const report = await sweep(store, { clock: later })
        expect(report.reason, `killed at ${at}`).toBeNull()
        expect(keysOf(store), `killed at ${at}`).toEqual(expected)
      }
    },
  )
})

async function folderStore(): Promise<ObjectStore> {
  return openStore(temporaryFolder(), { clock: realClock })
}

async function s3Store(): Promise<ObjectStore> {
  const server = await startS3Server()
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await server.close()
  })
  signInTo(server)
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  const options = { clock: realClock, s3Endpoint: server.endpoint }
  return openStore(`s3://${server.bucket}/some/prefix`, options)
}

describe.each([
  ['a folder', folderStore],
  ['S3', s3Store],
])('a publisher and a sweep of %s', (_, open) => {
  it('remove 3 objects of the snapshot before, and leave nothing of their own but the lease', async () => {
    const store = await open()
    const probes = (await store.list('')).map(({ key }) => key)
    const first = manifestOf({ id: idOf(1), createdAt: START - DAY, contents: ['a'] })
    const second = manifestOf({ id: idOf(2), createdAt: START, contents: ['b'], after: first })
    for (const [manifest, content] of [[first, 'a'] as const, [second, 'b'] as const]) {
      const id = manifest.snapshot_id
      const intent = {
        snapshotId: id,
        writer: thisWriter(),
        clock: realClock,
        logger: silentLogger,
      }
      const won = await withIntent({ store, ...intent }, async (work) => {
        const blocked = await sweep(store, { clock: realClock })
        expect(blocked.reason).toMatch(/^a publisher is at work since .* \(process \d+ on .+\)/)
        await putSnapshot(store, manifest, [content])
        const version = (await store.get(POINTER_KEY))?.version ?? null
        return work.commit(() => store.replace(POINTER_KEY, pointerBytes(manifest), version))
      })
      expect(won).toBe(true)
    }
    const report = await sweep(store, { keep: parseKeep(1), clock: realClock })
    expect(report).toMatchObject({ reason: null, snapshots: [idOf(1)], objects: 3 })
    expect(report.bytes).toBe(
      formatJson(first).length + Buffer.from(`-- ${idOf(1)}\n`).length + 'a'.length,
    )
    const rest = [POINTER_KEY, LEASE_KEY, ...keysOfSnapshots(2), fileKey('b'), ...probes]
    expect((await store.list('')).map(({ key }) => key)).toEqual(rest.toSorted())
  })
})
