import { appendFileSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eraseFromJournal, findInSegment, type CutPage } from '../../src/journal/erase.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { decodeMarks, encodeMarks } from '../../src/journal/page-keys.ts'
import { readHistory, saveCheckpoint } from '../../src/journal/read-history.ts'
import type { PageReceived } from '../../src/journal/records.ts'
import { aJournal, aPage, aRequest, aBatch, aStart, contentOf } from './journal-fixture.ts'

/** A page body is a list of words here: the journal does not know what is in it. */
const cut: CutPage = (body) => {
  const words = body.toString().split(' ')
  const places = words.flatMap((word, place) => (word === 'ada' ? [place] : []))
  if (places.length === 0) return null
  const left = words.filter((word) => word !== 'ada')
  return { body: Buffer.from(left.join(' ')), places, events: words.length }
}

async function journalOf(...segments: readonly (readonly string[])[]): Promise<Journal> {
  const journal = aJournal()
  let page = 0
  for (const [index, bodies] of segments.entries()) {
    const writer = journal.writer()
    if (index === 0) await writer.append(aStart(), JSON.stringify([aBatch()]))
    for (const body of bodies) {
      page += 1
      await writer.append(aRequest(page))
      const events = body.split(' ')
      const marks = events.map((identity) => ({ identity, detectedAt: page * 1_000 }))
      await writer.append(aPage(page, { events: events.length, keys: encodeMarks(marks) }), body)
    }
    await writer.close()
  }
  return journal
}

async function erase(journal: Journal) {
  const told: unknown[] = []
  const beforeReplacing = async (...sizes: unknown[]) => void told.push(sizes)
  const erased = await eraseFromJournal(journal, journal.segments(), { cut, beforeReplacing })
  return { erased, told }
}

describe('eraseFromJournal', () => {
  it('rewrites the 2 of 3 segments that hold it, and not a byte of the third', async () => {
    const journal = await journalOf(['ada bob', 'eve'], ['bob eve'], ['eve ada ada'])
    const paths = journal.segments().map((name) => join(journal.folder, name))
    const untouched = readFileSync(paths[1]!)
    const before = contentOf(journal)
    const { erased, told } = await erase(journal)
    expect(erased.map(({ pages, events }) => [pages, events])).toEqual([
      [1, 1],
      [1, 2],
    ])
    expect(told).toEqual(erased.map((one) => [one.segment, one.bytesBefore, one.bytesAfter]))
    expect(readFileSync(paths[1]!)).toEqual(untouched)
    expect(readFileSync(paths[0]!).length).toBe(erased[0]?.bytesAfter)
    const after = contentOf(journal)
    expect(after.map(({ payload }) => payload).filter((text) => !text.startsWith('['))).toEqual(
      before
        .map(({ payload }) => payload.replaceAll(/ ?ada ?/g, ''))
        .filter((text) => !text.startsWith('[')),
    )
    expect(findInSegment(journal, journal.segments()[0]!, cut)).toBeNull()
  })

  it('keeps what was billed in the header, counts what is gone, and takes the marks of it out', async () => {
    const journal = await journalOf(['ada bob eve'])
    const pageOf = () =>
      contentOf(journal).find(({ record }) => record.kind === 'page_received')
        ?.record as PageReceived
    const before = pageOf()
    const marks = decodeMarks(before.keys!)
    await erase(journal)
    expect(pageOf()).toEqual({ ...before, keys: pageOf().keys, erased: 1 })
    expect(decodeMarks(pageOf().keys!)).toEqual(marks.slice(1))
  })

  it('leaves segments that are sealed: recovery finds nothing to do, every record is read', async () => {
    const journal = await journalOf(['ada bob'], ['ada'])
    await erase(journal)
    const bytes = journal.segments().map((name) => readFileSync(join(journal.folder, name)))
    journal.recover()
    expect(journal.segments().map((name) => readFileSync(join(journal.folder, name)))).toEqual(
      bytes,
    )
    expect(readHistory(journal).runs.get(aStart().run_id)?.events).toBe(3)
  })

  it('removes the checkpoint: it would point into a record, and holds marks', async () => {
    const journal = await journalOf(['ada bob'], ['eve'])
    saveCheckpoint(journal)
    const before = readHistory(journal)
    await erase(journal)
    expect(existsSync(join(journal.folder, 'history.checkpoint'))).toBe(false)
    const after = readHistory(journal)
    expect(after.runs.get(aStart().run_id)?.events).toBe(before.runs.get(aStart().run_id)?.events)
  })

  it('does nothing the second time, and removes what a killed process left', async () => {
    const journal = await journalOf(['ada bob'])
    await erase(journal)
    const left = join(journal.folder, `${journal.segments()[0]}.erasing`)
    writeFileSync(left, 'ada')
    expect((await erase(journal)).erased).toEqual([])
    expect(readdirSync(journal.folder)).toEqual(journal.segments())
  })

  it('killed at any of its steps and called again, gives the same bytes as in one go', async () => {
    const whole = await journalOf(['ada bob'], ['eve ada'], ['ada'])
    await erase(whole)
    for (let kill = 0; kill < 3; kill += 1) {
      const journal = await journalOf(['ada bob'], ['eve ada'], ['ada'])
      let calls = 0
      const beforeReplacing = async () => {
        calls += 1
        if (calls > kill) throw new Error('killed')
      }
      await expect(
        eraseFromJournal(journal, journal.segments(), { cut, beforeReplacing }),
      ).rejects.toThrow('killed')
      await erase(journal)
      expect(contentOf(journal)).toEqual(contentOf(whole))
    }
  })

  it('refuses a segment that may still be written to', async () => {
    const journal = await journalOf(['ada bob'])
    appendFileSync(join(journal.folder, journal.segments()[0]!), 'J1 ')
    await expect(erase(journal)).rejects.toMatchObject({ exitCode: 8 })
  })
})
