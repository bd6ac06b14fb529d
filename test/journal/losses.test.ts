import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readHistory, saveCheckpoint } from '../../src/journal/read-history.ts'
import { monthlyCredits } from '../../src/journal/spending.ts'
import { appendSeal, createSeals, parseSeals, sealsPath } from '../../src/journal/seals.ts'
import type { Journal } from '../../src/journal/journal.ts'
import type { JournalRecord } from '../../src/journal/records.ts'
import { sha256Hex } from '../../src/support/hash.ts'
import { DAY, KIB } from '../../src/support/units.ts'
import {
  RUN,
  aBatch,
  aFinish,
  aJournal,
  aPage,
  aRequest,
  aStart,
  writeRecords as segment,
  type Entry,
} from './journal-fixture.ts'

const AT = Date.UTC(2026, 10, 20, 2)
/** A text of 2 KiB that does not compress. */
const bodyOf = (page: number) =>
  Array.from({ length: 32 }, (_, i) => sha256Hex(`${page} ${i}`)).join('')

/** Pages of a batch: each is requested, costs 10 and holds 50 events. */
function pages(batchId: string, ...numbers: readonly number[]): Entry[] {
  return numbers.flatMap((page): Entry[] => {
    const names = { batch_id: batchId, request_id: `${batchId}.${page}` }
    return [
      [aRequest(page, { ...names, at: AT })],
      [aPage(page, { ...names, requested_at: AT, at: AT, server_at: AT }), bodyOf(page)],
    ]
  })
}

function finished(batchId: string, count: number): Entry {
  const of = { batch_id: batchId, organizations: [{ by: 'id', value: `org_${batchId}` } as const] }
  return [aFinish({ batch_id: batchId, at: AT, pages: count, covered_to: AT }), aBatch(of)]
}

const batches = ['s1', 's2'].map((id) =>
  aBatch({ batch_id: id, days_ago: null, organizations: [{ by: 'id', value: `org_${id}` }] }),
)
const begin: Entry = [aStart({ at: AT, batches: 2 }), batches]
const resumed: Entry = [{ kind: 'run_resumed', run_id: RUN, at: AT + 1 }]
const end: Entry = [
  { kind: 'run_finished', run_id: RUN, at: AT + 2, outcome: 'done', exit_code: 0, message: null },
]

/** A run that was killed after 6 pages and continued in a second segment: two batches, of 5 and 3 pages. */
async function twoSegments() {
  const journal = aJournal()
  const first = await segment(journal, [begin, ...pages('s1', 1, 2, 3, 4), ...pages('s2', 1, 2)])
  const second = await segment(journal, [
    resumed,
    ...pages('s1', 5),
    finished('s1', 5),
    ...pages('s2', 3),
    finished('s2', 3),
    end,
  ])
  return { journal, first, second }
}

/** Truncates a file in the middle of the body of its last whole page, so that `left` records stay whole. */
function cutTo(journal: Journal, path: string, records: number): void {
  const name = path.slice(journal.folder.length + 1)
  truncateSync(path, ([...journal.read(name)][records - 1]?.end ?? 0) + 7)
}

/** Loses segments and accepts the loss. */
function lose(journal: Journal, ...paths: readonly string[]): string[] {
  for (const path of paths) rmSync(path)
  return journal.recover('accept')
}

/** Removes the last line of the list of two segments. */
function unlistSecond(journal: Journal): void {
  const path = sealsPath(journal.folder)
  writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(0, 2).join('\n'))
}

function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(path, bytes)
}

/** The ids of runs, and whether each lost records. */
const runsIn = (journal: Journal) =>
  [...readHistory(journal).runs].map(([id, { isIncomplete }]) => [id, isIncomplete])
const otherRun = (number: number) => `${RUN.slice(0, -1)}${number}`
const coveredIn = (journal: Journal) => [...readHistory(journal).coverage.keys()]
const creditsIn = (journal: Journal) => [
  readHistory(journal).runs.get(RUN)?.creditsCommitted,
  monthlyCredits(readHistory(journal).spending, 'nightly').get('2026-11'),
]

describe('a sealed segment', () => {
  it('that is missing is reported with its pages, events and credits, and stops every reader', async () => {
    const { journal, first } = await twoSegments()
    rmSync(first)
    const lost = `journal segment ${first} is gone; lost with it: 6 pages with 300 events for 60 credits (run ${RUN})`
    for (const read of [readHistory, saveCheckpoint, (one: Journal) => one.recover()]) {
      expect(() => read(journal)).toThrow(
        expect.objectContaining({ name: 'JournalLossError', exitCode: 9, message: lost }),
      )
    }
    expect(journal.segments()).toHaveLength(1)
  })

  it('that was truncated is reported with only the lost pages, and recover() leaves it unchanged', async () => {
    const { journal, first } = await twoSegments()
    const { length } = readFileSync(first)
    cutTo(journal, first, 7)
    const bytes = readFileSync(first)
    expect(() => journal.recover()).toThrow(
      `has ${bytes.length} bytes, not the ${length} it was sealed with; lost with it: 3 pages with 150 events for 30 credits (run ${RUN})`,
    )
    expect(readFileSync(first)).toEqual(bytes)
  })

  it('that was zeroed at its end has no seal; a changed byte in the middle is found once all bytes are hashed', async () => {
    const { journal, first, second } = await twoSegments()
    flipByte(first, 1_500)
    expect(journal.check('ends').segments).toBe(2)
    expect(() => journal.check('bytes')).toThrow('does not hold the bytes it was sealed with')
    const zeroed = readFileSync(second)
    writeFileSync(second, zeroed.fill(0, zeroed.length - 20))
    expect(() => readHistory(journal)).toThrow('does not end with its seal')
    rmSync(journal.folder, { recursive: true })
    expect(() => readHistory(journal)).toThrow(/is gone.* is gone/s)
  })

  it('is found damaged after each of 300 losses: truncated, zeroed at the end or for 4 KiB, deleted', async () => {
    const journals: Journal[] = []
    for (const count of [1, 3]) {
      const journal = aJournal()
      for (let number = 0; number < count; number += 1) {
        await segment(journal, [number === 0 ? begin : resumed, ...pages('s1', 1, 2, 3, 4, 5, 6)])
      }
      journals.push(journal)
    }
    const share = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
    const how = fc.constantFrom('cut', 'zero-end', 'zero-page', 'delete')
    fc.assert(
      fc.property(
        fc.constantFrom(...journals),
        share,
        share,
        how,
        (journal, which, where, what) => {
          const names = journal.segments()
          const path = join(journal.folder, names[Math.floor(which * names.length)]!)
          const whole = readFileSync(path)
          const at = Math.floor(where * whole.length)
          const pageAt = Math.floor(at / (4 * KIB)) * 4 * KIB
          const zeroed = (from: number, to = whole.length) => Buffer.from(whole).fill(0, from, to)
          if (what === 'cut') truncateSync(path, at)
          if (what === 'zero-end') writeFileSync(path, zeroed(at))
          if (what === 'zero-page') {
            writeFileSync(path, zeroed(pageAt, Math.min(pageAt + 4 * KIB, whole.length)))
          }
          if (what === 'delete') rmSync(path)
          try {
            expect(() => journal.check('bytes')).toThrow(expect.objectContaining({ exitCode: 9 }))
            // Size and seal show every loss except one in the middle.
            if (what !== 'zero-page') {
              expect(() => journal.check()).toThrow(expect.objectContaining({ exitCode: 9 }))
            }
          } finally {
            writeFileSync(path, whole)
          }
          expect(journal.check('bytes').segments).toBe(names.length)
        },
      ),
      { numRuns: 300, seed: 15 },
    )
  })
})

describe('an accepted loss', () => {
  it('of the older segment voids both batches with pages in it, and keeps its 60 credits', async () => {
    const { journal, first } = await twoSegments()
    expect(coveredIn(journal)).toEqual(['org_s1', 'org_s2'])
    expect(creditsIn(journal)).toEqual([80, 80])
    saveCheckpoint(journal)
    const said = expect.stringContaining('is gone; accepted as lost: 6 pages') as unknown
    expect(lose(journal, first)).toEqual([said])
    expect(coveredIn(journal)).toEqual([])
    expect(creditsIn(journal)).toEqual([80, 80])
    expect(journal.check('bytes').losses.size).toBe(1)
    saveCheckpoint(journal)
    expect([coveredIn(journal), creditsIn(journal)]).toEqual([[], [80, 80]])
    expect(journal.recover('accept')).toEqual([])
  })

  it('after the last page of a batch leaves that batch covered', async () => {
    const journal = aJournal()
    const s1 = [...pages('s1', 1, 2), finished('s1', 2)]
    const first = await segment(journal, [begin, ...s1, ...pages('s2', 1)])
    await segment(journal, [resumed, ...pages('s2', 2), finished('s2', 2), end])
    cutTo(journal, first, 7)
    journal.recover('accept')
    expect(coveredIn(journal)).toEqual(['org_s1'])
    expect(creditsIn(journal)).toEqual([40, 40])
    // The rest is sealed and listed, so every reader accepts it.
    expect(journal.check('bytes').segments).toBe(2)
  })

  it('of pages that were read twice voids the batch, although the first reading is intact', async () => {
    const journal = aJournal()
    await segment(journal, [begin, ...pages('s1', 1, 2, 3)])
    const second = await segment(journal, [resumed, ...pages('s1', 2, 3)])
    await segment(journal, [resumed, ...pages('s1', 4), finished('s1', 4), end])
    expect(coveredIn(journal)).toEqual(['org_s1'])
    lose(journal, second)
    expect(coveredIn(journal)).toEqual([])
  })

  it('counts a request once if its answer, or the request itself, is lost with a segment', async () => {
    for (const lost of [0, 1]) {
      const journal = aJournal()
      const [request, page] = pages('s1', 1) as [Entry, Entry]
      const paths = [
        await segment(journal, [begin, request]),
        await segment(journal, [page, ...pages('s1', 2)]),
      ]
      expect(creditsIn(journal)).toEqual([20, 20])
      lose(journal, paths[lost]!)
      expect(creditsIn(journal)).toEqual([20, 20])
    }
  })

  it('covers no batch with a missing page, whatever the list says', async () => {
    const journal = aJournal()
    await segment(journal, [begin, ...pages('s1', 1, 3), finished('s1', 3)])
    await segment(journal, [resumed, ...pages('s2', 1, 2), finished('s2', 2), end])
    expect(coveredIn(journal)).toEqual(['org_s2'])
    expect(readHistory(journal).runs.get(RUN)?.batchesDone).toBe(1)
  })

  it('of the list of seals lists the segments again, and names the run whose beginning was lost', async () => {
    const { journal, first } = await twoSegments()
    rmSync(sealsPath(journal.folder))
    expect(() => readHistory(journal)).toThrow(/journal\.seals is missing/)
    await expect(segment(journal, [begin])).rejects.toThrow(/journal\.seals is missing/)
    lose(journal, first)
    expect(runsIn(journal)).toEqual([[RUN, true]])
    expect([coveredIn(journal), readHistory(journal).runs.get(RUN)?.creditsCommitted]).toEqual([
      [],
      20,
    ])
    await segment(journal, [[aStart({ run_id: otherRun(1), at: AT + DAY }), batches]])
    expect(journal.check('bytes').segments).toBe(2)
  })

  it('ends every run that had begun before, and none that begins later', async () => {
    const { journal, second } = await twoSegments()
    const open = { run_id: otherRun(1), at: AT, pipeline: 'weekly' }
    await segment(journal, [[aStart(open), batches]])
    lose(journal, second)
    await segment(journal, [[aStart({ run_id: otherRun(2), at: AT + DAY }), batches]])
    expect(runsIn(journal)).toEqual([
      [RUN, true],
      [otherRun(1), true],
      [otherRun(2), false],
    ])
  })

  it('of a damaged, unlisted segment is reported with its byte, and voids the run whose 4 later pages it cuts off', async () => {
    for (const isListed of [true, false]) {
      const { journal, second } = await twoSegments()
      // Its process was killed; or the list is rebuilt.
      if (isListed) unlistSecond(journal)
      else rmSync(sealsPath(journal.folder))
      const at = [...journal.read(basename(second))][3]!.end
      flipByte(second, at + 10)
      expect(() => journal.recover()).toThrow(expect.objectContaining({ exitCode: 9 }))
      const said = journal.recover('accept')
      expect(said.at(-1)).toMatch(`journal segment ${second} is damaged at byte ${at}: `)
      expect(said.at(-1)).toContain('credits that were charged for it cannot be counted')
      expect(readHistory(journal).runs.get(RUN)).toMatchObject({ isIncomplete: true, pages: 7 })
      expect(coveredIn(journal)).toEqual(['org_s1'])
      expect(journal.check('bytes').segments).toBe(2)
      expect(journal.recover('accept')).toEqual([])
    }
  })

  it('of the list and the plan of a batch leaves a readable journal, and the batch is not covered', async () => {
    const part = aBatch({ batch_id: 's1.1' })
    const split = { kind: 'batch_split', run_id: RUN, batch_id: 's1', at: AT, reason: 'x' } as const
    const plans: Entry[] = [
      [resumed[0], [part]],
      [split, { batch: batches[0], instead: [part] }],
    ]
    for (const plan of plans) {
      const journal = aJournal()
      await segment(journal, [begin])
      const second = await segment(journal, [plan])
      await segment(journal, [...pages('s1.1', 1, 2), finished('s1.1', 2)])
      lose(journal, second, sealsPath(journal.folder))
      expect([coveredIn(journal), creditsIn(journal)]).toEqual([[], [20, 20]])
      expect(runsIn(journal)).toEqual([[RUN, true]])
    }
  })

  it('of the beginnings of three runs, accepted one at a time, keeps the ids of all', async () => {
    const journal = aJournal()
    const list = sealsPath(journal.folder)
    const ids = [RUN, otherRun(1), otherRun(2)]
    for (const run_id of ids) {
      const listed = existsSync(list) ? readFileSync(list) : null
      const first = await segment(journal, [[aStart({ run_id, at: AT }), batches]])
      await segment(journal, [[{ kind: 'run_resumed', run_id, at: AT }]])
      // The list is gone, or it only lacks a line that was lost together with its segment.
      if (run_id === otherRun(2)) writeFileSync(list, listed!)
      else rmSync(list)
      lose(journal, first)
    }
    expect([...readHistory(journal).runs.keys()]).toEqual(ids)
    const bytes = readFileSync(list)
    journal.recover('accept')
    expect(readFileSync(list)).toEqual(bytes)
  })

  it('is revoked if the segment is found again', async () => {
    const { journal, first } = await twoSegments()
    const bytes = readFileSync(first)
    lose(journal, first)
    writeFileSync(first, bytes)
    expect(() => readHistory(journal)).toThrow('is back after its loss was accepted')
    journal.recover('accept')
    expect([coveredIn(journal), creditsIn(journal)]).toEqual([
      ['org_s1', 'org_s2'],
      [80, 80],
    ])
  })
})

describe('the list of seals', () => {
  it('with any byte changed is damaged or of a newer version, or gives the same segments after recovery', async () => {
    const { journal } = await twoSegments()
    const path = sealsPath(journal.folder)
    const whole = readFileSync(path)
    const before = journal.check('bytes')
    let damaged = 0
    for (let at = 0; at < whole.length; at += 7) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] ?? 0) ^ 4
      writeFileSync(path, changed)
      try {
        journal.recover()
        expect(journal.check('bytes')).toEqual(before)
      } catch (error) {
        const isVersion = at === whole.indexOf('\n') - 1
        const [name, exitCode] = isVersion ? ['ConfigError', 2] : ['SealListError', 9]
        expect(error).toMatchObject({ name, exitCode })
        damaged += 1
      }
    }
    expect(damaged).toBeGreaterThan(whole.length / 7 - 12)
  })

  it('torn at any byte of its last line is completed by recover()', async () => {
    const { journal } = await twoSegments()
    const path = sealsPath(journal.folder)
    const whole = readFileSync(path)
    const lastAt = whole.lastIndexOf('\n', whole.length - 2) + 1
    for (let length = lastAt; length < whole.length; length += 13) {
      writeFileSync(path, whole.subarray(0, length))
      journal.recover()
      expect(journal.check('bytes').segments).toBe(2)
    }
  })

  it('keeps its line whole after another process failed in the middle of a line on a full disk', async () => {
    const { journal } = await twoSegments()
    const path = sealsPath(journal.folder)
    const names = journal.segments()
    const before = readFileSync(path)
    appendSeal(journal.folder, { segment: names[1]!, before: null })
    const line = readFileSync(path).subarray(before.length)
    for (let length = 1; length < line.length; length += 1) {
      // The other process writes between this one's check of the file and its write.
      writeFileSync(path, Buffer.concat([before, line.subarray(0, length), line]))
      expect(journal.check('bytes').segments).toBe(2)
      expect([...parseSeals(journal.folder, readFileSync(path)).keys()]).toEqual(names)
    }
  })

  it('that lost its last line together with that segment is found incomplete by the checkpoint', async () => {
    const { journal, second } = await twoSegments()
    saveCheckpoint(journal)
    unlistSecond(journal)
    rmSync(second)
    journal.recover()
    const unnamed = `no longer names ${basename(second)}, which is gone`
    expect(() => readHistory(journal)).toThrow(unnamed)
    // A killed process left another segment: as many are listed as before.
    const writer = journal.writer()
    writer.write(...(resumed as [JournalRecord]))
    journal.recover()
    expect(() => readHistory(journal)).toThrow(unnamed)
    journal.recover('accept')
    expect([coveredIn(journal), creditsIn(journal)]).toEqual([[], [60, 60]])
  })

  it('is created once: a second process does not empty it', async () => {
    const { journal } = await twoSegments()
    createSeals(journal.folder)
    expect(journal.check('bytes').segments).toBe(2)
  })

  it('that is older than the folder, as after a kill between seal and line or in a backup, is completed: nothing is lost', async () => {
    const { journal } = await twoSegments()
    const path = sealsPath(journal.folder)
    const whole = readFileSync(path, 'utf8')
    saveCheckpoint(journal)
    unlistSecond(journal)
    expect(coveredIn(journal)).toEqual(['org_s1', 'org_s2'])
    journal.recover()
    expect(readFileSync(path, 'utf8')).toBe(whole)
    expect(creditsIn(journal)).toEqual([80, 80])
  })
})
