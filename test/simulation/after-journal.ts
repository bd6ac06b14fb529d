/** What holds right of the journal: the warehouse is what was bought, readers see the warehouse, and again is nothing new. */

import { expect } from 'vitest'
import { computedModels } from '../../src/model/computed-models.ts'
import { readCurrent } from '../../src/publish/read-snapshot.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { verifySnapshot } from '../../src/publish/verify/verify.ts'
import { buildStage, loadStage, publishStage } from '../../src/run/stages.ts'
import { publishedTables, readModelFiles } from '../../src/warehouse/catalog.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { contentsOf } from '../helpers/warehouse.ts'
import { expectReadersToSee } from '../publish/fixtures.ts'
import type { Held } from './invariants.ts'
import type { Simulation } from './simulation.ts'
import type { Version } from './world.ts'

const storeOf = ({ target, clock }: Simulation) => openFolderStore(target.to, clock)

/** The pointer, where there is one, leads to a manifest whose files are all there. */
export async function expectWholeSnapshot(simulation: Simulation): Promise<void> {
  const store = storeOf(simulation)
  const { manifest } = (await readCurrent(store)) ?? {}
  for (const { key, bytes } of manifest?.tables.flatMap(({ files }) => files) ?? []) {
    expect(await store.head(key), key).toEqual({ bytes })
  }
}

/** The files that readers see, by table. */
export async function filesOf(simulation: Simulation) {
  const { manifest } = (await readCurrent(storeOf(simulation))) ?? {}
  return manifest?.tables.map(({ name, rows, files }) => ({ name, rows, files }))
}

const inWarehouse = <T>({ folders }: Simulation, work: (warehouse: Warehouse) => Promise<T>) =>
  withWarehouse({ path: folders.warehouse, mode: 'write' }, work)

/** After a quiet night. @param truth what the service shows */
export async function expectSameEverywhere(
  simulation: Simulation,
  { bought }: Held,
  truth: readonly Version[],
): Promise<void> {
  const { plan, folders, journal, target } = simulation
  const newest = new Map<number, Version>()
  for (const one of plan.versions.filter(({ number }) => bought.has(number))) {
    if (one.detectedAt >= (newest.get(one.event)?.detectedAt ?? 0)) newest.set(one.event, one)
  }
  await inWarehouse(simulation, async (warehouse) => {
    const rows = await warehouse.all<{ handle: string }>(
      'select person_handle as handle from job_change_events',
    )
    const there = rows.map(({ handle }) => Number(handle)).toSorted((a, b) => a - b)
    const expected = [...newest.values()].map(({ number }) => number).toSorted((a, b) => a - b)
    expect(there, 'the warehouse is what was bought').toEqual(expected)
    const events = new Set(there.map((number) => plan.versions[number]?.event))
    expect(
      truth.filter(({ event }) => !events.has(event)),
      'missing rows',
    ).toEqual([])
    expect((await warehouse.all('select * from ops.rejects')).length).toBe(0)
    const tables = [...publishedTables(readModelFiles()), ...computedModels]
    await expectReadersToSee(warehouse, storeOf(simulation), tables)
  })
  const scratchFolder = folders.scratch
  const store = storeOf(simulation)
  expect((await verifySnapshot({ store, snapshotId: null, scratchFolder })).findings).toEqual([])

  const world = simulation.world()
  await inWarehouse(simulation, async (warehouse) => {
    const before = await contentsOf(warehouse)
    await loadStage(warehouse, journal, world)
    await buildStage(warehouse, world)
    const writer = journal.writer()
    const again = await publishStage(warehouse, target, { runId: null, writer }, world)
    await writer.close()
    expect(again).toMatchObject({ unchanged: true, newFiles: 0 })
    expect(await contentsOf(warehouse), 'again is nothing new').toEqual(before)
  })
}
