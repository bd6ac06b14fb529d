import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, afterEach, describe, expect, it } from 'vitest'
import { CheckFailedError } from '../../../src/model/check-outcome.ts'
import { ownTables } from '../../../src/model/build-state.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { insertEvents } from '../../helpers/warehouse.ts'
import { joined, ownSite, type OwnSite } from './own-fixture.ts'

let site: OwnSite

beforeEach(async () => {
  site = await ownSite()
})

afterEach(() => site.warehouse.close())

const STAFF = `-- grain: One row per organisation.
-- key: organization_id
-- columns:
--   organization_id: The organisation.
--   people: How many joined it.
select organization_id, people from sizes where people > 1;
-- That is all; isn't it?
`

describe('a model of the user’s own', () => {
  it('is built after Jobtide’s, with key, comments and a mark, and is recorded for snapshots', async () => {
    site.write('models/staff.sql', STAFF)
    const { models, checks } = await site.build()
    expect(models.at(-1)).toMatchObject({ name: 'staff', rows: 1 })
    expect(checks).toContain('staff_key_is_unique_and_not_null')
    expect(await site.rows('from staff')).toEqual([{ organization_id: 'acme', people: 2 }])
    expect(
      await site.rows(
        `select comment from duckdb_tables() where table_name = 'staff'
         union all select comment from duckdb_columns() where table_name = 'staff' order by all`,
      ),
    ).toEqual([
      { comment: 'How many joined it.' },
      { comment: 'One row per organisation. Key: organization_id. Model: models/staff.sql' },
      { comment: 'The organisation.' },
    ])
    const [table] = await ownTables(site.warehouse)
    expect(table).toMatchObject({ name: 'staff', key: ['organization_id'], schema: 'main' })
  })

  it('needs no header, and may read 1 other of the user’s own, a view of the user’s own, and a table of `ops`', async () => {
    site.write('models/a_view.sql', '-- kind: view\nSELECT * FROM Sizes')
    site.write(
      'models/b.sql',
      'with a_view as (select * from a_view) select count(*) as n from a_view',
    )
    site.write('models/runs_seen.sql', 'from (select count(*) as runs from ops.runs)')
    await site.build()
    expect(await site.rows('select n, runs from b, runs_seen')).toEqual([{ n: 2n, runs: 0n }])
    const comments = await site.rows(`select comment from duckdb_tables() where table_name = 'b'`)
    expect(comments).toEqual([{ comment: 'Made by models/b.sql. Model: models/b.sql' }])
  })

  it('is built for 1 changed person if it is incremental_by profile_id, and in full if it is not', async () => {
    const person = '-- incremental_by: profile_id\nselect profile_id, organization_id from arrivals'
    site.write('models/by_person.sql', person)
    site.write('models/staff.sql', STAFF)
    await site.build()
    await insertEvents(site.warehouse, [joined('dan', 'globex', '2024-04-01')])
    const second = await site.build()
    expect(second.fullRefreshReason).toBeNull()
    expect(site.changesOf(second, 'by_person', 'staff')).toEqual([1, 1])
    expect(await site.rows('select count(*) as n from by_person')).toEqual([{ n: 4n }])
    const third = await site.build()
    expect(site.changesOf(third, 'by_person', 'staff')).toEqual([0, 0])
    expect(third.skipped.models).toBeGreaterThanOrEqual(4)
  })

  it('that is edited is rebuilt with the 1 model that reads it, but without Jobtide’s', async () => {
    site.write('models/staff.sql', STAFF)
    site.write('models/total.sql', 'select cast(sum(people) as bigint) as people from staff')
    await site.build()
    site.write('models/staff.sql', STAFF.replace('> 1', '> 0'))
    const edited = await site.build()
    expect(edited.fullRefreshReason).toBeNull()
    expect(site.changesOf(edited, 'arrivals', 'sizes', 'staff', 'total')).toEqual([0, 0, 2, 1])
    expect(await site.rows('from total')).toEqual([{ people: 3n }])
    // Also if only its header changed.
    site.write('models/staff.sql', STAFF.replace('> 1', '> 0').replace('joined it', 'came'))
    expect(site.changesOf(await site.build(), 'staff', 'total')).toEqual([2, 1])
  })

  it('that is new is built for all people although 3 changed, and is dropped once its file is gone', async () => {
    await site.build()
    site.write('models/staff.sql', STAFF)
    site.write(
      'models/by_person.sql',
      '-- incremental_by: profile_id\nselect profile_id from arrivals',
    )
    await insertEvents(site.warehouse, [joined('dan', 'globex', '2024-04-01')])
    await site.build()
    expect(await site.rows('select count(*) as n from by_person')).toEqual([{ n: 4n }])
    site.remove('models/staff.sql')
    expect(await site.build()).toMatchObject({ fullRefreshReason: null, dropped: ['staff'] })
    const left = `select table_name from duckdb_tables() where table_name in ('staff', 'by_person')`
    expect(await site.rows(left)).toEqual([{ table_name: 'by_person' }])
    expect((await ownTables(site.warehouse)).map(({ name }) => name)).toEqual(['by_person'])
    expect((await site.build({ ownFolder: undefined })).dropped).toEqual(['by_person'])
    expect(await site.rows(left)).toEqual([])
  })

  it('may refer to 1 that is built after it', async () => {
    await site.build()
    site.write(
      'models/staff.sql',
      STAFF.replace('-- columns', '-- references: organization_id -> z.id\n-- columns'),
    )
    site.write('models/z.sql', 'select organization_id as id from sizes')
    const { checks, fullRefreshReason } = await site.build()
    expect(fullRefreshReason).toBeNull()
    expect(checks).toContain('staff_organization_id_is_found_in_z')
  })

  it('comes from the folder of the last build if a command names none', async () => {
    site.write('models/staff.sql', STAFF)
    await site.build()
    const { dropped, models } = await site.build({ ownFolder: null })
    expect([dropped, models.at(-1)?.name]).toEqual([[], 'staff'])
  })

  it('leaves a table of the same name that the user created, and says so', async () => {
    await site.warehouse.run('create table staff as select 1 as mine')
    await site.build()
    site.write('models/staff.sql', STAFF)
    await expect(site.build()).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining(
        'the table staff in the warehouse is not Jobtide’s',
      ) as string,
    })
    expect(await site.rows('from staff')).toEqual([{ mine: 1 }])
  })
})

describe('a wrong file of the user’s own', () => {
  const refused = async (file: string, text: string) => {
    site.write(file, text)
    const error: unknown = await site.build().catch((caught: unknown) => caught)
    site.remove(file)
    expect(error).toMatchObject({ exitCode: EXIT.usage })
    return (error as Error).message.split('\n', 1)[0]
  }

  it.each([
    ['models/joiners.sql', 'select 1 as n', 'the name joiners is taken'],
    ['models/Joiners.sql', 'select 1 as n', 'the name joiners is taken'],
    ['models/TITLES.sql', 'select 1 as n', 'the name titles is taken'],
    ['models/answers.sql', 'select 1 as n', 'the name answers is taken'],
    [
      'checks/sizes_key_is_unique_and_not_null.sql',
      'select 1',
      'the name sizes_key_is_unique_and_not_null is taken',
    ],
    ['models/my-staff.sql', 'select 1 as n', 'the name of a model or check has lower-case letters'],
    ['models/x.sql', '-- only a comment;\n', 'a file is one select, not 0'],
    ['models/x.sql', 'drop table sizes', 'Only SELECT statements'],
    ['models/x.sql', "select ';' as a;\n\ndelete from sizes", 'Only SELECT statements'],
    ['checks/x.sql', 'select 1; select 2;', 'a file is one select, not 2'],
    ['models/x.sql', 'select * from {{ ref("sizes") }}', 'syntax error at or near "{"'],
    ['models/x.sql', 'select a\nfrm sizes\nwhere', 'syntax error at or near "sizes"'],
    [
      'models/x.sql',
      'with a as (select 1) insert into sizes select 1, 2',
      'Only SELECT statements',
    ],
    ['models/x.sql', 'select * from size', 'it reads size, but there is no such table'],
    ['models/x.sql', '-- kind: list\nselect 1 as n', '"-- kind: list" is not "view"'],
    [
      'models/x.sql',
      '-- incremental_by: profile_id\nselect 1 as n',
      'the header names profile_id, which is not selected',
    ],
    [
      'models/x.sql',
      '-- incremental_by: profile_id\nselect profile_id from main.arrivals',
      'with `-- incremental_by:` it names tables without a schema',
    ],
    ['models/x.sql', '-- key: m\nselect 1 as n', 'the header names m, which is not selected'],
    [
      'models/x.sql',
      '-- references: n -> nope.n\nselect 1 as n',
      'the header refers to nope.n, but there is no such table',
    ],
    [
      'models/x.sql',
      '-- references: n -> job_change_events.nope\nselect 1 as n',
      'the header refers to job_change_events.nope, but job_change_events has no such column',
    ],
    ['models/x.sql', 'select sum(people) as n from sizes', 'the column n is a HUGEINT'],
    [
      'models/x.sql',
      "select date_trunc('month', date '2024-05-06') as month",
      'the column month is of type TIMESTAMP, which snapshots cannot hold: write cast(… as date)',
    ],
    [
      'models/x.sql',
      'select now() - now() as age',
      "INTERVAL, which snapshots cannot hold: write date_diff('day'",
    ],
    [
      'models/x.sql',
      "-- kind: view\nselect {'a': 1, 'b': 2} as two",
      'STRUCT(…), which snapshots cannot hold: write cast(to_json',
    ],
    [
      'models/x.sql',
      'select hash(people) as h from sizes',
      'UBIGINT, which snapshots cannot hold: write cast(… as bigint)',
    ],
    [
      'models/x.sql',
      'select to_json(people) as j from sizes',
      'JSON, which snapshots cannot hold: write cast(… as varchar)',
    ],
    ['models/x.sql', 'select count(*) from sizes', 'the column "count_star()" has no plain name'],
  ])('%s with %j is refused: %s', async (file, text, why) => {
    await site.build()
    expect(await refused(file, text)).toMatch(
      new RegExp(String.raw`^${file.replace('.', String.raw`\.`)}(?::\d+)?: `),
    )
    expect(await refused(file, text)).toContain(why)
  })

  it('names the line of a syntax error, a missing column, and a text that is not a number', async () => {
    await site.build()
    expect(await refused('models/x.sql', '-- a\n\nselect a\nfrm sizes\nwhere')).toContain(
      'models/x.sql:4: ',
    )
    expect(await refused('models/x.sql', '\n\n-- a\nselect people,\n  nope\nfrom sizes')).toContain(
      'models/x.sql:5: Binder Error',
    )
    const text = '-- key: n\nselect\n  cast(profile_id as integer) as n\nfrom arrivals'
    expect(await refused('models/x.sql', text)).toContain('models/x.sql:3: Conversion Error')
    expect(await refused('checks/x.sql', 'select *\nfrom sizes\nwhere peeple > 1')).toContain(
      'checks/x.sql:3: Binder Error',
    )
    const late = 'select cast(profile_id as integer) as n\nfrom arrivals'
    expect(await refused('checks/x.sql', late)).toContain('checks/x.sql')
  })

  it('stops the whole build, and keeps yesterday’s tables', async () => {
    site.write('models/staff.sql', STAFF)
    site.write('models/total.sql', 'select cast(sum(people) as bigint) as people from staff')
    site.write('models/all_of_it.sql', 'select people from total')
    await site.build()
    await insertEvents(site.warehouse, [joined('dan', 'acme', '2024-04-01')])
    site.write('models/staff.sql', STAFF.replace('people > 1', 'nope > 1'))
    await expect(site.build()).rejects.toMatchObject({
      hint: 'Correct the file. Nothing was built, and the tables of the last build stay.',
      context: { file: 'models/staff.sql' },
    })
    expect(await site.rows('from all_of_it')).toEqual([{ people: 2n }])
    expect(await site.rows('select max(people) as people from sizes')).toEqual([{ people: 2 }])
    site.write('models/staff.sql', STAFF)
    await site.build()
    expect(await site.rows('from all_of_it')).toEqual([{ people: 3n }])
  })

  it('is a circle of 2, or a file that every account may write', async () => {
    site.write('models/a.sql', 'select n from b')
    expect(await refused('models/b.sql', 'select n from a')).toBe(
      'models read each other in a circle: a → b → a',
    )
    site.remove('models/a.sql')
    site.write('models/a.sql', 'select 1 as n')
    chmodSync(join(site.root, 'models/a.sql'), 0o666)
    await expect(site.build()).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining('may be written by every account') as string,
    })
  })

  it('ignores the backup files of an editor', async () => {
    site.write('models/.#a.sql', 'not sql')
    symlinkSync('nowhere', join(site.root, 'models/.b.sql'))
    mkdirSync(join(site.root, 'models/archive'))
    site.write('models/archive/c.sql', 'not sql')
    const { models } = await site.build()
    expect(models.filter(({ name }) => /^(?:\W|[bc]$)/.test(name))).toEqual([])
  })
})

describe('a check of the user’s own', () => {
  it('that returns 2 rows fails the build with exit code 6, and a passed one runs again only if something changed', async () => {
    site.write('models/staff.sql', STAFF)
    await site.build()
    site.write('checks/people_are_few.sql', 'select * from sizes where people > 0 -- all;\n')
    const error: unknown = await site.build().catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(CheckFailedError)
    expect(error).toMatchObject({
      exitCode: EXIT.checkFailed,
      failed: [{ name: 'people_are_few', offenders: 2 }],
    })
    site.write('checks/people_are_few.sql', 'select * from sizes where people > 2')
    const { skipped } = await site.build()
    expect((await site.build()).skipped.checks).toBe(skipped.checks + 1)
    await insertEvents(site.warehouse, [joined('dan', 'acme', '2024-04-01')])
    await expect(site.build()).rejects.toMatchObject({ failed: [{ name: 'people_are_few' }] })
    expect(await site.rows('select max(people) as people from sizes')).toEqual([{ people: 2 }])
  })
})
