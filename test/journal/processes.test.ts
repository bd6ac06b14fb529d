/** Two processes and one journal: a writer that is killed, and a reader beside a writer. */

import { execFile, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { realClock } from '../../src/support/clock.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { rounds } from '../helpers/tier.ts'
import { contentOf } from './journal-fixture.ts'

const KILLS = rounds('JOBTIDE_KILLS', 10, 30)
const READ_FOR_MS = 3_000

/** Writes a program that has `openJournal`, `realClock` and its arguments; returns its path. */
function program(folder: string, name: string, text: string): string {
  const path = join(folder, `${name}.mjs`)
  const built = (file: string) =>
    JSON.stringify(pathToFileURL(join(packageRoot, 'dist', file)).href)
  const imports = `import { openJournal } from ${built('journal/journal.js')}
    import { realClock } from ${built('support/clock.js')}
    const [folder, argument] = process.argv.slice(2)`
  writeFileSync(path, `${imports}\n${text}`)
  return path
}

/** Appends with 4 workers until it is killed, and prints each page number when its append has resolved. */
const APPENDER = `
  import { writeSync } from 'node:fs'
  const journal = openJournal(folder, realClock, { segmentBytes: 64 * 1024 })
  journal.recover()
  const writer = journal.writer()
  let next = Number(argument)
  const worker = async () => {
    for (;;) {
      const page = next++
      const record = { kind: 'page_received', run_id: 'r', page, requested_at: 0 }
      await writer.append(record, ('body of page ' + page + ' ').repeat(page % 700))
      writeSync(1, page + '\\n')
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
`
const WRITER = `
  const writer = openJournal(folder, realClock).writer()
  const until = Date.now() + Number(argument)
  while (Date.now() < until) {
    for (let n = 0; n < 50; n += 1) writer.write({ kind: 'paused', run_id: 'r', at: n, not_before: n, reason: 'x'.repeat(n) }, 'y'.repeat(900))
  }
  await writer.close()`
const READER = `
  const journal = openJournal(folder, realClock)
  const until = Date.now() + Number(argument)
  const at = new Map()
  let reads = 0
  while (Date.now() < until) {
    for (const segment of journal.segments()) {
      for (const frame of journal.read(segment, at.get(segment) ?? 0)) at.set(segment, frame.end)
      reads += 1
    }
  }
  process.stdout.write(String(reads))`

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
  return output.slice(0, output.lastIndexOf('\n')).split('\n').map(Number)
}

describe('a journal', () => {
  it(`keeps everything that its writer acknowledged, over ${KILLS} kills`, async () => {
    const folder = temporaryFolder()
    const script = program(folder, 'appender', APPENDER)
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

  it('shows no damage to a process that reads it for 3 s while another writes', async () => {
    const folder = temporaryFolder()
    const run = (name: string, text: string, ms: number) =>
      promisify(execFile)(process.execPath, [program(folder, name, text), folder, String(ms)])
    const [, { stdout }] = await Promise.all([
      run('write', WRITER, READ_FOR_MS + 1_000),
      run('read', READER, READ_FOR_MS),
    ])
    expect(Number(stdout)).toBeGreaterThan(50)
  }, 30_000)
})
