import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../../src/journal/journal.ts'
import { suppressEventsBefore, suppressPeople } from '../../../src/load/suppression.ts'
import { buildModels } from '../../../src/model/build.ts'
import { dataDirectory } from '../../../src/run/data-directory.ts'
import { leaveOutForgotten } from '../../../src/run/forget/leave-out.ts'
import { realClock } from '../../../src/support/clock.ts'
import { withWarehouse } from '../../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { insertEvents } from '../../helpers/warehouse.ts'

/** A warehouse of per_1 and per_2, built, and an empty data directory. */
async function restored(): Promise<{ path: string; dataDir: string }> {
  const folder = temporaryFolder()
  const path = join(folder, 'jobtide.duckdb.restore')
  await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
    await insertEvents(warehouse, [{ profile_id: 'per_1' }, { profile_id: 'per_2' }])
    await buildModels(warehouse, { buildId: 'b', builtAt: new Date('2026-01-01T00:00:00Z') })
  })
  return { path, dataDir: join(folder, 'data') }
}

function peopleIn(path: string): Promise<object[]> {
  return withWarehouse({ path, mode: 'read' }, (warehouse) =>
    warehouse.all('select profile_id from people order by 1'),
  )
}

const journalOf = (dataDir: string) => openJournal(dataDirectory(dataDir).journal, realClock)

describe('leaveOutForgotten', () => {
  it('leaves out 1 of 2 people who was forgotten, and writes the file anew', async () => {
    const { path, dataDir } = await restored()
    const { ino } = statSync(path)
    suppressPeople(journalOf(dataDir), ['per_1', 'per_7'], realClock.now())
    expect(await leaveOutForgotten(path, dataDir, realClock)).toBe(1)
    expect(await peopleIn(path)).toEqual([{ profile_id: 'per_2' }])
    expect(statSync(path).ino).not.toBe(ino)
  })

  it('does not write the file anew when nobody in it was forgotten and no event is too old', async () => {
    const { path, dataDir } = await restored()
    const { ino } = statSync(path)
    suppressPeople(journalOf(dataDir), ['per_7'], realClock.now())
    suppressEventsBefore(journalOf(dataDir), Date.parse('1990-01-01T00:00:00Z'))
    expect(await leaveOutForgotten(path, dataDir, realClock)).toBe(0)
    expect(await peopleIn(path)).toHaveLength(2)
    expect(statSync(path).ino).toBe(ino)
  })

  it('leaves out events that are too old', async () => {
    const { path, dataDir } = await restored()
    suppressEventsBefore(journalOf(dataDir), Date.parse('2100-01-01T00:00:00Z'))
    expect(await leaveOutForgotten(path, dataDir, realClock)).toBe(0)
    expect(await peopleIn(path)).toEqual([])
  })
})
