/**
 * Load, build and publish of 10 million events, each as a separate command, then a night of 0.5 % more, and a proof of
 * its snapshot: the time of each, the peak memory of its process, and the peak of additional disk. JOBTIDE_BENCH_EVENTS
 * sets another number. With JOBTIDE_BENCH_FOLDER everything stays in that folder, and a stopped benchmark continues
 * with the same command.
 */

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { saveCheckpoint } from '../../src/journal/read-history.ts'
import { realClock } from '../../src/support/clock.ts'
import { HOUR } from '../../src/support/units.ts'
import { command, inMib, printSlowest, writeJournal } from './command.ts'
import { writeBackfill, writeNight } from './made-journal.ts'

const EVENTS = Number(process.env['JOBTIDE_BENCH_EVENTS'] ?? 10_000_000)
const KEPT = process.env['JOBTIDE_BENCH_FOLDER']
const SIZE = { people: EVENTS / 4, organizations: EVENTS / 250 }
const NIGHT = EVENTS / 200

interface Built {
  readonly full_refresh_reason: string | null
  readonly models: readonly { readonly name: string; readonly duration_ms: number }[]
}

/** @returns why the build was a full refresh; null if it was not */
async function build(name: string, folder: string): Promise<string | null> {
  const built = (await command(name, folder, ['build'])) as Built
  printSlowest(
    built.models.map(({ name: model, duration_ms: ms }) => ({ name: model, seconds: ms / 1_000 })),
  )
  return built.full_refresh_reason
}

/** @returns whether nothing was published because nothing had changed */
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

async function writeNightOf(folder: string): Promise<void> {
  // As a run does at its end.
  saveCheckpoint(openJournal(join(folder, 'data', 'journal'), realClock))
  await writeJournal(folder, (to) => writeNight(to, SIZE, NIGHT))
}

it(
  `loads, builds and publishes ${EVENTS} events, then a night of ${NIGHT}`,
  async () => {
    const folder = KEPT ?? mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
    mkdirSync(folder, { recursive: true })
    const once = async (name: string, work: () => Promise<unknown>) => {
      const done = join(folder, `done-${name.replaceAll(' ', '-')}`)
      if (existsSync(done)) return
      await work()
      writeFileSync(done, '')
    }
    const stages: [string, (name: string) => Promise<unknown>][] = [
      ['backfill', () => writeJournal(folder, (to) => writeBackfill(to, SIZE))],
      ['load', (name) => command(name, folder, ['load'])],
      ['build', async (name) => expect(await build(name, folder)).not.toBeNull()],
      ['publish', (name) => publish(name, folder)],
      ['publish again', async (name) => expect(await publish(name, folder)).toBe(true)],
      ['night', () => writeNightOf(folder)],
      ['load of a night', (name) => command(name, folder, ['load'])],
      ['build of a night', async (name) => expect(await build(name, folder)).toBeNull()],
      ['publish of a night', (name) => publish(name, folder)],
      // Exits with an error if anything is wrong.
      ['verify', (name) => command(name, folder, ['verify', join(folder, 'lake')])],
    ]
    try {
      for (const [name, work] of stages) await once(name, () => work(name))
    } finally {
      if (KEPT === undefined) rmSync(folder, { recursive: true, force: true })
    }
  },
  6 * HOUR,
)
