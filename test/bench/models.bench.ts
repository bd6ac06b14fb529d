/**
 * All models, checks and a publish over 10 million events, from nothing and after a night of 50,000 new ones, with the memory
 * that the process took. JOBTIDE_BENCH_EVENTS takes another number.
 */

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { buildModels, type BuildReport } from '../../src/model/build.ts'
import { computedModels } from '../../src/model/computed-models.ts'
import { publishSnapshot } from '../../src/publish/publish.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { PUBLISHING_MEMORY } from '../../src/run/stages.ts'
import { realClock } from '../../src/support/clock.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { newUlid } from '../../src/support/ulid.ts'
import { MIB } from '../../src/support/units.ts'
import { publishedTables, readModelFiles } from '../../src/warehouse/catalog.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { makeEvents, makeNight } from './made-events.ts'

const EVENTS = Number(process.env['JOBTIDE_BENCH_EVENTS'] ?? 10_000_000)
const EVENTS_OF_A_PERSON = 4
const SIZE = { people: EVENTS / EVENTS_OF_A_PERSON, organizations: EVENTS / 250 }
const NIGHT = EVENTS / 200
const THREADS = 2
const SLOWEST_SHOWN = 8

/** Does `work` and prints its time, and the most memory that the process had meanwhile. */
async function measured<T>(name: string, work: () => Promise<T>): Promise<T> {
  let peak = 0
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const timer = setInterval(look, 50)
  const began = performance.now()
  try {
    const result = await work()
    look()
    const seconds = ((performance.now() - began) / 1_000).toFixed(1).padStart(7)
    const mib = (peak / MIB).toFixed(0).padStart(5)
    process.stdout.write(`${name.padEnd(28)} ${seconds} s  ${mib} MiB\n`)
    return result
  } finally {
    clearInterval(timer)
  }
}

function printSlowest({ models, durationMs }: BuildReport): void {
  const slowest = models.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST_SHOWN)
  const ofModels = models.reduce((sum, model) => sum + model.durationMs, 0)
  const parts = slowest.map(({ name, durationMs: ms, rows, rowsChanged }) => {
    const what =
      rowsChanged === null ? `${rows ?? 'no'} rows` : `${rowsChanged} of ${rows ?? 'no'} rows`
    return `${name} ${(ms / 1_000).toFixed(1)} s (${what})`
  })
  parts.push(`checks and the rest ${((durationMs - ofModels) / 1_000).toFixed(1)} s`)
  for (const part of parts) process.stdout.write(`    ${part}\n`)
}

async function publishTo(warehouse: Warehouse, folder: string) {
  const took: { name: string; ms: number }[] = []
  let last = performance.now()
  const report = await publishSnapshot({
    onProgress: ({ phase, name }) => {
      const now = performance.now()
      if (phase === 'export') took.push({ name, ms: now - last })
      last = now
    },
    warehouse,
    tables: [...publishedTables(readModelFiles()), ...computedModels],
    store: openFolderStore(join(folder, 'store'), realClock),
    scratchFolder: join(folder, 'scratch'),
    cacheFolder: join(folder, 'published'),
    clock: realClock,
    snapshotId: newUlid(realClock.now()),
    runId: null,
    journalId: '01M82GZFCDS2H9RXZ13JAAZES0',
    notKept: { people: 0, events_before: null, list: null },
    lists: [],
    version: '0.0.0',
    logger: silentLogger,
  })
  for (const { name, ms } of took.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_SHOWN)) {
    process.stdout.write(`    ${name} ${(ms / 1_000).toFixed(1)} s\n`)
  }
  return report
}

it(`models and publishes ${EVENTS} events, then a night of ${NIGHT}`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
  const path = join(folder, 'jobtide.duckdb')
  const open = <T>(work: (warehouse: Warehouse) => Promise<T>, options = {}) =>
    withWarehouse({ path, mode: 'write', threads: THREADS, ...options }, work)
  const making = { memoryLimit: '2GB' }
  const builtAt = new Date('2024-12-02T03:00:00Z')
  const build = (name: string) =>
    measured(name, () => open((warehouse) => buildModels(warehouse, { buildId: name, builtAt })))
  const publish = (name: string) =>
    measured(name, () =>
      open((warehouse) => publishTo(warehouse, folder), { mostMemory: PUBLISHING_MEMORY }),
    )
  try {
    await measured('making the events', () =>
      open(async (warehouse) => {
        await makeEvents(warehouse, SIZE)
        await warehouse.run('checkpoint')
      }, making),
    )
    const whole = await build('full refresh')
    expect(whole.fullRefreshReason).not.toBeNull()
    printSlowest(whole)
    const first = await publish('first publish')
    expect(await publish('publish again')).toMatchObject({ unchanged: true })
    await open((warehouse) => makeNight(warehouse, SIZE, NIGHT), making)
    const night = await build(`incremental build of ${NIGHT}`)
    expect(night.fullRefreshReason).toBeNull()
    printSlowest(night)
    const { newBytes, newFiles } = await publish('publish of the night')
    const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`
    process.stdout.write(
      `warehouse ${mib(statSync(path).size)}, snapshot ${mib(first.bytes)} in ${first.files} files; ` +
        `the night sent ${mib(newBytes)} in ${newFiles} files\n`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
