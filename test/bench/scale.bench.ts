/**
 * Load, build and publish of 10 million events, each a command of its own, then those of a night of 0.5 % more: the time of
 * each, the most memory that its process had, and the most that it had on the disk beyond what lay there.
 *
 * JOBTIDE_BENCH_EVENTS takes another number. JOBTIDE_BENCH_FOLDER keeps what was made in that folder: where it is there, only
 * the night is done, on a copy.
 */

import { execFile, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openJournal, type Journal } from '../../src/journal/journal.ts'
import { saveCheckpoint } from '../../src/journal/read-history.ts'
import { realClock } from '../../src/support/clock.ts'
import { HOUR, MIB } from '../../src/support/units.ts'
import { writeBackfill, writeNight } from './made-journal.ts'

const EVENTS = Number(process.env['JOBTIDE_BENCH_EVENTS'] ?? 10_000_000)
const KEPT = process.env['JOBTIDE_BENCH_FOLDER']
const SIZE = { people: EVENTS / 4, organizations: EVENTS / 250 }
const NIGHT = EVENTS / 200
const CLI = join(import.meta.dirname, '../../dist/cli.js')
const LOOK_EVERY_MS = 100

const inMib = (bytes: number) => (bytes / MIB).toFixed(0).padStart(7)

/** Bytes that can still be written to the disk of `folder`. */
function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Runs a command on `folder` and prints what it took. @returns what it printed as JSON */
async function stage(name: string, folder: string, args: readonly string[]): Promise<unknown> {
  const report = join(folder, 'peak.txt')
  const hook = `import { writeFileSync } from 'node:fs'
    process.on('exit', () => writeFileSync(${JSON.stringify(report)}, String(process.resourceUsage().maxRSS)))`
  const free = freeBytes(folder)
  let leastFree = free
  const looking = setInterval(() => {
    leastFree = Math.min(leastFree, freeBytes(folder))
  }, LOOK_EVERY_MS)
  const began = performance.now()
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(hook)}`,
      CLI,
      ...args,
      '--json',
      '--data-dir',
      join(folder, 'data'),
    ],
    { maxBuffer: 1_024 * MIB, env: { ...process.env, TMPDIR: join(folder, 'tmp') } },
  )
  const seconds = (performance.now() - began) / 1_000
  clearInterval(looking)
  const peak = Number(readFileSync(report, 'utf8')) * 1_024
  process.stdout.write(
    `${name.padEnd(18)} ${seconds.toFixed(1).padStart(7)} s ${inMib(peak)} MiB of memory ` +
      `${inMib(free - leastFree)} MiB of disk, ${inMib(free - freeBytes(folder))} MiB stay\n`,
  )
  return JSON.parse(stdout)
}

async function stages(folder: string, of: string): Promise<void> {
  await stage(`load${of}`, folder, ['load'])
  await stage(`build${of}`, folder, ['build'])
  await publish(`publish${of}`, folder)
}

async function publish(name: string, folder: string): Promise<void> {
  const to = ['--snapshot-to', join(folder, 'lake')]
  const said = await stage(name, folder, ['publish', ...to])
  const { new_bytes: sent, analyst_copy: copy } = said as {
    new_bytes: number
    analyst_copy: { duration_ms: number }
  }
  const seconds = (copy.duration_ms / 1_000).toFixed(1)
  process.stdout.write(
    `    of that ${seconds} s for the copy for analysts; ${inMib(sent)} MiB sent\n`,
  )
}

type Write = (journal: Journal) => Promise<number>

async function writeJournal(folder: string, write: Write): Promise<Journal> {
  const began = performance.now()
  const journal = openJournal(join(folder, 'data', 'journal'), realClock)
  const events = await write(journal)
  const seconds = (performance.now() - began) / 1_000
  process.stdout.write(`${events} events written to the journal in ${seconds.toFixed(1)} s\n`)
  return journal
}

async function backfill(folder: string): Promise<void> {
  mkdirSync(join(folder, 'tmp'), { recursive: true })
  const journal = await writeJournal(folder, (to) => writeBackfill(to, SIZE))
  await stages(folder, '')
  await publish('publish again', folder)
  // As a run does at its end.
  saveCheckpoint(journal)
}

it(
  `loads, builds and publishes ${EVENTS} events, then a night of ${NIGHT}`,
  async () => {
    const folder = KEPT ?? mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
    const whole = join(folder, 'whole')
    const night = KEPT === undefined ? whole : join(folder, 'night')
    const done = join(folder, 'done')
    try {
      if (!existsSync(done)) await backfill(whole)
      writeFileSync(done, '')
      if (night !== whole) {
        rmSync(night, { recursive: true, force: true })
        cpSync(whole, night, { recursive: true })
      }
      await writeJournal(night, (to) => writeNight(to, SIZE, NIGHT))
      // Nobody shall wait for what was copied.
      spawnSync('sync')
      await stages(night, ' of a night')
    } finally {
      rmSync(KEPT === undefined ? folder : night, { recursive: true, force: true })
    }
    expect(existsSync(folder)).toBe(KEPT !== undefined)
  },
  6 * HOUR,
)
