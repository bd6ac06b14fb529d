/**
 * Recipes on a simulated world: each answers, and reports wrong parameters. Tables are read as known on a day, by
 * `query` and by another program with the file that a build writes.
 */

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { readRecipe, recipeNames } from '../../src/cli/recipes.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
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
  for (const [words, message] of [
    [['boomerang_rate', 'organization=No Such Ltd.'], 'no organisation has the id or the name No'],
    [['boomerang_rate'], 'boomerang_rate needs organization=…'],
    [['boomerang_rate', 'when=now'], 'boomerang_rate takes no parameter when=now'],
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
  const copy = { path: join(site.dataDir, 'analyst.duckdb'), mode: 'read' as const }
  const inCopy = await withWarehouse(copy, async (warehouse) => {
    const stored =
      "select count(*)::int as n from duckdb_functions() where function_name like '%known_on'"
    expect(await warehouse.all(stored)).toEqual([{ n: 0 }])
    await warehouse.run(readFileSync(file, 'utf8'))
    return warehouse.all(JOINERS)
  })
  expect(inCopy).toEqual([known])

  // A night that changes nothing leaves the file alone.
  const { mtimeMs } = statSync(file)
  await site.json('run', site.pipeline)
  expect(statSync(file).mtimeMs).toBe(mtimeMs)
})
