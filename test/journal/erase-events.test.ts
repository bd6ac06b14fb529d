import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eraseFromSegment, findInSegment, type CutPage } from '../../src/journal/erase-events.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { decodeMarks, encodeMarks } from '../../src/journal/batch-history.ts'
import { readHistory, saveCheckpoint } from '../../src/journal/read-history.ts'
import type { PageReceived } from '../../src/journal/records.ts'
import { appendSeal } from '../../src/journal/seals.ts'
import { aJournal, aPage, aRequest, aBatch, aStart, contentOf } from './journal-fixture.ts'

/** Here a page body is a list of words: the journal does not interpret it. */
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

function erase(journal: Journal) {
  return journal.segments().flatMap((segment) => {
    const found = findInSegment(journal, segment, cut)
    return found === null ? [] : eraseFromSegment(journal, found, cut)
  })
}

describe('eraseFromSegment', () => {
  it('rewrites the 2 of 3 segments that hold it, and changes no byte of the third', async () => {
    const journal = await journalOf(['ada bob', 'eve'], ['bob eve'], ['eve ada ada'])
    const paths = journal.segments().map((name) => join(journal.folder, name))
    const untouched = readFileSync(paths[1]!)
    const before = contentOf(journal)
    expect(erase(journal).map(({ pages, events }) => [pages, events])).toEqual([
      [1, 1],
      [1, 2],
    ])
    expect(readFileSync(paths[1]!)).toEqual(untouched)
    const words = (of: typeof before) =>
      of.map(({ payload }) => payload).filter((text) => !text.startsWith('['))
    expect(words(contentOf(journal))).toEqual(
      words(before).map((payload) => payload.replaceAll(/ ?ada ?/g, '')),
    )
    expect(erase(journal)).toEqual([])
    expect(readdirSync(journal.folder)).toEqual(journal.segments())
  })

  it('keeps the charge in the header, counts the erased events, and empties their keys', async () => {
    const journal = await journalOf(['ada bob eve'])
    const pageOf = () =>
      contentOf(journal).find(({ record }) => record.kind === 'page_received')
        ?.record as PageReceived
    const before = pageOf()
    const marks = decodeMarks(before.keys!)
    erase(journal)
    expect(pageOf()).toEqual({ ...before, keys: pageOf().keys, erased: 1 })
    expect(decodeMarks(pageOf().keys!)).toEqual([{ ...marks[0], key: 0 }, ...marks.slice(1)])
  })

  it('removes the message of a refusal that names them from header and body', async () => {
    const journal = aJournal()
    const writer = journal.writer()
    const { run_id, batch_id, page, at, requested_at, request_id } = aPage(1)
    const about = { run_id, batch_id, page, at, requested_at, request_id, lookup_key: 'key' }
    await writer.append(
      {
        ...about,
        kind: 'answer_received',
        endpoint: 'people-search',
        subject: 'location=nowhere',
        status: 200,
        outcome: 'refused',
        reason: 'no ada',
        items: 0,
        credits_used: 0,
        next: null,
        body_sha256: '',
      },
      'no ada',
    )
    await writer.close()
    erase(journal)
    expect(JSON.stringify(contentOf(journal))).not.toContain('ada')
  })

  it('leaves segments that are sealed: recovery finds nothing to do, every record is read', async () => {
    const journal = await journalOf(['ada bob'], ['ada'])
    erase(journal)
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
    erase(journal)
    expect(existsSync(join(journal.folder, 'history.checkpoint'))).toBe(false)
    const after = readHistory(journal)
    expect(after.runs.get(aStart().run_id)?.events).toBe(before.runs.get(aStart().run_id)?.events)
  })

  it('killed between the list of seals and the rename, gives the same bytes when called again', async () => {
    const whole = await journalOf(['ada bob'], ['eve ada'])
    erase(whole)
    const journal = await journalOf(['ada bob'], ['eve ada'])
    const path = join(journal.folder, journal.segments()[0]!)
    // A folder in place of the rewritten segment: the disk refuses it.
    mkdirSync(`${path}.${process.pid}.tmp`)
    expect(() => erase(journal)).toThrow()
    rmdirSync(`${path}.${process.pid}.tmp`)
    const old = readFileSync(path)
    erase(journal)
    const rewritten = readFileSync(path)
    writeFileSync(path, old)
    appendSeal(journal.folder, {
      segment: basename(path),
      before: stateOf(old),
      ...stateOf(rewritten),
    })
    journal.check('bytes')
    erase(journal)
    journal.check('bytes')
    expect(contentOf(journal)).toEqual(contentOf(whole))
    // From here on only the new segment counts as sealed.
    writeFileSync(path, old)
    expect(() => journal.check()).toThrow(`has ${old.length} bytes, not the ${rewritten.length}`)
  })

  it('refuses a segment that is still open', async () => {
    const journal = await journalOf(['ada bob'])
    appendFileSync(join(journal.folder, journal.segments()[0]!), 'J2 ')
    expect(() => erase(journal)).toThrow(/is not closed/)
  })
})

const stateOf = (bytes: Buffer) => ({
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
})
