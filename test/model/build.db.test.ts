import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { buildModels, type BuildStep } from '../../src/model/build.ts'
import { CheckFailedError } from '../../src/model/check-outcome.ts'
import { computedModels } from '../../src/model/computed-models.ts'
import { sqlFolder } from '../../src/support/assets.ts'
import { EXIT } from '../../src/support/errors.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { contentsOf, insertEvents, memoryWarehouse, type GivenEvent } from '../helpers/warehouse.ts'

const firstNight = { buildId: 'night-1', builtAt: new Date('2024-12-01T03:00:00Z') }
const secondNight = { buildId: 'night-2', builtAt: new Date('2024-12-02T03:00:00Z') }

const moveOfAda: GivenEvent[] = [
  { profile_id: 'ada', organization_id: 'acme', event_type: 'left', changed_at: '2024-03-01' },
  { profile_id: 'ada', organization_id: 'globex', event_type: 'joined', changed_at: '2024-03-01' },
]
const joiningOfBen: GivenEvent = {
  profile_id: 'ben',
  organization_id: 'acme',
  event_type: 'joined',
  changed_at: '2024-05-01',
  title_current: 'Software Engineer',
}

let models: string
let checks: string
let warehouse: Warehouse

beforeEach(async () => {
  const folder = temporaryFolder()
  models = join(folder, 'models')
  checks = join(folder, 'checks')
  cpSync(join(sqlFolder, 'models'), models, { recursive: true })
  mkdirSync(checks)
  warehouse = await memoryWarehouse()
  await insertEvents(warehouse, moveOfAda)
})

afterEach(() => warehouse.close())

describe('build', () => {
  it('makes every filled table and model after each other, reports rows, passes every check, and comments on what it made', async () => {
    const steps: BuildStep[] = []
    const report = await buildModels(warehouse, {
      ...firstNight,
      onProgress: (step) => steps.push(step),
    })
    const rows = new Map(report.models.map((model) => [model.name, model.rows]))
    expect([...rows.keys()].toSorted()).toEqual(
      [...computedModels, ...readModelFiles()].map(({ name }) => name).toSorted(),
    )
    expect(rows.get('stints')).toBe(2)
    expect(rows.get('moves')).toBe(1)
    expect(rows.get('joiners')).toBe(1)
    expect(rows.get('stg_job_change_events')).toBeNull()
    expect(report.fullRefreshReason).toBe('there is no earlier build to go on from')
    expect(report.models.filter(({ rowsChanged }) => rowsChanged !== null)).toEqual([])
    expect(report.checks.length).toBeGreaterThan(40)
    expect(steps).toHaveLength(report.models.length + report.checks.length)
    expect(steps.at(-1)).toMatchObject({ done: steps.length, total: steps.length })
    const [row] = await warehouse.all<{ passed: bigint }>(
      `select count(*) as passed from ops.checks where offenders = 0 and sample is null and build_id = 'night-1'`,
    )
    expect(Number(row?.passed)).toBe(report.checks.length)
    const [joiners] = await warehouse.all<{ comment: string }>(
      `select comment from duckdb_tables() where table_name = 'joiners'`,
    )
    expect(joiners?.comment).toMatch(
      /^One row per .+ Key: organization_id, joined_at, profile_id\. Model: marts\/joiners\.sql$/,
    )
  })
})

// One warehouse for all of these, in this order: a build that fails leaves it as it was.
describe('a check that fails', () => {
  let night: Warehouse
  let failing: string
  let before: Map<string, string[]>
  let error: unknown
  const secondBuild = () =>
    buildModels(night, { ...secondNight, checkFolder: failing }).catch((thrown: unknown) => thrown)

  beforeAll(async () => {
    failing = mkdtempSync(join(tmpdir(), 'jobtide-checks-'))
    writeFileSync(
      join(failing, 'nobody_joins_acme.sql'),
      `select profile_id, joined_at from joiners where organization_id = 'acme';\n`,
    )
    writeFileSync(
      join(failing, 'joiners_have_a_key.sql'),
      'select 1 from joiners where event_key is null',
    )
    night = await memoryWarehouse()
    await insertEvents(night, moveOfAda)
    await buildModels(night, firstNight)
    await insertEvents(night, [joiningOfBen])
    before = await contentsOf(night)
    error = await secondBuild()
  })
  afterAll(() => {
    night.close()
    rmSync(failing, { recursive: true })
  })

  it('keeps the tables of the night before, whole', async () => {
    expect(error).toBeInstanceOf(CheckFailedError)
    expect(await contentsOf(night)).toEqual(before)
    expect(before.get('joiners')).toHaveLength(1)
  })

  it('leaves both outcomes in ops.checks, with the offending row', async () => {
    expect(
      await night.all(
        `select check_name, build_id, checked_at, offenders, sample from ops.checks
         where check_name in ('joiners_have_a_key', 'nobody_joins_acme') order by check_name`,
      ),
    ).toEqual([
      {
        check_name: 'joiners_have_a_key',
        build_id: 'night-2',
        checked_at: secondNight.builtAt,
        offenders: 0,
        sample: null,
      },
      {
        check_name: 'nobody_joins_acme',
        build_id: 'night-2',
        checked_at: secondNight.builtAt,
        offenders: 1,
        sample: '[{"profile_id":"ben","joined_at":"2024-05-01 00:00:00+00"}]',
      },
    ])
  })
})

describe('a model that is wrong', () => {
  const header = (columns: readonly string[]) =>
    `-- grain: One row.\n-- key: a\n-- purpose: Tests.\n-- columns:\n${columns.map((name) => `--   ${name}: A column.\n`).join('')}`

  it('is refused when header and select name other columns, and both are named', async () => {
    writeFileSync(join(models, 'marts', 'odd.sql'), `${header(['a', 'b'])}select 1 as a, 2 as c`)
    await expect(buildModels(warehouse, { ...firstNight, modelFolder: models })).rejects.toThrow(
      'model odd: header and select differ: c is not described, b is not selected',
    )
    expect(await tableNames()).not.toContain('joiners')
  })

  it('is refused by name when it reads a table that does not exist', async () => {
    writeFileSync(join(models, 'marts', 'odd.sql'), `${header(['a'])}select 1 as a from joinerz`)
    await expect(buildModels(warehouse, { ...firstNight, modelFolder: models })).rejects.toThrow(
      'model odd reads joinerz: no such table',
    )
  })
})

describe('tables beside the models', () => {
  it('drops the table of a model whose file is gone, and a table of another program stays', async () => {
    const marts = join(models, 'marts')
    await warehouse.run('create table notes as select 1 as a')
    await buildModels(warehouse, firstNight)
    const before = await tableNames()
    expect(before).toContain('talent_flows')
    rmSync(join(marts, 'talent_flows.sql'))
    await buildModels(warehouse, { ...secondNight, modelFolder: models, checkFolder: checks })
    expect(await tableNames()).toEqual(before.filter((name) => name !== 'talent_flows'))
    expect(before).toContain('notes')
  })

  it.each(['table', 'view'])(
    'is refused where a %s that another program made has the name of one of its own, and leaves it',
    async (kind) => {
      await warehouse.run(`create ${kind} people as select 'mine' as note`)
      const refused = buildModels(warehouse, firstNight)
      await expect(refused).rejects.toMatchObject({
        exitCode: EXIT.usage,
        message: `the ${kind} people in the warehouse is not Jobtide’s, and has the name of a table of Jobtide`,
      })
      expect(await warehouse.all('select * from people')).toEqual([{ note: 'mine' }])
    },
  )

  it('makes a table again that lost a column and a macro that was dropped', async () => {
    await buildModels(warehouse, firstNight)
    await warehouse.run('alter table joiners drop column function')
    await warehouse.run('drop macro table joiners_as_known_on')
    const { fullRefreshReason } = await buildModels(warehouse, secondNight)
    expect(fullRefreshReason).toBe('the table joiners has other columns than it was made with')
    const rows = await warehouse.all(
      `select count(function) as n from joiners_as_known_on('2099-01-01')`,
    )
    expect(rows).toEqual([{ n: 1n }])
  })

  it('moves a model with its file: from staging, a view of main, to core', async () => {
    await buildModels(warehouse, firstNight)
    const name = 'stg_job_change_events'
    cpSync(join(models, 'staging', `${name}.sql`), join(models, 'core', `${name}.sql`))
    rmSync(join(models, 'staging', `${name}.sql`))
    await buildModels(warehouse, { ...secondNight, modelFolder: models })
    const found = await warehouse.all(
      `select schema_name from duckdb_views() where view_name = '${name}'`,
    )
    expect(found).toEqual([{ schema_name: 'core' }])
  })
})

async function tableNames(): Promise<string[]> {
  return [...(await contentsOf(warehouse)).keys()]
}
