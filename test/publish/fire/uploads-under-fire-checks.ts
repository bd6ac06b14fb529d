/**
 * What must hold of a store at every moment, whatever was done to its publishers: every manifest that is there names only
 * objects that are there, whole; the pointer names a manifest; the rows are those of one warehouse; no Delta log names a
 * missing file. Looks past the requests that are under fire.
 */

import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { readDeltaLog } from '../../../src/publish/delta/log.ts'
import { FileCache } from '../../../src/publish/file-cache.ts'
import { liveRowsSql } from '../../../src/publish/live-rows.ts'
import { objectsOf, type Manifest, type ManifestTable } from '../../../src/publish/manifest.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { listSnapshots, readCurrent } from '../../../src/publish/read-snapshot.ts'
import { verifySnapshot } from '../../../src/publish/verify/verify.ts'
import type { Clock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import type { TableDefinition } from '../../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import type { S3Server } from '../../helpers/s3-server.ts'
import { newFolder } from '../fixtures.ts'
import type { Outcome } from './uploads-under-fire-world.ts'

/** What a warehouse or a snapshot holds: of each table, the number of its rows and a sum of their hashes. */
export type Contents = Readonly<Record<string, string>>

async function contentOf(warehouse: Warehouse, from: string): Promise<string> {
  const [row] = await warehouse.all<{ content: string }>(
    `select count(*) || ' rows, ' || coalesce(sum(hash(t)::hugeint), 0) as content from (${from}) as t`,
  )
  return row?.content ?? ''
}

/** What a publisher would publish now. */
export async function contentsOf(
  warehouse: Warehouse,
  tables: readonly TableDefinition[],
): Promise<Contents> {
  const contents: Record<string, string> = {}
  for (const { name, leftOut } of tables) {
    const columns = leftOut.length === 0 ? '*' : `* exclude (${leftOut.join(', ')})`
    contents[name] = await contentOf(warehouse, `select ${columns} from main.${name}`)
  }
  return contents
}

/** The snapshot that readers see, and what is in it. */
export interface Seen {
  readonly manifest: Manifest
  readonly contents: Contents
}

/** The objects of a server's bucket, read without a request. @param prefix of the destination, with its slash */
export function bucketEyes(server: S3Server, prefix: string): ObjectStore {
  const found = (key: string) => server.objects().get(prefix + key)
  const never = () => Promise.reject(new Error('eyes change nothing'))
  return {
    destination: `s3://${server.bucket}/${prefix.slice(0, -1)}`,
    urlOf: (key) => `s3://${server.bucket}/${prefix}${key}`,
    localPath: () => null,
    async get(key) {
      const object = found(key)
      return object === undefined ? null : { bytes: object.body, version: object.etag }
    },
    async head(key) {
      const object = found(key)
      return object === undefined ? null : { bytes: object.body.length }
    },
    async list(under) {
      return [...server.objects()]
        .filter(([key]) => key.startsWith(prefix + under))
        .map(([key, { body, lastModifiedMs }]) => ({
          key: key.slice(prefix.length),
          bytes: body.length,
          modifiedAt: lastModifiedMs,
        }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    },
    async download(key, path) {
      const object = found(key)
      if (object !== undefined) writeFileSync(path, object.body)
      return object !== undefined
    },
    put: never,
    putFile: never,
    replace: never,
    remove: never,
    purge: never,
    abandonUploads: never,
  }
}

/** Fails unless whoever published or swept ended well, or with the exit code of a publish that failed. */
export function expectKnownEnd({ error, sweepError }: Outcome): void {
  for (const one of [error, sweepError]) {
    if (one !== undefined) expect(one).toMatchObject({ exitCode: EXIT.publishFailed })
  }
}

/** Looks at a store again and again. */
export class Witness {
  readonly store: ObjectStore
  readonly #warehouse: Warehouse
  readonly #files: FileCache
  readonly #folder = newFolder()
  // By the bytes themselves, where they are the same ones each time.
  readonly #hashes = new WeakMap<Uint8Array, string>()
  readonly #contents = new Map<string, string>()

  /** @param warehouse only reads files */
  constructor(store: ObjectStore, warehouse: Warehouse) {
    this.store = store
    this.#warehouse = warehouse
    this.#files = new FileCache(store, join(this.#folder, 'files'), undefined)
  }

  /** Fails unless all is as it must be; null before the first publish. */
  async look(): Promise<Seen | null> {
    const current = await readCurrent(this.store)
    const manifests = await listSnapshots(this.store)
    const named = manifests.flatMap(objectsOf)
    for (const object of new Map(named.map((one) => [one.key, one])).values()) {
      expect(await this.#sizeAndHash(object.key), object.key).toEqual([object.bytes, object.sha256])
    }
    if (current === null) return null
    const { manifest } = current
    expect(manifests.map(({ snapshot_id: id }) => id)).toContain(manifest.snapshot_id)
    const contents: Record<string, string> = {}
    for (const table of manifest.tables) {
      contents[table.name] = await this.#contentOf(table)
      await this.#lookAtLog(table.name)
    }
    this.#files.keepOnly(objectsOf(manifest).map(({ key }) => key))
    return { manifest, contents }
  }

  /** Fails unless every Delta log shows the manifest's files and deleted rows, and `jobtide verify` would say so, too. */
  async prove(manifest: Manifest, clock: Clock): Promise<void> {
    for (const { name, files } of manifest.tables) {
      const log = await readDeltaLog(this.#source(), name)
      expect(log?.txnVersion, name).toBeGreaterThanOrEqual(manifest.sequence)
      const shown = [...(log?.files ?? [])].map(([key, file]) => ({
        key,
        rows: file.rows,
        deleted: file.deletedPositions?.length ?? 0,
      }))
      const expected = files.map((file) => ({
        key: file.key,
        rows: file.rows,
        deleted: file.deletes,
      }))
      const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
      expect(shown.toSorted(byKey), name).toEqual(expected.toSorted(byKey))
    }
    const scratchFolder = join(this.#folder, 'proof')
    const { store } = this
    const { findings } = await verifySnapshot({ store, snapshotId: null, scratchFolder, clock })
    expect(findings).toEqual([])
  }

  async #sizeAndHash(key: string): Promise<[number, string] | null> {
    const stored = await this.store.get(key)
    if (stored === null) return null
    const known = this.#hashes.get(stored.bytes)
    const hash = known ?? createHash('sha256').update(stored.bytes).digest('hex')
    this.#hashes.set(stored.bytes, hash)
    return [stored.bytes.length, hash]
  }

  async #contentOf(table: ManifestTable): Promise<string> {
    const named = [
      ...table.files,
      ...(table.deletion_vector === null ? [] : [table.deletion_vector]),
    ]
    const id = named.map(({ key }) => key).join()
    const known = this.#contents.get(id)
    if (known !== undefined) return known
    const paths = new Map<string, string>()
    for (const { key } of named) paths.set(key, (await this.#files.pathOf(key)) ?? '')
    const sql = liveRowsSql({ table, urlOf: (key) => paths.get(key) ?? '' })
    const content = await contentOf(this.#warehouse, sql)
    this.#contents.set(id, content)
    return content
  }

  async #lookAtLog(table: string): Promise<void> {
    const log = await readDeltaLog(this.#source(), table)
    for (const [key, { bytes }] of log?.files ?? []) {
      expect(await this.store.head(key), `in the Delta log: ${key}`).toEqual({ bytes })
    }
  }

  #source() {
    const scratchFolder = join(this.#folder, 'log')
    return { store: this.store, warehouse: this.#warehouse, scratchFolder }
  }
}
