/**
 * Searches by hand that the service refuses or does not answer: over HTTP, into a real warehouse, on a clock where
 * hours pass instantly.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { findCommand, suggestCommand } from '../../src/cli/find-command.ts'
import { runCommand } from '../../src/cli/service-commands.ts'
import { lookupKey } from '../../src/journal/run-history.ts'
import { parseOrganizations } from '../../src/plan/organizations.ts'
import { DAY } from '../../src/support/units.ts'
import { onTestsFinished } from '../helpers/temporary-folder.ts'
import { IS_SOAK } from '../helpers/tier.ts'
import { openService, type Reply, type ServedRequest } from './service-fixture.ts'

// A dozen complete runs.
vi.setConfig({ testTimeout: 240_000 })

let replies: readonly Reply[] = []
let service: Awaited<ReturnType<typeof openService>>
// One data directory for all tests, because the first build takes longest. Each test has its own keyword.
const onEnd = onTestsFinished()
beforeAll(async () => {
  const reply = ({ body }: ServedRequest) =>
    replies[Number(body['page'] ?? 1) - 1] ?? ([500, {}] as const)
  service = await openService(reply, onEnd)
})

let searches = 0

/** Searches with their own keyword; page n of the service is the n-th of the given answers. */
function openSearches() {
  searches += 1
  const keyword = `c${searches}`
  const { site, ask, requests, rows } = service
  const asked = async (command: Parameters<typeof ask>[0], given: readonly Reply[]) => {
    replies = given
    requests()
    const outcome = await ask(command)
    return { ...outcome, requests: requests().length }
  }
  const output = join(site.folder, `${keyword}.csv`)
  const isAsked = { pages: 10, refreshDays: 1, output }
  return {
    clock: site.clock,
    output,
    list: () => readFileSync(output, 'utf8'),
    find: (what: string, ...given: readonly Reply[]) =>
      asked((context) => findCommand(context, what, [`keyword=${keyword}`], isAsked), given),
    findPeople: (location: string, reply: Reply) =>
      asked(
        (context) => findCommand(context, 'people', [`location=${location}`], isAsked),
        [reply],
      ),
    /** Reads at most this many pages, or what a search of the last days found. */
    findPages: (pages: number, refreshDays: number, ...given: readonly Reply[]) =>
      asked((context) => {
        const limits = { ...isAsked, pages, refreshDays }
        return findCommand(context, 'companies', [`keyword=${keyword}`], limits)
      }, given),
    /** Runs a pipeline over the search. */
    run(...given: readonly Reply[]) {
      const file = join(site.folder, 'search.yaml')
      const asks = `kind: collect\nendpoint: company-search\noptions: { keyword: ${keyword} }\nrefresh_days: 1`
      writeFileSync(file, `name: search\n${asks}\n`)
      return asked((context) => runCommand(context, file, {}), given)
    },
    suggest: (reply: Reply) =>
      asked((context) => suggestCommand(context, 'job_title', 'head of', {}), [reply]),
    /** The companies of the newest answer. */
    found: () =>
      rows(
        `select company_name from companies_found where position is not null
           and lookup_key = '${lookupKey('company-search', { keyword })}' order by position`,
      ),
  }
}

const page = (ids: readonly number[], total: number): Reply => {
  const items = ids.map((id) => ({ id, name: `C${id}`, network_url: `https://n.example/c/${id}` }))
  return [200, { status: 'ok', data: { items, total, total_pages: 2 }, credit_used: 5 }]
}
const PAGES = [page([1, 2], 3), page([3], 3)] as const

const WORDS = 'industries: 999 is not known'
const failed = (status: number, headers = {}): Reply => {
  return [status, { success: false, message: WORDS, data: null, credit_used: 0 }, headers]
}
const error = (retryable: boolean): Reply => [200, { error: WORDS, retryable, credit_used: 0 }]
const NOTHING = { success: false, message: WORDS, data: { items: [] }, results: [], credit_used: 0 }

const OUTCOMES: readonly (readonly [what: string, Reply, exit: number, says: string])[] = [
  ['400', failed(400), 2, `the service refused the search: ${WORDS}`],
  ['401', failed(401), 3, WORDS],
  ['402', failed(402), 4, WORDS],
  ['403', failed(403), 3, WORDS],
  ['404', failed(404), 2, WORDS],
  ['500, each time', failed(500), 5, WORDS],
  ['503 for 2 hours', failed(503, { 'retry-after': '7200' }), 5, WORDS],
  ['200 and success: false', failed(200), 5, WORDS],
  ['200, success: false and no items', [200, NOTHING], 5, WORDS],
  ['200 and an error', error(false), 2, `the service refused the search: ${WORDS}`],
  ['200 and an error, each time', error(true), 5, 'the service has no answer yet'],
]
const FEW = OUTCOMES.filter(([what]) => /^(?:400|503|200.* (?:items|error))/.test(what))
// A refused answer and an unavailable one: the reader of an answer decides before its caller.
const TWO = IS_SOAK ? FEW : FEW.filter(([what]) => /^400|each time/.test(what))

describe('find', () => {
  it.each([
    [1, IS_SOAK ? OUTCOMES : FEW],
    [2, TWO],
  ] as const)(
    'says why page %i is refused or unavailable, and changes neither list nor table',
    async (at, outcomes) => {
      const site = openSearches()
      await site.find('companies', ...PAGES)
      const [list, rows] = [site.list(), await site.found()]
      expect(list.trim().split('\n').length - 1).toBe(3)
      expect(rows).toHaveLength(3)
      for (const [what, reply, exitCode, says] of outcomes) {
        site.clock.nowMs += 2 * DAY
        const answer = await site.find('companies', ...PAGES.slice(0, at - 1), reply)
        expect(answer, what).toMatchObject({ exitCode, thrown: expect.stringContaining(says) })
        expect([site.list(), await site.found()], what).toEqual([list, rows])
      }
      // A started search is continued first.
      await site.find('companies', ...PAGES)
      site.clock.nowMs += 2 * DAY
      const again = await site.find('companies', page([4], 1))
      expect(again).toMatchObject({ exitCode: 0, document: { added: 1, removed: 3 } })
      expect(await site.found()).toEqual([{ company_name: 'C4' }])
    },
  )

  it('sends a refused search again at once, for free, and shows 2 rows of a list that ended after page 1', async () => {
    const site = openSearches()
    const [first, second] = PAGES
    for (let times = 1; times <= 2; times += 1) {
      const refused = await site.find('companies', failed(400))
      expect(refused).toMatchObject({ exitCode: 2, requests: 1 })
    }
    const begun = await site.find('companies', first, failed(400))
    expect(begun).toMatchObject({ exitCode: 2, requests: 2, thrown: null })
    expect(begun.document).toMatchObject({ credits: 5, output: null, found: [{}, {}] })
    expect(begun.text).toContain(`not written  ${site.output}`)
    // Only the same command reads more.
    expect(begun.text).not.toContain('not read')
    const whole = await site.find('companies', first, second)
    expect(whole).toMatchObject({ exitCode: 0, document: { found: [{}, {}, {}], credits: 10 } })
  })

  it('says of a list of 3 pages that 1 and then 2 were read, and how to read more, until all are', async () => {
    const site = openSearches()
    const pages = [1, 2, 3].map((id): Reply => [
      200,
      { data: { items: [{ id }], total: 3, total_pages: 3 }, credit_used: 5 },
    ])
    const more = 'more     not fetched: this list ends after page'
    const one = await site.findPages(1, 1, ...pages)
    expect(one).toMatchObject({ requests: 1, document: { pages: 1, more: true } })
    expect(one.text).toContain(`${more} 1; --pages N --refresh-days 0 fetches more`)
    const kept = await site.findPages(2, 1, ...pages)
    expect(kept).toMatchObject({ requests: 0, document: { pages: 1, more: true } })
    expect(kept.text).toContain(`${more} 1; --pages N --refresh-days 0 fetches more`)
    const two = await site.findPages(2, 0, ...pages)
    expect(two).toMatchObject({ requests: 2, document: { pages: 2, more: true } })
    const all = await site.findPages(3, 0, ...pages)
    expect(all).toMatchObject({ requests: 3, document: { pages: 3, more: false } })
    expect(all.text).not.toContain('not read')
  })

  it('finds 0 new and 0 gone when it compares a list with itself, even if names contain a tab, a semicolon and a #', async () => {
    const site = openSearches()
    const names = ['Tab\tCo', 'Semi;Colon', '#1 Ltd', ' Blank', 'Plain']
    const items = names.map((name, id) => ({ id, name, network_url: `https://n.example/c/${id}` }))
    const reply: Reply = [200, { data: { items, total: 5, total_pages: 1 }, credit_used: 5 }]
    await site.find('companies', reply)
    const again = await site.find('companies', reply)
    expect(again).toMatchObject({ exitCode: 0, document: { added: 0, removed: 0 } })
    const { organizations } = parseOrganizations(readFileSync(site.output), 'found.csv')
    expect(organizations.map(({ value }) => value)).toEqual(
      items.map(({ network_url: url }) => url),
    )
  })

  it('writes no formula and no link into a list, and still compares the list with itself', async () => {
    const site = openSearches()
    const items = [
      { id: 1, name: "-2+3+cmd|' /C calc'!A0", network_url: 'https://n.example/c/1' },
      { id: 2, name: '=HYPERLINK("https://x")', network_url: 'javascript:alert(1)' },
    ]
    const reply: Reply = [200, { data: { items, total: 2, total_pages: 1 }, credit_used: 5 }]
    await site.find('companies', reply)
    expect(site.list().split('\n')).toEqual([
      'name,company_url',
      "'-2+3+cmd|' /C calc'!A0,https://n.example/c/1",
      `"'=HYPERLINK(""https://x"")",`,
      '',
    ])
    const again = await site.find('companies', reply)
    expect(again).toMatchObject({ exitCode: 0, document: { added: 0, removed: 0 } })
  })

  it('exits with 5 and keeps the list if none of 3 items has an id', async () => {
    const site = openSearches()
    await site.find('companies', ...PAGES)
    const list = site.list()
    site.clock.nowMs += 2 * DAY
    const data = { items: [7, null, { nothing: true }], total: 3, total_pages: 1 }
    const answer = await site.find('companies', [200, { status: 'ok', data, credit_used: 5 }])
    expect(answer.exitCode).toBe(5)
    expect(answer.text).toContain('kept')
    expect(site.list()).toBe(list)
  })

  it('names 2 filters that the service does not recognise if nothing is found, objects as JSON', async () => {
    const site = openSearches()
    const filter_errors = ['nowhere', { location: 'nowhere' }, 'nowhere']
    const answer = await site.findPeople('nowhere', [200, { results: [], filter_errors }])
    expect(answer.document).toMatchObject({ filter_errors: ['nowhere', '{"location":"nowhere"}'] })
    const text = 'no filter  nowhere, {"location":"nowhere"}: the service does not recognise this'
    expect(answer.text).toContain(text)
  })
})

describe('a pipeline over a search', () => {
  it('changes no table if page 2 is refused or unavailable', async () => {
    const site = openSearches()
    await site.run(...PAGES)
    const rows = await site.found()
    expect(rows).toHaveLength(3)
    for (const [what, reply] of TWO) {
      site.clock.nowMs += 2 * DAY
      // A refused search is skipped, and the run continues without it.
      expect([0, 5], what).toContain((await site.run(PAGES[0], reply)).exitCode)
      expect(await site.found(), what).toEqual(rows)
    }
    await site.run(...PAGES)
    site.clock.nowMs += 2 * DAY
    expect(await site.run(page([4], 1))).toMatchObject({ exitCode: 0 })
    expect(await site.found()).toEqual([{ company_name: 'C4' }])
  })
})

describe('suggest', () => {
  it('says why it is refused or unavailable, and shows no earlier results', async () => {
    const site = openSearches()
    const labels = [200, { success: true, results: [{ label: 'Head of Data' }] }] as const
    expect(await site.suggest(labels)).toMatchObject({ exitCode: 0, requests: 1 })
    for (const [what, reply, exitCode, says] of TWO) {
      site.clock.nowMs += 40 * DAY
      const answer = await site.suggest(reply)
      expect(answer, what).toMatchObject({ exitCode, thrown: expect.stringContaining(says) })
    }
    const again = await site.suggest(labels)
    expect(again).toMatchObject({
      exitCode: 0,
      document: { suggestions: [{ label: 'Head of Data' }] },
    })
  })
})
