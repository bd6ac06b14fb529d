/**
 * 60 nights of the real command line, each a day later by its own clock and the service's: every fifth with faults on
 * the wire and a SIGKILL. What a process uses and leaves behind must not grow with the number of nights.
 */

import { readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { seededRandom } from '../../src/simulator/random.ts'
import type { Fault } from '../../src/simulator/faults.ts'
import { worldSightings } from '../../src/simulator/world.ts'
import { DAY, HOUR, MIB, SECOND } from '../../src/support/units.ts'
import { clockAhead, done, openSite, worldOf, type RunningCli } from '../helpers/run-cli.ts'

const NIGHTS = Number(process.env['JOBTIDE_SOAK_NIGHTS'] ?? 60)
const EVERY_FIFTH = 5
/** The nights in one row of the table. */
const TEN = 10
const LOOK_MS = 50
const FAULTS: readonly Fault[] = [
  { status: 500, probability: 0.05, seed: 1, times: 'always' },
  { reset: true, probability: 0.03, seed: 2, times: 'always' },
  { cut: '50%', probability: 0.03, seed: 3, times: 'always' },
]

const WORLD = { companies: 300, events: 300_000 }
const FIRST_WINDOW_DAYS = 10
const PIPELINE = `name: test
organizations: organizations.csv
window: since-last
initial_window: ${FIRST_WINDOW_DAYS}
snapshot: { to: snapshots, keep: 5 }
`

/** The peak usage of a process, by sampling. */
interface Taken {
  rss: number
  handles: number
}

/** The peak memory of a process in bytes, and its open handles now; undefined once it has ended. */
function look({ process: child }: RunningCli, taken: Taken): void {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
    const kib = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0)
    taken.rss = Math.max(taken.rss, kib * 1024)
    taken.handles = Math.max(taken.handles, readdirSync(`/proc/${child.pid}/fd`).length)
  } catch {
    // It has ended.
  }
}

/** Runs to its end, or is killed after this many milliseconds. */
async function watched(running: RunningCli, taken: Taken, killAfterMs = Infinity) {
  const startedAt = performance.now()
  let isOver = false
  const ended = running.ended.finally(() => (isOver = true))
  while (!isOver) {
    look(running, taken)
    if (performance.now() - startedAt > killAfterMs) running.process.kill('SIGKILL')
    await Promise.race([pause(LOOK_MS), ended])
  }
  return ended
}

/** Files below a folder, and their bytes. */
function contentOf(folder: string) {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  return { paths, files: paths.length, bytes }
}

it(`${NIGHTS} nights, every fifth with faults and a kill: memory, handles, files and disk stay flat, no event is lost`, async () => {
  const site = await openSite(WORLD)
  writeFileSync(site.pipeline, PIPELINE)
  const snapshots = join(site.dataDir, 'snapshots')
  const random = seededRandom(60)
  let aheadMs = -(NIGHTS >> 1) * DAY
  site.advance(aheadMs)
  const from = Date.now() + aheadMs - FIRST_WINDOW_DAYS * DAY + HOUR
  let to = from
  const start = () =>
    site.start(['run', site.pipeline], { env: { NODE_OPTIONS: clockAhead(aheadMs) } })
  const rows: Record<string, number>[] = []
  let tens = { rss: 0, handles: 0 }
  let kills = 0
  let usualMs = 5 * SECOND
  let began = performance.now()
  let before = { files: 0, bytes: 0 }
  for (let night = 1; night <= NIGHTS; night += 1) {
    const isBad = night % EVERY_FIFTH === 0
    site.simulator.setFaults(isBad ? [...FAULTS] : [])
    if (isBad) {
      const { signal } = await watched(start(), tens, random() * usualMs)
      kills += signal === 'SIGKILL' ? 1 : 0
    }
    to = Date.now() + aheadMs
    const { tookMs } = done(await watched(start(), tens))
    if (!isBad) usualMs = tookMs
    // The store uses this machine's clock, on which no day passes, so its objects are made a day older.
    for (const path of contentOf(snapshots).paths) {
      const { atimeMs, mtimeMs } = statSync(path)
      utimesSync(path, atimeMs / SECOND, (mtimeMs - DAY) / SECOND)
    }
    site.advance(DAY)
    aheadMs += DAY
    if (night % TEN > 0) continue
    const [all, published] = [contentOf(site.dataDir), contentOf(snapshots)]
    const own = { files: all.files - published.files, bytes: all.bytes - published.bytes }
    rows.push({
      nights: night,
      'peak RSS, MiB': Math.round(tens.rss / MIB),
      handles: tens.handles,
      'files added': own.files - before.files,
      'MiB added': Math.round((own.bytes - before.bytes) / MIB),
      'files published': published.files,
      'MiB published': Math.round(published.bytes / MIB),
      's a night': Math.round((performance.now() - began) / SECOND / TEN),
    })
    before = own
    tens = { rss: 0, handles: 0 }
    began = performance.now()
  }
  process.stdout.write(`${tableOf(rows)}\n${kills} kills\n`)
  const range = `detected_at between to_timestamp(${from / SECOND}) and to_timestamp(${to / SECOND})`
  const [found] = await site.query<{ events: number }>(
    `select count(*)::int as events from job_change_events where ${range}`,
  )
  expect(found?.events).toBe(eventsBetween(from, to))
  const env = { NODE_OPTIONS: clockAhead(aheadMs) }
  done(await site.run(['verify'], { env }))
  for (const [what, since, share, more, over] of BOUNDS) {
    const mean = (until: number) => {
      const those = rows.filter(({ nights = 0 }) => nights > until - over && nights <= until)
      return those.reduce((sum, row) => sum + (row[what] ?? 0), 0) / those.length
    }
    expect(mean(NIGHTS), what).toBeLessThanOrEqual(mean(since) * share + more)
  }
  expect(kills).toBeGreaterThan(NIGHTS / EVERY_FIFTH / 2)
}, 3_600_000)

it('an extract of 2 years and 300,000 events takes under 300 MB', async () => {
  const site = await openSite(WORLD)
  const taken = { rss: 0, handles: 0 }
  const { tookMs } = done(await watched(site.start(['extract', site.pipeline]), taken))
  const { charged_pages: pages } = site.simulator.account()
  expect(pages).toBeGreaterThan(5_000)
  process.stdout.write(
    `${pages} pages in ${Math.round(tookMs / SECOND)} s: peak RSS ${Math.round(taken.rss / 1e6)} MB\n`,
  )
  expect(taken.rss).toBeLessThan(300e6)
}, 1_200_000)

/**
 * Compares the last nights with earlier ones: limits for the ratio and the difference, and over how many nights. Delta
 * logs are kept for 30 days, so published files are compared with a night after these. The engine's file grows in steps:
 * by 2 MiB in ten nights, and by 13 in the next ten.
 */
const BOUNDS = [
  ['peak RSS, MiB', 20, 1.15, 32, 10],
  ['handles', 20, 1, 8, 10],
  ['files added', 20, 1, 10, 10],
  ['MiB added', 40, 1.5, 8, 30],
  ['files published', 40, 1.1, 30, 10],
  ['MiB published', 40, 1.3, 4, 10],
] as const

/** Events whose newest version by then was detected in this time, counted from the world. */
function eventsBetween(from: number, to: number): number {
  const newest = new Map<string, number>()
  for (const { event } of worldSightings(worldOf(WORLD))) {
    const at = Date.parse(event.detected_at)
    const { person, organization, event_type: type, changed_at: changed, title } = event
    const key = [person.profile_id, organization.organization_id, type, changed]
    if (type === 'title_change') key.push(title.current ?? '')
    const name = key.join(' ')
    if (at <= to) newest.set(name, Math.max(at, newest.get(name) ?? 0))
  }
  return [...newest.values()].filter((at) => at >= from).length
}

function tableOf(rows: readonly Record<string, number>[]): string {
  const line = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`
  const names = Object.keys(rows[0] ?? {})
  return [
    line(names),
    line(names.map(() => '---')),
    ...rows.map((row) => line(Object.values(row))),
  ].join('\n')
}
