import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { load } from '../../src/load/load.ts'
import { encodeFrame } from '../../src/journal/frame.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { JournalDamagedError, endsWithSeal, validPrefix } from '../../src/journal/reader.ts'
import type { JournalRecord } from '../../src/journal/records.ts'
import { packageVersion } from '../../src/support/assets.ts'
import { MIB } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import {
  aJournal,
  aPage,
  aBatch,
  aStart,
  contentOf,
  onlySegment,
  pagesOf,
  unlist,
  writeRecords,
  type Entry,
} from './journal-fixture.ts'

const NAME = '01JD0000000000000000000000.journal'

/** A journal whose only segment holds these bytes, as a killed process left them. */
function journalOf(...parts: readonly Uint8Array[]) {
  const folder = join(temporaryFolder(), 'journal')
  const path = join(folder, NAME)
  mkdirSync(folder)
  unlist(folder)
  writeFileSync(path, Buffer.concat(parts))
  return { journal: openJournal(folder, virtualClock()), path }
}

/** A journal with one sealed segment. */
async function sealed(...entries: readonly Entry[]) {
  const journal = aJournal()
  await writeRecords(journal, entries)
  return { journal, ...onlySegment(journal) }
}

/** Pages 1 to 3, each appended once the previous one is on the disk. */
const pageAfter = (page: number, ...before: readonly Buffer[]) =>
  encodeFrame(aPage(page), `body of page ${page}`, Buffer.concat(before).length)
const first = pageAfter(1)
const second = pageAfter(2, first)
const third = pageAfter(3, first, second)
const frames = [first, second, third]

/** A record small enough to try each of its bytes. */
const resumed = { kind: 'run_resumed', run_id: 'r', at: 1 } as const
const short = encodeFrame(resumed, 'x')

describe('a torn end', () => {
  it('at any byte of the last record leaves exactly the records before it, and recover() seals them', () => {
    const { journal, path } = journalOf()
    for (let length = 0; length < short.length; length += 1) {
      const torn = short.subarray(0, length)
      onlySegment(journal).set(Buffer.concat([first, second, torn]))
      expect([length, pagesOf(journal)]).toEqual([length, [1, 2]])
      expect(validPrefix(path)).toMatchObject({
        bytes: first.length + second.length,
        records: 2,
      })
      journal.recover()
      expect(endsWithSeal(path)).toBe(true)
      expect(
        onlySegment(journal)
          .bytes()
          .subarray(0, first.length + second.length),
      ).toEqual(Buffer.concat([first, second]))
      expect(contentOf(journal).map(({ payload }) => payload)).toEqual([
        'body of page 1',
        'body of page 2',
      ])
    }
  })

  it.each([1, 35, 36, 37, 4_096, 3 * MIB])('of %d zeros is removed', (zeros) => {
    const { journal, path } = journalOf(first, second, Buffer.alloc(zeros))
    expect(pagesOf(journal)).toEqual([1, 2])
    journal.recover()
    expect(endsWithSeal(path)).toBe(true)
    expect(statSync(path).size).toBeLessThan(first.length + second.length + 300)
    expect(pagesOf(journal)).toEqual([1, 2])
  })

  it('whose last bytes are zeros, as after a power cut, is removed', () => {
    for (let kept = 0; kept < short.length; kept += 3) {
      const zeroed = Buffer.alloc(short.length)
      short.copy(zeroed, 0, 0, kept)
      const { journal } = journalOf(first, zeroed)
      journal.recover()
      expect([kept, pagesOf(journal)]).toEqual([kept, [1]])
    }
  })
})

describe('damage in the middle', () => {
  it('at any byte of a record before others is refused by file and byte, also by recover()', () => {
    const { journal, path } = journalOf()
    for (let place = 0; place < short.length; place += 1) {
      const changed = Buffer.from(short)
      changed[place] = (changed[place] ?? 0) ^ 0x10
      writeFileSync(path, Buffer.concat([first, changed, third]))
      const bytes = onlySegment(journal).bytes()
      for (const read of [() => contentOf(journal), () => journal.recover()]) {
        expect(read).toThrow(JournalDamagedError)
        expect(read).toThrow(
          expect.objectContaining({ exitCode: 9, context: { path, at: first.length } }),
        )
        expect(read).toThrow(`${NAME} is damaged at byte ${first.length}: `)
      }
      expect(onlySegment(journal).bytes()).toEqual(bytes)
    }
  })

  it('just before the seal does not make recover() treat acknowledged records as a torn end', async () => {
    const { journal, bytes, set } = await sealed([aPage(1)], [aPage(2)], [resumed])
    const whole = bytes()
    const sealAt = whole.lastIndexOf('\nJ2 ') + 1
    const lastAt = whole.lastIndexOf('\nJ2 ', sealAt - 2) + 1
    for (let place = lastAt; place < sealAt; place += 1) {
      const changed = Buffer.from(whole)
      changed[place] = (changed[place] ?? 0) ^ 0x02
      set(changed)
      const recoverAndRead = () => {
        journal.recover()
        return pagesOf(journal)
      }
      expect(recoverAndRead, `byte ${place}`).toThrow(JournalDamagedError)
      expect(bytes()).toEqual(changed)
    }
  })

  it('is a torn end if no later record was durable: a power cut keeps records in any order', () => {
    const holed = Buffer.from(second).fill(0, 40, 90)
    const atOnce = pageAfter(3, first)
    const { journal } = journalOf(first, holed, atOnce)
    expect(pagesOf(journal)).toEqual([1])
    journal.recover()
    expect(pagesOf(journal)).toEqual([1])
    expect(journal.check('bytes').segments).toBe(1)
  })

  it('is found if the next whole record spans two chunks of the search', () => {
    for (let shift = -40; shift <= 4; shift += 1) {
      const { journal } = journalOf(first, Buffer.alloc(MIB + shift), third)
      expect(() => pagesOf(journal), `shift ${shift}`).toThrow(JournalDamagedError)
    }
  })

  it('of a seal alone loses no record: recover() seals again', async () => {
    const { journal, path, bytes, set } = await sealed([aPage(1)])
    const changed = bytes()
    changed[changed.length - 2] = 0
    set(changed)
    journal.recover()
    expect(endsWithSeal(path)).toBe(true)
    expect(pagesOf(journal)).toEqual([1])
  })

  it('keeps every row out of the warehouse and the history', async () => {
    const start = encodeFrame(aStart(), JSON.stringify([aBatch()]))
    const broken = Buffer.from(first)
    broken[40] = 0
    const { journal } = journalOf(start, broken, pageAfter(2, start, broken))
    const warehouse = await memoryWarehouse()
    await expect(load({ warehouse, journal })).rejects.toThrow(JournalDamagedError)
    const [row] = await warehouse.all<{ n: number }>(
      `select ((select count(*) from ops.runs) + (select count(*) from ops.pages)
        + (select count(*) from ops.journal_positions))::int as n`,
    )
    expect(row?.n).toBe(0)
    expect(() => readHistory(journal)).toThrow(JournalDamagedError)
    warehouse.close()
  })
})

describe('a segment of another Jobtide', () => {
  const newer = Buffer.from(`J3 2 0 0 00000000\n{}\n`)
  const older = Buffer.from('J1 2 0 00000000\n{}\n')

  it.each([
    ['a newer one', 'a newer Jobtide: its format at byte 0 is 3', [newer]],
    ['a newer one after records', 'a newer Jobtide: its format', [first, second, newer]],
    ['a newer one, torn', 'a newer Jobtide: its format', [first, newer.subarray(0, 19)]],
    ['an older one', 'an older Jobtide: its format at byte 0 is 1', [older]],
  ])('(%s) is refused and left unchanged, even with --accept-loss', (_, says, parts) => {
    const { journal } = journalOf(...parts)
    const before = onlySegment(journal).bytes()
    for (const read of [
      () => contentOf(journal),
      () => journal.recover(),
      () => journal.recover('accept'),
    ]) {
      expect(read).toThrow(expect.objectContaining({ name: 'JournalVersionError', exitCode: 2 }))
      expect(read).toThrow(`was written by ${says}`)
    }
    expect(onlySegment(journal).bytes()).toEqual(before)
  })
})

describe('a record of a kind that this version does not know', () => {
  const future = { kind: 'page_compressed', at: 1 } as unknown as JournalRecord

  it.each([
    ['of a segment that names its writer', '99.1.0', 'Jobtide 99.1.0'],
    ['of one that does not', undefined, 'a newer Jobtide'],
  ])(
    '%s is refused, naming both versions, and left unchanged, also by recover()',
    (_, writer, by) => {
      const start = encodeFrame(aStart(), JSON.stringify([aBatch()]), 0, writer)
      const { journal } = journalOf(start, encodeFrame(future, undefined, start.length))
      const before = onlySegment(journal).bytes()
      for (const read of [
        () => contentOf(journal),
        () => readHistory(journal),
        () => journal.recover(),
        () => journal.recover('accept'),
      ]) {
        expect(read).toThrow(expect.objectContaining({ name: 'JournalVersionError', exitCode: 2 }))
        expect(read).toThrow(
          `was written by ${by}, and this is ${packageVersion()}, which does not know the kind "page_compressed" of the record at byte ${start.length}`,
        )
      }
      expect(onlySegment(journal).bytes()).toEqual(before)
    },
  )

  it('is refused even if a reader begins after the start of the segment', () => {
    const start = encodeFrame(aStart(), JSON.stringify([aBatch()]), 0, '99.1.0')
    const { journal } = journalOf(start, encodeFrame(future, undefined, start.length))
    const [segment = ''] = journal.segments()
    expect(() => [...journal.read(segment, start.length)]).toThrow('by Jobtide 99.1.0, and this is')
  })
})

describe('reading', () => {
  it('continues from the end of any record', () => {
    const { journal } = journalOf(...frames)
    const ends = [...journal.read(NAME)].map(({ end }) => end)
    expect(ends).toEqual([
      first.length,
      first.length + second.length,
      statSync(join(journal.folder, NAME)).size,
    ])
    const rest = [...journal.read(NAME, ends[0])].map(({ record }) => record)
    expect(rest).toEqual([aPage(2), aPage(3)])
    expect([...journal.read(NAME, ends[2])]).toEqual([])
  })

  it('accepts a record larger than its chunks', () => {
    const noise = Buffer.from(Array.from({ length: 3 * MIB }, (_, i) => (i * i * 31) % 251))
    const { journal } = journalOf(first, encodeFrame(aPage(2), noise), third)
    expect(pagesOf(journal)).toEqual([1, 2, 3])
    expect([...journal.read(NAME)][1]?.payload().equals(noise)).toBe(true)
  })

  it('gives no segments without a folder, and counts only journal files as segments', () => {
    const folder = temporaryFolder()
    expect(openJournal(join(folder, 'none'), virtualClock()).segments()).toEqual([])
    writeFileSync(join(folder, '.DS_Store'), '')
    writeFileSync(join(folder, 'b.journal'), '')
    writeFileSync(join(folder, 'a.journal'), '')
    expect(openJournal(folder, virtualClock()).segments()).toEqual(['a.journal', 'b.journal'])
  })
})
