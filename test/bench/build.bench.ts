/**
 * Build and publish compared with P, the time of a plain script for the same tables and files (plain.ts): a full
 * refresh, a night without news, and a night with a few new events. JOBTIDE_BENCH_EVENTS sets other sizes, such as
 * `12000,1000000`.
 */

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openJournal, type Journal } from '../../src/journal/journal.ts'
import { load } from '../../src/load/load.ts'
import { buildModels } from '../../src/model/build.ts'
import { publishSnapshot } from '../../src/publish/publish.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { realClock } from '../../src/support/clock.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { newUlid } from '../../src/support/ulid.ts'
import { publishedTables, readModelFiles } from '../../src/warehouse/catalog.ts'
import { withoutAbsent } from '../../src/warehouse/endpoint-tables.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { writeBackfill, writeNight } from './made-journal.ts'
import { plainBuild, plainCopy } from './plain.ts'
import { print, timed, together, type Took } from './took.ts'

const SIZES = (process.env['JOBTIDE_BENCH_EVENTS'] ?? '12000,130000').split(',').map(Number)
const JOURNAL = '01JE0000000000000000000000'

it.each(SIZES)('builds and publishes %i events', async (events) => {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
  try {
    await measure(folder, events)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

async function measure(folder: string, events: number): Promise<void> {
  const path = join(folder, 'jobtide.duckdb')
  const size = { people: events / 4, organizations: Math.ceil(events / 250) }
  const journal = openJournal(join(folder, 'journal'), realClock)
  await writeBackfill(journal, size)
  await loaded(path, journal)
  const titles = await open(path, build)

  const plain = join(folder, 'plain.duckdb')
  copyFileSync(path, plain)
  const floor = together(
    await plainBuild(plain),
    await open(plain, (warehouse) => plainCopy(warehouse, join(folder, 'plain'))),
  )
  process.stdout.write(`\n${events} events\n`)
  print('plain script, P', floor, floor)
  print('first build, which reads titles', titles, floor)

  const full = await open(path, async (warehouse) => {
    await warehouse.run('delete from ops.build_state')
    return build(warehouse)
  })
  const first = await open(path, (warehouse) => publish(warehouse, folder))
  print('full build', full, floor)
  print('first publish', first, floor)
  print('  together', together(full, first), floor)
  await night(path, folder, 'a night without news', floor)
  for (const fresh of [20, Math.ceil(events / 200)]) {
    await writeNight(journal, size, fresh)
    await loaded(path, journal)
    await night(path, folder, `a night of ${fresh} new events`, floor)
  }
}

async function night(path: string, folder: string, name: string, floor: Took): Promise<void> {
  const built = await open(path, build)
  const published = await open(path, (warehouse) => publish(warehouse, folder))
  print(`${name}: build`, built, floor)
  print('  publish', published, floor)
  print('  together', together(built, published), floor)
}

function open<T>(path: string, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  return withWarehouse({ path, mode: 'write' }, work)
}

async function loaded(path: string, journal: Journal): Promise<void> {
  await open(path, (warehouse) => load({ warehouse, journal }))
}

/** Includes closing, which writes the tables into the file. */
async function build(warehouse: Warehouse): Promise<Took> {
  return timed(async () => {
    const report = await buildModels(warehouse, {
      buildId: newUlid(Date.now()),
      builtAt: new Date(),
    })
    expect(report.checks.length).toBeGreaterThan(100)
    await warehouse.run('checkpoint')
  })
}

async function publish(warehouse: Warehouse, folder: string): Promise<Took> {
  return timed(async () =>
    publishSnapshot({
      warehouse,
      store: openFolderStore(join(folder, 'lake'), realClock),
      tables: await withoutAbsent(warehouse, publishedTables(readModelFiles())),
      scratchFolder: join(folder, 'scratch'),
      clock: realClock,
      snapshotId: newUlid(Date.now()),
      runId: null,
      journalId: JOURNAL,
      notKept: { people: 0, events_before: null, list: null },
      lists: [],
      version: 'bench',
      logger: silentLogger,
    }),
  )
}
