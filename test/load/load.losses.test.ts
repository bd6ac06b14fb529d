import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal, type JournalWriter } from '../../src/journal/journal.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { sealsPath } from '../../src/journal/seals.ts'
import { load } from '../../src/load/load.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  START,
  aPage,
  aBatch,
  finishBatch,
  handClock,
  memory,
  segment,
  startRun,
  wireEvent,
} from './load-fixture.ts'

const batches = ['0001', '0002'].map((id) =>
  aBatch({ batch_id: id, organizations: [{ by: 'id', value: `org_${id}` }] }),
)

/** Two batches of one page each; the start of their run and the page of the first are in a separate segment. */
async function journalOfTwo() {
  const journal = openJournal(join(temporaryFolder(), 'journal'), handClock())
  const page = (batchId: string) => aPage([wireEvent({ person: `per_${batchId}` })], { batchId })
  await segment(journal, (writer) => {
    startRun(writer, batches)
    const { record, body } = page('0001')
    writer.write(record, body)
  })
  await segment(journal, (writer) => {
    const { record, body } = page('0002')
    writer.write(record, body)
    for (const batch of batches) finishBatch(writer, batch, { from: null, to: START })
  })
  return journal
}

describe('load after an accepted loss', () => {
  it('covers no batch of a run whose plan is lost, like the journal; keeps that run, and its rows in the warehouse', async () => {
    const journal = await journalOfTwo()
    const [warehouse, older] = [await memory(), await memory()]
    await load({ warehouse: older, journal })
    rmSync(join(journal.folder, journal.segments()[0]!))
    await expect(load({ warehouse, journal })).rejects.toMatchObject({ exitCode: 9 })
    expect(await warehouse.all('select * from ops.journal_positions')).toEqual([])
    journal.recover('accept')
    expect(await load({ warehouse, journal })).toMatchObject({ pages: 1, inserted: 1 })
    expect(await load({ warehouse: older, journal })).toMatchObject({ pages: 0, inserted: 0 })
    expect(readHistory(journal).coverage.size).toBe(0)
    for (const [one, events] of [[warehouse, 1] as const, [older, 2] as const]) {
      expect(await one.all('from ops.coverage')).toEqual([])
      expect(await one.all('select person_full_name from job_change_events')).toHaveLength(events)
      expect(await one.all('select run_id, pipeline from ops.runs')).toEqual([
        { run_id: 'run_1', pipeline: 'nightly' },
      ])
    }
    const states = await warehouse.all('select batch_id, state from ops.batches order by batch_id')
    expect(states).toEqual([
      { batch_id: '0001', state: 'planned' },
      { batch_id: '0002', state: 'planned' },
    ])
  })

  it('covers the same as the journal if the list is lost as well: no batch without its page 2 of 3, until it is bought again', async () => {
    const batch = aBatch({ organizations: [{ by: 'id', value: 'org_1' }] })
    const page = (number: number, runId: string) =>
      aPage([wireEvent({ person: `per_${number}` })], { page: number, runId })
    const bought = (writer: JournalWriter, numbers: readonly number[], runId = 'run_1') => {
      for (const { record, body } of numbers.map((number) => page(number, runId))) {
        writer.write(record, body)
      }
    }
    const journal = openJournal(join(temporaryFolder(), 'journal'), handClock())
    await segment(journal, (writer) => {
      startRun(writer, [batch])
      bought(writer, [1])
    })
    const incremental = await memory()
    await load({ warehouse: incremental, journal })
    await segment(journal, (writer) => bought(writer, [2]))
    await segment(journal, (writer) => {
      bought(writer, [3])
      finishBatch(writer, batch, { from: null, to: START }, 'run_1', START, 3)
    })
    rmSync(join(journal.folder, journal.segments()[1]!))
    rmSync(sealsPath(journal.folder))
    journal.recover('accept')
    const covered = async (state: string) => {
      for (const warehouse of [incremental, await memory()]) {
        await load({ warehouse, journal })
        const organizations = await warehouse.all('select organization_id from ops.coverage')
        expect(organizations).toEqual(
          [...readHistory(journal).coverage.keys()].map((id) => ({ organization_id: id })),
        )
        const [newest] = await warehouse.all('select state from ops.batches order by run_id desc')
        expect(newest).toEqual({ state })
        expect(await warehouse.all('from ops.organizations_asked')).toHaveLength(
          organizations.length,
        )
      }
      return readHistory(journal).coverage.size
    }
    expect(await covered('planned')).toBe(0)
    await segment(journal, (writer) => {
      startRun(writer, [batch], 'run_2')
      bought(writer, [1, 2, 3], 'run_2')
      finishBatch(writer, batch, { from: null, to: START }, 'run_2', START, 3)
    })
    expect(await covered('finished')).toBe(1)
  })
})
