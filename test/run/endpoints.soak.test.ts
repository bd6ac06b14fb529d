/**
 * All endpoints in one warehouse: what pipelines over them ask, what it costs, what tables show, and what kills cost.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { ENDPOINTS } from '../../src/api/endpoints/endpoints.ts'
import type { Fault } from '../../src/simulator/faults.ts'
import { done } from '../helpers/run-cli.ts'
import { ledger, openCollection, type RunDocument } from './collect-fixture.ts'

// Several complete runs.
vi.setConfig({ testTimeout: 1_200_000 })

const COMPANIES = 30
const KILLS = 100

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
  [
    'watched',
    'signal-create',
    'select person_network_url from people where person_network_url is not null order by 1 limit 9',
  ],
] as const

describe('pipelines over every endpoint', () => {
  it('cost what the account shows, buy nothing twice, and fill their tables', async () => {
    const site = await openCollection({ companies: COMPANIES })
    done(await site.call(['extract', join(site.folder, 'test.yaml')]))
    done(await site.call(['load']))
    done(await site.call(['build']))
    for (const pipeline of PIPELINES) {
      const [name, endpoint] = pipeline
      const file = fileOf(site.folder, pipeline)
      const plan = await site.json<{ credits_at_least: number; credits_at_most: number }>(
        'plan',
        file,
      )
      const { extract } = await site.json<RunDocument>('run', file)
      expect(extract.events, name).toBeGreaterThan(0)
      // A search that finds nothing costs less, as `plan` says; whether one does depends on the day.
      const free = endpoint === 'post-search' || endpoint === 'people-search'
      if (!free) expect(extract.credits, name).toBeGreaterThanOrEqual(plan.credits_at_least)
      expect(extract.credits, name).toBeLessThanOrEqual(plan.credits_at_most)
      const { requests } = site.simulator.account()
      await site.json('extract', file)
      // Items that were not found, for free, may exist by now: they are asked for again.
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
      signal_profiles: 9,
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

  it('killed at 100 random moments, buy nothing twice except requests in flight, and account for every credit', async () => {
    const site = await openCollection({ companies: COMPANIES })
    const files = await listsOf(site)
    site.simulator.setFaults([{ slow: { delay_ms: 20 }, times: 'always' }])
    let kills = 0
    // Once all pipelines have ended, it continues with another data directory.
    for (let round = 1; kills < KILLS; round += 1) {
      const before = { ...site.simulator.account(), kills }
      const dir = ['--data-dir', join(site.folder, `round-${round}`)]
      for (const file of files) {
        for (let isOver = false; !isOver && kills < KILLS;) {
          const { requests } = site.simulator.account()
          const running = site.start(['extract', file, ...dir])
          const isAlive = () => running.process.exitCode === null
          const wanted = requests + 1 + (kills % 3)
          while (isAlive() && site.simulator.account().requests < wanted) await pause(5)
          running.process.kill('SIGKILL')
          const { exitCode, signal } = await running.ended
          isOver = exitCode === 0
          kills += signal === 'SIGKILL' ? 1 : 0
        }
        done(await site.call(['extract', file, ...dir]))
      }
      done(await site.call(['load', ...dir]))
      const { requests, credits } = site.simulator.account()
      const query = <Row>(sql: string) => site.json<Row[]>('query', sql, ...dir)
      const [known] = await ledger({ query })
      // Requests in flight are in doubt, and count as billed: at most four of at most 10 credits each.
      const most = credits - before.credits + (kills - before.kills) * 4 * 10
      expect(known?.credits).toBeGreaterThanOrEqual(credits - before.credits)
      expect(known?.credits).toBeLessThanOrEqual(most)
      expect(known?.requests).toBeGreaterThanOrEqual(requests - before.requests)
      const twice = await query(
        `select endpoint, lookup_key, page from answers group by all having count(*) > 1 and min(outcome) = 'found'`,
      )
      expect(twice).toEqual([])
    }
    expect(kills).toBe(KILLS)
  })

  it('end with the same rows if 30 % of the answers fail in every way, and account for every credit', async () => {
    const keys = {
      company_profiles: 'company',
      job_postings: 'job_id',
      posts: 'post',
      people_found: 'subject, profile_url',
      reposts: 'url, page, place',
      post_counts: 'url',
    }
    const shown = async (site: Awaited<ReturnType<typeof openCollection>>) => {
      const rows: Record<string, unknown> = {}
      for (const [table, key] of Object.entries(keys)) {
        rows[table] = await site.query(`select ${key} from ${table} order by all`)
      }
      return rows
    }
    const all = async (faults: readonly Fault[]) => {
      const site = await openCollection({ companies: 10 })
      done(await site.call(['extract', join(site.folder, 'test.yaml')]))
      done(await site.call(['load']))
      done(await site.call(['build']))
      site.simulator.setFaults(faults)
      for (const pipeline of PIPELINES) {
        const file = fileOf(site.folder, pipeline)
        for (let tries = 0; tries < 20; tries += 1) {
          const { exitCode } = await site.call(['run', file, '--no-publish'])
          if (exitCode === 0) break
          expect(exitCode, 'the service is away, and nothing else').toBe(5)
        }
      }
      return site
    }
    const seeded = (fault: object, seed: number) =>
      ({ probability: 0.045, seed, times: 'always', ...fault }) as Fault
    const ways = [
      { status: 503 },
      { status: 429, headers: { 'Retry-After': '1' } },
      { status: 500, message: 'oops' },
      { cut: '50%' },
      { reset: true },
      { gzip_cut: '50%' },
      { status: 200, body: '<html>', charged: false },
    ]
    const right = await all([])
    const faulty = await all(ways.map(seeded))
    expect(await shown(faulty)).toEqual(await shown(right))
    const { credits } = faulty.simulator.account()
    const [known] = await ledger(faulty)
    // A charge without an answer is in doubt, and counts.
    expect(known?.credits).toBeGreaterThanOrEqual(credits)
    const [sure] = await faulty.query<{ credits: number }>(
      `select sum(credits_used) as credits from ops.pages where outcome = 'received'`,
    )
    expect(sure?.credits).toBeLessThanOrEqual(credits)
  })

  it('cover all endpoints except those used only by hand', () => {
    const asked = PIPELINES.map(([, endpoint]) => endpoint as string)
    const byHand = ['company-search', 'people-filters', 'suggest']
    expect([...ENDPOINTS.keys()].toSorted()).toEqual([...asked, ...byHand].toSorted())
  })
})

/** Pipelines with the same questions over lists in files, which need no warehouse. */
async function listsOf(site: Awaited<ReturnType<typeof openCollection>>): Promise<string[]> {
  done(await site.call(['extract', join(site.folder, 'test.yaml')]))
  done(await site.call(['load']))
  done(await site.call(['build']))
  for (const pipeline of PIPELINES) {
    const isRead = ['company-profile', 'post-search'].includes(pipeline[1])
    if (isRead) done(await site.call(['run', fileOf(site.folder, pipeline), '--no-publish']))
  }
  const files: string[] = []
  for (const [name, endpoint, sql, ...more] of PIPELINES) {
    const rows = await site.query<Record<string, string>>(sql)
    const lines = rows.map((row) => Object.values(row)[0])
    writeFileSync(join(site.folder, `${name}.csv`), lines.join('\n'))
    files.push(fileOf(site.folder, [`${name}-list`, endpoint, `${name}.csv`, ...more]))
  }
  return files
}

function fileOf(
  folder: string,
  [name, endpoint, asked, ...more]: readonly [string, string, string, ...string[]],
): string {
  const file = join(folder, `${name}.yaml`)
  const lines = [
    `name: ${name}`,
    'kind: collect',
    `endpoint: ${endpoint}`,
    `for_each: ${asked.endsWith('.csv') ? asked : `{ sql: ${asked} }`}`,
  ]
  writeFileSync(file, [...lines, ...more, ''].join('\n'))
  return file
}
