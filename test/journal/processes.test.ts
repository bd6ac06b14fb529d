/** Two processes and one journal: a reader and a writer. */

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const READ_FOR_MS = 1_500

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

describe('a journal', () => {
  it('shows no damage to a process that reads it for 1.5 s while another writes', async () => {
    const folder = temporaryFolder()
    const run = (name: string, text: string, ms: number) =>
      promisify(execFile)(process.execPath, [program(folder, name, text), folder, String(ms)])
    const [, { stdout }] = await Promise.all([
      run('write', WRITER, READ_FOR_MS + 500),
      run('read', READER, READ_FOR_MS),
    ])
    expect(Number(stdout)).toBeGreaterThan(20)
  }, 30_000)
})
