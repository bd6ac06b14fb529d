import { createHmac } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { load } from '../../src/load/load.ts'
import {
  readSuppression,
  suppressEventsBefore,
  suppressPeople,
} from '../../src/load/suppression.ts'
import { SUPPRESSED_FILE, SUPPRESSION_KEY_FILE, noteList } from '../../src/load/suppression-list.ts'
import { DAY } from '../../src/support/units.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  START,
  aPage,
  handClock,
  journalOfPages,
  memory,
  wireEvent,
  writePages,
} from './load-fixture.ts'

const journalIn = (folder: string) => openJournal(join(folder, 'journal'), handClock())

describe('the suppression list', () => {
  it('is empty where there is no file, and covers nobody', () => {
    const suppression = readSuppression(journalIn(temporaryFolder()))
    expect(suppression.isEmpty).toBe(true)
    expect(suppression.coversEvent(wireEvent())).toBe(false)
  })

  it('holds an HMAC and no id, under a key of its own; both files are for their owner alone', () => {
    const folder = temporaryFolder()
    const [hmac] = suppressPeople(journalIn(folder), ['per_secret_1'], START)
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
    suppressPeople(journalIn(folder), ['a'], START)
    const before = readFileSync(join(folder, SUPPRESSED_FILE), 'utf8')
    suppressPeople(journalIn(folder), ['a', 'a'], START + DAY)
    expect(readFileSync(join(folder, SUPPRESSED_FILE), 'utf8')).toBe(before)
    suppressPeople(journalIn(folder), ['b'], START + DAY)
    expect(
      ['a', 'b', 'c'].map((id) => readSuppression(journalIn(folder)).coversPerson(id)),
    ).toEqual([true, true, false])
  })

  it('covers an event that fits no schema by any text in it, and one that fits by its person alone', () => {
    const folder = temporaryFolder()
    suppressPeople(journalIn(folder), ['per_1', '77'], START)
    const suppression = readSuppression(journalIn(folder))
    expect(suppression.coversEvent(wireEvent({ person: 'per_1' }))).toBe(true)
    expect(suppression.coversEvent(wireEvent({ person: 'per_10', headline: 'per_1' }))).toBe(false)
    expect(suppression.coversEvent({ who: [{ is: 'per_1' }] })).toBe(true)
    expect(suppression.coversEvent({ person: { profile_id: 77 } })).toBe(true)
    expect(suppression.coversEvent({ person: null })).toBe(false)
  })

  it('covers events that changed and were detected before a day, and a later day replaces an earlier one', () => {
    const folder = temporaryFolder()
    suppressEventsBefore(journalIn(folder), START)
    suppressEventsBefore(journalIn(folder), START - DAY)
    const suppression = readSuppression(journalIn(folder))
    expect(suppression.eventsBefore).toBe(START)
    const old = { changedAt: START - 2 * DAY, detectedAt: START - 1 }
    expect(suppression.coversEvent(wireEvent(old))).toBe(true)
    expect(suppression.coversEvent(wireEvent({ ...old, detectedAt: START }))).toBe(false)
    expect(suppression.coversEvent(wireEvent({ ...old, changedAt: START }))).toBe(false)
  })
})

/** A data directory in which per_1 was forgotten, and per_2 after; and a copy of list and key from between. */
async function forgotten() {
  const folder = temporaryFolder()
  const journal = await journalOfPages(join(folder, 'journal'), [
    [aPage([wireEvent(), wireEvent({ person: 'per_3' })])],
  ])
  suppressPeople(journal, ['per_1'], START)
  await noteList(journal, START)
  const path = (name: string) => join(folder, name)
  const backup = [SUPPRESSED_FILE, SUPPRESSION_KEY_FILE].map(
    (name) => [path(name), readFileSync(path(name))] as const,
  )
  suppressPeople(journal, ['per_2'], START + DAY)
  await noteList(journal, START + DAY)
  const change = (name: string, by: (text: string) => string) =>
    writeFileSync(path(name), by(readFileSync(path(name), 'utf8')))
  return { folder, journal, path, backup, change }
}

type Site = Awaited<ReturnType<typeof forgotten>>

const withList = (by: (list: { people: { hmac: string }[] }) => unknown) => (site: Site) =>
  site.change(SUPPRESSED_FILE, (text) => JSON.stringify(by(JSON.parse(text))))
const flipped = (text: string) => text.replace(/[0-9a-f]/, (digit) => (digit === '0' ? '1' : '0'))

describe('a list or key that was damaged or lost', () => {
  it.each([
    ['a digit of the key', (site: Site) => site.change(SUPPRESSION_KEY_FILE, flipped)],
    ['a key that is none', (site: Site) => site.change(SUPPRESSION_KEY_FILE, () => 'no key')],
    ['no key', (site: Site) => rmSync(site.path(SUPPRESSION_KEY_FILE))],
    ['no list', (site: Site) => rmSync(site.path(SUPPRESSED_FILE))],
    ['an empty list', (site: Site) => site.change(SUPPRESSED_FILE, () => '')],
    ['a list of another kind', (site: Site) => site.change(SUPPRESSED_FILE, () => '{}')],
    ['a list of nobody', withList((list) => ({ ...list, people: [] }))],
    ['one person less', withList((list) => ({ ...list, people: list.people.slice(1) }))],
    [
      'a digit of one hash',
      withList((list) => {
        list.people[0]!.hmac = flipped(list.people[0]!.hmac)
        return list
      }),
    ],
    ['another day', withList((list) => ({ ...list, events_before: '2020-01-01T00:00:00Z' }))],
    ['a higher number', withList((list) => ({ ...list, generation: 9 }))],
    [
      'list and key of an older backup',
      (site: Site) => site.backup.forEach(([path, bytes]) => writeFileSync(path, bytes)),
    ],
    [
      'neither list nor key, where the journal knows',
      (site: Site) => site.backup.forEach(([path]) => rmSync(path)),
    ],
    [
      'list and key of another data directory',
      (site: Site) => {
        const other = temporaryFolder()
        for (const id of ['per_8', 'per_9']) suppressPeople(journalIn(other), [id], START)
        for (const [path] of site.backup)
          writeFileSync(path, readFileSync(join(other, basename(path))))
      },
    ],
  ])('%s: load ends with exit 9 and loads nothing', async (_, damage) => {
    const site = await forgotten()
    const warehouse = await memory()
    damage(site)
    const error = await load({ warehouse, journal: site.journal }).catch(
      (reason: unknown) => reason,
    )
    expect(error).toMatchObject({ exitCode: 9 })
    expect((error as { hint: string }).hint).toContain('would come back')
    expect(await warehouse.all('from job_change_events')).toEqual([])
    expect(await warehouse.all('from ops.journal_positions')).toEqual([])
    // Nobody gets onto a list that is not the newest, either.
    expect(() => suppressPeople(site.journal, ['per_3'], START)).toThrow(/suppress/)
  })

  it('is noticed by a certificate alone, where journal, list and key are gone', () => {
    const folder = temporaryFolder()
    expect(readSuppression(journalIn(folder)).isEmpty).toBe(true)
    mkdirSync(join(folder, 'certificates'))
    writeFileSync(join(folder, 'certificates', 'forget-01JD.json'), '{}')
    expect(() => readSuppression(journalIn(folder))).toThrow(
      /suppressed.json is missing, and certif/,
    )
  })

  it('restored, it is as before: the same 1 event of 2 is left out', async () => {
    const { path, journal } = await forgotten()
    const list = readFileSync(path(SUPPRESSED_FILE))
    rmSync(path(SUPPRESSED_FILE))
    const warehouse = await memory()
    await expect(load({ warehouse, journal })).rejects.toMatchObject({ exitCode: 9 })
    writeFileSync(path(SUPPRESSED_FILE), list)
    expect(await load({ warehouse, journal })).toMatchObject({ inserted: 1, suppressed: 1 })
  })
})

describe('a process that is killed while it writes the first list', () => {
  it('before the list: nobody was forgotten, and the next one begins anew', () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, `${SUPPRESSION_KEY_FILE}.new`), 'ab')
    expect(readSuppression(journalIn(folder)).isEmpty).toBe(true)
    suppressPeople(journalIn(folder), ['per_1'], START)
    expect(readSuppression(journalIn(folder)).coversPerson('per_1')).toBe(true)
  })

  it('between list and key: the key that fits takes its place', () => {
    const folder = temporaryFolder()
    suppressPeople(journalIn(folder), ['per_1'], START)
    const key = join(folder, SUPPRESSION_KEY_FILE)
    renameSync(key, `${key}.new`)
    expect(readSuppression(journalIn(folder)).coversPerson('per_1')).toBe(true)
    expect(existsSync(key)).toBe(true)
  })

  it('between list and journal: the list is newer than the journal knows, and good', async () => {
    const { journal } = await forgotten()
    suppressPeople(journal, ['per_3'], START)
    expect(readSuppression(journal).people).toBe(3)
    await noteList(journal, START)
    await noteList(journal, START)
    const noted = journal
      .segments()
      .flatMap((name) => [...journal.read(name)].map(({ record }) => record))
      .flatMap((record) => (record.kind === 'suppression_changed' ? [record.generation] : []))
    expect(noted).toEqual([1, 2, 3])
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
    suppressPeople(journalIn(folder), ['per_1'], START)
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
    suppressPeople(journalIn(folder), ['per_1'], START)
    const warehouse = await memory()
    await load({ warehouse, journal })
    await writePages(journal, [aPage([wireEvent()])])
    expect(await load({ warehouse, journal })).toMatchObject({ inserted: 0, suppressed: 1 })
  })
})
