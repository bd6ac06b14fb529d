/** A published table without a publisher: data files and manifests as a publish leaves them, made by DuckDB. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  POINTER_KEY,
  formatJson,
  pointerTo,
  snapshotKeys,
  type Manifest,
  type ManifestFile,
  type ManifestTable,
} from '../../../src/publish/manifest.ts'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { writeParquet } from '../../../src/publish/export.ts'
import { type LogSource, syncDeltaLogs } from '../../../src/publish/delta.ts'
import { isoInstant, realClock } from '../../../src/support/clock.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { sum } from '../../../src/support/numbers.ts'
import { DAY } from '../../../src/support/units.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { memoryWarehouse } from '../../helpers/warehouse.ts'
import { aManifest, aTable } from '../manifests.ts'

/** The columns of a made table: one of each kind that engines are known to treat differently. */
const COLUMNS: ManifestTable['schema'] = [
  ['id', 'VARCHAR', 'Key; the row’s own number with "quotes".'],
  ['number', 'BIGINT', null],
  ['happened_at', 'TIMESTAMP WITH TIME ZONE', 'Microseconds.'],
  ['happened_on', 'DATE', null],
  ['ratio', 'DOUBLE', null],
  ['amount', 'DECIMAL(12,2)', null],
  ['is_current', 'BOOLEAN', null],
  ['note', 'VARCHAR', 'Null in every fifth row.'],
].map(([name, type, comment], index) => {
  return { name: name ?? '', type: type ?? '', field_id: index + 1, comment: comment ?? null }
})

/** A column added later. */
export const YOUNG_COLUMN = { name: 'young', type: 'INTEGER', field_id: 9, comment: 'Came later.' }

const FIRST_DAY = Date.UTC(2026, 0, 1)

/** A table that is published night after night. */
export class MadeLake {
  readonly store: ObjectStore
  readonly warehouse: Warehouse
  readonly scratchFolder: string
  readonly table: string
  columns: ManifestTable['schema'] = COLUMNS
  sequence = 0
  #files: ManifestFile[] = []

  constructor(store: ObjectStore, warehouse: Warehouse, table = 'events') {
    this.store = store
    this.warehouse = warehouse
    this.scratchFolder = temporaryFolder()
    this.table = table
  }

  get files(): readonly ManifestFile[] {
    return this.#files
  }

  /** Adds a file of `rows` rows, numbered from `from`. */
  async add(from: number, rows: number, partition = 'all'): Promise<ManifestFile> {
    const path = join(this.scratchFolder, 'file.parquet')
    const young = this.columns.length > COLUMNS.length ? ', (i % 7)::integer as young' : ''
    const written = await writeParquet(
      this.warehouse,
      {
        columns: this.columns,
        key: ['id'],
        from: `from (
          select format('person_{:07d}', i) as id, (i - 3) * 1000003 as number,
            timestamptz '2019-12-31 22:00:00.123456+00' + i * interval '37 minutes 1 microsecond' as happened_at,
            (date '2019-12-31' + (i % 700)::integer) as happened_on, i / 3.0::double as ratio,
            (i / 7)::decimal(12,2) as amount, i % 3 = 0 as is_current,
            case when i % 5 > 0 then format('Zoë "№{}"', i) end as note ${young}
          from range(${from}, ${from + rows}) numbers(i))`,
      },
      path,
    )
    const key = `tables/${this.table}/${partition}/${written.sha256}.parquet`
    await this.store.putFile(key, path)
    rmSync(path)
    const file = { key, partition, ...written }
    this.#files = [...this.#files, file].toSorted((a, b) => (a.key < b.key ? -1 : 1))
    return file
  }

  /** Removes a file. */
  drop(key: string): void {
    this.#files = this.#files.filter((file) => file.key !== key)
  }

  /** A manifest of the current files, a day after the previous one. */
  async manifest(): Promise<Manifest> {
    this.sequence += 1
    return aManifest({
      snapshot_id: `01J${String(this.sequence).padStart(23, '0')}`,
      sequence: this.sequence,
      created_at: isoInstant(FIRST_DAY + this.sequence * DAY),
      tables: [await this.describe()],
    })
  }

  /** The table as described in a manifest. */
  async describe(): Promise<ManifestTable> {
    const { columns: schema, files } = this
    const rows = sum(files.map((file) => file.rows))
    const partitions = [{ name: 'all', rows, fingerprint: null }]
    const last_field_id = schema.length
    return aTable({ name: this.table, schema, last_field_id, partitions, files: [...files] })
  }

  /** Syncs the logs with a manifest. */
  async sync(manifest: Manifest, store = this.store): Promise<void> {
    await syncDeltaLogs({ ...this.source, store, manifest, logger: silentLogger })
  }

  /** The arguments for reading the log. */
  get source(): LogSource {
    const { store, warehouse, scratchFolder } = this
    return { store, warehouse, scratchFolder }
  }

  /** Creates a manifest, moves the pointer to it, and syncs the logs. */
  async publish(): Promise<Manifest> {
    const manifest = await this.manifest()
    await putPointer(this.store, manifest)
    await this.sync(manifest)
    return manifest
  }
}

/** Stores a manifest and points to it, unconditionally. */
export async function putPointer(store: ObjectStore, manifest: Manifest): Promise<void> {
  const text = formatJson(manifest)
  await store.put(snapshotKeys(manifest.snapshot_id).manifest, Buffer.from(text))
  const pointer = pointerTo(manifest.snapshot_id, text)
  const current = await store.get(POINTER_KEY)
  await store.replace(POINTER_KEY, Buffer.from(formatJson(pointer)), current?.version ?? null)
}

let engine: Promise<Warehouse> | undefined

/** A lake in its own folder; those of one test file share an engine. */
export async function madeLake(store?: ObjectStore): Promise<MadeLake> {
  engine ??= memoryWarehouse()
  return new MadeLake(store ?? openFolderStore(temporaryFolder(), realClock), await engine)
}
