import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { endsWithSeal, validPrefix } from '../../src/journal/reader.ts'
import { createSeals } from '../../src/journal/seals.ts'
import { EXIT } from '../../src/support/errors.ts'
import { HOUR, KIB } from '../../src/support/units.ts'
import { disk, useFaultyDisk } from '../helpers/faulty-disk.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { aJournal, aPage, contentOf, onlySegment, pagesOf, unlist } from './journal-fixture.ts'

useFaultyDisk()

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1)
/** A text that does not compress. */
const noise = (bytes: number, seed = 1) =>
  Array.from({ length: bytes / 32 }, (_, i) =>
    createHash('sha256').update(`${seed} ${i}`).digest('base64').slice(0, 32),
  ).join('')

/** A journal whose writer has page 1 on the disk. */
async function withPage(body = 'page') {
  const journal = aJournal()
  const writer = journal.writer()
  await writer.append(aPage(1), body)
  return { journal, writer }
}

describe('a writer', () => {
  it('without records leaves no file, whether closed once or twice', async () => {
    const journal = aJournal()
    const writer = journal.writer()
    await writer.close()
    await writer.close()
    expect(journal.segments()).toEqual([])
  })

  it('names segments in the order of writing, even if the wall clock jumps back 1 h between them', async () => {
    const clock = virtualClock()
    const journal = aJournal(undefined, clock)
    for (const page of numbers(6)) {
      const writer = journal.writer()
      await writer.append(aPage(page))
      await writer.close()
      clock.jump(page % 2 === 0 ? HOUR : -HOUR)
    }
    expect(pagesOf(journal)).toEqual(numbers(6))
  })

  it('accepts no record if its file was removed: 2 appends fail, and the loss of the previous page is reported', async () => {
    const { journal, writer } = await withPage()
    const { path } = onlySegment(journal)
    rmSync(path)
    const refused = {
      exitCode: EXIT.storage,
      message: `journal ${path} was removed while it was written`,
    }
    await expect(writer.append(aPage(2))).rejects.toMatchObject(refused)
    await expect(writer.append(aPage(3))).rejects.toMatchObject(refused)
    await writer.close()
    expect(() => journal.check()).toThrow('is gone; lost with it: 1 page')
  })
})

describe('group commit', () => {
  it('makes 100 concurrent appends durable with at most 4 fsyncs', async () => {
    const journal = aJournal()
    // The list of seals is created once, before the first segment.
    createSeals(journal.folder)
    disk.heal()
    const writer = journal.writer()
    const appends = numbers(100).map((page) => writer.append(aPage(page), `page ${page}`))
    await Promise.all(appends)
    // Two of them sync folders, after the segment was created.
    expect(disk.syncs).toBeLessThanOrEqual(4)
    expect(pagesOf(journal)).toEqual(numbers(100))
    await writer.close()
  })

  it('confirms no append until an fsync that began after the write has ended', async () => {
    const journal = aJournal()
    const writer = journal.writer()
    await writer.append(aPage(0))
    for (const page of numbers(50)) {
      const { syncs } = disk
      await Promise.all([writer.append(aPage(page)), writer.append(aPage(100 + page))])
      expect(disk.syncs).toBeGreaterThan(syncs)
    }
    await writer.close()
  })

  it('syncs a record that is appended just before close()', async () => {
    const journal = aJournal()
    const writer = journal.writer()
    let syncsAtConfirmation = 0
    const append = writer.append(aPage(1)).then(() => (syncsAtConfirmation = disk.syncs))
    await Promise.all([append, writer.close()])
    // One of the folder, and at least one of the segment.
    expect(syncsAtConfirmation).toBeGreaterThanOrEqual(2)
  })
})

describe('rotation', () => {
  it('at 8 KiB with 20 concurrent writers of 25 records each loses nothing', async () => {
    const journal = aJournal(8 * KIB)
    const writer = journal.writer()
    await Promise.all(
      numbers(20).map(async (worker) => {
        for (const step of numbers(25)) {
          await writer.append(aPage(worker * 100 + step), noise(512, worker * 100 + step))
        }
      }),
    )
    await writer.close()
    const segments = journal.segments()
    expect(segments.length).toBeGreaterThan(10)
    for (const segment of segments) expect(endsWithSeal(join(journal.folder, segment))).toBe(true)
    const pages = pagesOf(journal)
    expect(pages.toSorted((a, b) => a - b)).toEqual(
      numbers(20).flatMap((worker) => numbers(25).map((step) => worker * 100 + step)),
    )
    // The records of one worker are in the order of writing, across all segments.
    for (const worker of numbers(20)) {
      const own = pages.filter((page) => Math.floor(page / 100) === worker)
      expect(own).toEqual(own.toSorted((a, b) => a - b))
    }
    for (const { record, payload } of contentOf(journal)) {
      if (record.kind === 'page_received') expect(payload).toBe(noise(512, record.page))
    }
  })

  it('begins no segment that stays empty', async () => {
    const journal = aJournal(1)
    const writer = journal.writer()
    for (const page of numbers(3)) await writer.append(aPage(page))
    await writer.close()
    expect(journal.segments()).toHaveLength(3)
  })
})

describe('a full disk', () => {
  it('at any byte of a record leaves no partial record, and later records are whole', async () => {
    for (let room = 0; room < 420; room += 7) {
      const { journal, writer } = await withPage('page 1')
      disk.roomBytes = room
      const full = writer.append(aPage(2), noise(512))
      await expect(full).rejects.toMatchObject({ exitCode: 9, context: { code: 'ENOSPC' } })
      const { path, bytes } = onlySegment(journal)
      expect(validPrefix(path)).toMatchObject({ records: 1, bytes: bytes().length })
      disk.heal()
      await writer.append(aPage(3), 'page 3')
      await writer.close()
      expect(pagesOf(journal)).toEqual([1, 3])
      expect(endsWithSeal(onlySegment(journal).path)).toBe(true)
    }
  })

  it('at the first record leaves no file behind after close()', async () => {
    const journal = aJournal()
    const writer = journal.writer()
    disk.roomBytes = 10
    expect(() => writer.write(aPage(1))).toThrow('the disk is full (ENOSPC)')
    await writer.close()
    expect(readdirSync(journal.folder)).toEqual([])
  })

  it('at the seal is reported, closes the file, and loses no record: recover() seals it later', async () => {
    const { journal, writer } = await withPage()
    disk.roomBytes = 20
    await expect(writer.close()).rejects.toMatchObject({ exitCode: 9 })
    await writer.close()
    disk.heal()
    expect(pagesOf(journal)).toEqual([1])
    journal.recover()
    expect(endsWithSeal(onlySegment(journal).path)).toBe(true)
  })

  it('that cannot even remove the partial record ends the writer; the record counts as torn', async () => {
    const { journal, writer } = await withPage()
    Object.assign(disk, { roomBytes: 30, truncateFails: 'EIO' })
    await expect(writer.append(aPage(2))).rejects.toThrow('ENOSPC')
    disk.heal()
    await expect(writer.append(aPage(3))).rejects.toThrow('input/output error (EIO)')
    await writer.close()
    journal.recover()
    expect(pagesOf(journal)).toEqual([1])
  })

  it('accepts writes of 7 bytes at a time for whole records', async () => {
    disk.longestWrite = 7
    const { journal, writer } = await withPage('page 1')
    await writer.close()
    expect(contentOf(journal).map(({ payload }) => payload)).toEqual(['page 1'])
  })
})

describe('a failed fsync', () => {
  it('fails the appends that waited for it and every later call, and is never retried', async () => {
    const { journal, writer } = await withPage()
    disk.syncFails = 'EIO'
    const { syncs } = disk
    const appends = numbers(5).map((page) => writer.append(aPage(page + 1)))
    const outcomes = await Promise.allSettled(appends)
    expect(outcomes.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
    expect(disk.syncs).toBe(syncs + 1)
    Object.assign(disk, { syncFails: null })
    await expect(writer.append(aPage(9))).rejects.toMatchObject({ exitCode: 9 })
    expect(() => writer.write(aPage(9))).toThrow('input/output error (EIO)')
    await writer.close()
    expect(disk.syncs).toBe(syncs + 1)
    // Records confirmed before are there, and records refused after are not.
    expect(pagesOf(journal)).toContain(1)
    expect(pagesOf(journal)).not.toContain(9)
  })

  it('with an unknown error says that the disk did not confirm', async () => {
    const journal = aJournal()
    const writer = journal.writer()
    disk.syncFails = null
    await writer.append(aPage(1))
    disk.syncFails = 'EWHATEVER'
    await expect(writer.append(aPage(2))).rejects.toMatchObject({
      name: 'StorageError',
      message: expect.stringContaining('the disk did not confirm a write') as string,
    })
    await writer.close()
  })

  it('of the folder leaves no segment that might vanish with its records', async () => {
    const journal = aJournal()
    const writer = journal.writer()
    disk.syncFails = 'EIO'
    await expect(writer.append(aPage(1))).rejects.toMatchObject({ exitCode: 9 })
    expect(readdirSync(journal.folder)).toEqual([])
    disk.heal()
    await writer.append(aPage(2))
    await writer.close()
    expect(pagesOf(journal)).toEqual([2])
  })
})

describe('recover()', () => {
  it('seals a segment that a killed process left open, as that process would have', async () => {
    const { journal, writer } = await withPage('page 1')
    const open = onlySegment(journal).bytes()
    await writer.close()
    const closed = onlySegment(journal).bytes()
    onlySegment(journal).set(open)
    journal.recover()
    expect(onlySegment(journal).bytes()).toEqual(closed)
  })

  it('removes everything after a seal without sealing twice', async () => {
    const { journal, writer } = await withPage()
    await writer.close()
    const { bytes, set } = onlySegment(journal)
    const sealed = bytes()
    set(Buffer.concat([sealed, Buffer.alloc(500)]))
    journal.recover()
    expect(bytes()).toEqual(sealed)
  })

  it('removes a segment without a whole record: an empty one, or a torn first record; and creates no folder', () => {
    const folder = join(temporaryFolder(), 'journal')
    openJournal(folder, virtualClock()).recover()
    mkdirSync(folder)
    unlist(folder)
    writeFileSync(join(folder, 'a.journal'), '')
    writeFileSync(join(folder, 'b.journal'), 'J2 200 0 0 0123')
    openJournal(folder, virtualClock()).recover()
    expect(readdirSync(folder)).toEqual([])
  })
})
