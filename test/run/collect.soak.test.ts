/** Pipelines of `kind: collect` whose service, budget or process fails: nothing is asked twice, and nothing is lost. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { done } from '../helpers/run-cli.ts'
import { ledger, openCollection, type RunDocument } from './collect-fixture.ts'

// Several complete runs.
vi.setConfig({ testTimeout: 240_000 })

describe('a pipeline of kind collect', () => {
  it('pays once for a missing page, and for sections that exist', async () => {
    const options = 'options: { company_insights: true, get_funding_rounds: true }'
    const site = await openCollection({}, [options])
    site.listOf([site.urls[0] ?? '', 'https://network.example/company/nobody'])
    const plan = await site.json('plan', site.pipeline)
    expect(plan).toMatchObject({ credits_at_least: 2, credits_at_most: 32 })
    const run = await site.json<RunDocument>('run', site.pipeline)
    expect(run.extract).toMatchObject({ credits: 17, events: 1 })
    expect(site.simulator.account().credits).toBe(17)
    expect(await site.query('select company from company_profiles where not is_found')).toEqual([
      { company: 'nobody' },
    ])
    expect(await site.json('run', site.pipeline)).toMatchObject({ extract: { credits: 0 } })
    expect(await site.json('plan', site.pipeline)).toMatchObject({ absent: 1 })
  })

  it('exits with 4 at its budget, never above it, and the next run asks for the rest', async () => {
    const site = await openCollection({}, ['options: { company_insights: true }'])
    const first = await site.call(['run', site.pipeline, '--credits', '50', '--json'])
    expect(first.exitCode).toBe(4)
    expect(site.simulator.account().credits).toBe(44)
    const status = await site.call(['status', '--json'])
    expect(JSON.parse(status.stdout)).toMatchObject({ runs: [{ batches: 8, batches_done: 4 }] })
    expect((await site.call(['status'])).stdout).toContain('4 of 8 batches of the last run of ')
    await site.json('run', site.pipeline)
    expect(site.simulator.account()).toMatchObject({ requests: 8, credits: 88 })
    expect(await ledger(site)).toEqual([{ credits: 88, requests: 8 }])
  })

  it('retries unanswered items within the run, and continues without refused ones', async () => {
    const later = { error: 'timed out', retryable: true, credit_used: 0 }
    const refused = { success: false, message: 'no such language', data: null, credit_used: 0 }
    const site = await openCollection({
      faults: [
        { nth: 2, status: 200, body: later },
        { nth: 5, status: 400, body: refused },
        { nth: 6, status: 503, headers: { 'Retry-After': 1 } },
      ],
    })
    const run = done(await site.call(['run', site.pipeline]))
    expect(run.stdout).toContain('no such language')
    expect(await site.query('select count(*) as n from company_profiles')).toEqual([{ n: 7 }])
    expect(site.simulator.account()).toMatchObject({ credits: 7, by_status: { 400: 1, 503: 1 } })
    expect(await ledger(site)).toEqual([{ credits: 7, requests: 10 }])
  })

  it('exits with 2 if nothing in the list exists, and with 5 if the service answers nothing', async () => {
    const site = await openCollection({ companies: 1 })
    site.listOf(['https://network.example/company/nobody'])
    const nothing = await site.call(['run', site.pipeline, '--no-publish'])
    expect(nothing.exitCode).toBe(2)
    expect(nothing.stderr).toContain('the service has no data for the entries of')
    site.listOf(site.urls)
    const later = { error: 'timed out', retryable: true, credit_used: 0 }
    site.simulator.setFaults([{ status: 200, body: later, times: 'always' }])
    expect((await site.call(['run', site.pipeline, '--no-publish'])).exitCode).toBe(5)
    for (const args of [
      ['backfill', site.pipeline],
      ['plan', site.pipeline, '--sample', '2'],
    ]) {
      const refused = await site.call(args)
      expect(refused.exitCode).toBe(2)
      expect(refused.stderr).toContain('companies reads no job changes: it asks company-profile')
    }
  })

  it('reads its items from a select over the warehouse, and reports its errors', async () => {
    const site = await openCollection({ companies: 2 })
    const pipeline = join(site.folder, 'test.yaml')
    done(await site.call(['run', pipeline]))
    const select = (sql: string) =>
      writeFileSync(
        site.pipeline,
        `name: companies\nkind: collect\nendpoint: company-profile\nfor_each: { sql: "${sql}" }\n`,
      )
    select('select url from organizations')
    expect(await site.json('run', site.pipeline)).toMatchObject({ extract: { events: 2 } })
    for (const sql of ['select nothing from organizations', `copy organizations to 'stolen.csv'`]) {
      select(sql)
      const refused = await site.call(['run', site.pipeline])
      expect(refused.exitCode, sql).toBe(2)
      expect(refused.stderr).toContain('for_each: ')
    }
    const [profile] = await site.query<{ organization_id: string }>(
      'select organization_id from company_profiles where organization_id is null',
    )
    expect(profile).toBeUndefined()
  })

  it('forgets a person of job changes in posts and people searches, by page and handle', async () => {
    const site = await openCollection({ companies: 30 })
    done(await site.call(['run', join(site.folder, 'test.yaml')]))
    await site.json('find', 'posts', 'keyword=welcome')
    const [named] = await site.query<{ profile_id: string; post: string }>(
      `select profile_id, post from announcements inner join people as one using (profile_id)
       where (select count(*) from people as other where contains(other.person_full_name, one.person_full_name)) = 1
       order by all limit 1`,
    )
    const count = async () =>
      (await site.query<{ n: number }>('select count(*) as n from posts'))[0]?.n ?? 0
    const posts = await count()
    const erased = await site.json<{ is_complete: boolean }>(
      'forget',
      named?.profile_id ?? '',
      '--yes',
    )
    expect(erased.is_complete).toBe(true)
    expect(await count()).toBeLessThan(posts)
    expect(await site.query(`from posts where post = '${named?.post}'`)).toEqual([])
  })
})
