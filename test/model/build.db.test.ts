import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildModels, type BuildReport, type BuildStep } from '../../src/model/build.ts'
import { computedModels } from '../../src/model/computed-models.ts'
import { EXIT } from '../../src/support/errors.ts'
import { taxonomyVersion } from '../../src/titles/kept.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  contentsOf,
  insertEvents,
  askEveryEndpoint,
  memoryWarehouse,
  temporariesOf,
  type GivenEvent,
} from '../helpers/warehouse.ts'

const builtAt = new Date('2024-12-01T03:00:00Z')
const event = (person: string, organization: string, changedAt: string): GivenEvent => ({
  profile_id: person,
  organization_id: organization,
  event_type: 'joined',
  changed_at: changedAt,
  title_current: 'Engineer',
})
const firstNight = [
  event('ada', 'acme', '2024-01-01'),
  event('ben', 'acme', '2024-02-01'),
  event('cai', 'globex', '2024-03-01'),
]

let folder: string
let warehouse: Warehouse

beforeEach(async () => {
  folder = temporaryFolder()
  for (const part of ['models/marts', 'checks']) {
    mkdirSync(join(folder, part), { recursive: true })
  }
  model('marts/arrivals', {
    key: 'event_key',
    lines: ['-- incremental_by: profile_id', '-- values: title: Engineer | Director (or null)'],
    columns: 'event_key profile_id organization_id changed_at title',
    sql: `select event_key, profile_id, organization_id, changed_at, title_current as title
          from job_change_events where event_type = 'joined'`,
  })
  model('marts/sizes', {
    key: 'organization_id',
    columns: 'organization_id people',
    sql: `select organization_id, cast(count(distinct profile_id) as integer) as people
          from arrivals group by organization_id`,
  })
  model('marts/totals', {
    key: 'people',
    columns: 'people',
    sql: 'select cast(sum(people) as integer) as people from sizes',
  })
  warehouse = await memoryWarehouse({ threads: 1 })
  await insertEvents(warehouse, firstNight)
})

afterEach(() => warehouse.close())

describe('a build of the shipped models', () => {
  it('reports the rows of every table after a second full refresh, including computed ones, whose rows stay', async () => {
    const rowsOf = async (buildId: string) => {
      const { fullRefreshReason, models } = await buildModels(warehouse, { buildId, builtAt })
      expect(fullRefreshReason).toBe('there is no earlier build to continue from')
      return new Map(models.map(({ name, rows }) => [name, rows]))
    }
    const first = await rowsOf('first')
    await warehouse.run('delete from ops.build_state')
    const second = await rowsOf('second')
    expect(second).toEqual(first)
    const named = computedModels.filter(({ name }) => name !== 'pseudo_employers')
    expect(named.map(({ name }) => second.get(name) ?? 0)).toEqual([0, 0, 0, 1, 0])
    expect(second.get('pseudo_employers')).toBeGreaterThan(500)
  })

  it('builds every model, reports rows and steps, passes every check, and comments its tables', async () => {
    const steps: BuildStep[] = []
    const onProgress = (step: BuildStep) => void steps.push(step)
    await askEveryEndpoint(warehouse)
    const report = await buildModels(warehouse, { buildId: 'whole', builtAt, onProgress })
    const rows = new Map(report.models.map((one) => [one.name, one.rows]))
    const shipped = [...computedModels, ...readModelFiles()].map(({ name }) => name)
    expect([...rows.keys()].toSorted()).toEqual(shipped.toSorted())
    expect([rows.get('joiners'), rows.get('moves')]).toEqual([3, 0])
    expect(rows.get('stg_job_change_events')).toBeNull()
    expect(report.models.filter(({ rowsChanged }) => rowsChanged !== null)).toEqual([])
    expect(report.checks.length).toBeGreaterThan(40)
    const total = report.models.length + report.checks.length
    expect(steps.length).toBeGreaterThan(report.models.length)
    expect(steps.at(-1)).toMatchObject({ done: total, total })
    const passed = await warehouse.all(
      `select count(*)::int as n from ops.checks where offenders = 0 and sample is null and build_id = 'whole'`,
    )
    expect(passed).toEqual([{ n: report.checks.length }])
    const [joiners] = await warehouse.all<{ comment: string }>(
      `select comment from duckdb_tables() where table_name = 'joiners'`,
    )
    expect(joiners?.comment).toMatch(
      /^One row per .+ Key: organization_id, joined_at, profile_id, stint_number\. Model: marts\/joiners\.sql$/,
    )
  })
})

describe('tables other than models', () => {
  it('drops the table of a model whose file is gone, but not one of another program', async () => {
    await warehouse.run('create table notes as select 1 as a')
    await build()
    const before = [...(await contentsOf(warehouse)).keys()]
    rmSync(join(folder, 'models/marts/totals.sql'))
    await build()
    const after = [...(await contentsOf(warehouse)).keys()]
    expect(after).toEqual(before.filter((name) => name !== 'totals'))
    expect(after).toContain('notes')
  })

  it.each(['table', 'view'])(
    'refuses to build if another program’s %s has the name of a model, and leaves it unchanged',
    async (kind) => {
      await warehouse.run(`create ${kind} sizes as select 'mine' as note`)
      await expect(build()).rejects.toMatchObject({
        exitCode: EXIT.usage,
        message: `the ${kind} sizes in the warehouse is not Jobtide’s, and has the name of a table of Jobtide`,
      })
      expect(await warehouse.all('select * from sizes')).toEqual([{ note: 'mine' }])
    },
  )

  it('rebuilds a table that lost a column', async () => {
    await build()
    await warehouse.run('alter table arrivals drop column title')
    expect((await build()).fullRefreshReason).toBe(
      'the table arrivals has different columns from those it was made with',
    )
    expect(await warehouse.all('select count(title) as n from arrivals')).toEqual([{ n: 3n }])
  })

  it('moves a model with its file, from main to core', async () => {
    await build()
    mkdirSync(join(folder, 'models/core'))
    renameSync(join(folder, 'models/marts/totals.sql'), join(folder, 'models/core/totals.sql'))
    await build()
    const names = [...(await contentsOf(warehouse)).keys()]
    expect(names.filter((name) => name.endsWith('totals'))).toEqual(['core.totals'])
  })
})

describe('an incremental build with one new joining of 3 people', () => {
  it('writes 1 row of people and the 2 and 2 changed rows of rebuilt tables, then nothing while nothing changes', async () => {
    expect((await build()).fullRefreshReason).toBe('there is no earlier build to continue from')
    await insertEvents(warehouse, [event('dee', 'acme', '2024-04-01')])
    const report = await build()
    expect(report.fullRefreshReason).toBeNull()
    expect(changes(report)).toEqual({ arrivals: 1, sizes: 2, totals: 2 })
    expect(await warehouse.all('select * from sizes order by all')).toEqual([
      { organization_id: 'acme', people: 3 },
      { organization_id: 'globex', people: 1 },
    ])
    expect(await warehouse.all('select * from totals')).toEqual([{ people: 4 }])
    const [comment] = await warehouse.all<{ comment: string }>(
      `select comment from duckdb_tables() where table_name = 'totals'`,
    )
    expect(comment?.comment).toContain('Model: marts/totals.sql')
    expect(await temporariesOf(warehouse)).toEqual([])
    expect(changes(await build())).toEqual({ arrivals: 0, sizes: 0, totals: 0 })
  })
})

describe('a model that is incremental by organisation', () => {
  const heads = 'heads'
  // A row that is not rebuilt keeps the mark.
  const marked = () =>
    warehouse.all(`select organization_id, people from ${heads} where share < 0 order by all`)

  beforeEach(() => {
    model(`marts/${heads}`, {
      key: 'organization_id',
      lines: ['-- incremental_by: organization_id'],
      columns: 'organization_id people share',
      sql: `select organization_id, sizes.people, cast(round(100.0 * sizes.people / caps.cap) as integer) as share
            from sizes cross join caps`,
    })
    model('marts/caps', {
      key: 'cap',
      columns: 'cap',
      sql: `select cast(greatest(10, sum(people)) as integer) as cap from sizes`,
    })
  })

  it('is rebuilt for the organisations whose rows changed, including one that lost its last row', async () => {
    await build()
    await warehouse.run(`update ${heads} set share = -1`)
    await insertEvents(warehouse, [event('dee', 'initech', '2024-04-01')])
    expect(changes(await build())).toMatchObject({ [heads]: 1, caps: 0 })
    expect(await marked()).toEqual([
      { organization_id: 'acme', people: 2 },
      { organization_id: 'globex', people: 1 },
    ])
    await warehouse.run(`update job_change_events set organization_id = 'acme' where profile_id = 'cai';
      insert into ops.changed_people values ('cai')`)
    expect(changes(await build())).toMatchObject({ sizes: 3, [heads]: 3 })
    expect(await warehouse.all(`select * from ${heads} order by all`)).toEqual([
      { organization_id: 'acme', people: 3, share: 30 },
      { organization_id: 'initech', people: 1, share: 10 },
    ])
    expect(await temporariesOf(warehouse)).toEqual([])
  })

  it('is rebuilt when a table without organisations changed', async () => {
    await build()
    const many = Array.from({ length: 10 }, (_, place) =>
      event(`person ${place}`, 'initech', '2024-04-01'),
    )
    await insertEvents(warehouse, many)
    expect(changes(await build())).toMatchObject({ caps: 2, [heads]: 5 })
    expect(await warehouse.all(`select organization_id, share from ${heads} order by all`)).toEqual(
      [
        { organization_id: 'acme', share: 15 },
        { organization_id: 'globex', share: 8 },
        { organization_id: 'initech', share: 77 },
      ],
    )
  })
})

describe('a full refresh', () => {
  it('happens if people with new events have more than a fifth of all events, and says so', async () => {
    await build()
    await insertEvents(warehouse, [event('ada', 'globex', '2024-04-01')])
    const report = await build({ mostChanged: 0.2 })
    expect(report.fullRefreshReason).toBe(
      'people with new or changed events have 50 % of all events',
    )
  })

  it('happens if a model, a check or a header changed since the last build', async () => {
    await build()
    writeFileSync(join(folder, 'checks', 'sizes_are_small.sql'), 'select 1 as a where false\n')
    expect((await build()).fullRefreshReason).toBe(
      'models, checks, titles or the version changed since the last build',
    )
    expect((await build()).fullRefreshReason).toBeNull()
  })

  it('reads titles of another taxonomy again, and removes those that no event has', async () => {
    await build()
    await warehouse.run(`
      update titles set taxonomy_version = 'before', level = 'cxo';
      insert into titles select * replace ('Nobody' as title) from titles limit 1;
      delete from ops.build_state`)
    await build()
    expect(await warehouse.all('select title, level, taxonomy_version from titles')).toEqual([
      { title: 'Engineer', level: 'mid', taxonomy_version: taxonomyVersion() },
    ])
  })
})

describe('a model that fails', () => {
  it('is reported by name with the engine’s message, and the next build succeeds', async () => {
    model('marts/numbers', {
      key: 'profile_id',
      lines: ['-- incremental_by: profile_id'],
      columns: 'profile_id number',
      sql: `select profile_id, cast(max(case profile_id when 'dee' then 'four' else '1' end) as integer) as number
            from job_change_events group by profile_id`,
    })
    await build()
    await insertEvents(warehouse, [event('dee', 'acme', '2024-04-01')])
    await expect(build()).rejects.toThrow(/^model numbers: Conversion Error: .*'four'/)
    await warehouse.run(`update job_change_events set profile_id = 'eve' where profile_id = 'dee';
      insert into ops.changed_people values ('eve')`)
    expect(changes(await build())).toEqual({ arrivals: 1, numbers: 1, sizes: 2, totals: 2 })
  })
})

describe('a check that fails', () => {
  const offenders = async () => {
    const error: unknown = await build().catch((thrown: unknown) => thrown)
    const { context } = error as { context: { failed?: { name: string; sample: unknown[] }[] } }
    return context.failed?.map(({ name, sample }) => [name, sample])
  }

  it('finds a value that the header does not accept, and changes nothing', async () => {
    await build()
    await insertEvents(warehouse, [
      { ...event('dee', 'acme', '2024-04-01'), title_current: 'Chef' },
    ])
    expect(await offenders()).toEqual([
      [
        'arrivals_title_has_known_values',
        [{ event_key: expect.stringContaining('dee') as string, title: 'Chef' }],
      ],
    ])
    expect(await warehouse.all('select * from totals')).toEqual([{ people: 3 }])
    // Both outcomes are kept, including that of the passed check.
    expect(
      await warehouse.all(
        `select check_name, checked_at, offenders, sample from ops.checks
         where check_name like 'arrivals_%' order by 1`,
      ),
    ).toMatchObject([
      { check_name: 'arrivals_key_is_unique_and_not_null', offenders: 0, sample: null },
      { checked_at: builtAt, offenders: 1, sample: expect.stringContaining('"title":"Chef"') },
    ])
    expect(await warehouse.all('select * from ops.changed_people')).toEqual([{ profile_id: 'dee' }])
    expect(await temporariesOf(warehouse)).toEqual([])
    await warehouse.run(
      `update job_change_events set title_current = 'Director' where title_current = 'Chef'`,
    )
    expect(changes(await build())).toEqual({ arrivals: 1, sizes: 2, totals: 2 })
  })

  it('finds a key already used by a person who did not change, in the loaded table and in the model', async () => {
    await build()
    await insertEvents(warehouse, [{ ...event('dee', 'acme', '2024-04-01'), event_key: 'twice' }])
    await build()
    await insertEvents(warehouse, [{ ...event('eve', 'acme', '2024-04-01'), event_key: 'twice' }])
    const twice = [{ event_key: 'twice', copies: '2' }]
    expect(await offenders()).toEqual([
      ['arrivals_key_is_unique_and_not_null', twice],
      ['job_change_events_key_is_unique_and_not_null', twice],
    ])
  })

  it('finds a dangling reference in rows that did not change', async () => {
    model('marts/residents', {
      key: 'profile_id',
      lines: ['-- incremental_by: profile_id'],
      columns: 'profile_id title',
      sql: `select profile_id, max(title_current) as title from job_change_events group by profile_id`,
    })
    model('marts/kinds', {
      key: 'title',
      columns: 'title',
      sql: 'select title from residents group by title',
    })
    model('marts/fixed', {
      key: 'organization_id',
      lines: ['-- references: title -> kinds.title'],
      columns: 'organization_id title',
      sql: `select 'acme' as organization_id, 'Director' as title`,
    })
    await insertEvents(warehouse, [
      { ...event('dee', 'acme', '2024-04-01'), title_current: 'Director' },
    ])
    await build()
    await warehouse.run(`update job_change_events set title_current = 'Engineer' where profile_id = 'dee';
      insert into ops.changed_people values ('dee')`)
    expect(await offenders()).toEqual([
      ['fixed_title_is_found_in_kinds', [{ organization_id: 'acme', title: 'Director' }]],
    ])
  })

  it('finds a reference from a row of a person to a missing one', async () => {
    model('marts/directors', {
      key: 'profile_id',
      lines: ['-- incremental_by: profile_id', '-- references: profile_id -> arrivals.profile_id'],
      columns: 'profile_id events',
      sql: `select profile_id, count(*) as events from job_change_events group by profile_id`,
    })
    await build()
    await insertEvents(warehouse, [
      { ...event('dee', 'acme', '2024-04-01'), event_type: 'left' },
      event('eve', 'acme', '2024-04-01'),
    ])
    expect(await offenders()).toEqual([
      ['directors_profile_id_is_found_in_arrivals', [{ profile_id: 'dee' }]],
    ])
  })

  it('finds the wrong 1 of 2 rows in a rebuilt table, and checks a table only if it changed', async () => {
    await build()
    writeFileSync(
      join(folder, 'checks', 'sizes_are_small.sql'),
      'select organization_id, people from sizes where people = 3\n',
    )
    await build()
    await insertEvents(warehouse, [event('dee', 'acme', '2024-04-01')])
    expect(await offenders()).toEqual([
      ['sizes_are_small', [{ organization_id: 'acme', people: 3 }]],
    ])
    await warehouse.run(`update sizes set people = 3 where organization_id = 'globex';
      delete from job_change_events where profile_id = 'dee'`)
    expect((await build()).fullRefreshReason).toBeNull()
  })
})

describe('a constraint of a header', () => {
  it.each([
    ['-- values: title Engineer', /"-- values: title Engineer" is not "column: a \| b"/],
    ['-- references: title kinds', /"-- references: title kinds" is not "column -> table.column"/],
    [
      '-- incremental_by: month',
      /a model is incremental_by profile_id or organization_id, or rebuilt/,
    ],
    ['-- kind: view\n-- values: title: a', /a view is checked at the tables that it reads/],
    ['-- kind: View', /"-- kind: View" is not "view"/],
  ])('is refused when it is %s', async (line, message) => {
    model('marts/odd', {
      key: 'title',
      lines: [line],
      columns: 'title',
      sql: `select 'a' as title`,
    })
    await expect(build()).rejects.toThrow(message)
  })

  it('names columns that are only in the select or only in the header', async () => {
    const sql = 'select 1 as a, 2 as c'
    model('marts/odd', { key: 'a', columns: 'a b', sql })
    await expect(build()).rejects.toThrow('the header names b, which is not selected')
    model('marts/odd', { key: 'a', columns: 'a', sql })
    await expect(build()).rejects.toThrow('model odd: c is not described')
  })

  it('is checked by a full refresh: a repeated key, a null key, a dangling reference', async () => {
    model('marts/odd', {
      key: 'a, b',
      lines: ['-- references: b -> sizes.organization_id', '-- values: a: x | y'],
      columns: 'a b',
      sql: `select * from (values ('x', 'acme'), ('x', 'acme'), (null, 'acme'), ('y', 'gone')) as t(a, b)`,
    })
    await expect(build()).rejects.toMatchObject({
      context: {
        failed: [
          { name: 'odd_a_has_known_values', sample: [{ a: null, b: 'acme' }] },
          { name: 'odd_b_is_found_in_sizes', sample: [{ a: 'y', b: 'gone' }] },
          {
            name: 'odd_key_is_unique_and_not_null',
            offenders: 2,
            sample: [
              { a: 'x', b: 'acme', copies: '2' },
              { a: null, b: 'acme', copies: '1' },
            ],
          },
        ],
      },
    })
  })
})

function build(options: Partial<Parameters<typeof buildModels>[1]> = {}): Promise<BuildReport> {
  return buildModels(warehouse, {
    buildId: 'night',
    builtAt,
    modelFolder: join(folder, 'models'),
    checkFolder: join(folder, 'checks'),
    mostChanged: 1,
    ...options,
  })
}

function changes(report: BuildReport): Record<string, number | null> {
  const ours = report.models.filter(
    ({ name }) => !computedModels.some((computed) => computed.name === name),
  )
  return Object.fromEntries(ours.map(({ name, rowsChanged }) => [name, rowsChanged]))
}

function model(
  place: string,
  parts: {
    readonly key: string
    readonly lines?: readonly string[]
    readonly columns: string
    readonly sql: string
  },
): void {
  const header = [
    '-- grain: One row.',
    `-- key: ${parts.key}`,
    '-- purpose: Tests.',
    ...(parts.lines ?? []),
    '-- columns:',
    ...parts.columns.split(' ').map((column) => `--   ${column}: A column.`),
  ]
  writeFileSync(join(folder, 'models', `${place}.sql`), `${header.join('\n')}\n${parts.sql}\n`)
}
