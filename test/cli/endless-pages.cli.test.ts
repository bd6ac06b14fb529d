import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { pageServer } from '../extract/page-server.ts'
import { callCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'

it('a service that sends a new event on each page for ever costs 30 credits and exit 5; the 3 events are loaded, nothing is covered', async () => {
  const server = await pageServer(({ nth }) => ({
    data: [anEvent({ person: `per_${nth}`, organization: 'org_a' })],
    hasMore: true,
  }))
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'organizations.csv'), 'organization_id\norg_a\norg_b\n')
  const options = {
    cwd: folder,
    env: {
      JOBTIDE_BASE_URL: server.url,
      JOBTIDE_API_KEY: 'a-key',
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
  expect(server.pages).toEqual([1, 2, 3])
  expect(server.credits).toBe(30)
  const query =
    'select (select count(*) from job_change_events) as events, (select count(*) from ops.coverage) as covered'
  const { stdout } = await callCli(['query', query, '--format', 'json'], options)
  expect(JSON.parse(stdout)).toEqual([{ events: 3, covered: 0 }])
}, 120_000)
