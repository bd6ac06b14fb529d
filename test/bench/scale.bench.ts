/**
 * Load, build and publish of 10 million events, each a command of its own, then those of a night of 0.5 % more: the time of
 * each, the most memory that its process had, and the most that it had on the disk beyond what lay there.
 *
 * JOBTIDE_BENCH_EVENTS takes another number. JOBTIDE_BENCH_FOLDER keeps what was made in that folder: where it is there, only
 * the night is done, on a copy.
 */

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { saveCheckpoint } from '../../src/journal/read-history.ts'
import { HOUR } from '../../src/support/units.ts'
import { command, inMib, writeJournal } from './command.ts'
import { writeBackfill, writeNight } from './made-journal.ts'

const EVENTS = Number(process.env['JOBTIDE_BENCH_EVENTS'] ?? 10_000_000)
const KEPT = process.env['JOBTIDE_BENCH_FOLDER']
const SIZE = { people: EVENTS / 4, organizations: EVENTS / 250 }
const NIGHT = EVENTS / 200
const SLOWEST_SHOWN = 8

interface Built {
  readonly full_refresh_reason: string | null
  readonly models: readonly { readonly name: string; readonly duration_ms: number }[]
}

/** @returns why the build was a full refresh; null: it was none */
async function stages(folder: string, of: string): Promise<string | null> {
  await command(`load${of}`, folder, ['load'])
  const built = (await command(`build${of}`, folder, ['build'])) as Built
  const slowest = built.models.toSorted((a, b) => b.duration_ms - a.duration_ms)
  for (const { name, duration_ms: ms } of slowest.slice(0, SLOWEST_SHOWN)) {
    process.stdout.write(`    ${name} ${(ms / 1_000).toFixed(1)} s\n`)
  }
  await publish(`publish${of}`, folder)
  return built.full_refresh_reason
}

/** @returns whether nothing was published, because nothing had changed */
async function publish(name: string, folder: string): Promise<boolean> {
  const to = ['--snapshot-to', join(folder, 'lake')]
  const said = await command(name, folder, ['publish', ...to])
  const {
    new_bytes: sent,
    analyst_copy: copy,
    unchanged,
  } = said as {
    unchanged: boolean
    new_bytes: number
    analyst_copy: { duration_ms: number }
  }
  const seconds = (copy.duration_ms / 1_000).toFixed(1)
  process.stdout.write(
    `    of that ${seconds} s for the copy for analysts; ${inMib(sent)} MiB sent\n`,
  )
  return unchanged
}

async function backfill(folder: string): Promise<void> {
  const journal = await writeJournal(folder, (to) => writeBackfill(to, SIZE))
  expect(await stages(folder, '')).not.toBeNull()
  expect(await publish('publish again', folder)).toBe(true)
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
      if (!existsSync(done)) {
        await backfill(whole)
        writeFileSync(done, '')
      }
      if (night !== whole) {
        rmSync(night, { recursive: true, force: true })
        cpSync(whole, night, { recursive: true })
      }
      await writeJournal(night, (to) => writeNight(to, SIZE, NIGHT))
      // Nobody shall wait for what was copied.
      spawnSync('sync')
      expect(await stages(night, ' of a night')).toBeNull()
    } finally {
      rmSync(KEPT === undefined ? folder : night, { recursive: true, force: true })
    }
  },
  6 * HOUR,
)
