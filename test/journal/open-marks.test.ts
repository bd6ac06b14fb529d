/** The durable part of a segment whose process was killed before sealing it. */

import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, it } from 'vitest'
import { endsWithSeal } from '../../src/journal/reader.ts'
import { readHistory, saveCheckpoint } from '../../src/journal/read-history.ts'
import { monthlyCredits } from '../../src/journal/spending.ts'
import { disk, useFaultyDisk } from '../helpers/faulty-disk.ts'
import {
  RUN,
  aBatch,
  aJournal,
  aPage,
  aRequest,
  aStart,
  onlySegment,
  pagesOf,
} from './journal-fixture.ts'

useFaultyDisk()

const AT = Date.UTC(2026, 10, 20, 2)

/** A process killed after it had bought 10 pages for 100 credits and written one more request. */
async function killed() {
  const journal = aJournal()
  const writer = journal.writer()
  await writer.append(aStart({ at: AT }), JSON.stringify([aBatch()]))
  for (let page = 1; page <= 10; page += 1) {
    writer.write(aRequest(page, { at: AT }))
    await writer.append(aPage(page, { requested_at: AT, at: AT }), `body of page ${page}`)
  }
  const { path, name } = onlySegment(journal)
  const durable = statSync(path).size
  writer.write(aRequest(11, { at: AT }))
  return { journal, writer, path, durable, mark: `${journal.folder}.open.${name}` }
}

describe('an open segment', () => {
  it('truncated to 60 % after its process was killed is reported with 5 pages and 50 credits, and counts 100 once accepted', async () => {
    const { journal, path, durable } = await killed()
    truncateSync(path, Math.floor(durable * 0.6))
    const lost = `has ${Math.floor(durable * 0.6)} bytes, and ${durable} were on the disk; lost with it: 5 pages with 250 events for 50 credits (run ${RUN})`
    for (const read of [() => readHistory(journal), () => journal.recover()]) {
      expect(read).toThrow(expect.objectContaining({ name: 'JournalLossError', exitCode: 9 }))
      expect(read).toThrow(lost)
    }
    expect(statSync(path).size).toBe(Math.floor(durable * 0.6))
    expect(journal.recover('accept')).toHaveLength(1)
    expect(pagesOf(journal)).toEqual([1, 2, 3, 4, 5])
    const { runs, spending } = readHistory(journal)
    expect(runs.get(RUN)?.creditsCommitted).toBe(100)
    expect(monthlyCredits(spending, 'nightly').get('2026-11')).toBe(100)
    expect(journal.recover()).toEqual([])
    journal.check('bytes')
  })

  it('that was deleted, or zeroed at its end, is reported', async () => {
    const { journal, path, durable } = await killed()
    const bytes = readFileSync(path)
    writeFileSync(path, Buffer.from(bytes).fill(0, durable - 200))
    expect(() => journal.recover()).toThrow(/is damaged at byte \d+, and \d+ were on the disk/)
    rmSync(path)
    expect(() => journal.recover()).toThrow(/is gone; lost with it: 10 pages .* for 100 credits/)
    writeFileSync(path, bytes)
    journal.recover()
    expect(pagesOf(journal)).toHaveLength(10)
  })

  it('truncated anywhere after its durable part, as by a power cut, is not a loss; and no mark is left', async () => {
    const { journal, path, durable, mark } = await killed()
    const [bytes, marked] = [readFileSync(path), readFileSync(mark)]
    for (let length = durable; length <= bytes.length; length += 11) {
      onlySegment(journal).set(bytes.subarray(0, length))
      writeFileSync(mark, marked)
      journal.recover()
      expect(pagesOf(journal)).toHaveLength(10)
      expect(existsSync(mark)).toBe(false)
    }
  })

  it('whose mark is torn, or cannot be written, is closed as if it had none', async () => {
    const { journal, path, durable, mark } = await killed()
    truncateSync(path, durable - 200)
    writeFileSync(mark, readFileSync(mark).fill(0, 50))
    journal.recover()
    expect(pagesOf(journal)).toHaveLength(9)
    const writer = journal.writer()
    writer.write(aPage(10))
    // A folder in its place: the disk refuses it.
    const folder = `${journal.folder}.open.${journal.segments().at(-1)!}`
    mkdirSync(folder)
    await writer.append(aPage(11))
    rmdirSync(folder)
    await writer.close()
    expect(pagesOf(journal)).toHaveLength(11)
  })

  it('after a failed fsync is written to a new file, and never counts in a checkpoint before', async () => {
    const { journal, writer, path } = await killed()
    disk.syncFails = 'EIO'
    await expect(writer.append(aPage(11, { at: AT }))).rejects.toThrow('EIO')
    disk.heal()
    await writer.close()
    saveCheckpoint(journal)
    const { ino } = statSync(path)
    truncateSync(path, statSync(path).size - 20)
    expect(readHistory(journal).runs.get(RUN)?.pages).toBe(10)
    journal.recover()
    expect(statSync(path).ino).not.toBe(ino)
    expect(endsWithSeal(path)).toBe(true)
    expect(journal.check('bytes').segments).toBe(1)
  })
})
