/** How much a publish costs above what the engine alone needs to write the same rows. */

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openStore } from '../../src/publish/open-store.ts'
import { publishSnapshot } from '../../src/publish/publish.ts'
import { realClock } from '../../src/support/clock.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { newUlid } from '../../src/support/ulid.ts'
import { loadedTables } from '../../src/warehouse/catalog.ts'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'

const ROWS = 1_000_000
const ROUNDS = 3

const GENERATED_EVENTS = `
  insert into job_change_events
  select md5(cast(i as varchar)), 'person_' || (hash(i) % 400000), 'org_' || (hash(i + 1) % 3000),
    ['joined', 'left', 'title_change'][1 + i % 3],
    timestamptz '2017-01-01 00:00:00+00' + to_seconds(hash(i + 2) % 284000000),
    timestamptz '2025-06-01 00:00:00+00' + to_seconds(hash(i + 3) % 20000000), hash(i + 4) % 60,
    'Title ' || (hash(i + 5) % 20000), 'Title ' || (hash(i + 6) % 20000), 'handle-' || (hash(i) % 400000),
    'Full Name ' || (hash(i) % 400000), 'Full', 'Name ' || (hash(i) % 400000), null, null,
    'Organisation ' || (hash(i + 1) % 3000), 'org-' || (hash(i + 1) % 3000), null,
    timestamptz '2025-06-01 00:00:00+00', timestamptz '2025-06-01 00:00:00+00',
    timestamptz '2025-06-01 00:00:00+00', 'run', 'run', 1
  from range(${ROWS}) numbers(i)`

/** The least of the rounds: the one that other work on the machine disturbed least. */
async function bestSeconds(work: () => Promise<unknown>): Promise<number> {
  const seconds: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = realClock.monotonic()
    await work()
    seconds.push((realClock.monotonic() - startedAt) / 1_000)
  }
  return Math.min(...seconds)
}

it(`publishes ${ROWS} events to a folder, against one bare COPY of the same rows`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
  const path = join(folder, 'jobtide.duckdb')
  const warehouse = await openWarehouse({ path, mode: 'write', memoryLimit: '1536MiB' })
  try {
    await warehouse.run(GENERATED_EVENTS)
    await warehouse.run('checkpoint')
    const publish = async (destination: string) =>
      publishSnapshot({
        warehouse,
        tables: loadedTables,
        store: await openStore(destination, { clock: realClock }),
        scratchFolder: join(folder, 'scratch'),
        clock: realClock,
        snapshotId: newUlid(realClock.now()),
        runId: null,
        version: '0.0.0',
        logger: silentLogger,
      })
    const leftOut = loadedTables[0]?.leftOut.join(', ')
    const bareFile = join(folder, 'bare.parquet')
    const copy = (order: string) =>
      warehouse.run(
        `copy (select * exclude (${leftOut}) from job_change_events ${order}) to '${bareFile}' (format parquet, compression zstd, parquet_version v2, row_group_size 250000)`,
      )
    const unsorted = await bestSeconds(() => copy(''))
    const sorted = await bestSeconds(() => copy(`order by ${loadedTables[0]?.key.join(', ')}`))
    let destinations = 0
    const first = await bestSeconds(() => publish(join(folder, `store-${(destinations += 1)}`)))
    const again = await bestSeconds(() => publish(join(folder, 'store-1')))
    const report = await publish(join(folder, 'store-1'))
    expect(report).toMatchObject({ unchanged: true, rows: ROWS })
    const mib = (bytes: number) => (bytes / 1_048_576).toFixed(1)
    process.stdout.write(
      [
        `rows ${ROWS}, files ${report.files}, ${mib(report.bytes)} MiB (bare sorted ${mib(statSync(bareFile).size)} MiB)`,
        `bare COPY ${unsorted.toFixed(2)} s, bare sorted COPY ${sorted.toFixed(2)} s`,
        `first publish ${first.toFixed(2)} s: ${(first / unsorted).toFixed(2)} × bare, ${(first / sorted).toFixed(2)} × sorted`,
        `unchanged publish ${again.toFixed(2)} s: ${(again / unsorted).toFixed(2)} × bare, ${(again / sorted).toFixed(2)} × sorted`,
        '',
      ].join('\n'),
    )
  } finally {
    warehouse.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
