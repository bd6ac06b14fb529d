/** What keeping a page costs: one record of a page of 50 events, written and synced to the disk before it counts. */

import { fdatasyncSync, mkdtempSync, openSync, closeSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { MIB } from '../../src/support/units.ts'
import { START, aPage, handClock, wireEvent } from '../load/load-fixture.ts'

const PAGES = 2_000
const events = Array.from({ length: 50 }, (_, i) =>
  wireEvent({ person: `per_${i}`, name: `Given Family ${i}`, headline: `Headline number ${i}` }),
)

function print(what: string, seconds: number, pages: number): void {
  const each = ((seconds / pages) * 1_000).toFixed(3)
  process.stdout.write(
    `${what.padEnd(34)} ${Math.round(pages / seconds)} pages/s  ${each} ms a page\n`,
  )
}

async function withFolder(work: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
  try {
    await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('journal', () => {
  it.each([1, 4, 16])(`append + fsync of ${PAGES} pages by %i workers`, (workers) =>
    withFolder(async (folder) => {
      const journal = openJournal(folder, handClock())
      const writer = journal.writer()
      const began = performance.now()
      const work = async (worker: number) => {
        for (let page = worker; page < PAGES; page += workers) {
          const { record, body } = aPage(events, { page: page + 1, at: START + page })
          await writer.append(record, body)
        }
      }
      await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
      print(`append, ${workers} at a time`, (performance.now() - began) / 1_000, PAGES)
      await writer.close()

      const readBegan = performance.now()
      let bytes = 0
      let pages = 0
      for (const name of journal.segments()) {
        for (const frame of journal.read(name)) {
          bytes += frame.payload().length
          if (frame.record.kind === 'page_received') pages += 1
        }
      }
      expect(pages).toBe(PAGES)
      const seconds = (performance.now() - readBegan) / 1_000
      print(`read back (${(bytes / MIB).toFixed(0)} MiB unpacked)`, seconds, PAGES)
    }),
  )

  it('bare write + fdatasync of as many bytes, for comparison', () =>
    withFolder((folder) => {
      const bytes = Buffer.alloc(1_500, 1)
      const file = openSync(join(folder, 'bare'), 'w')
      const began = performance.now()
      for (let page = 0; page < PAGES; page += 1) {
        writeSync(file, bytes)
        fdatasyncSync(file)
      }
      print('bare write + fdatasync', (performance.now() - began) / 1_000, PAGES)
      closeSync(file)
    }))
})
