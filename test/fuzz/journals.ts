/** The bytes of a journal: a segment as a killed process left it, or as it was sealed, and the list of seals. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeFrame } from '../../src/journal/frame.ts'
import { openJournal, type Journal } from '../../src/journal/journal.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { createSeals, parseSeals, readSealBytes, rewriteSeals } from '../../src/journal/seals.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { aBatch, aFinish, aPage, aRequest, aStart, RUN } from '../journal/journal-fixture.ts'
import { claim, unlessRefused, type Target } from './target.ts'

const SEGMENT = '01JD0000000000000000000001.journal'
const clock = virtualClock()

/** Segments of a few records each; the first is the beginning of a run. */
async function writtenSegments(folder: string): Promise<Buffer[]> {
  const segments: Buffer[] = []
  for (const pages of [[1, 2, 3], [4], []]) {
    const journal = openJournal(join(folder, `written-${segments.length}`, 'journal'), clock)
    const writer = journal.writer()
    writer.write(aStart(), JSON.stringify([aBatch()]))
    for (const page of pages) {
      writer.write(aRequest(page))
      writer.write(aPage(page), JSON.stringify({ data: [{ page, text: 'é\n'.repeat(page) }] }))
    }
    writer.write(aFinish({ pages: pages.length }), JSON.stringify(aBatch()))
    writer.write({
      kind: 'run_finished',
      run_id: RUN,
      at: 9,
      outcome: 'done',
      exit_code: 0,
      message: null,
    })
    await writer.close()
    segments.push(readFileSync(join(journal.folder, journal.segments()[0] ?? '')))
  }
  return segments
}

/** The header and payload of each record in some bytes. */
function contentsOf(bytes: Buffer): { readonly end: number; readonly content: string }[] {
  const contents: { end: number; content: string }[] = []
  for (let at = 0; at < bytes.length;) {
    const read = decodeFrame(bytes, at)
    if (read.kind !== 'frame') throw new Error(read.kind)
    at += read.frame.size
    contents.push({ end: at, content: contentOf(read.frame) })
  }
  return contents
}

function contentOf({ record, payload }: { record: unknown; payload: () => Buffer }): string {
  return `${JSON.stringify(record)}\n${payload().toString('base64')}`
}

function readAll(journal: Journal): string[] {
  const contents: string[] = []
  unlessRefused(() => {
    for (const name of journal.segments()) {
      for (const frame of journal.read(name)) contents.push(contentOf(frame))
    }
  })
  return contents
}

function sameStart(a: Buffer, b: Buffer): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

/** Creates the segments, and a folder to read them in. */
export async function openJournals() {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-test-'))
  const segments = await writtenSegments(folder)
  const written = new Map(segments.map((bytes) => [bytes, contentsOf(bytes)]))
  const known = new Set([...written.values()].flat().map(({ content }) => content))
  const journal = openJournal(join(folder, 'journal'), clock)
  const isSeal = (content: string) => content.startsWith('{"kind":"seal"')

  function put(input: Buffer): void {
    rmSync(journal.folder, { recursive: true, force: true })
    mkdirSync(journal.folder)
    writeFileSync(join(journal.folder, SEGMENT), input)
  }

  function checkSegment(input: Buffer): void {
    put(input)
    rewriteSeals(journal.folder, [])
    const before = readAll(journal)
    const foreign = before.find((content) => !known.has(content))
    claim(foreign === undefined, `a record that was never written: ${foreign}`)
    const isRecovered = unlessRefused(() => journal.recover()) !== null
    if (!isRecovered && unlessRefused(() => journal.recover('accept')) === null) return
    const after = readAll(journal)
    const others = after.filter((content) => !known.has(content) && !isSeal(content))
    claim(others.length === 0, `a record that was never written: ${others[0]}`)
    journal.check('bytes')
    unlessRefused(() => readHistory(journal))
    for (const [bytes, contents] of written) {
      const whole = contents.filter(({ end }) => end <= sameStart(bytes, input))
      const first = whole.find(({ content }, nth) => after[nth] !== content)
      if (sameStart(bytes, input) > 200) claim(first === undefined, `gone: ${first?.content}`)
    }
    const list = readSealBytes(journal.folder)
    journal.recover()
    claim(
      list?.equals(readSealBytes(journal.folder) ?? Buffer.alloc(0)) === true,
      'recovered twice',
    )
  }

  /** A segment listed with other bytes. */
  function checkListed(input: Buffer): void {
    const [original = Buffer.alloc(0)] = segments
    put(original)
    rewriteSeals(journal.folder, [])
    journal.recover()
    writeFileSync(join(journal.folder, SEGMENT), input)
    const isTaken = unlessRefused(() => journal.check('bytes')) !== null
    claim(isTaken === input.equals(original), 'a change of a sealed segment was not noticed')
  }

  let nth = 0
  const journalTarget: Target = {
    name: 'journal',
    share: 0.02,
    corpus: segments,
    dictionary: [
      'J2 ',
      'J3 ',
      'J2 0 0 0 00000000\n\n',
      '\n',
      '\0'.repeat(64),
      '{"kind":"seal"}',
      'ffffffff',
    ],
    check(input) {
      checkSegment(input)
      nth += 1
      if (nth % 4 === 0) checkListed(input)
    },
  }

  createSeals(journal.folder)
  const [lists, states] = writtenLists(journal.folder)
  const sealsTarget: Target = {
    name: 'seals',
    share: 0.1,
    corpus: lists,
    dictionary: [
      '\njobtide seals 1',
      '\n',
      '00000000 2 {}',
      '"lost":[]',
      '"bytes":0',
      ' ',
      '(gaps)',
    ],
    check(input) {
      const seals = unlessRefused(() => parseSeals(journal.folder, input))
      for (const sealed of seals?.values() ?? []) {
        claim(states.has(JSON.stringify(sealed)), `never listed: ${JSON.stringify(sealed)}`)
      }
    },
  }
  return {
    targets: [journalTarget, sealsTarget],
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Lists of seals, and the state that the lines of one segment give it. */
function writtenLists(folder: string): [Buffer[], Set<string>] {
  const sealed = (segment: string, bytes: number) => ({ segment, bytes, sha256: 'a'.repeat(64) })
  const segments = ['01', '02', '03'].map((name, nth) => [
    { ...sealed(`${name}.journal`, 100 + nth), held: [] },
    { ...sealed(`${name}.journal`, 0), lost: [], before: null },
  ])
  const lists = [segments.map(([first]) => first!), segments.flat()].map((lines) => {
    rewriteSeals(folder, lines)
    return readSealBytes(folder) ?? Buffer.alloc(0)
  })
  const states = segments.flatMap(([first, second]) =>
    [[first], [second], [first, second], [second, first]].map((lines) => {
      rewriteSeals(
        folder,
        lines.map((line) => line!),
      )
      const [state] = parseSeals(folder, readSealBytes(folder) ?? Buffer.alloc(0)).values()
      return JSON.stringify(state)
    }),
  )
  return [lists, new Set(states)]
}
