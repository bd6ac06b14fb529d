/** Pipelines of `kind: collect`: what they ask, what it costs, and what is refused before that. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { done } from '../helpers/run-cli.ts'
import { contentsOf } from '../helpers/warehouse.ts'
import { manifestIn, newStore } from '../publish/fixtures.ts'
import { ledger, openCollection, type RunDocument } from './collect-fixture.ts'

// Several complete runs.
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

  it('creates the tables of its endpoint in warehouse and snapshot; before that, commands say how to', async () => {
    // Of eight companies, none has an opening on some days.
    const site = await openCollection({ companies: 24 })
    done(await site.call(['run', join(site.folder, 'test.yaml')]))
    const ofEndpoints = `select table_name as name from information_schema.tables
      where table_schema = 'service' and regexp_matches(table_name, '^(company_[^i]|job_posting|posts|reposts|people_found)')`
    const published = async () =>
      (await manifestIn(newStore(join(site.dataDir, 'snapshots')))).tables.flatMap(({ name }) =>
        /^company_[^i]/.test(name) ? name : [],
      )
    expect(await site.query(ofEndpoints)).toEqual([])
    expect(await published()).toEqual([])
    const toldBy = async (command: readonly string[]) => {
      const refused = await site.call(command)
      expect([refused.exitCode, refused.stdout]).toEqual([2, ''])
      return refused.stderr
    }
    const why =
      'there is no table company_profiles yet: it comes with the first answer of company-profile'
    for (const command of [
      ['query', 'select count(*) from main.company_profiles'],
      ['export', '--to', 'export', '--tables', 'people,company_profiles'],
    ]) {
      const told = await toldBy(command)
      expect(told).toContain(why)
      expect(told).toContain('`jobtide run companies`')
    }
    expect(await toldBy(['plan', 'postings'])).toContain('there is no table company_openings yet')
    const needs = async (table: string) =>
      (await site.json<{ tables: { needs: string[] }[] }>('models', table)).tables[0]?.needs
    expect(await needs('company_profiles')).toEqual(['company-profile'])
    expect(done(await site.call(['models', 'posts'])).stdout).toContain(
      'not there before an answer of post-search',
    )

    done(await site.call(['run', site.pipeline]))
    expect(await site.query(ofEndpoints)).toHaveLength(7)
    expect(await published()).toHaveLength(7)
    expect(await needs('company_profiles')).toEqual([])
    // One of the two tables that its list reads does not exist yet.
    expect(await site.json('plan', 'postings')).toMatchObject({ endpoint: 'job-details' })
    const contents = async () =>
      withWarehouse({ path: join(site.dataDir, 'jobtide.duckdb'), mode: 'read' }, contentsOf)
    const before = await contents()
    done(await site.call(['replay']))
    expect(await contents()).toEqual(before)
  })

  it.each([
    ['endpoint: nothing', 'endpoint: expected company-profile, company-search, job-details'],
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
