/**
 * Publishes a warehouse, or writes the same partitions with nothing but COPY, in a process of its own, so that its peak of
 * memory is that of this work: `node publish-once.mjs bare|publish <warehouse> <folder>`. Prints one line of JSON.
 */

import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { computedModels } from '../../dist/model/computed-models.js'
import { publishedColumns } from '../../dist/publish/columns.js'
import { openStore } from '../../dist/publish/store/open-store.js'
import { writeParquet } from '../../dist/publish/parquet.js'
import { hashedRowsSql, partitionsOf } from '../../dist/publish/partitions.js'
import { publishSnapshot } from '../../dist/publish/publish.js'
import { PUBLISHING_MEMORY } from '../../dist/run/stages.js'
import { realClock } from '../../dist/support/clock.js'
import { silentLogger } from '../../dist/support/logger.js'
import { newUlid } from '../../dist/support/ulid.js'
import { publishedTables, readModelFiles } from '../../dist/warehouse/catalog.js'
import { quoteIdentifier, withWarehouse } from '../../dist/warehouse/warehouse.js'

const [what, path, folder] = process.argv.slice(2)
const tables = [...publishedTables(readModelFiles()), ...computedModels]

/** The same COPY for each partition and a copy of each file, and nothing else. */
async function bare(warehouse) {
  mkdirSync(join(folder, 'bare'), { recursive: true })
  for (const definition of tables) {
    const { columns } = await publishedColumns(warehouse, definition, undefined)
    const table = `main.${quoteIdentifier(definition.name)}`
    const hashed = hashedRowsSql(definition, columns, table)
    for (const { name, condition } of await partitionsOf(warehouse, definition, columns, hashed)) {
      const file = join(folder, 'bare.parquet')
      const from = `from ${table} where ${condition}`
      await writeParquet(warehouse, { columns, key: definition.key, from }, file)
      copyFileSync(file, join(folder, 'bare', `${definition.name}.${name}.parquet`))
    }
  }
  rmSync(join(folder, 'bare'), { recursive: true })
  return null
}

async function publish(warehouse) {
  return publishSnapshot({
    warehouse,
    tables,
    store: await openStore(join(folder, 'store'), { clock: realClock }),
    scratchFolder: join(folder, 'scratch'),
    cacheFolder: join(folder, 'published'),
    clock: realClock,
    snapshotId: newUlid(realClock.now()),
    runId: null,
    journalId: '01M82GZFCDS2H9RXZ13JAAZES0',
    notKept: { people: 0, events_before: null },
    version: '0.0.0',
    host: 'bench',
    pid: process.pid,
    logger: silentLogger,
  })
}

const began = performance.now()
const settings = { path, mode: 'write', threads: 2 }
const report =
  what === 'bare'
    ? await withWarehouse(settings, bare)
    : await withWarehouse({ ...settings, mostMemory: PUBLISHING_MEMORY }, publish)
const seconds = (performance.now() - began) / 1_000
const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage()
const cpuSeconds = (userCPUTime + systemCPUTime) / 1_000_000
process.stdout.write(
  `${JSON.stringify({ seconds, cpuSeconds, peakMib: maxRSS / 1_024, report })}\n`,
)
