/**
 * SIGKILL at random moments of `backfill`, and a restart each time. 3 kills, 100 in `npm run test:soak`; JOBTIDE_KILLS
 * and JOBTIDE_KILL_SEED choose others. A chain kills one run repeatedly; from time to time, after a kill during the
 * publish, the run may end and is compared with a run without a kill, and a new data directory begins. The service's
 * clock stands still, so coverage is also equal.
 */

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { readHistory } from '../../src/journal/read-history.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { realClock } from '../../src/support/clock.ts'
import { compareDataDirs } from '../helpers/compare-sites.ts'
import { done, openSite, type RunningCli, type Site } from '../helpers/run-cli.ts'
import { rounds, seedOf } from '../helpers/tier.ts'

const KILLS = rounds('JOBTIDE_KILLS', 3, 100)
const SEED = seedOf('JOBTIDE_KILL_SEED')
// In parallel if there are many.
const CHAINS = KILLS < 50 ? 1 : 3
const CONCURRENCY = 3
const STAGES = ['start', 'extract', 'load', 'build', 'publish', 'close'] as const
type Stage = (typeof STAGES)[number]
const TARGETS = STAGES.slice(0, 5)

/** 150 organisations are 3 batches, so that 3 requests are in flight; a slow service makes them overlap. */
async function openKillSite(): Promise<Site> {
  const standing = { ...realClock, now: () => startedAt }
  const startedAt = Date.now()
  return openSite({
    companies: 150,
    events: 2_000,
    clock: standing,
    faults: [{ slow: { delay_ms: 40 }, times: 'always' }],
  })
}

function backfill(site: Site, dataDir: string): RunningCli {
  const limits = ['--days', 'all', '--concurrency', String(CONCURRENCY)]
  return site.start(['backfill', site.pipeline, ...limits, '--data-dir', dataDir])
}

/** The current stage of a process, from its lines on stderr and, before the first of them, from its journal. */
function stageOf(stderr: string, hasBegun: boolean): Stage {
  const ended = ['publish', 'build', 'load', 'extract'].find((stage) =>
    new RegExp(`^${stage} +100%`, 'm').test(stderr),
  )
  if (ended === undefined) return hasBegun ? 'extract' : 'start'
  return STAGES[STAGES.indexOf(ended as Stage) + 1] ?? 'close'
}

function segmentsIn(dataDir: string): number {
  const folder = join(dataDir, 'journal')
  return existsSync(folder) ? readdirSync(folder).length : 0
}

/** Milliseconds from the start of a process to the start of each stage, from one run without a kill. */
async function cleanRun(site: Site): Promise<{ dataDir: string; startsAt: Map<Stage, number> }> {
  const dataDir = join(site.folder, 'clean')
  const before = performance.now()
  const startsAt = new Map<Stage, number>([['start', 0]])
  const running = backfill(site, dataDir)
  const watch = setInterval(() => {
    const stage = stageOf(running.stderr(), segmentsIn(dataDir) > 0)
    if (!startsAt.has(stage)) startsAt.set(stage, performance.now() - before)
  }, 5)
  done(await running.ended)
  clearInterval(watch)
  return { dataDir, startsAt }
}

/** Kills `running` in the middle of `target`, or as soon as possible after; null if it ended before. */
async function killIn(
  running: RunningCli,
  target: Stage,
  fraction: number,
  startsAt: ReadonlyMap<Stage, number>,
  hasBegun: () => boolean,
): Promise<Stage | null> {
  const begins = startsAt.get(target) ?? 0
  const ends = startsAt.get(STAGES[STAGES.indexOf(target) + 1] ?? 'close') ?? begins
  // A resumed run has less left to buy than the clean one.
  const share = target === 'extract' ? 0.3 : 1
  const delayMs = fraction * share * (ends - begins)
  const isThere = () =>
    STAGES.indexOf(stageOf(running.stderr(), hasBegun())) >= STAGES.indexOf(target)
  while (!isThere() && running.process.exitCode === null) await pause(2)
  await pause(delayMs)
  const stage = stageOf(running.stderr(), hasBegun())
  if (!running.process.kill('SIGKILL')) return null
  const { signal } = await running.ended
  return signal === 'SIGKILL' ? stage : null
}

/** The pages and possible credits in the journal. */
function booked(dataDir: string): { pages: number; credits: number; isClosed: boolean } {
  const runs = [...readHistory(openJournal(join(dataDir, 'journal'), realClock)).runs.values()]
  return {
    pages: runs.reduce((sum, run) => sum + run.pages, 0),
    credits: runs.reduce((sum, run) => sum + run.creditsCommitted, 0),
    isClosed: runs.length > 0 && runs.every((run) => run.finished !== null),
  }
}

// The extraction ends once all pages are bought, so it is the target until then.
function nextTarget(random: () => number, wasExtracted: boolean): Stage {
  if (!wasExtracted && random() < 0.6) return 'extract'
  return TARGETS[Math.floor(random() * TARGETS.length)] ?? 'extract'
}

async function killChain(chain: number, kills: number): Promise<Map<Stage, number>> {
  const site = await openKillSite()
  const clean = await cleanRun(site)
  const cleanPages = site.simulator.account().charged_pages
  const random = seededRandom(SEED + chain)
  const hits = new Map<Stage, number>()
  let killed = 0
  for (let round = 0; killed < kills; round += 1) {
    const dataDir = join(site.folder, `round-${round}`)
    const before = site.simulator.account().charged_pages
    const charged = () => site.simulator.account().charged_pages - before
    let lost = 0
    let killsHere = 0
    let isClosed = false
    let wasExtracted = false
    for (let mayEnd = false; !mayEnd && killed < kills;) {
      const segments = segmentsIn(dataDir)
      const target = nextTarget(random, wasExtracted)
      const running = backfill(site, dataDir)
      const hasBegun = () => segmentsIn(dataDir) > segments
      const stage = await killIn(running, target, random(), clean.startsAt, hasBegun)
      // Requests of the killed process may still reach the service.
      await pause(40)
      const books = booked(dataDir)
      const story = `seed ${SEED}, chain ${chain}, round ${round}, kill ${killsHere + 1} in ${stage}`
      expect(charged() - books.pages - lost, story).toBeLessThanOrEqual(CONCURRENCY)
      expect(books.credits, story).toBeGreaterThanOrEqual(charged() * 10)
      lost = charged() - books.pages
      if (stage !== null) {
        killed += 1
        killsHere += 1
        hits.set(stage, (hits.get(stage) ?? 0) + 1)
      }
      ;({ isClosed } = books)
      wasExtracted ||= stage !== 'start' && stage !== 'extract'
      mayEnd = isClosed || stage === null || (stage === 'publish' && random() < 0.3)
    }
    const story = `seed ${SEED}, chain ${chain}, round ${round}`
    if (!isClosed) {
      const { exitCode, stderr } = await backfill(site, dataDir).ended
      expect(exitCode, `${story}: ${stderr}`).toBe(0)
    }
    expect(charged(), story).toBeLessThanOrEqual(cleanPages + CONCURRENCY * killsHere)
    const sql = 'select sum(credits_used)::int as credits from ops.pages'
    const { stdout } = await site.run(['query', sql, '--json', '--data-dir', dataDir])
    const [ledger] = JSON.parse(stdout) as { credits: number }[]
    expect(ledger?.credits, story).toBeGreaterThanOrEqual(charged() * 10)
    const { different, rows } = await compareDataDirs(clean.dataDir, dataDir)
    expect(different, story).toEqual({})
    expect(rows, story).toBeGreaterThan(5_000)
  }
  return hits
}

describe('backfill under SIGKILL', () => {
  it(`ends like a run without a kill, after ${KILLS} kills in all stages, and no kill costs more than ${CONCURRENCY} pages`, async () => {
    const chains = Array.from({ length: CHAINS }, (_, chain) =>
      killChain(chain, Math.ceil((KILLS - chain) / CHAINS)),
    )
    const hits = new Map<Stage, number>(STAGES.map((stage) => [stage, 0]))
    for (const counted of await Promise.all(chains)) {
      for (const [stage, count] of counted) hits.set(stage, (hits.get(stage) ?? 0) + count)
    }
    const spread = [...hits].map(([stage, count]) => `${stage} ${count}`).join(', ')
    process.stdout.write(`${KILLS} kills, JOBTIDE_KILL_SEED=${SEED}: ${spread}\n`)
    if (KILLS < 50) return
    for (const stage of ['extract', 'load', 'build', 'publish'] as const) {
      expect(hits.get(stage), `${stage} of: ${spread}`).toBeGreaterThan(0)
    }
  }, 600_000)
})
