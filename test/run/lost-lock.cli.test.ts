/** The lock of a data directory is removed by hand while a process holds it, and a second process takes a new one. */

import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { done, openSite, type CliResult, type Site } from '../helpers/run-cli.ts'

const CONCURRENCY = 2

/** A slow service of 3 batches, so that a run always has requests in flight when its lock is lost. */
async function beginInSlowSite() {
  const faults = [{ slow: { delay_ms: 120 }, times: 'always' as const }]
  const site = await openSite({ companies: 150, events: 600, faults })
  const first = site.start(['extract', site.pipeline, '--concurrency', String(CONCURRENCY)])
  while (site.simulator.account().requests < 4) await pause(10)
  return { site, first }
}

function expectLockedOut({ exitCode, stderr }: CliResult, dataDir: string): void {
  expect(exitCode, stderr).toBe(8)
  const file = join(dataDir, 'locks', 'work.duckdb')
  expect(stderr).toContain(`${file} was removed or replaced while this process worked`)
}

/** Pages in the journal, each once. */
async function pagesKept(site: Site, ...place: readonly string[]): Promise<number> {
  done(await site.call(['load', ...place]))
  const sql = `select count(distinct (batch_id, page))::int as pages from ops.pages where events > 0`
  const [row] = await site.json<[{ pages: number }]>('query', sql, ...place)
  return row.pages
}

it(`a run whose locks are removed exits with 8 before its next request: a second run buys at most the ${CONCURRENCY} pages in flight again`, async () => {
  const { site, first } = await beginInSlowSite()
  rmSync(join(site.dataDir, 'locks'), { recursive: true })
  const second = done(await site.run(['extract', site.pipeline, '--json']))
  expectLockedOut(await first.ended, site.dataDir)
  const { extract } = JSON.parse(second.stdout) as { extract: { pages: number } }
  expect(extract.pages).toBeGreaterThan(0)
  const bought = site.simulator.account().charged_pages
  expect(bought).toBeLessThanOrEqual((await pagesKept(site)) + CONCURRENCY)
}, 60_000)

it('a run whose data directory is moved exits with 8, leaves nothing in the old place, and continues in the new one', async () => {
  const { site, first } = await beginInSlowSite()
  const moved = join(site.folder, 'moved')
  renameSync(site.dataDir, moved)
  expectLockedOut(await first.ended, site.dataDir)
  expect(existsSync(site.dataDir)).toBe(false)
  done(await site.run(['extract', site.pipeline, '--data-dir', moved]))
  // Answers to requests in flight went into the moved journal.
  expect(site.simulator.account().charged_pages).toBe(await pagesKept(site, '--data-dir', moved))
}, 60_000)
