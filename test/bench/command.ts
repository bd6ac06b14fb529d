/** Runs commands of Jobtide as processes, and measures them. */

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openJournal, type Journal } from '../../src/journal/journal.ts'
import { realClock } from '../../src/support/clock.ts'
import { MIB } from '../../src/support/units.ts'

const CLI = join(import.meta.dirname, '../../dist/cli.js')
const LOOK_EVERY_MS = 100

export const inMib = (bytes: number) => (bytes / MIB).toFixed(0).padStart(7)

/** Free bytes on the disk of `folder`. */
function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/**
 * Runs a command on the data directory `<folder>/data`, and prints its time, the peak memory of its process, and the
 * peak of additional disk.
 * @param env added to the environment of this process
 * @returns its JSON output; its stderr is in `<folder>/stderr.txt`
 */
export async function command(
  name: string,
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  mkdirSync(join(folder, 'tmp'), { recursive: true })
  const report = join(folder, 'peak.txt')
  const hook = `import { writeFileSync } from 'node:fs'
    process.on('exit', () => writeFileSync(${JSON.stringify(report)}, String(process.resourceUsage().maxRSS)))`
  const free = freeBytes(folder)
  let leastFree = free
  const looking = setInterval(() => {
    leastFree = Math.min(leastFree, freeBytes(folder))
  }, LOOK_EVERY_MS)
  const began = performance.now()
  const { stdout, stderr } = await promisify(execFile)(
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
    { maxBuffer: 1_024 * MIB, env: { ...process.env, TMPDIR: join(folder, 'tmp'), ...env } },
  ).finally(() => clearInterval(looking))
  const seconds = (performance.now() - began) / 1_000
  writeFileSync(join(folder, 'stderr.txt'), stderr)
  const peak = Number(readFileSync(report, 'utf8')) * 1_024
  process.stdout.write(
    `${name.padEnd(18)} ${seconds.toFixed(1).padStart(7)} s ${inMib(peak)} MiB of memory ` +
      `${inMib(free - leastFree)} MiB of disk, ${inMib(free - freeBytes(folder))} MiB stay\n`,
  )
  return JSON.parse(stdout)
}

type Write = (journal: Journal) => Promise<number>

/** Writes into the journal of a data directory, and prints how long that took. */
export async function writeJournal(folder: string, write: Write): Promise<Journal> {
  const began = performance.now()
  const journal = openJournal(join(folder, 'data', 'journal'), realClock)
  const events = await write(journal)
  const seconds = (performance.now() - began) / 1_000
  process.stdout.write(`${events} events written to the journal in ${seconds.toFixed(1)} s\n`)
  return journal
}

const SLOWEST_SHOWN = 8

/** Prints the models that took longest. */
export function printSlowest(
  models: readonly { readonly name: string; readonly seconds: number }[],
) {
  const slowest = models.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_SHOWN)
  for (const { name, seconds } of slowest) {
    process.stdout.write(`    ${name} ${seconds.toFixed(1)} s\n`)
  }
}
