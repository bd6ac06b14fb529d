/**
 * The user's own models and checks from the command line: from the file to every place where readers find tables, and
 * removed from there.
 */

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { withWarehouse } from '../../../src/warehouse/warehouse.ts'
import { done, openSite, type Site } from '../../helpers/run-cli.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { IS_SOAK } from '../../helpers/tier.ts'

if (!IS_SOAK)
  process.stdout.write('skipped: own models after an erasure, which npm run test:soak has\n')

// Several complete runs.
vi.setConfig({ testTimeout: 240_000 })

const BY_PERSON = `-- key: profile_id
-- incremental_by: profile_id
select profile_id, max(person_full_name) as name, count(*) as times
from joiners group by profile_id
`
const TIMES = 'select times, count(*) as people from my_people group by times'

function write({ folder }: Site, file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), text)
}

/** A site with two models of the user, one reading the other, and a check. */
async function ownSite(pipelineLines: readonly string[] = []) {
  const site = await openSite({ companies: 3, pipelineLines })
  write(site, 'models/my_people.sql', BY_PERSON)
  write(site, 'models/my_times.sql', TIMES)
  write(site, 'checks/times_are_counted.sql', 'select * from my_times where people < 1')
  return site
}

const snapshots = ({ folder }: Site) => join(folder, 'snapshots')
const run = ['run', 'test.yaml', '--snapshot-to', 'snapshots']

async function viewsOf(site: Site): Promise<string> {
  const { snapshot_id: id } = JSON.parse(
    readFileSync(join(snapshots(site), 'latest.json'), 'utf8'),
  ) as { snapshot_id: string }
  return readFileSync(join(snapshots(site), 'snapshots', id, 'views.sql'), 'utf8')
}

describe('models of the user’s own', () => {
  it('are in the warehouse, its copy, the snapshot, current/, a Delta log, views.sql and `models`; an edit changes them, and a removed file takes its table along', async () => {
    const site = await ownSite()
    done(await site.call(run))
    const current = () =>
      readdirSync(join(snapshots(site), 'current')).filter((one) => one.startsWith('my_'))
    expect(current()).toEqual(['my_people', 'my_times'])
    expect(readdirSync(join(snapshots(site), 'tables', 'my_people', '_delta_log'))).toHaveLength(1)
    expect(await viewsOf(site)).toMatch(/my_people[^]*my_times/)
    const [counted] = await site.query<{ n: number }>(
      'select count(distinct profile_id)::int as n from joiners',
    )
    const copied = await withWarehouse(
      { path: join(site.dataDir, 'analyst.duckdb'), mode: 'read' },
      (warehouse) => warehouse.number('select count(*) from my_people'),
    )
    expect(copied).toBe(counted?.n)

    const { tables } = await site.json<{ tables: Record<string, unknown>[] }>('models')
    expect(tables.filter((table) => table['is_own'])).toMatchObject([
      {
        name: 'my_people',
        file: 'models/my_people.sql',
        reads: ['joiners'],
        read_by: ['my_times'],
        rows: copied,
      },
      { name: 'my_times', reads: ['my_people'], checks: ['times_are_counted'] },
    ])
    expect(tables.find(({ name }) => name === 'joiners')?.['read_by']).toContain('my_people')
    expect(done(await site.call(['models', 'my_times'])).stdout).toContain('models/my_times.sql')

    // From another folder it is the same project, and an unchanged night changes nothing.
    const elsewhere = { cwd: temporaryFolder() }
    const same = done(await site.call(['build', '--json'], elsewhere)).stdout
    expect(JSON.parse(same)).toMatchObject({ dropped: [], selected: null })
    expect(await site.query('select count(*)::int as n from my_people')).toEqual([{ n: copied }])

    write(
      site,
      'models/my_times.sql',
      TIMES.replace('count(*) as people', 'cast(count(*) as varchar) as n'),
    )
    rmSync(join(site.folder, 'checks/times_are_counted.sql'))
    const edited = done(await site.call(run))
    expect(edited.stderr).toContain('own_table_changed: my_times.people is gone')
    rmSync(join(site.folder, 'models/my_times.sql'))
    const gone = done(await site.call(run))
    expect(gone.stdout).toContain('dropped my_times: the file is gone')
    expect(gone.stderr).toContain('own_table_changed: table my_times is gone')
    expect([current(), await viewsOf(site)]).toEqual([
      ['my_people'],
      expect.not.stringContaining('my_times'),
    ])
    expect((await site.call(['query', 'from my_times'])).exitCode).toBe(2)
    expect(done(await site.call(['replay'])).stdout).not.toContain('of your own')
    expect(await site.query('select count(*)::int as n from my_people')).toEqual([{ n: copied }])
  })

  it('that are wrong, or used with `engine: spark`, are refused before a run sends a request', async () => {
    const site = await ownSite(['build: {engine: spark, submit: ["true"]}'])
    write(site, 'models/joiners.sql', 'select 1 as n')
    const refused = await site.call(run)
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringContaining('models/joiners.sql: the name joiners is taken'),
    ])
    rmSync(join(site.folder, 'models/joiners.sql'))
    const spark = await site.call([...run, '--engine', 'spark'])
    expect([spark.exitCode, spark.stderr]).toEqual([
      2,
      expect.stringContaining('models and checks of your own are built by DuckDB alone'),
    ])
    expect(site.simulator.account().requests).toBe(0)
  })

  it('that fail, or whose check fails, stop a run from publishing, and the next good night publishes', async () => {
    const site = await ownSite()
    write(site, 'models/my_people.sql', BY_PERSON.replace('count(*)', 'nope'))
    const failed = await site.call(run)
    expect([failed.exitCode, failed.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      2,
      expect.stringMatching(/models\/my_people\.sql:3: Binder Error/),
    ])
    write(site, 'models/my_people.sql', BY_PERSON)
    write(site, 'checks/nobody_came_at_all.sql', 'select * from my_times')
    const checked = await site.call(run)
    expect([checked.exitCode, checked.stderr]).toEqual([
      6,
      expect.stringContaining('1 check failed: nobody_came_at_all'),
    ])
    expect(existsSync(join(snapshots(site), 'latest.json'))).toBe(false)
    rmSync(join(site.folder, 'checks/nobody_came_at_all.sql'))
    done(await site.call(run))
    expect(existsSync(join(snapshots(site), 'latest.json'))).toBe(true)
  })

  const firstPeople = async (site: Site) => {
    const people = await site.query<{ profile_id: string }>(
      'select profile_id from my_people order by 1 limit 2',
    )
    return people.map(({ profile_id: id }) => id)
  }
  const rowsAbout = (site: Site, id: string) =>
    site.query(`select * from my_people where profile_id = '${id}'`)

  it('lose an erased person, even if they are incremental', async () => {
    const site = await ownSite()
    done(await site.call(run))
    const [first = '', second = ''] = await firstPeople(site)
    const erased = await site.json<{ is_complete: boolean }>('forget', first, '--yes')
    expect([erased.is_complete, await rowsAbout(site, first)]).toEqual([true, []])
    expect(await rowsAbout(site, second)).toHaveLength(1)
  })

  it.runIf(IS_SOAK)(
    'are searched for copied text, and a broken one is dropped to keep no erased person',
    async () => {
      const site = await ownSite()
      done(await site.call(run))
      const [, second = ''] = await firstPeople(site)
      writeFileSync(join(site.folder, 'list.csv'), `person\n${second}\n`)
      write(
        site,
        'models/from_a_list.sql',
        `select person from read_csv('${join(site.folder, 'list.csv')}')`,
      )
      done(await site.call(run))
      const found = await site.call(['forget', second, '--yes', '--json'])
      expect(found.exitCode).toBe(7)
      expect(JSON.parse(found.stdout)).toMatchObject({
        is_complete: false,
        remaining: expect.arrayContaining([
          expect.stringContaining('table main.from_a_list'),
        ]) as string[],
      })

      write(site, 'models/from_a_list.sql', 'select nope from joiners')
      const again = await site.call(['forget', second, '--yes', '--json'])
      expect(again.stderr).toContain('own_models_left_out: models/from_a_list.sql:1: Binder Error')
      expect(JSON.parse(again.stdout)).toMatchObject({ is_complete: true })
      expect(
        readdirSync(join(snapshots(site), 'current')).filter((one) => /^my_|^from_/.test(one)),
      ).toEqual([])
      rmSync(join(site.folder, 'models/from_a_list.sql'))
      done(await site.call(run))
      expect(await rowsAbout(site, second)).toEqual([])
      expect(readdirSync(join(snapshots(site), 'current'))).toContain('my_people')
    },
  )

  it('can be built in part with --select, and publish waits for the rest', async () => {
    const site = await ownSite()
    done(await site.call(run))
    write(site, 'models/my_people.sql', BY_PERSON.replace('count(*)', '1 + count(*)'))
    const some = done(await site.call(['build', '--select', 'my_people+']))
    expect(some.stdout.replaceAll(/\s+/g, ' ')).toContain('2 models, ')
    const early = await site.call([
      'publish',
      '--pipeline',
      'test.yaml',
      '--snapshot-to',
      'snapshots',
    ])
    expect([early.exitCode, early.stderr]).toEqual([2, expect.stringContaining('--select')])
    const typo = await site.call(['build', '--select', 'my_peple'])
    expect([typo.exitCode, typo.stderr]).toEqual([
      2,
      expect.stringContaining('Did you mean my_people?'),
    ])
    done(await site.call(['build']))
    done(await site.call(['publish', '--pipeline', 'test.yaml', '--snapshot-to', 'snapshots']))
  })
})
