/** Every recipe answers on a made-up world, and says what is wrong with its parameters. */

import { expect, it } from 'vitest'
import { readRecipe, recipeNames } from '../../src/cli/recipes.ts'
import { done, openSite } from '../helpers/run-cli.ts'

// The made-up world has no founders, and small companies have no layoffs.
const NONE_HERE = new Set(['founders_who_left', 'layoffs_and_hiring_bursts', 'watch_misses'])

it('each recipe answers with rows; an organisation may be given by its name; wrong parameters are exit 2', async () => {
  const watch = 'watch: [{ name: all, organizations: organizations.csv }]'
  const site = await openSite({ companies: 12, pipelineLines: [watch] })
  done(await site.call(['backfill', site.pipeline, '--days', 'all', '--no-publish']))
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
