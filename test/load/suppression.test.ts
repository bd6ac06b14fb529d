import { createHmac } from 'node:crypto'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { load } from '../../src/load/load.ts'
import {
  SUPPRESSED_FILE,
  SUPPRESSION_KEY_FILE,
  readSuppression,
  suppressEventsBefore,
  suppressPeople,
} from '../../src/load/suppression.ts'
import { DAY } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { START, aPage, journalOfPages, memory, wireEvent, writePages } from './load-fixture.ts'

describe('the suppression list', () => {
  it('is empty where there is no file, and covers nobody', () => {
    const suppression = readSuppression(temporaryFolder())
    expect(suppression.isEmpty).toBe(true)
    expect(suppression.coversEvent(wireEvent())).toBe(false)
  })

  it('holds an HMAC and no id, under a key of its own; both files are for their owner alone', () => {
    const folder = temporaryFolder()
    const [hmac] = suppressPeople(folder, ['per_secret_1'], START)
    const list = readFileSync(join(folder, SUPPRESSED_FILE), 'utf8')
    const key = readFileSync(join(folder, SUPPRESSION_KEY_FILE), 'utf8').trim()
    expect(list).not.toContain('per_secret_1')
    expect(JSON.parse(list).people).toEqual([{ hmac, since: new Date(START).toISOString() }])
    expect(hmac).toBe(
      createHmac('sha256', Buffer.from(key, 'hex')).update('per_secret_1').digest('hex'),
    )
    for (const name of [SUPPRESSED_FILE, SUPPRESSION_KEY_FILE]) {
      expect((statSync(join(folder, name)).mode & 0o777).toString(8)).toBe('600')
    }
  })

  it('keeps the key and the day of a person who is added twice', () => {
    const folder = temporaryFolder()
    suppressPeople(folder, ['a'], START)
    const before = readFileSync(join(folder, SUPPRESSED_FILE), 'utf8')
    suppressPeople(folder, ['a', 'a'], START + DAY)
    expect(readFileSync(join(folder, SUPPRESSED_FILE), 'utf8')).toBe(before)
    suppressPeople(folder, ['b'], START + DAY)
    expect(['a', 'b', 'c'].map((id) => readSuppression(folder).coversPerson(id))).toEqual([
      true,
      true,
      false,
    ])
  })

  it('covers an event that fits no schema by any text in it, and one that fits by its person alone', () => {
    const folder = temporaryFolder()
    suppressPeople(folder, ['per_1', '77'], START)
    const suppression = readSuppression(folder)
    expect(suppression.coversEvent(wireEvent({ person: 'per_1' }))).toBe(true)
    expect(suppression.coversEvent(wireEvent({ person: 'per_10', headline: 'per_1' }))).toBe(false)
    expect(suppression.coversEvent({ who: [{ is: 'per_1' }] })).toBe(true)
    expect(suppression.coversEvent({ person: { profile_id: 77 } })).toBe(true)
    expect(suppression.coversEvent({ person: null })).toBe(false)
  })

  it('covers events that changed and were detected before a day, and a later day replaces an earlier one', () => {
    const folder = temporaryFolder()
    suppressEventsBefore(folder, START)
    suppressEventsBefore(folder, START - DAY)
    const suppression = readSuppression(folder)
    expect(suppression.eventsBefore).toBe(START)
    const old = { changedAt: START - 2 * DAY, detectedAt: START - 1 }
    expect(suppression.coversEvent(wireEvent(old))).toBe(true)
    expect(suppression.coversEvent(wireEvent({ ...old, detectedAt: START }))).toBe(false)
    expect(suppression.coversEvent(wireEvent({ ...old, changedAt: START }))).toBe(false)
  })

  it.each([
    ['a damaged list', SUPPRESSED_FILE, '{}'],
    ['a damaged key', SUPPRESSION_KEY_FILE, 'no key'],
  ])('%s stops the load: nobody comes back because a file is lost', async (_, name, content) => {
    const folder = temporaryFolder()
    const journal = await journalOfPages(join(folder, 'journal'), [[aPage([wireEvent()])]])
    suppressPeople(folder, ['per_1'], START)
    writeFileSync(join(folder, name), content)
    const warehouse = await memory()
    await expect(load({ warehouse, journal })).rejects.toMatchObject({ exitCode: 9 })
    rmSync(join(folder, SUPPRESSION_KEY_FILE))
    await expect(load({ warehouse, journal })).rejects.toMatchObject({ exitCode: 9 })
  })
})

describe('load', () => {
  it('leaves out 3 of 5 events, counts them, and notes the segment that holds them', async () => {
    const folder = temporaryFolder()
    const journal = await journalOfPages(join(folder, 'journal'), [
      [aPage([wireEvent({ person: 'per_2' })])],
      [aPage([wireEvent(), wireEvent({ person: 'per_2' }), { who: 'per_1', bad: true }])],
      [aPage([wireEvent({ type: 'left' })])],
    ])
    suppressPeople(folder, ['per_1'], START)
    const warehouse = await memory()
    const report = await load({ warehouse, journal })
    expect(report).toMatchObject({ sightings: 2, inserted: 1, rejected: 0, suppressed: 3 })
    expect(await warehouse.all('from ops.segments_to_erase order by 1')).toEqual(
      journal
        .segments()
        .slice(1)
        .map((segment) => ({ segment })),
    )
    expect(await warehouse.all('select distinct profile_id from job_change_events')).toEqual([
      { profile_id: 'per_2' },
    ])
    // The ledger tells what was billed.
    expect(await warehouse.all('select events from ops.pages order by 1')).toEqual([
      { events: 1 },
      { events: 1 },
      { events: 3 },
    ])
  })

  it('does not bring a person back with a page that is bought later', async () => {
    const folder = temporaryFolder()
    const journal = await journalOfPages(join(folder, 'journal'), [
      [aPage([wireEvent({ person: 'per_2' })])],
    ])
    suppressPeople(folder, ['per_1'], START)
    const warehouse = await memory()
    await load({ warehouse, journal })
    await writePages(journal, [aPage([wireEvent()])])
    expect(await load({ warehouse, journal })).toMatchObject({ inserted: 0, suppressed: 1 })
  })
})
