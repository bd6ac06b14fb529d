/** Loading 200,000 events from a journal, and again, when nothing is new. */

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal, type Journal } from '../../src/journal/journal.ts'
import { load } from '../../src/load/load.ts'
import { DAY, MIB } from '../../src/support/units.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { START, aPage, aBatch, handClock, startRun, wireEvent } from '../load/load-fixture.ts'

const EVENTS = 200_000
const PAGE = 50
const TYPES = ['joined', 'left', 'title_change'] as const

function* pagesOfEvents() {
  for (let from = 0; from < EVENTS; from += PAGE) {
    yield Array.from({ length: PAGE }, (_, i) => {
      const n = from + i
      return wireEvent({
        person: `per_${(n * 7_919) % 90_000}`,
        organization: `org_${n % 2_000}`,
        type: TYPES[n % 3]!,
        changedAt: START - (n % 700) * DAY,
        detectedAt: START - (n % 300) * DAY,
        title: `Senior Engineer ${n % 5_000}`,
        name: `Given${n % 3_000} Family${n % 7_000}`,
        headline: `Headline of about the usual length, number ${n}`,
        organizationName: `Organisation ${n % 2_000}`,
      })
    })
  }
}

async function writeJournal(folder: string): Promise<Journal> {
  const journal = openJournal(join(folder, 'journal'), handClock())
  const writer = journal.writer()
  startRun(writer, [aBatch()])
  let page = 0
  for (const events of pagesOfEvents()) {
    page += 1
    const { record, body } = aPage(events, { page, at: START + page })
    writer.write(record, body)
  }
  await writer.close()
  return journal
}

async function timed(
  path: string,
  work: (warehouse: Warehouse) => Promise<unknown>,
): Promise<number> {
  const warehouse = await openWarehouse({ path, mode: 'write' })
  const began = performance.now()
  await work(warehouse)
  const seconds = (performance.now() - began) / 1_000
  warehouse.close()
  return seconds
}

describe('load', () => {
  it(`${EVENTS} events from a journal`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
    try {
      const journal = await writeJournal(folder)
      const bytes = journal
        .segments()
        .reduce((sum, name) => sum + statSync(join(journal.folder, name)).size, 0)
      const path = join(folder, 'load.duckdb')
      const first = await timed(path, async (warehouse) => {
        expect(await load({ warehouse, journal })).toMatchObject({ sightings: EVENTS })
      })
      const again = await timed(path, (warehouse) => load({ warehouse, journal }))
      const rate = Math.round(EVENTS / first).toLocaleString('en')
      process.stdout.write(`journal               ${(bytes / MIB).toFixed(0)} MiB\n`)
      process.stdout.write(`load                  ${first.toFixed(2)} s  ${rate} events/s\n`)
      process.stdout.write(`load again            ${(again * 1_000).toFixed(0)} ms\n`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
