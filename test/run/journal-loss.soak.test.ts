/** A journal that loses a segment: what every command says, and how to continue. */

import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { done, openSite, type Site } from '../helpers/run-cli.ts'

const EVENTS = 'select distinct event_key from job_change_events order by 1'

/** A journal of two segments: an extraction was killed while it bought, and continued in the second one. */
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
  for (const each of [args, ['load']]) done(await site.run(each))
  return { site, events: await site.query(EVENTS), credits: site.simulator.account().credits }
}

describe('a journal whose older segment is lost', () => {
  it('is refused by every command; once accepted, the next one buys every event back', async () => {
    const { site, events, credits } = await killedExtraction()
    expect(events.length).toBeGreaterThan(1_000)
    const run = (...args: string[]) => site.run([...args, '--json'])
    const journal = join(site.dataDir, 'journal')
    const segments = readdirSync(journal).filter((name) => name.endsWith('.journal'))
    expect(segments).toHaveLength(2)
    rmSync(join(journal, segments[0]!))
    const bought = site.simulator.account().credits
    const backfill = ['backfill', site.pipeline, '--days', 'all', '--no-publish']
    const commands = [['replay'], ['status'], ['load'], ['plan', site.pipeline], ['verify']]
    for (const args of [...commands, backfill]) {
      const { exitCode, stderr } = await run(...args)
      expect([args[0], exitCode]).toEqual([args[0], 9])
      // A request may have been in flight at the kill.
      expect(stderr).toMatch(
        /lost with it: \d+ pages with \d+ events for \d+ credits(?: and \d+ in doubt)? \(run 01/,
      )
      expect(stderr).toContain('--accept-loss')
    }
    expect(site.simulator.account().credits).toBe(bought)
    const replay = done(await run('replay', '--accept-loss'))
    expect(replay.stderr).toContain('accepted as lost')
    const { load } = JSON.parse(replay.stdout) as { load: { inserted: number } }
    expect(load.inserted).toBeLessThan(events.length)
    done(await run(...backfill))
    expect(await site.query(EVENTS)).toEqual(events)
    expect((await run('verify')).exitCode).toBe(0)
    const after = JSON.parse((await run('status')).stdout) as { credits: number }
    expect(after.credits - credits).toBe(site.simulator.account().credits - bought)
  }, 240_000)
})
