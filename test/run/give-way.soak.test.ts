/** A nightly run and a backfill, in two processes over one data directory and one plan's rate limit. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { realClock } from '../../src/support/clock.ts'
import { SECOND } from '../../src/support/units.ts'
import { done, openSite, pipelineText } from '../helpers/run-cli.ts'

const LIMIT = 3

describe('a nightly run while a backfill is going on', () => {
  it('goes first at the next batch, then the backfill continues; no page is bought twice, and at most one request of each hand-over is refused', async () => {
    const site = await openSite({
      companies: 200,
      events: 1_500,
      rateLimit: { requests: LIMIT, windowMs: SECOND },
    })
    const few = site.simulator.organizations().slice(0, 3)
    const list = ['organization_id', ...few.map((one) => one.organization_id), '']
    writeFileSync(join(site.folder, 'few.csv'), list.join('\n'))
    const night = pipelineText().replace('name: test', 'name: night')
    const nightly = join(site.folder, 'night.yaml')
    writeFileSync(nightly, night.replace('organizations.csv', 'few.csv'))
    const pace = ['--requests-per-second', String(LIMIT), '--json']

    const backfill = site.start([
      'backfill',
      site.pipeline,
      '--days',
      'all',
      '--concurrency',
      '1',
      ...pace,
    ])
    while (site.simulator.account().requests < 2) await new Promise((r) => setTimeout(r, 10))
    const first = done(await site.run(['extract', nightly, '--days', '300', ...pace]))
    const last = done(await backfill.ended)

    const { by_status: byStatus, charged_pages: pages, credits } = site.simulator.account()
    // A pace is kept in memory: the process that takes over does not know what was sent in the second before.
    expect(byStatus[429] ?? 0).toBeLessThanOrEqual(2)
    const [ledger] = await site.query(
      `select count(*)::int as pages, count(distinct (run_id, batch_id, page))::int as once
       from ops.pages where events > 0`,
    )
    expect(ledger).toEqual({ pages, once: pages })
    const spent = (text: string) =>
      (JSON.parse(text) as { extract: { credits: number } }).extract.credits
    expect(spent(first.stdout) + spent(last.stdout)).toBe(credits)
    const runs = [
      ...readHistory(openJournal(join(site.dataDir, 'journal'), realClock)).runs.values(),
    ]
    const ended = runs.toSorted((a, b) => (a.finished?.at ?? 0) - (b.finished?.at ?? 0))
    expect(ended.map(({ started, resumed }) => [started.pipeline, resumed])).toEqual([
      ['night', 0],
      ['test', 1],
    ])
  }, 180_000)
})
