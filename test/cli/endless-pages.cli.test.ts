import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { callCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { anEvent, simulate } from '../simulator/simulator-fixture.ts'

it('a service that sends a new event on each page for ever costs 30 credits and exit 5; the 3 events are loaded, nothing is covered', async () => {
  const faults = [1, 2, 3].map((page) => ({
    page,
    status: 200,
    charged: true,
    body: {
      data: [anEvent({ person: `per_${page}` })],
      pagination: { page, limit: 50, has_more: true },
      credit_used: 10,
    },
  }))
  const server = await simulate([anEvent(), anEvent({ organization: 'org_b' })], { faults })
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'organizations.csv'), 'organization_id\norg_a\norg_b\n')
  const options = {
    cwd: folder,
    env: {
      JOBTIDE_BASE_URL: server.url,
      JOBTIDE_API_KEY: 'simulator-key',
      JOBTIDE_DATA_DIR: join(folder, 'data'),
    },
  }
  const run = await callCli(
    ['backfill', '--days', 'all', '--organizations', 'organizations.csv', '--no-publish', '--json'],
    options,
  )
  expect(run.exitCode).toBe(5)
  expect(run.stderr).toContain(
    '3 pages that are not half full promise more, the last of them page 3',
  )
  expect(run.stderr).toContain('report it to the provider. What was bought is kept.')
  expect(server.account()).toMatchObject({ requests: 3, credits: 30 })
  const query =
    'select (select count(*) from job_change_events) as events, (select count(*) from ops.coverage) as covered'
  const { stdout } = await callCli(['query', query, '--format', 'json'], options)
  expect(JSON.parse(stdout)).toEqual([{ events: 3, covered: 0 }])
}, 120_000)
