/**
 * Recipes on a simulated world: each answers, and reports wrong parameters. Tables are read as known on a day, by
 * `query` and by another program with the file that a build writes.
 */

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, expect, it } from 'vitest'
import { readRecipe, recipeNames } from '../../src/cli/query-command.ts'
import { sum } from '../../src/support/numbers.ts'
import { quoteText } from '../../src/warehouse/sql-text.ts'
import { done, openSite, type Site } from '../helpers/run-cli.ts'
import { onTestsFinished } from '../helpers/temporary-folder.ts'

// The simulated world has no founders, and small companies have no layoffs.
const NONE_HERE = new Set(['founders_who_left', 'layoffs_and_hiring_bursts', 'watch_misses'])

// One run for both tests: its build takes longest.
let site: Site
const onEnd = onTestsFinished()
beforeAll(async () => {
  const pipelineLines = ['watch: [{ name: all, organizations: organizations.csv }]']
  site = await openSite({ companies: 12, pipelineLines, onEnd })
  done(await site.call(['run', site.pipeline]))
}, 180_000)

it('each recipe answers with rows; an organisation may be given by its name; wrong parameters are exit 2', async () => {
  const [largest, other] = await site.query<{ organization_id: string; name: string }>(
    'select organization_id, name from organizations order by people_ever desc limit 2',
  )
  const given: Record<string, string | undefined> = {
    organization: largest?.organization_id,
    other: other?.organization_id,
    day: new Date().toISOString().slice(0, 10),
  }
  const ask = (...words: readonly string[]) =>
    site.call(['query', '--format', 'json', '--recipe', ...words])
  for (const name of recipeNames()) {
    const needed = readRecipe(name).parameters.filter(({ standard }) => standard === null)
    const { stdout } = done(
      await ask(name, ...needed.map((one) => `${one.name}=${given[one.name] ?? ''}`)),
    )
    const rows = (JSON.parse(stdout) as unknown[]).length
    if (!NONE_HERE.has(name)) expect(rows, name).toBeGreaterThan(0)
  }
  const byId = await ask('boomerang_rate', `organization=${largest?.organization_id}`)
  const byName = await ask('boomerang_rate', `organization=${largest?.name.toUpperCase()}`)
  expect(done(byName).stdout).toBe(done(byId).stdout)
  const between = async (to: string | undefined) =>
    done(await ask('flows_between', `organization=${largest?.organization_id}`, `other=${to}`))
      .stdout
  expect(await between(other?.name.toLowerCase())).toBe(await between(other?.organization_id))
  const moved = JSON.parse(
    done(
      await ask(
        'moves_between',
        `organization=${largest?.organization_id}`,
        `other=${other?.name}`,
      ),
    ).stdout,
  ) as unknown[]
  const yearly = JSON.parse(await between(other?.organization_id)) as { went_there: number }[]
  expect(moved).toHaveLength(sum(yearly.map(({ went_there: people }) => people)))
  const went = JSON.parse(
    done(await ask('where_leavers_went', `organization=${largest?.organization_id}`)).stdout,
  ) as { went_to: string; share_of_known: number | null }[]
  expect(went.find((one) => one.went_to === '(not known)')?.share_of_known).toBeNull()
  expect(went.every(({ share_of_known: share }) => share === null || share <= 1)).toBe(true)
  for (const [words, message] of [
    [['boomerang_rate', 'organization=No Such Ltd.'], 'no organisation has the id or the name No'],
    [['boomerang_rate'], 'boomerang_rate needs organization=…'],
    [['boomerang_rate', 'when=now'], 'boomerang_rate takes no parameter when=now'],
    [
      ['flows_between', `organization=${largest?.name}`, 'other=Nonsense'],
      'the id or the name Nonsense',
    ],
    [
      ['attrition', 'function=prodct'],
      'there is no function prodct\n  → Did you mean product? function is one of: all, eng',
    ],
    [['attrition', 'level=vice'], 'there is no level vice\n  → level is one of: all, intern, '],
    [['leavers_of_a_kind', `organization=${largest?.name}`, 'level=senor'], 'Did you mean senior?'],
    [['changes_since', 'change=jioned'], 'Did you mean joined?'],
    [['watch_hits', 'list=al'], 'Did you mean all?'],
    [['watch_hits', 'since=2026-02-30'], 'since: not a day: 2026-02-30'],
    [['senior_hires', 'to=soon'], 'to: not a day: soon'],
    [['attrition', 'level=vp', 'level=cxo'], 'level=… is given twice'],
    [['nope'], 'there is no recipe nope'],
  ] as const) {
    const { exitCode, stderr } = await ask(...words)
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)])
  }
  const { exitCode, stderr } = await site.call(['query', 'select', '1'])
  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringContaining('the statement was split into several words'),
  ])
}, 180_000)

/** Another program that reads the copy: the engine as it is, without the settings and the search path of Jobtide. */
async function plainDuckDB() {
  const path = join(site.dataDir, 'analyst.duckdb')
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  onEnd(() => {
    connection.closeSync()
    instance.closeSync()
  })
  return async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJS()
}

const JOINERS =
  "select count(*)::int as joiners from joiners_as_known_on(current_date - 90, seen_by := 'service')"

it('query and a program that runs as_known_on.sql first see the same joiners; no macro is stored', async () => {
  const [known] = await site.query<{ joiners: number }>(JOINERS)
  const [now] = await site.query<{ joiners: number }>(
    'select count(*)::int as joiners from joiners',
  )
  expect(known?.joiners).toBeGreaterThan(10)
  expect(known?.joiners).toBeLessThan(now?.joiners ?? 0)

  const file = join(site.dataDir, 'as_known_on.sql')
  const plain = await plainDuckDB()
  const stored = "from duckdb_functions() where function_name like '%known_on'"
  expect(await plain(stored)).toEqual([])
  await plain(readFileSync(file, 'utf8'))
  expect(await plain(JOINERS)).toEqual([known])

  // An organisation may be given by its name, as in recipes; another word is refused.
  const [largest] = await plain(
    'select organization_id as id, upper(name) as name from organizations order by people_ever desc limit 1',
  )
  const ofOne = (table: string, organization: unknown) =>
    plain(
      `select count(*)::int as n from ${table}_as_known_on(current_date, organization := ${quoteText(String(organization))})`,
    )
  for (const table of ['joiners', 'moves', 'stints', 'people', 'attrition']) {
    const [byId] = await ofOne(table, largest?.['id'])
    expect(await ofOne(table, largest?.['name']), table).toEqual([byId])
    await expect(ofOne(table, 'Nonsense Ltd'), table).rejects.toThrow(
      '0 organisations have the id or the name Nonsense Ltd',
    )
  }
  expect(await ofOne('joiners', largest?.['id'])).not.toEqual([{ n: 0 }])

  // A night that changes nothing leaves the file alone.
  const { mtimeMs } = statSync(file)
  await site.json('run', site.pipeline)
  expect(statSync(file).mtimeMs).toBe(mtimeMs)
})

it('a program that runs as_known_on.sql first runs every recipe as it is', async () => {
  const plain = await plainDuckDB()
  await plain(readFileSync(join(site.dataDir, 'as_known_on.sql'), 'utf8'))
  const [largest, other] = await plain(
    'select organization_id as id from organizations order by people_ever desc limit 2',
  )
  const given: Record<string, unknown> = {
    day: new Date().toISOString().slice(0, 10),
    organization: largest?.['id'],
    other: other?.['id'],
  }
  for (const name of recipeNames()) {
    const { parameters, sql } = readRecipe(name)
    for (const { name: parameter, standard } of parameters) {
      const value = standard ?? String(given[parameter])
      await plain(`set variable "${parameter}" = ${quoteText(value)}`)
    }
    const rows = await plain(sql).catch((error: unknown) => `${name}: ${String(error)}`)
    expect(rows).toBeInstanceOf(Array)
    if (!NONE_HERE.has(name)) expect(rows.length, name).toBeGreaterThan(0)
  }
})

it('attrition that finds no row says on stderr when it has some, not in CSV or JSON', async () => {
  const young = await openSite({ companies: 3, onEnd })
  done(await young.call(['backfill', young.pipeline, '--days', '30']))
  const ask = (...words: readonly string[]) => young.call(['query', '--recipe', ...words])
  const why =
    'No rows: rates begin after the first observed year of an organisation, while its headcount is 10 or more'
  const table = await ask('attrition')
  expect(table.stderr).toContain(why)
  expect(table.stdout).not.toContain(why)
  expect((await ask('watch_hits')).stderr).toContain('No rows: no pipeline has a watch-list')
  for (const format of ['csv', 'json', 'spreadsheet']) {
    const { stdout, stderr } = done(await ask('attrition', '--format', format))
    expect(stdout + stderr).not.toContain('No rows')
  }
}, 180_000)
