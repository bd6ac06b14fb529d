/** All endpoints in one warehouse: what a night of pipelines asks, what it costs, and what the tables show of it. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { done } from '../helpers/run-cli.ts'
import { ledger, openCollection, type RunDocument } from './collect-fixture.ts'

// Whole runs one after another.
vi.setConfig({ testTimeout: 240_000 })

const COMPANIES = 30

const PIPELINES = [
  ['profiles', 'company-profile', 'select url from organizations where url is not null'],
  ['postings', 'job-details', 'select url from company_openings'],
  [
    'hires',
    'post-search',
    'select company_id from company_profiles',
    'fills: mentions_organization',
  ],
  [
    'managers',
    'people-search',
    'select url from company_profiles',
    'options: { job_title: Manager }',
  ],
  ['shares', 'post-reposts', 'select url from posts order by url limit 2', 'pages: 1'],
  ['counts', 'post-details', 'select url from posts order by url limit 2'],
] as const

describe('pipelines over every endpoint', () => {
  it('cost what the account says, ask nothing twice, and fill their tables', async () => {
    const site = await openCollection({ companies: COMPANIES })
    done(await site.call(['extract', join(site.folder, 'test.yaml')]))
    done(await site.call(['load']))
    done(await site.call(['build']))
    for (const [name, endpoint, sql, ...more] of PIPELINES) {
      const file = join(site.folder, `${name}.yaml`)
      const lines = [
        `name: ${name}`,
        'kind: collect',
        `endpoint: ${endpoint}`,
        `for_each: { sql: ${sql} }`,
      ]
      writeFileSync(file, [...lines, ...more, ''].join('\n'))
      const plan = await site.json<{ credits_at_least: number; credits_at_most: number }>(
        'plan',
        file,
      )
      const { extract } = await site.json<RunDocument>('run', file)
      expect(extract.events, name).toBeGreaterThan(0)
      expect(extract.credits, name).toBeGreaterThanOrEqual(plan.credits_at_least)
      expect(extract.credits, name).toBeLessThanOrEqual(plan.credits_at_most)
      const { requests } = site.simulator.account()
      await site.json('extract', file)
      const free = endpoint === 'post-search' || endpoint === 'people-search'
      // What was found nothing of, for nothing, may be there by now: it is asked again.
      if (!free) expect(site.simulator.account().requests, name).toBe(requests)
      expect((await ledger(site))[0]?.credits, name).toBe(site.simulator.account().credits)
    }
    for (const [table, least] of Object.entries({
      company_profiles: COMPANIES,
      company_locations: COMPANIES,
      job_postings: 1,
      organization_open_roles: 1,
      posts: 2,
      people_found: 2,
      reposts: 50,
      post_counts: 2,
      announcements: 1,
    })) {
      const [row] = await site.query<{ n: number }>(`select count(*) as n from ${table}`)
      expect(row?.n, table).toBeGreaterThanOrEqual(least)
    }
    const [open] = await site.query(
      `select count(*) as n from job_postings where state = 'LISTED' and closed_at is null and days_open >= 0`,
    )
    expect(open).toEqual(
      await site.query('select count(*) as n from job_postings').then(([all]) => all),
    )
    const [wrong] = await site.query(
      `select count(*) as n from people_found where organization_id is null or title not like '%Manager%'`,
    )
    expect(wrong).toEqual({ n: 0 })
  })
})

describe('find and suggest', () => {
  it('write a list that a pipeline takes, and say what is new in it the next time', async () => {
    const site = await openCollection({ companies: COMPANIES })
    const list = join(site.folder, 'found.csv')
    const find = (...args: string[]) =>
      site.json<{ found: unknown[]; credits: number; added: number; removed: number }>(
        'find',
        ...args,
      )
    const quote = await site.json('find', 'companies', 'has_jobs=true', '--dry-run')
    expect(quote).toMatchObject({ credits_at_least: 5, credits_at_most: 100 })
    expect(existsSync(list)).toBe(false)
    const all = await find('companies', 'has_jobs=true', '--output', list)
    expect(all).toMatchObject({ credits: 5, added: null })
    expect(readFileSync(list, 'utf8').trim().split('\n')).toHaveLength(all.found.length + 1)
    const again = await find('companies', 'has_jobs=true', '--output', list)
    expect(again).toMatchObject({ credits: 0, added: 0, removed: 0 })
    const fewer = await find('companies', 'has_jobs=true', 'company_sizes=D', '--output', list)
    expect(fewer).toMatchObject({ added: 0, removed: all.found.length - fewer.found.length })
    const nightly = join(site.folder, 'nightly.yaml')
    writeFileSync(nightly, 'name: nightly\norganizations: found.csv\nwindow: 30\n')
    expect(await site.json('plan', nightly)).toMatchObject({ organizations: fewer.found.length })
    const suggested = await site.json<{ suggestions: unknown[] }>('suggest', 'company', 'a')
    expect(suggested).toMatchObject({ credits: 1 })
    expect(suggested.suggestions.length).toBeGreaterThan(0)
    expect((await ledger(site))[0]?.credits).toBe(site.simulator.account().credits)
  })

  it.each([
    [['dogs', 'a=b'], 'there is no search for dogs'],
    [['people', 'manager'], 'not a filter: "manager"'],
    [['people', 'job_titel=CEO'], 'job_titel: unknown; allowed: keywords, job_title,'],
    [['people', '+job_title=CEO'], 'the endpoint knows job_title'],
    [['people', 'company_ids=acme'], 'company_ids: expected ids, which are numbers'],
    [['companies', 'has_jobs=perhaps'], 'has_jobs: expected true or false'],
    [['companies', 'name!=a'], 'name: unknown'],
  ])('find %j is refused before anything is sent: %s', async (args, message) => {
    const site = await openCollection({ companies: 1 })
    const refused = await site.call(['find', ...args])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain(message)
    expect(site.simulator.account().requests).toBe(0)
  })
})
