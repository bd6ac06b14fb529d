/** Searches by hand: their cost, their output, and what is refused. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { done } from '../helpers/run-cli.ts'
import { ledger, openCollection, type RunDocument } from './collect-fixture.ts'

// Several complete runs.
vi.setConfig({ testTimeout: 240_000 })

const COMPANIES = 30

describe('a pipeline over a search', () => {
  it('says that the list continues if pages: cuts it, but not at its end', async () => {
    const site = await openCollection({ companies: COMPANIES })
    const file = join(site.folder, 'search.yaml')
    const lines = ['name: search', 'kind: collect', 'endpoint: company-search']
    for (const [pages, cut] of [
      [1, 1],
      [2, 0],
    ]) {
      writeFileSync(file, [...lines, `pages: ${pages}`, ''].join('\n'))
      const { extract } = await site.json<RunDocument>(
        'extract',
        file,
        '--data-dir',
        join(site.folder, `pages-${pages}`),
      )
      expect(extract).toMatchObject({ lists_cut: cut, events: pages === 1 ? 25 : 30 })
    }
  })
})

it('a list that loses items while it is read is requested page by page, and counts as incomplete', async () => {
  const site = await openCollection({ companies: COMPANIES })
  const file = join(site.folder, 'search.yaml')
  writeFileSync(file, `name: search\nkind: collect\nendpoint: company-search\npages: 10\n`)
  const item = { name: 'Acme', url: 'https://network.example/company/acme' }
  const second = { success: true, data: { items: [item], total: 26 }, credit_used: 5 }
  site.simulator.setFaults([{ page: 2, status: 200, body: second, charged: true }])
  const { extract } = await site.json<RunDocument>('extract', file)
  expect(extract).toMatchObject({ lists_cut: 1, pages: 2 })
  expect(site.simulator.account().requests).toBe(2)
  done(await site.call(['load']))
  const { credits } = site.simulator.account()
  expect((await ledger(site))[0]).toEqual({ credits, requests: 2 })
})

describe('find and suggest', () => {
  it('write a list that a pipeline accepts, and say what is new in it the next time', async () => {
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
    expect(suggested.suggestions[0]).toMatchObject({
      employees: expect.stringMatching(/^\d+$/) as unknown,
      industry: 'Software',
    })
    const before = site.simulator.account().credits
    const listed = await site.json('suggest', '--filters', 'company_type')
    expect(listed['filter_values']).toHaveLength(5)
    expect(listed).toMatchObject({ credits: 0, type: null })
    for (const [args, says] of [
      [['suggest', '--filters', 'town'], 'the service lists no filter town'],
      [['suggest', '--filters', 'seniority', 'CXO'], '--filters takes no text'],
      [['suggest', 'company'], 'the type to suggest is missing'],
    ] as const) {
      expect(await site.call(args)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining(says) as unknown,
      })
    }
    expect(site.simulator.account().credits).toBe(before)
    expect((await ledger(site))[0]?.credits).toBe(site.simulator.account().credits)
  })

  it('say why the service refuses them, in text and in JSON, and leave the list unchanged', async () => {
    const site = await openCollection({ companies: COMPANIES })
    const list = join(site.folder, 'found.csv')
    const find = ['find', 'companies', 'has_jobs=true', '--output', list]
    done(await site.call(find))
    const before = readFileSync(list, 'utf8')
    for (const [fault, exitCode, words] of [
      [{ status: 400, message: 'has_jobs is wrong' }, 2, 'refused the search: has_jobs is wrong'],
      [{ status: 403, message: 'not in your plan' }, 3, 'not in your plan'],
      [
        { status: 503, headers: { 'Retry-After': '3600' }, message: 'full' },
        5,
        'no request before',
      ],
    ] as const) {
      for (const command of [find, ['suggest', 'company', String(exitCode)]]) {
        site.simulator.setFaults([{ ...fault, times: 'always' }])
        const again = command === find ? ['--refresh-days', '0'] : []
        const refused = await site.call([...command, ...again, '--json'])
        expect(refused, refused.stdout).toMatchObject({ exitCode })
        expect(JSON.parse(refused.stdout)).toMatchObject({ error: { exit_code: exitCode } })
        expect(refused.stdout).toContain(words)
        expect(refused.stderr).toContain(words)
      }
      expect(readFileSync(list, 'utf8')).toBe(before)
    }
  })

  it.each([
    [['dogs', 'a=b'], 'cannot search for dogs'],
    [['compnies', 'a=b'], 'Did you mean companies? Name one of'],
    [['posts', 'sort_by=newest'], 'sort_by: expected date_posted or relevance, got "newest"'],
    [['people', 'manager'], 'not a filter: "manager"'],
    [
      ['people', 'job_titel=CEO'],
      'job_titel: unknown; did you mean job_title? allowed: keywords, job_title,',
    ],
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
