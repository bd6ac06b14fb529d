/** Invariants after the journal: the warehouse equals the bought events and a replay, and readers see the warehouse. */

import { expect } from 'vitest'
import { readHistory } from '../../src/journal/read-history.ts'
import { computedModels } from '../../src/model/computed-models.ts'
import { readCurrent } from '../../src/publish/manifest.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { verifySnapshot } from '../../src/publish/verify.ts'
import { buildStage, loadStage } from '../../src/run/stages.ts'
import { sum } from '../../src/support/numbers.ts'
import { publishedTables, readModelFiles } from '../../src/warehouse/catalog.ts'
import { withoutAbsent } from '../../src/warehouse/endpoint-tables.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { contentsOf, memoryWarehouse } from '../helpers/warehouse.ts'
import { expectReadersToSee } from '../publish/fixtures.ts'
import type { Held } from './invariants.ts'
import type { Simulation } from './simulation.ts'
import { isOdd, type Version } from './world.ts'

const storeOf = ({ target, clock }: Simulation) => openFolderStore(target.to, clock)

/** The pointer, if it exists, leads to a manifest whose files all exist. */
export async function expectWholeSnapshot(simulation: Simulation): Promise<void> {
  const store = storeOf(simulation)
  const { manifest } = (await readCurrent(store)) ?? {}
  for (const { key, bytes } of manifest?.tables.flatMap(({ files }) => files) ?? []) {
    expect(await store.head(key), key).toEqual({ bytes })
  }
}

const inWarehouse = <T>({ folders }: Simulation, work: (warehouse: Warehouse) => Promise<T>) =>
  withWarehouse({ path: folders.warehouse, mode: 'write' }, work)

/** After a quiet night. @param truth what the service shows */
export async function expectSameEverywhere(
  simulation: Simulation,
  { bought, odd }: Held,
  truth: readonly Version[],
): Promise<void> {
  const { plan, folders, journal } = simulation
  const newest = new Map<number, Version>()
  for (const one of plan.versions.filter((each) => bought.has(each.number) && !isOdd(each))) {
    if (one.detectedAt >= (newest.get(one.event)?.detectedAt ?? 0)) newest.set(one.event, one)
  }
  const store = storeOf(simulation)
  const { spending } = readHistory(journal)
  const credits = sum([...spending.values()].map((day) => day.charged + day.inDoubt))
  const contents = await inWarehouse(simulation, async (warehouse) => {
    const rows = await warehouse.all<{ handle: string }>(
      'select person_handle as handle from job_change_events',
    )
    const there = rows.map(({ handle }) => Number(handle)).toSorted((a, b) => a - b)
    const expected = [...newest.values()].map(({ number }) => number).toSorted((a, b) => a - b)
    expect(there, 'the warehouse is what was bought').toEqual(expected)
    const missing = truth.filter((one) => !isOdd(one) && !newest.has(one.event))
    expect(missing, 'missing rows').toEqual([])
    const [ops] = await warehouse.all(`
      select (select cast(count(*) as integer) from ops.rejects) as odd,
        (select cast(sum(credits_used) as integer) from ops.pages) as credits`)
    expect(ops, 'rejects and ledger').toEqual({ odd, credits })
    const all = [...publishedTables(readModelFiles()), ...computedModels]
    const tables = await withoutAbsent(warehouse, all)
    await expectReadersToSee(warehouse, store, tables)
    return contentsOf(warehouse)
  })
  const scratchFolder = folders.scratch
  expect((await verifySnapshot({ store, snapshotId: null, scratchFolder })).findings).toEqual([])

  // Holds after kills and incremental builds.
  const world = simulation.world()
  const replayed = await memoryWarehouse()
  await loadStage(replayed, journal, world)
  await buildStage(replayed, world)
  expect(await contentsOf(replayed), 'a replay gives other tables').toEqual(contents)
  replayed.close()
}
