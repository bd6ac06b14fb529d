/** A journal that loses a segment: what every command says, and the way on. */

import { cpSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSite, type Site } from '../helpers/run-cli.ts'

const EVENTS = 'select distinct event_key from job_change_events order by 1'

/** A journal of two segments: an extraction was killed while it bought, and went on in the second one. */
async function killedExtraction(): Promise<{
  site: Site
  events: readonly unknown[]
  credits: number
}> {
  const site = await openSite({ companies: 12, events: 1_500 })
  const args = ['extract', site.pipeline, '--days', 'all', '--concurrency', '2']
  const killed = site.start([...args, '--requests-per-second', '25'])
  while (site.simulator.account().charged_pages < 12) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  killed.process.kill('SIGKILL')
  await killed.ended
  const { exitCode, stderr } = await site.run(args)
  expect(exitCode, stderr).toBe(0)
  expect((await site.run(['load'])).exitCode).toBe(0)
  return { site, events: await site.query(EVENTS), credits: site.simulator.account().credits }
}

const damages: Readonly<Record<string, (path: string) => void>> = {
  'cut to 60 %': (path) => truncateSync(path, Math.floor(readFileSync(path).length * 0.6)),
  deleted: (path) => rmSync(path),
  'zeroed in its last 40 %': (path) => {
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0, Math.floor(bytes.length * 0.6)))
  },
}

describe('a journal whose first segment is lost, with that of a night kept', () => {
  it('is bought again by the next night, the first read with it: `since-last` begins at what is left no more', async () => {
    const site = await openSite({ companies: 4 })
    const night = ['run', site.pipeline, '--no-publish']
    const first = await site.run(night)
    expect(first.exitCode, first.stderr).toBe(0)
    expect((await site.run(night)).exitCode).toBe(0)
    const events = await site.query(EVENTS)
    expect(events.length).toBeGreaterThan(50)
    const folder = join(site.dataDir, 'journal')
    const [oldest] = readdirSync(folder).filter((name) => name.endsWith('.journal'))
    rmSync(join(folder, oldest!))
    rmSync(join(site.dataDir, 'jobtide.duckdb'))
    expect((await site.run(night)).exitCode).toBe(9)
    const again = await site.run([...night, '--accept-loss'])
    expect(again.exitCode, again.stderr).toBe(0)
    expect(await site.query(EVENTS)).toEqual(events)
    const bought = site.simulator.account().credits
    expect((await site.run(night)).exitCode).toBe(0)
    expect(site.simulator.account().credits - bought).toBeLessThanOrEqual(10)
  })
})

describe('a journal whose older segment is lost', () => {
  it('is refused by every command; once that is accepted, the next one buys every event back', async () => {
    const { site, events, credits } = await killedExtraction()
    expect(events.length).toBeGreaterThan(1_000)
    for (const [what, damage] of Object.entries(damages)) {
      const dataDir = join(site.folder, what.replaceAll(/\W/g, '-'))
      cpSync(site.dataDir, dataDir, { recursive: true })
      const run = (...args: string[]) => site.run([...args, '--data-dir', dataDir, '--json'])
      const rows = async (sql: string) =>
        JSON.parse((await run('query', sql)).stdout) as readonly unknown[]
      const segments = readdirSync(join(dataDir, 'journal')).filter((name) =>
        name.endsWith('.journal'),
      )
      expect(segments).toHaveLength(2)
      damage(join(dataDir, 'journal', segments[0]!))
      const bought = site.simulator.account().credits
      const backfill = ['backfill', site.pipeline, '--days', 'all', '--no-publish']
      const others = [['status'], ['load'], ['plan', site.pipeline], ['verify'], backfill]
      for (const args of [['replay'], ...(what === 'deleted' ? others : [])]) {
        const { exitCode, stderr } = await run(...args)
        expect([what, args[0], exitCode]).toEqual([what, args[0], 9])
        expect(stderr).toMatch(/lost with it: \d+ pages with \d+ events for \d+ credits \(run 01/)
        expect(stderr).toContain('--accept-loss')
      }
      expect(site.simulator.account().credits).toBe(bought)
      if (what !== 'deleted') {
        const again = await run('extract', site.pipeline, '--days', 'all', '--accept-loss')
        expect(again.exitCode, again.stderr).toBe(0)
        expect(again.stderr).toContain('accepted as lost')
        rmSync(join(dataDir, 'jobtide.duckdb'))
        expect((await run('load')).exitCode).toBe(0)
        expect(await rows(EVENTS)).toEqual(events)
        continue
      }
      const replay = await run('replay', '--accept-loss')
      expect(replay.exitCode, replay.stderr).toBe(0)
      expect(replay.stderr).toContain('accepted as lost')
      const { load } = JSON.parse(replay.stdout) as { load: { inserted: number } }
      expect(load.inserted).toBeLessThan(events.length)
      const again = await run(...backfill)
      expect(again.exitCode, again.stderr).toBe(0)
      expect(await rows(EVENTS)).toEqual(events)
      expect((await run('verify')).exitCode).toBe(0)
      const after = JSON.parse((await run('status')).stdout) as { credits: number }
      expect(after.credits - credits).toBe(site.simulator.account().credits - bought)
    }
  }, 240_000)
})
