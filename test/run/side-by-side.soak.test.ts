/** A nightly run and a backfill in two processes, over one data directory and one plan's rate limit. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { realClock } from '../../src/support/clock.ts'
import { SECOND } from '../../src/support/units.ts'
import { openSite, pipelineText } from '../helpers/run-cli.ts'

const LIMIT = 20

describe('a backfill and a nightly run at the same time', () => {
  it(`both end with 0 under one limit of ${LIMIT} requests a second, without one 429, and agree with the account`, async () => {
    const site = await openSite({
      companies: 60,
      events: 6_000,
      rateLimit: { requests: LIMIT, windowMs: SECOND },
    })
    const second = join(site.folder, 'night.yaml')
    writeFileSync(second, pipelineText().replace('name: test', 'name: night'))
    const pace = ['--requests-per-second', String(LIMIT), '--json']
    const backfill = site.start(['backfill', site.pipeline, '--days', 'all', ...pace])
    while (site.simulator.account().requests < 10) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const nightly = await site.run(['run', second, ...pace])
    const backfilled = await backfill.ended
    expect([nightly.exitCode, backfilled.exitCode], nightly.stderr + backfilled.stderr).toEqual([
      0, 0,
    ])
    const account = site.simulator.account()
    expect(account.by_status[429] ?? 0).toBe(0)
    const spent = (text: string) =>
      (JSON.parse(text) as { extract: { credits: number } }).extract.credits
    expect(spent(nightly.stdout) + spent(backfilled.stdout)).toBe(account.credits)
    const [ledger] = await site.query<{ credits: number; runs: number }>(
      'select sum(credits_used)::int as credits, count(distinct run_id)::int as runs from ops.pages',
    )
    expect(ledger).toEqual({ credits: account.credits, runs: 2 })
    // The nightly run began later and had as much to buy: it ended first, because its requests went first.
    const ended = [
      ...readHistory(openJournal(join(site.dataDir, 'journal'), realClock)).runs.values(),
    ]
      .toSorted((a, b) => (a.finished?.at ?? 0) - (b.finished?.at ?? 0))
      .map(({ started }) => started.pipeline)
    expect(ended).toEqual(['night', 'test'])
  })
})
