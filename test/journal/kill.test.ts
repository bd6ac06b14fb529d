import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { realClock } from '../../src/support/clock.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { RUN, contentOf } from './journal-fixture.ts'

const KILLS = 30
const built = (path: string) => pathToFileURL(join(packageRoot, 'dist', path)).href

/** Appends with 4 workers until it is killed, and prints each page number when its append has resolved. */
const APPENDER = `
  import { writeSync } from 'node:fs'
  import { openJournal } from ${JSON.stringify(built('journal/journal.js'))}
  import { realClock } from ${JSON.stringify(built('support/clock.js'))}
  const [folder, first] = process.argv.slice(2)
  const journal = openJournal(folder, realClock, { segmentBytes: 64 * 1024 })
  journal.recover()
  const writer = journal.writer()
  let next = Number(first)
  const worker = async () => {
    for (;;) {
      const page = next++
      const record = { kind: 'page_received', run_id: ${JSON.stringify(RUN)}, page, requested_at: 0 }
      await writer.append(record, ('body of page ' + page + ' ').repeat(page % 700))
      writeSync(1, page + '\\n')
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
`

/** Runs the appender and kills it some time after its first acknowledgement. Returns what it acknowledged. */
async function appendUntilKilled(script: string, folder: string, first: number, afterMs: number) {
  const child = spawn(process.execPath, [script, folder, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output === '') setTimeout(() => child.kill('SIGKILL'), afterMs)
    output += text
  })
  const signal = await new Promise((resolve) => {
    child.on('close', (_code, killedBy) => resolve(killedBy))
  })
  expect(signal).toBe('SIGKILL')
  const lines = output.slice(0, output.lastIndexOf('\n')).split('\n')
  return lines.map(Number)
}

describe('a process that appends and is killed', () => {
  it(`keeps everything it acknowledged, over ${KILLS} kills of one journal`, async () => {
    const folder = temporaryFolder()
    const script = join(folder, 'appender.mjs')
    writeFileSync(script, APPENDER)
    const journalFolder = join(folder, 'journal')
    const acknowledged: number[] = []
    for (let kill = 0; kill < KILLS; kill += 1) {
      const first = (kill + 1) * 1_000_000
      acknowledged.push(...(await appendUntilKilled(script, journalFolder, first, kill % 10)))
    }
    const journal = openJournal(journalFolder, realClock)
    journal.recover()
    const kept = new Map(
      contentOf(journal).map(({ record, payload }) => {
        if (record.kind !== 'page_received') throw new Error(record.kind)
        return [record.page, payload] as const
      }),
    )
    expect(acknowledged.length).toBeGreaterThan(KILLS)
    expect(acknowledged.filter((page) => !kept.has(page))).toEqual([])
    for (const [page, payload] of kept) {
      expect(payload).toBe(`body of page ${page} `.repeat(page % 700))
    }
    // No more than the 4 appends in flight are there without an acknowledgement.
    expect(kept.size - acknowledged.length).toBeLessThanOrEqual(4 * KILLS)
  })
})
