/** The journal loses a segment while `schedule` is up: it can judge nothing, and reports that. */

import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DAY, HOUR } from '../../src/support/units.ts'
import { openScheduleSite } from './schedule-site.ts'

const PIPELINE = `name: test
organizations: organizations.csv
window: since-last
schedule: "15 2 * * *"
notify: { webhook: { url: "\${HOOK_URL}" } }
`

it('reports the loss once for each night, and the recovery when the segment is back', async () => {
  const start = Math.floor(Date.now() / DAY) * DAY - 3 * DAY
  const site = await openScheduleSite(start, { companies: 2, events: 200, pipeline: PIPELINE })
  const journal = join(site.dataDir, 'journal')
  let first = ''
  site.machine.at(start + 3 * HOUR, () => {
    first = readdirSync(journal).find((name) => name.endsWith('.journal')) ?? ''
    renameSync(join(journal, first), join(site.dataDir, first))
  })
  site.machine.at(start + DAY + 6 * HOUR, () =>
    renameSync(join(site.dataDir, first), join(journal, first)),
  )
  await site.live(start + DAY + 8 * HOUR)
  expect(
    site.hook.got.map(({ body }) => `${String(body['kind'])}: ${String(body['text'])}`),
  ).toEqual([
    expect.stringMatching(/^failure: test cannot run, .* is gone; lost with it/),
    expect.stringMatching(/^failure: test cannot run, .* is gone; lost with it/),
    expect.stringMatching(/^stale: test was due at .* and has not run since/),
    expect.stringMatching(/^recovered: /),
  ])
  expect(site.said()).not.toContain('not_told')
}, 120_000)
