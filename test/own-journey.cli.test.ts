/** From a list to a dashboard: the user's own list, model and check, a run, a PostgreSQL, and a page of the tables. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { hasPostgres, startPostgres } from './helpers/postgres.ts'
import { done, openSite } from './helpers/run-cli.ts'

const MODEL = `-- grain: One row per organisation, month and level of those who joined.
-- key: organization_id, month_start_on, level
select organization_id, month_start_on, level, count(*) as joiners
from joiners group by all
`
const CHECK = 'select * from joiners_by_level where joiners < 1'
// The query of a dashboard panel.
const PANEL = `select coalesce(sum(joiners), 0), count(distinct organization_id) from jobtide.joiners_by_level`

it.skipIf(!hasPostgres)(
  'a list of 3 organisations, a model, a night: a dashboard over PostgreSQL shows the figures of the warehouse (skipped without PostgreSQL)',
  { timeout: 240_000 },
  async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const site = await openSite({
      companies: 3,
      pipelineLines: [
        'destinations:',
        '  - { to: "${JOBTIDE_PG_URL}", tables: [joiners_by_level] }',
      ],
    })
    const write = (path: string, text: string) => {
      mkdirSync(join(site.folder, path, '..'), { recursive: true })
      writeFileSync(join(site.folder, path), text)
    }
    write('models/joiners_by_level.sql', MODEL)
    write('checks/joiners_are_counted.sql', CHECK)
    const env = { JOBTIDE_PG_URL: server.url }
    const night = () => site.call(['run', site.pipeline], { env })

    expect(done(await night()).stdout).toMatch(/database .*joiners_by_level|database +postgres/)
    const [here] = await site.query<{ joiners: number; organizations: number }>(
      'select count(*) as joiners, count(distinct organization_id) as organizations from joiners',
    )
    expect(here?.joiners).toBeGreaterThan(10)
    expect(server.ask(PANEL)).toBe(`${here?.joiners}|${here?.organizations}`)
    expect(server.ask(`select obj_description('jobtide.joiners_by_level'::regclass)`)).toContain(
      'One row per organisation, month and level',
    )

    const page = join(site.folder, 'tables.html')
    done(await site.call(['models', '--html', page]))
    expect(readFileSync(page, 'utf8')).toContain('joiners_by_level')

    // An edited model reaches the database with the next night, which buys no page again.
    write(
      'models/joiners_by_level.sql',
      MODEL.replace('from joiners', "from joiners where level <> 'unknown'"),
    )
    done(await night())
    const [known] = await site.query<{ joiners: number }>(
      `select count(*) as joiners from joiners where level <> 'unknown'`,
    )
    expect(server.ask(PANEL).split('|')[0]).toBe(String(known?.joiners))
  },
)
