/**
 * Containers that share one data directory, each with its own process ids and mounts, so that none can see whether
 * another is alive. One buys while the next waits; the buyer is killed, again and again. If this machine permits no
 * namespaces, they are plain processes, and the test says so.
 */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { realClock } from '../../src/support/clock.ts'
import { CLI, openSite, type Site } from '../helpers/run-cli.ts'
import { rounds } from '../helpers/tier.ts'
import { seededRandom } from '../../src/simulator/random.ts'

const ROUNDS = rounds('JOBTIDE_CONTAINER_ROUNDS', 3, 200)
const ROUNDS_PER_DIRECTORY = 10
const KEYS = ['key-of-a-container', 'key-of-the-other-one'] as const

const UNSHARE = ['-Urpmuf', '--mount-proc', '--kill-child=KILL']
const isPermitted = spawnSync('unshare', [...UNSHARE, 'hostname', 'any']).status === 0

interface Container {
  readonly process: ChildProcess
  readonly key: string
  readonly ended: Promise<unknown>
  readonly stderr: () => string
}

/**
 * Starts `extract` in a container. SIGKILL to its process kills everything in it.
 * @param pace further options
 */
function startContainer(
  site: Site,
  dataDir: string,
  pace: readonly string[],
  [host, key]: readonly [string, string],
): Container {
  const args = [CLI, 'extract', site.pipeline, '--concurrency', '1', '--data-dir', dataDir, ...pace]
  const [command, ...rest] = isPermitted
    ? ['unshare', ...UNSHARE, 'sh', '-c', 'hostname "$0"; exec "$@"', host, process.execPath]
    : [process.execPath]
  const child = spawn(command ?? '', [...rest, ...args], {
    cwd: site.folder,
    env: { PATH: process.env['PATH'], ...site.env, JOBTIDE_API_KEY: key },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let written = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    written += text
  })
  return { process: child, key, ended: once(child, 'exit'), stderr: () => written }
}

async function until(what: () => boolean, why: () => string): Promise<void> {
  const giveUpAt = performance.now() + 60_000
  while (!what()) {
    if (performance.now() > giveUpAt) throw new Error(why())
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The pages with events that the journal of a data directory holds. */
function pagesIn(dataDir: string): string[] {
  const journal = openJournal(join(dataDir, 'journal'), realClock)
  const records = journal.segments().flatMap((name) => [...journal.read(name)])
  return records
    .flatMap(({ record }) =>
      record.kind === 'page_received' && record.events > 0
        ? [`${record.batch_id} ${record.page}`]
        : [],
    )
    .toSorted()
}

/**
 * Kills `kills` containers, each while the next one waits. Returns the milliseconds from each kill to the next request.
 */
async function chain(site: Site, dataDir: string, kills: number, hosts: readonly string[]) {
  const random = seededRandom(kills)
  const log = () => site.simulator.account().log.slice(before)
  const before = site.simulator.account().requests
  const pagesOf = ({ key }: Container) => log().filter((entry) => entry.key === key).length
  const start = (round: number) => {
    // Slow, so that no container has bought everything before it is killed; the last one may be fast.
    const pace = round < kills ? ['--requests-per-second', '1'] : []
    const name = [hosts[round % hosts.length] ?? '', KEYS[round % 2] ?? ''] as const
    return startContainer(site, dataDir, pace, name)
  }
  const tookMs: number[] = []
  let buyer = start(0)
  for (let round = 0; round < kills; round += 1) {
    const asked = pagesOf(buyer)
    await until(() => pagesOf(buyer) > asked, buyer.stderr)
    const next = start(round + 1)
    await until(() => next.stderr().includes('waiting_for_lock'), next.stderr)
    expect(next.stderr()).toContain('is in use by `jobtide extract`')
    await new Promise((resolve) => setTimeout(resolve, 1_000 * random()))
    const askedBefore = pagesOf(next)
    buyer.process.kill('SIGKILL')
    const killedAt = performance.now()
    await buyer.ended
    await until(() => pagesOf(next) > askedBefore, next.stderr)
    tookMs.push(performance.now() - killedAt)
    buyer = next
  }
  await buyer.ended
  expect(buyer.process.exitCode, buyer.stderr()).toBe(0)
  const keys = log().map(({ key }) => key)
  const changes = keys.filter((key, at) => at > 0 && key !== keys[at - 1]).length
  const charged = log().filter(({ credits_used: credits }) => credits > 0).length
  return { tookMs, changes, charged }
}

describe('containers on one data directory', () => {
  const how = isPermitted ? 'namespaces of their own' : 'NO namespaces: none are permitted here'
  it(
    `never buy at the same time, buy no page twice, and continue at once after a SIGKILL: ${ROUNDS} kills, ${how}`,
    { timeout: 60_000 + ROUNDS * 20_000 },
    async () => {
      const site = await openSite({
        companies: 100,
        // Enough pages, so that none has bought all before it is killed.
        events: 1_000 * Math.min(ROUNDS, ROUNDS_PER_DIRECTORY),
        apiKeys: KEYS,
        faults: [{ slow: { delay_ms: 60 }, times: 'always' }],
        pipelineLines: ['limits: { max_wait: 10m }'],
      })
      const clean = join(site.folder, 'clean')
      await chain(site, clean, 0, ['one'])
      const wanted = pagesIn(clean)
      const tookMs: number[] = []
      let inFlight = 0
      for (let done = 0, at = 0; done < ROUNDS; at += 1) {
        const kills = Math.min(ROUNDS_PER_DIRECTORY, ROUNDS - done)
        const dataDir = join(site.folder, `shared-${at}`)
        const hosts = at % 2 === 0 ? ['one', 'other'] : ['same']
        const ended = await chain(site, dataDir, kills, hosts)
        // Each container has one turn, so no two of them bought at the same time.
        expect(ended.changes).toBe(kills)
        const pages = pagesIn(dataDir)
        expect(pages).toEqual(wanted)
        // Charged pages that are not in the journal were in flight at the kill: at most one for each.
        const lost = ended.charged - pages.length
        expect(lost).toBeGreaterThanOrEqual(0)
        expect(lost).toBeLessThanOrEqual(kills)
        inFlight += lost
        tookMs.push(...ended.tookMs)
        done += kills
      }
      const sorted = tookMs.toSorted((a, b) => a - b)
      const median = Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0)
      process.stdout.write(
        `${ROUNDS} kills, ${how}: the next one asks after ${median} ms (median), ${Math.round(sorted.at(-1) ?? 0)} ms (most); ${inFlight} pages were in flight\n`,
      )
    },
  )
})
