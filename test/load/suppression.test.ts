import { createHmac } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal, type Journal } from '../../src/journal/journal.ts'
import { cutAnswer } from '../../src/load/remove-suppressed.ts'
import { load } from '../../src/load/load.ts'
import { SUPPRESSED_FILE, readSuppression, suppress } from '../../src/load/suppression.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  START,
  aPage,
  handClock,
  journalOfPages,
  memory,
  segment,
  wireEvent,
  writePages,
} from './load-fixture.ts'

const journalIn = (folder: string) => openJournal(join(folder, 'journal'), handClock())
const suppressPeople = (journal: Journal, profileIds: readonly string[], nowMs = START) =>
  suppress(journal, { profileIds, eventsBefore: null }, nowMs)

describe('the suppression list', () => {
  it('holds an HMAC instead of an id, under its own key, and is private', async () => {
    const folder = temporaryFolder()
    const { people: hashes } = await suppressPeople(journalIn(folder), ['per_secret_1'])
    const path = join(folder, SUPPRESSED_FILE)
    const text = readFileSync(path, 'utf8')
    const { key, people } = JSON.parse(text)
    expect(text).not.toContain('per_secret_1')
    expect(people).toEqual(hashes)
    const hmac = createHmac('sha256', Buffer.from(key, 'hex')).update('per_secret_1').digest('hex')
    expect(hashes).toEqual([hmac])
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
  })

  it('stays the same if a person is added twice', async () => {
    const folder = temporaryFolder()
    await suppressPeople(journalIn(folder), ['a'])
    const before = readFileSync(join(folder, SUPPRESSED_FILE), 'utf8')
    await suppressPeople(journalIn(folder), ['a', 'a'], START + DAY)
    expect(readFileSync(join(folder, SUPPRESSED_FILE), 'utf8')).toBe(before)
    await suppressPeople(journalIn(folder), ['b'], START + DAY)
    const suppression = readSuppression(journalIn(folder))
    expect(['a', 'b', 'c'].map((id) => suppression.coversPerson(id))).toEqual([true, true, false])
  })

  it('covers an invalid event by any text in it, and a valid event only by its person', async () => {
    const folder = temporaryFolder()
    await suppressPeople(journalIn(folder), ['per_1', '77'])
    const suppression = readSuppression(journalIn(folder))
    expect(suppression.coversEvent(wireEvent({ person: 'per_1' }))).toBe(true)
    expect(suppression.coversEvent(wireEvent({ person: 'per_10', headline: 'per_1' }))).toBe(false)
    expect(suppression.coversEvent({ who: [{ is: 'per_1' }] })).toBe(true)
    expect(suppression.coversEvent({ person: { profile_id: 77 } })).toBe(true)
    expect(suppression.coversEvent({ person: null })).toBe(false)
  })

  it('covers pages of people, and handles where the service writes handles, because "anna" is also a first name', async () => {
    const folder = temporaryFolder()
    const pages = ['anna', 'https://network.example/in/bob-1']
    await suppress(journalIn(folder), { profileIds: ['per_1'], pages, eventsBefore: null }, START)
    const suppression = readSuppression(journalIn(folder))
    const covers = (text: string, member?: string) => suppression.coversText(text, member)
    for (const page of [
      'https://network.example/in/Anna/?a=b',
      'www.other.example/in/BOB-1',
      '/anna',
    ])
      expect(covers(page, 'url'), page).toBe(true)
    expect(covers('Anna', 'username')).toBe(true)
    expect(covers('per_1', 'anything')).toBe(true)
    expect(covers('Anna', 'first_name')).toBe(false)
    expect(covers('anna')).toBe(false)
    expect(covers('sales/marketing with /anna', 'text')).toBe(false)
    expect(covers('https://network.example/company/anna', 'url')).toBe(false)
    const people = [
      { first_name: 'Anna', url: 'https://network.example/in/anna-2' },
      { first_name: 'Anna', url: 'https://network.example/in/anna' },
      { first_name: 'Bob', username: 'anna' },
      { first_name: 'Cid', names: ['anna'], by: { usernames: ['anna'] } },
    ]
    const left = cutAnswer(Buffer.from(JSON.stringify({ people })), covers)
    expect(JSON.parse(left?.body.toString() ?? '')).toEqual({ people: [people[0], people[3]] })
  })

  it('covers events that took effect and were detected before a day, and a later day replaces an earlier one', async () => {
    const folder = temporaryFolder()
    for (const eventsBefore of [START, START - DAY]) {
      await suppress(journalIn(folder), { profileIds: [], eventsBefore }, START)
    }
    const suppression = readSuppression(journalIn(folder))
    expect(suppression.eventsBefore).toBe(START)
    const old = { changedAt: START - 2 * DAY, detectedAt: START - 1 }
    expect(suppression.coversEvent(wireEvent(old))).toBe(true)
    expect(suppression.coversEvent(wireEvent({ ...old, detectedAt: START }))).toBe(false)
    expect(suppression.coversEvent(wireEvent({ ...old, changedAt: START }))).toBe(false)
    expect(suppression.coversEvent({ changed_at: 'no date' })).toBe(false)
  })
})

describe('a list of 0.11, which held people only by their ids,', () => {
  /** As 0.11 wrote it: its MAC is of all the rest, format and order of keys included. */
  const ofVersion11 = (folder: string, more: object = {}) => {
    const key = 'ab'.repeat(32)
    const hmac = (text: string) =>
      createHmac('sha256', Buffer.from(key, 'hex')).update(text).digest('hex')
    const people = [hmac('per_1')]
    const list = {
      earlier: [],
      events_before: null,
      format_version: 4,
      generation: 1,
      key,
      people,
      ...more,
    }
    const mac = hmac(`suppression list\n${JSON.stringify(list)}`)
    writeFileSync(join(folder, SUPPRESSED_FILE), JSON.stringify({ ...list, mac }))
    return mac
  }

  it('protects them, and the next list follows it', async () => {
    const folder = temporaryFolder()
    const mac = ofVersion11(folder)
    const before = readSuppression(journalIn(folder))
    expect([before.coversPerson('per_1'), before.coversPerson('per_2')]).toEqual([true, false])
    expect(before.list).toBe(mac)
    const request = { profileIds: ['per_2'], pages: ['anna'], eventsBefore: null }
    const { list } = await suppress(journalIn(folder), request, START)
    expect(list?.generation).toBe(2)
    const after = readSuppression(journalIn(folder))
    expect(after.lists).toEqual([mac, list?.mac])
    expect(['per_1', 'per_2'].map((id) => after.coversPerson(id))).toEqual([true, true])
    expect(after.coversText('/anna')).toBe(true)
  })

  it.each([
    ['with pages, which it never had', { pages: [] }, 9, 'is damaged'],
    ['of a format to come', { format_version: 6 }, 2, 'a newer Jobtide: its format is 6'],
    ['of a format before', { format_version: 3 }, 2, 'an older Jobtide: its format is 3'],
  ])('is refused in one sentence where it is one %s', (_, more, exitCode, words) => {
    const folder = temporaryFolder()
    ofVersion11(folder, more)
    const message = expect.stringMatching(new RegExp(`^[^{}\\n]*${words}[^{}\\n]*$`)) as unknown
    const refused = expect.objectContaining({ exitCode, message }) as Error
    expect(() => readSuppression(journalIn(folder))).toThrow(refused)
  })
})

/** A data directory in which per_1 was erased and then per_2, and a copy of the list from in between. */
async function erased() {
  const folder = temporaryFolder()
  const events = [wireEvent(), wireEvent({ person: 'per_3' })]
  const journal = await journalOfPages(join(folder, 'journal'), [[aPage(events)]])
  const path = join(folder, SUPPRESSED_FILE)
  await suppressPeople(journal, ['per_1'])
  const backup = readFileSync(path, 'utf8')
  await suppressPeople(journal, ['per_2'], START + DAY)
  return { journal, path, backup, list: readFileSync(path, 'utf8') }
}

describe('a delivery of three people', () => {
  it('loaded before one of them was erased leaves the same rows as loaded afterwards', async () => {
    const folder = temporaryFolder()
    const journal = journalIn(folder)
    const changes = ['ann', 'bea', 'cy'].map((name) => {
      return { event_id: `event of ${name}`, profile_url: `https://network.example/in/${name}` }
    })
    await segment(journal, (writer) => {
      const delivered = { kind: 'delivery_received', at: START, delivery_id: 'd1' } as const
      writer.write(delivered, JSON.stringify({ event: 'person_activity', changes }))
    })
    const answers = (warehouse: Warehouse) => warehouse.all('from answers order by request_id')
    const before = await memory()
    await load({ warehouse: before, journal })
    expect(await answers(before)).toHaveLength(3)
    const pages = ['https://network.example/in/bea']
    await suppress(journal, { profileIds: ['per_1'], pages, eventsBefore: null }, START)
    await load({ warehouse: before, journal })
    const after = await memory()
    await load({ warehouse: after, journal })
    expect(await answers(after)).toHaveLength(2)
    expect(await answers(before)).toEqual(await answers(after))
  })
})

type List = Record<string, unknown> & { key: string; people: string[] }
const withList = (change: (list: List) => object) => (text: string) =>
  JSON.stringify({ ...JSON.parse(text), ...change(JSON.parse(text)) })
const flipped = (text: string) => text.replace(/[0-9a-f]/, (digit) => (digit === '0' ? '1' : '0'))

describe('a list that was damaged or lost', () => {
  it.each([
    ['a digit of the key', withList(({ key }) => ({ key: flipped(key) }))],
    ['no list', () => null],
    ['an empty file', () => ''],
    ['a list of another kind', () => '{}'],
    ['an empty list', withList(() => ({ people: [] }))],
    ['one person less', withList(({ people }) => ({ people: people.slice(1) }))],
    ['a digit of each hash', withList(({ people }) => ({ people: people.map(flipped) }))],
    ['another day', withList(() => ({ events_before: '2020-01-01T00:00:00Z' }))],
    ['a higher number', withList(() => ({ generation: 9 }))],
    ['the list of an older backup', (_: string, backup: string) => backup],
    ['the list of another data directory', () => 'another'],
  ])('%s exits with 9', async (_, damage) => {
    const { journal, path, backup, list } = await erased()
    const damaged = damage(list, backup)
    if (damaged === null) rmSync(path)
    else writeFileSync(path, damaged === 'another' ? (await erased()).list : damaged)
    const hint = expect.stringContaining('would come back') as unknown
    const lost = expect.objectContaining({ exitCode: 9, hint }) as Error
    expect(() => readSuppression(journal)).toThrow(lost)
    // No one is added to a list that is not the newest.
    await expect(suppressPeople(journal, ['per_3'])).rejects.toThrow(/suppress/)
    // Restoring it restores the earlier state.
    writeFileSync(path, list)
    expect(readSuppression(journal).people).toBe(2)
  })

  it('stops every load until it is restored', async () => {
    const { journal, path, list } = await erased()
    const warehouse = await memory()
    rmSync(path)
    await expect(load({ warehouse, journal })).rejects.toMatchObject({ exitCode: 9 })
    expect(await warehouse.all('from job_change_events')).toEqual([])
    expect(await warehouse.all('from ops.journal_positions')).toEqual([])
    writeFileSync(path, list)
    expect(await load({ warehouse, journal })).toMatchObject({ inserted: 1, suppressed: 1 })
  })

  it('is detected from a certificate alone if journal and list are gone', () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'certificates'))
    writeFileSync(join(folder, 'certificates', 'forget-01JD.json'), '{}')
    expect(() => readSuppression(journalIn(folder))).toThrow(
      /suppressed.json is missing, and certif/,
    )
  })

  it('is refused with exit 9 if a certificate is newer than both journal and list', async () => {
    const folder = temporaryFolder()
    const data = join(folder, 'data')
    const journal = await journalOfPages(join(data, 'journal'), [[aPage([wireEvent()])]])
    const certify = async (profileIds: string[], name: string) => {
      const { list } = await suppressPeople(journal, profileIds)
      mkdirSync(join(data, 'certificates'), { recursive: true })
      writeFileSync(join(data, 'certificates', name), JSON.stringify({ list }))
    }
    await certify(['per_1'], 'forget-1.json')
    const kept = ['journal', 'journal.seals', SUPPRESSED_FILE]
    const copy = (from: string, to: string) => {
      for (const name of kept) {
        rmSync(join(to, name), { recursive: true, force: true })
        cpSync(join(from, name), join(to, name), { recursive: true })
      }
    }
    copy(data, join(folder, 'backup'))
    await certify(['per_2'], 'forget-2.json')
    copy(data, join(folder, 'newest'))
    expect(readSuppression(journal).people).toBe(2)

    copy(join(folder, 'backup'), data)
    const older = {
      exitCode: 9,
      hint: expect.stringContaining('forget all their people') as unknown,
    }
    expect(() => readSuppression(journal)).toThrow(expect.objectContaining(older) as Error)
    expect(() => readSuppression(journal)).toThrow(
      /it is number 1, and certificates\/forget-2.json knows of number 2/,
    )
    await expect(suppressPeople(journal, ['per_3'])).rejects.toMatchObject(older)
    // The newest list is valid with the older journal.
    const newest = readFileSync(join(folder, 'newest', SUPPRESSED_FILE))
    writeFileSync(join(data, SUPPRESSED_FILE), newest)
    expect(readSuppression(journal).coversPerson('per_2')).toBe(true)

    // The hint for a lost list.
    copy(join(folder, 'backup'), data)
    rmSync(join(data, 'certificates', 'forget-2.json'))
    await certify(['per_2'], 'forget-3.json')
    expect(readSuppression(journal).coversPerson('per_2')).toBe(true)
    // Another list with the same number is not the certified one.
    copy(join(folder, 'backup'), data)
    rmSync(join(data, 'certificates', 'forget-3.json'))
    await suppressPeople(journal, ['per_3'])
    writeFileSync(
      join(data, 'certificates', 'forget-3.json'),
      JSON.stringify({ list: { generation: 2, mac: JSON.parse(newest.toString()).mac } }),
    )
    expect(() => readSuppression(journal)).toThrow(/is not the list that certificates\/forget-3/)
  })

  it('newer than the journal knows is valid: its process was killed before recording it', async () => {
    const { journal, path, backup, list } = await erased()
    const ahead = journalIn(temporaryFolder())
    writeFileSync(join(ahead.folder, '..', SUPPRESSED_FILE), list)
    expect(readSuppression(ahead).people).toBe(2)
    writeFileSync(path, backup)
    expect(() => readSuppression(journal)).toThrow(
      /it is number 1, and the journal knows of number 2/,
    )
  })
})

describe('load', () => {
  it('leaves out 3 of 5 events, counts them, records the segments that hold them, and brings no one back later', async () => {
    const folder = temporaryFolder()
    const other = wireEvent({ person: 'per_2' })
    const journal = await journalOfPages(join(folder, 'journal'), [
      [aPage([other])],
      [aPage([wireEvent(), other, { who: 'per_1', bad: true }])],
      [aPage([wireEvent({ type: 'left' })])],
    ])
    await suppressPeople(journalIn(folder), ['per_1'])
    const warehouse = await memory()
    const report = await load({ warehouse, journal })
    expect(report).toMatchObject({ sightings: 2, inserted: 1, rejected: 0, suppressed: 3 })
    const held = journal.segments().slice(2, 4)
    expect(await warehouse.all('from ops.segments_to_erase order by 1')).toEqual(
      held.map((segment) => ({ segment })),
    )
    // The ledger keeps the charge.
    const billed = await warehouse.all('select events from ops.pages order by 1')
    expect(billed).toEqual([{ events: 1 }, { events: 1 }, { events: 3 }])
    await writePages(journal, [aPage([wireEvent()])])
    expect(await load({ warehouse, journal })).toMatchObject({ inserted: 0, suppressed: 1 })
    expect(await warehouse.all('select distinct profile_id from job_change_events')).toEqual([
      { profile_id: 'per_2' },
    ])
  })
})
