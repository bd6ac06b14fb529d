import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { load } from '../../../src/load/load.ts'
import { suppressPeople } from '../../../src/load/suppression.ts'
import { acquireRunLock } from '../../../src/run/lock.ts'
import { applyRetention, eraseArrivals } from '../../../src/run/forget/retention.ts'
import { realClock } from '../../../src/support/clock.ts'
import { DAY } from '../../../src/support/units.ts'
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

describe('eraseArrivals', () => {
  it('takes the 2 events out of the segment that brought them, and a replay finds nothing to leave out', async () => {
    const site = forgetSite()
    await buy(site, [wireEvent({ person: 'per_2' })])
    suppressPeople(site.journal, ['per_1'], now)
    await buy(site, [wireEvent(), wireEvent({ person: 'per_3' }), wireEvent({ type: 'left' })])
    expect(await loadInto(site)).toMatchObject({ inserted: 2, suppressed: 2 })
    const untouched = readFileSync(join(site.directory.journal, site.journal.segments()[0]!))
    const [erased, ...more] = await eraseArrivals(site.world)
    expect(erased).toMatchObject({ segment: site.journal.segments()[1], pages: 1, events: 2 })
    expect(more).toEqual([])
    expect(eventsIn(site).map(({ person }) => person.profile_id)).toEqual(['per_2', 'per_3'])
    expect(readFileSync(join(site.directory.journal, site.journal.segments()[0]!))).toEqual(
      untouched,
    )
    expect(await eraseArrivals(site.world)).toEqual([])
    // The warehouse goes on where it was, and one made anew is the same.
    expect(await loadInto(site)).toMatchObject({ pages: 0 })
    const replayed = await memory()
    expect(await load({ warehouse: replayed, journal: site.journal })).toMatchObject({
      inserted: 2,
      suppressed: 0,
    })
  })

  it('does nothing where nobody was forgotten, or while a pipeline runs; then the next call does it', async () => {
    const site = forgetSite()
    await buy(site, [wireEvent()])
    expect(await eraseArrivals(site.world)).toEqual([])
    suppressPeople(site.journal, ['per_1'], now)
    expect(await loadInto(site)).toMatchObject({ suppressed: 1 })
    const running = acquireRunLock(site.directory.root, 'nightly', 'run', realClock)
    expect(await eraseArrivals(site.world)).toEqual([])
    running.release()
    expect(await eraseArrivals(site.world)).toHaveLength(1)
    expect(eventsIn(site)).toEqual([])
  })
})

describe('applyRetention', () => {
  it('of 3 events erases the one that will be over 365 days old this month, once a month', async () => {
    const site = forgetSite()
    const cutoff = nextMonth - 365 * DAY
    const events = [
      wireEvent({ person: 'old', changedAt: cutoff - DAY, detectedAt: cutoff - 1 }),
      wireEvent({ person: 'seen_late', changedAt: cutoff - DAY, detectedAt: cutoff }),
      wireEvent({ person: 'new', changedAt: cutoff, detectedAt: cutoff + DAY }),
    ]
    await buy(site, events)
    await loadInto(site)
    const certificate = await applyRetention(site.forgetting([]), 365)
    expect(certificate).toMatchObject({
      is_complete: true,
      people: [],
      events_before: new Date(cutoff).toISOString(),
    })
    expect(certificate?.rows).toMatchObject({ job_change_events: 1 })
    expect(eventsIn(site).map(({ person }) => person.profile_id)).toEqual(['seen_late', 'new'])
    expect(await applyRetention(site.forgetting([]), 365)).toBeNull()
    // A longer retention does not bring back what is gone; a read of everything does not either.
    expect(await applyRetention(site.forgetting([]), 9_999)).toBeNull()
    await buy(site, events)
    expect(await loadInto(site)).toMatchObject({ inserted: 0, suppressed: 1 })
    expect(await eraseArrivals(site.world)).toHaveLength(1)
  })

  it('is left to the next run while a pipeline runs', async () => {
    const site = forgetSite()
    await buy(site, [wireEvent()])
    const running = acquireRunLock(site.directory.root, 'nightly', 'run', realClock)
    expect(await applyRetention(site.forgetting([]), 365)).toBeNull()
    running.release()
    expect(existsSync(join(site.directory.root, 'suppressed.json'))).toBe(false)
    expect(await applyRetention(site.forgetting([]), 365)).not.toBeNull()
  })
})
