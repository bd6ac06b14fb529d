import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { load } from '../../../src/load/load.ts'
import { suppress } from '../../../src/load/suppression.ts'
import { buildModels } from '../../../src/model/build.ts'
import { acquireLock } from '../../../src/run/lock.ts'
import { eraseAfterRun } from '../../../src/run/forget/after-run.ts'
import { leaveOutErased } from '../../../src/run/forget/rebuild.ts'
import { realClock } from '../../../src/support/clock.ts'
import { DAY } from '../../../src/support/units.ts'
import { withWarehouse } from '../../../src/warehouse/warehouse.ts'
import { insertEvents } from '../../helpers/warehouse.ts'
import { aPage, aBatch, memory, segment, startRun, wireEvent } from '../../load/load-fixture.ts'
import { forgetSite, type ForgetSite } from './forget-fixture.ts'

const now = realClock.now()
const thisMonth = new Date(now)
const nextMonth = Date.UTC(thisMonth.getUTCFullYear(), thisMonth.getUTCMonth() + 1, 1)

async function buy(site: ForgetSite, events: readonly unknown[]): Promise<void> {
  const runId = `run_${site.journal.segments().length}`
  await segment(site.journal, (writer) => {
    startRun(writer, [aBatch()], runId)
    const { record, body } = aPage(events, { runId })
    writer.write(record, body)
  })
}

const loadInto = (site: ForgetSite) =>
  site.read((warehouse) => load({ warehouse, journal: site.journal }))

/** The events in the journal, as sent. */
function eventsIn({ journal }: ForgetSite): { person: { profile_id: string } }[] {
  return journal
    .segments()
    .flatMap((name) =>
      [...journal.read(name)].flatMap((frame) =>
        frame.record.kind === 'page_received'
          ? (JSON.parse(frame.payload().toString()).data as { person: { profile_id: string } }[])
          : [],
      ),
    )
}

const suppressPeople = (site: ForgetSite, profileIds: readonly string[]) =>
  suppress(site.journal, { profileIds, eventsBefore: null }, now)
const peopleIn = (site: ForgetSite) => eventsIn(site).map(({ person }) => person.profile_id)

describe('eraseAfterRun', () => {
  it('takes the 2 events of an erased person out of the segment that brought them, and no other byte', async () => {
    const site = forgetSite()
    await buy(site, [wireEvent({ person: 'per_2' })])
    await suppressPeople(site, ['per_1'])
    await buy(site, [wireEvent(), wireEvent({ person: 'per_3' }), wireEvent({ type: 'left' })])
    expect(await loadInto(site)).toMatchObject({ inserted: 2, suppressed: 2 })
    const [first] = site.journal.segments()
    const untouched = readFileSync(join(site.directory.journal, first!))
    const running = await acquireLock(site.directory.root, { command: 'run', clock: realClock })
    expect(await eraseAfterRun(site.erasing(), null)).toBeNull()
    // While a pipeline runs it is left to the next run.
    expect(peopleIn(site)).toContain('per_1')
    running.release()
    expect(await eraseAfterRun(site.erasing(), null)).toBeNull()
    expect(peopleIn(site)).toEqual(['per_2', 'per_3'])
    expect(readFileSync(join(site.directory.journal, first!))).toEqual(untouched)
    // The warehouse goes on where it was, and one made by a replay is the same.
    expect(await loadInto(site)).toMatchObject({ pages: 0 })
    const replayed = await memory()
    expect(await load({ warehouse: replayed, journal: site.journal })).toMatchObject({
      inserted: 2,
      suppressed: 0,
    })
  })

  it('of 3 events erases the one that will be over 365 days old this month, once a month', async () => {
    const site = forgetSite()
    const cutoff = nextMonth - 365 * DAY
    const events = [
      wireEvent({ person: 'old', changedAt: cutoff - DAY, detectedAt: cutoff - 1 }),
      wireEvent({ person: 'seen_late', changedAt: cutoff - DAY, detectedAt: cutoff }),
      wireEvent({ person: 'new', changedAt: cutoff, detectedAt: cutoff + DAY }),
    ]
    await buy(site, events)
    const running = await acquireLock(site.directory.root, { command: 'run', clock: realClock })
    expect(await eraseAfterRun(site.erasing(), 365)).toBeNull()
    running.release()
    expect(await eraseAfterRun(site.erasing(), 365)).toMatchObject({
      is_complete: true,
      people: [],
      events_before: new Date(cutoff).toISOString(),
      rows: { 'main.job_change_events': 1 },
    })
    expect(peopleIn(site)).toEqual(['seen_late', 'new'])
    expect(await eraseAfterRun(site.erasing(), 365)).toBeNull()
    // A longer retention does not bring back what is gone; a read of everything does not either.
    expect(await eraseAfterRun(site.erasing(), 9_999)).toBeNull()
    await buy(site, events)
    expect(await loadInto(site)).toMatchObject({ inserted: 0, suppressed: 1 })
    await eraseAfterRun(site.erasing(), 365)
    expect(peopleIn(site)).not.toContain('old')
  })
})

describe('leaveOutErased', () => {
  it('leaves 1 of 2 restored people out who was erased meanwhile; nobody erased, and the file stays as it is', async () => {
    const site = forgetSite()
    const path = `${site.directory.warehouse}.restore`
    await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
      await insertEvents(warehouse, [{ profile_id: 'per_1' }, { profile_id: 'per_2' }])
      await buildModels(warehouse, { buildId: 'b', builtAt: new Date('2026-01-01T00:00:00Z') })
    })
    const { ino } = statSync(path)
    await suppressPeople(site, ['per_7'])
    expect(await leaveOutErased(site.world, path)).toBe(0)
    expect(statSync(path).ino).toBe(ino)
    await suppressPeople(site, ['per_1'])
    expect(await leaveOutErased(site.world, path)).toBe(1)
    const people = () =>
      withWarehouse({ path, mode: 'read' }, (warehouse) =>
        warehouse.all('select profile_id from people'),
      )
    expect(await people()).toEqual([{ profile_id: 'per_2' }])
    await suppress(site.journal, { profileIds: [], eventsBefore: Date.UTC(2100, 0, 1) }, now)
    expect(await leaveOutErased(site.world, path)).toBe(0)
    expect(await people()).toEqual([])
  })
})
