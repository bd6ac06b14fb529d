/**
 * What a publish of all tables costs beside the engine alone: the same ordered COPY for each partition, and a copy of the
 * file. Then a night of new events, and how much of the snapshot that sends. JOBTIDE_BENCH_EVENTS takes another number of
 * events, JOBTIDE_BENCH_NIGHT another number of new ones.
 */

import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { filledTables } from '../../src/model/filled-tables.ts'
import { publishedColumns } from '../../src/publish/columns.ts'
import { openStore } from '../../src/publish/open-store.ts'
import { writeParquet } from '../../src/publish/parquet.ts'
import { partitionsOf } from '../../src/publish/partitions.ts'
import { publishSnapshot, type PublishReport } from '../../src/publish/publish.ts'
import { realClock } from '../../src/support/clock.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { newUlid } from '../../src/support/ulid.ts'
import { MIB } from '../../src/support/units.ts'
import { publishedTables, readModelFiles } from '../../src/warehouse/catalog.ts'
import { quoteIdentifier, withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { makeEvents, makeNight } from './made-events.ts'
import { measured, type Measured } from './measured.ts'

const EVENTS = Number(process.env['JOBTIDE_BENCH_EVENTS'] ?? 10_000_000)
const NIGHT = Number(process.env['JOBTIDE_BENCH_NIGHT'] ?? EVENTS / 400)
const SIZE = { people: EVENTS / 4, organizations: EVENTS / 250 }
const tables = [...publishedTables(readModelFiles()), ...filledTables]

/** The same COPY for each partition and a copy of each file, and nothing else. */
async function bare(warehouse: Warehouse, folder: string): Promise<void> {
  mkdirSync(join(folder, 'bare'), { recursive: true })
  for (const definition of tables) {
    const { columns } = await publishedColumns(warehouse, definition, undefined)
    for (const { name, condition } of await partitionsOf(warehouse, definition, columns)) {
      const path = join(folder, 'bare.parquet')
      const from = `from main.${quoteIdentifier(definition.name)} where ${condition}`
      await writeParquet(warehouse, { columns, key: definition.key, from }, path)
      copyFileSync(path, join(folder, 'bare', `${definition.name}.${name}.parquet`))
    }
  }
}

async function publish(warehouse: Warehouse, folder: string): Promise<PublishReport> {
  return publishSnapshot({
    warehouse,
    tables,
    store: await openStore(join(folder, 'store'), { clock: realClock }),
    scratchFolder: join(folder, 'scratch'),
    cacheFolder: join(folder, 'published'),
    clock: realClock,
    snapshotId: newUlid(realClock.now()),
    runId: null,
    version: '0.0.0',
    host: 'bench',
    pid: process.pid,
    logger: silentLogger,
  })
}

function print(name: string, { seconds, peakMib }: Measured<unknown>, against: number): void {
  const ratio = `${(seconds / against).toFixed(2)} × bare`
  process.stdout.write(
    `${name.padEnd(34)} ${seconds.toFixed(1).padStart(7)} s  ${ratio.padStart(12)}  peak ${peakMib.toFixed(0).padStart(5)} MiB\n`,
  )
}

it(`publishes the tables of ${EVENTS} events, then a night of ${NIGHT}`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
  const path = join(folder, 'jobtide.duckdb')
  const open = <T>(work: (warehouse: Warehouse) => Promise<T>, options = {}) =>
    withWarehouse({ path, mode: 'write', threads: 2, ...options }, work)
  const build = (buildId: string) =>
    open((warehouse) => buildModels(warehouse, { buildId, builtAt: new Date() }))
  try {
    const making = { memoryLimit: '2GB' }
    await open(async (warehouse) => {
      await makeEvents(warehouse, SIZE)
      await warehouse.run('checkpoint')
    }, making)
    await build('first')
    const engine = await open((warehouse) => measured(() => bare(warehouse, folder)))
    rmSync(join(folder, 'bare'), { recursive: true })
    const first = await open((warehouse) => measured(() => publish(warehouse, folder)))
    const again = await open((warehouse) => measured(() => publish(warehouse, folder)))
    expect(again.result).toMatchObject({ unchanged: true })
    await open((warehouse) => makeNight(warehouse, SIZE, NIGHT), making)
    await build('night')
    const night = await open((warehouse) => measured(() => publish(warehouse, folder)))
    const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`
    const { rows, files, bytes } = first.result
    process.stdout.write(
      `${EVENTS} events: warehouse ${mib(statSync(path).size)}, snapshot ${mib(bytes)} in ${files} files, ${rows} rows\n`,
    )
    print('bare COPY of each partition + copy', engine, engine.seconds)
    print('first publish', first, engine.seconds)
    print('publish again, nothing new', again, engine.seconds)
    print(`publish after a night of ${NIGHT}`, night, engine.seconds)
    const share = (100 * night.result.newBytes) / bytes
    process.stdout.write(
      `the night sent ${mib(night.result.newBytes)} in ${night.result.newFiles} files: ${share.toFixed(2)} % of the snapshot\n`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
