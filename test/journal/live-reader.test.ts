import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const READ_FOR_MS = 3_000

it('a reader beside a process that writes the journal finds no damage in 3 s of reading', async () => {
  const folder = temporaryFolder()
  const module = (path: string) => JSON.stringify(join(packageRoot, 'dist', path))
  const script = join(folder, 'write.mjs')
  writeFileSync(
    script,
    `
    import { openJournal } from ${module('journal/journal.js')}
    import { realClock } from ${module('support/clock.js')}
    const writer = openJournal(${JSON.stringify(folder)}, realClock).writer()
    const until = Date.now() + ${READ_FOR_MS + 1_000}
    while (Date.now() < until) {
      for (let n = 0; n < 50; n += 1) writer.write({ kind: 'paused', run_id: 'r', at: n, not_before: n, reason: 'x'.repeat(n) }, 'y'.repeat(900))
    }
    await writer.close()`,
  )
  const reader = join(folder, 'read.mjs')
  writeFileSync(
    reader,
    `
    import { openJournal } from ${module('journal/journal.js')}
    import { realClock } from ${module('support/clock.js')}
    const journal = openJournal(${JSON.stringify(folder)}, realClock)
    const until = Date.now() + ${READ_FOR_MS}
    const at = new Map()
    let reads = 0
    while (Date.now() < until) {
      for (const segment of journal.segments()) {
        for (const frame of journal.read(segment, at.get(segment) ?? 0)) at.set(segment, frame.end)
        reads += 1
      }
    }
    process.stdout.write(String(reads))`,
  )
  const run = promisify(execFile)
  const [, { stdout }] = await Promise.all([
    run(process.execPath, [script]),
    run(process.execPath, [reader]),
  ])
  expect(Number(stdout)).toBeGreaterThan(50)
}, 30_000)
