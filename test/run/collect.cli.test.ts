/** Pipelines of `kind: collect`: what is asked, what it costs, and what is refused before that. */

import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { ledger, openCollection, type RunDocument } from './collect-fixture.ts'

// Whole runs one after another.
vi.setConfig({ testTimeout: 240_000 })

describe('a pipeline of kind collect', () => {
  it('asks for each company once, shows it in four tables, and asks nothing the next day', async () => {
    const site = await openCollection()
    const run = await site.json<RunDocument>('run', site.pipeline)
    expect(run).toMatchObject({ endpoint: 'company-profile', extract: { events: 8, credits: 8 } })
    expect(site.simulator.account()).toMatchObject({ requests: 8, credits: 8 })
    expect(await ledger(site)).toEqual([{ credits: 8, requests: 8 }])
    for (const table of ['company_profiles', 'company_profile_versions', 'company_headcounts']) {
      expect(await site.query(`select count(*) as n from ${table}`), table).toEqual([{ n: 8 }])
    }
    const { runs } = await site.json<{ runs: unknown[] }>('status')
    expect(runs).toMatchObject([{ batches: 8, batches_done: 8 }])
    const plan = await site.json('plan', site.pipeline)
    expect(plan).toMatchObject({ requests_at_least: 0, answered_lately: 8, credits_at_most: 0 })
    expect(await site.json('run', site.pipeline)).toMatchObject({
      extract: { events: 0, credits: 0 },
    })
    expect(site.simulator.account().requests).toBe(8)
  })

  it.each([
    ['endpoint: nothing', 'endpoint: expected one of company-profile, company-search, job-details'],
    ['options: { lang: x }', 'options: lang: '],
    ['options: { page: 2 }', 'options: page: unknown; allowed: use_cache, lang,'],
    ['refresh_days: 0', 'refresh_days: '],
    ['window: all', 'window: unknown key; allowed: name, schedule,'],
  ])('refuses %s before it asks', async (line, message) => {
    const site = await openCollection({ companies: 1 })
    const key = line.split(':', 1)[0] ?? ''
    const kept = readFileSync(site.pipeline, 'utf8')
      .split('\n')
      .filter((one) => !one.startsWith(`${key}:`))
    writeFileSync(site.pipeline, [...kept, line].join('\n'))
    const refused = await site.call(['run', site.pipeline])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain(message)
    expect(site.simulator.account().requests).toBe(0)
  })
})
