import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { deserialize } from 'node:v8'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Journal } from '../../src/journal/journal.ts'
import { load } from '../../src/load/load.ts'
import { CHECKPOINT_FILE, readHistory, saveCheckpoint } from '../../src/journal/read-history.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import {
  RUN,
  aBatch,
  aFinish,
  aJournal,
  aPage,
  aRequest,
  aStart,
  onlySegment,
  writeRecords as append,
  type Entry,
} from './journal-fixture.ts'

const checkpointOf = (journal: Journal) => join(journal.folder, CHECKPOINT_FILE)

/** The history as read from the journal without a checkpoint. */
function fromTheBeginning(journal: Journal) {
  rmSync(checkpointOf(journal), { force: true })
  return readHistory(journal)
}

/** The segments whose records a checkpoint has. */
function segmentsIn(path: string): string[] {
  const bytes = readFileSync(path)
  const body = bytes.subarray(bytes.indexOf('\n') + 1)
  return [...(deserialize(body) as { positions: Map<string, number> }).positions.keys()]
}

/** A night in a journal: two batches, one finished, the other perhaps only begun. */
function night(number: number, choices: { isDone: boolean; isLearnt: boolean }): Entry[] {
  const runId = `01JD00000000000000000${String(number).padStart(5, '0')}`
  const at = number * 86_400_000
  const batches = [
    aBatch({ organizations: [{ by: 'url', value: 'acme' }] }),
    aBatch({ batch_id: 's2' }),
  ]
  const request = { run_id: runId, at, requested_at: at, request_id: `${number}.1` }
  const seen = [['org_9', number, 1] as const]
  const names = { run_id: runId, at }
  const entries: Entry[] = [
    [aStart(names), batches],
    [aRequest(1, { ...names, request_id: `${number}.1` })],
    [aPage(1, { ...request, server_at: at + 5, has_more: false, seen })],
    [aFinish({ ...names, pages: 1, covered_from: at - 100, covered_to: at })],
    [aRequest(2, { ...names, request_id: `${number}.2`, batch_id: 's2' })],
  ]
  if (choices.isLearnt) {
    entries.push([
      {
        kind: 'organization_learnt',
        ...names,
        organization: { by: 'url', value: 'acme' },
        organization_id: 'org_9',
      },
    ])
  }
  if (choices.isDone) {
    entries.push([{ kind: 'run_finished', ...names, outcome: 'done', exit_code: 0, message: null }])
  }
  return entries
}

describe('a checkpoint', () => {
  it('written after any of 8 nights gives the same as reading from the beginning', async () => {
    const keeps = fc.constantFrom('no', 'yes', 'from a history read before the last records')
    const choices = fc.record({ isDone: fc.boolean(), isLearnt: fc.boolean(), keeps })
    await fc.assert(
      fc.asyncProperty(fc.array(choices, { minLength: 1, maxLength: 8 }), async (nights) => {
        const journal = aJournal()
        for (const [number, { keeps, ...choice }] of nights.entries()) {
          const entries = night(number + 1, choice)
          const last = keeps.startsWith('from') ? entries.splice(-2) : []
          await append(journal, entries)
          const latest = last.length > 0 ? readHistory(journal) : undefined
          await append(journal, last)
          if (keeps !== 'no') saveCheckpoint(journal, latest)
        }
        const quick = readHistory(journal)
        expect(quick).toEqual(fromTheBeginning(journal))
        expect(quick.runs.size).toBe(nights.length)
      }),
      { numRuns: 60 },
    )
  })

  it('continues in a segment that was not finished when it was written', async () => {
    const journal = aJournal()
    const writer = journal.writer()
    await writer.append(aStart(), JSON.stringify([aBatch()]))
    await writer.append(aPage(1))
    saveCheckpoint(journal)
    await writer.append(aPage(2))
    await writer.close()
    expect(journal.segments()).toHaveLength(1)
    expect([...readHistory(journal).runs.values()]).toMatchObject([{ pages: 2, events: 100 }])
  })

  it('leaves out an open segment, even if the history in memory has its records', async () => {
    const journal = aJournal()
    const writer = journal.writer()
    await writer.append(aStart(), JSON.stringify([aBatch()]))
    const latest = readHistory(journal)
    expect(latest.runs.size).toBe(1)
    saveCheckpoint(journal, latest)
    expect(segmentsIn(checkpointOf(journal))).toEqual([])
    await writer.close()
    saveCheckpoint(journal, latest)
    expect(segmentsIn(checkpointOf(journal))).toEqual(journal.segments())
  })

  it('does not say that a run ended whose end the journal does not have', async () => {
    const journal = aJournal()
    await append(journal, [[aStart(), [aBatch()]]])
    const latest = readHistory(journal)
    const warehouse = await memoryWarehouse()
    onTestFinished(() => warehouse.close())
    const closing = {
      kind: 'run_finished' as const,
      run_id: RUN,
      at: 5,
      outcome: 'done' as const,
      exit_code: 0 as const,
      message: null,
    }
    await load({ warehouse, journal, history: latest, closing })
    // A full disk refuses the record, but has room for the checkpoint.
    saveCheckpoint(journal, latest)
    expect(readHistory(journal).runs.get(RUN)?.finished).toBeNull()
  })

  it('hides damage before it, but not damage after it', async () => {
    const journal = aJournal()
    await append(journal, night(1, { isDone: true, isLearnt: false }))
    const segment = onlySegment(journal)
    saveCheckpoint(journal)
    const bytes = segment.bytes()
    bytes[60] = (bytes[60] ?? 0) ^ 1
    writeFileSync(segment.path, bytes)
    expect(readHistory(journal).runs.size).toBe(1)
    expect(() => fromTheBeginning(journal)).toThrow('is damaged at byte 0')
  })

  const damages: Readonly<Record<string, (journal: Journal) => void>> = {
    'has a changed byte': (journal) => {
      const bytes = readFileSync(checkpointOf(journal))
      bytes[bytes.length - 3] = (bytes.at(-3) ?? 0) ^ 1
      writeFileSync(checkpointOf(journal), bytes)
    },
    'is cut in half': (journal) => {
      truncateSync(
        checkpointOf(journal),
        Math.floor(readFileSync(checkpointOf(journal)).length / 2),
      )
    },
    'is empty': (journal) => truncateSync(checkpointOf(journal), 0),
    'was written by a newer Node.js': (journal) => {
      const body = Buffer.from([0xff, 0xff, 0x01])
      const line = readFileSync(checkpointOf(journal), 'latin1').replace(/\n[^]*$/, '')
      const checksum = crc32(body).toString(16).padStart(8, '0')
      const first = Buffer.from(`${line.replace(/[0-9a-f]{8}$/, checksum)}\n`)
      writeFileSync(checkpointOf(journal), Buffer.concat([first, body]))
    },
    'is of another format': (journal) => {
      const text = readFileSync(checkpointOf(journal), 'latin1')
      writeFileSync(
        checkpointOf(journal),
        text.replace(/^jobtide history \d+/, 'jobtide history 0'),
        'latin1',
      )
    },
  }
  it.each(Object.keys(damages))('that %s is ignored', async (what) => {
    const journal = aJournal()
    await append(journal, night(1, { isDone: false, isLearnt: true }))
    const expected = readHistory(journal)
    saveCheckpoint(journal)
    damages[what]?.(journal)
    expect(readHistory(journal)).toEqual(expected)
  })

  it('does not hide that its segment was lost since, in whole or in part', async () => {
    const journal = aJournal()
    await append(journal, night(1, { isDone: true, isLearnt: false }))
    saveCheckpoint(journal)
    const { path, bytes } = onlySegment(journal)
    truncateSync(path, bytes().length - 400)
    expect(() => readHistory(journal)).toThrow('not the')
    rmSync(path)
    expect(() => readHistory(journal)).toThrow('is gone')
    journal.recover('accept')
    expect([...readHistory(journal).runs.values()]).toMatchObject([{ isIncomplete: true }])
  })

  it('is not written for a journal without records', () => {
    const journal = aJournal()
    saveCheckpoint(journal)
    expect(existsSync(checkpointOf(journal))).toBe(false)
  })
})

it('names the newest of 3 suppression lists in 2 segments', async () => {
  const list = (generation: number): Entry => [
    { kind: 'suppression_changed', at: generation, generation, mac: `mac ${generation}` },
  ]
  const journal = aJournal()
  expect(readHistory(journal).suppression).toBeNull()
  await append(journal, [[aStart(), [aBatch()]], list(1)])
  await append(journal, [list(3), list(2)])
  expect(readHistory(journal).suppression?.generation).toBe(3)
})
