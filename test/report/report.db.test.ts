/** The page agrees with the warehouse: it is read back with a parser and compared with independent SQL. */

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { attritionChart } from '../../src/report/charts.ts'
import { headDigest } from '../../src/report/digest.ts'
import { readReport, type ListedOrganization } from '../../src/report/read-report.ts'
import type { TrendMonth } from '../../src/report/rows.ts'
import { windowText, chosenWindow, type ReportWindow } from '../../src/report/window.ts'
import { writeReportFolder } from '../../src/report/write-folder.ts'
import { reportPage, writeReport } from '../../src/report/write-report.ts'
import { DAY } from '../../src/support/units.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { deal } from './deal.ts'
import * as recomputed from './recomputed.ts'
import { readFacts } from './recomputed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse, type GivenEvent } from '../helpers/warehouse.ts'

const START = Date.UTC(2024, 0, 1)
const NOW = Date.UTC(2025, 0, 1)
const TITLES = [
  'Engineer',
  'Senior Engineer',
  'Engineering Manager',
  'VP Engineering',
  'Chief Technology Officer',
  'Board Member',
]
const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>\u202E&amp;`

// The same numbers each time, so that every run of the test is the same.
let seed = 7
const random = (below: number) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
  return Math.floor((seed / 2 ** 31) * below)
}

let warehouse: Warehouse
beforeAll(async () => {
  warehouse = await built(
    [...someCareers(), ...someBursts()],
    `('org 0', 'joined,left,title_change', null, timestamptz '2025-01-01 00:00:00Z'),
     ('org 1', 'joined,left,title_change', null, timestamptz '2024-06-01 00:00:00Z')`,
  )
  await warehouse.run(
    `insert into ops.pages
       select 'run', 'batch', n, concat('request ', n), timestamptz '2024-01-01 00:00:00Z' + to_days(cast(n as integer)),
         null, 200, 'done', 50, 10, null, false, null, null, false
       from range(300) as pages (n)`,
  )
})
afterAll(() => warehouse.close())

/** A warehouse of these events, with rows of `ops.coverage` as SQL. */
async function built(
  events: readonly Partial<GivenEvent>[],
  coverage?: string,
): Promise<Warehouse> {
  const made = await memoryWarehouse()
  await insertEvents(made, events)
  if (coverage !== undefined) await made.run(`insert into ops.coverage values ${coverage}`)
  await buildModels(made, { buildId: 'report', builtAt: new Date(NOW) })
  return made
}

/** As built, closed after the test. */
async function builtWarehouse(...given: Parameters<typeof built>): Promise<Warehouse> {
  const made = await built(...given)
  onTestFinished(() => made.close())
  return made
}

describe('the page', () => {
  it('has the same lists and figures as SQL, for 20 random windows', async () => {
    let [burstsSeen, knownSeen, ratedSeen] = [0, 0, 0]
    const facts = await readFacts(warehouse)
    for (let round = 0; round < 20; round += 1) {
      const from = START + random(360) * DAY
      const window = { from, to: from + (1 + random(round % 2 === 0 ? 8 : 200)) * DAY }
      const data = await readReport(warehouse, window, null)
      const page = parsed(reportPage(data, NOW))
      expect(figuresOn(page)).toEqual(await figuresIn(window))
      for (const [id, query] of Object.entries(LISTS)) {
        expect(page.rows(`#${id} tbody tr`), `${id}, ${windowText(window)}`).toEqual(
          await rowsOf(query, window),
        )
      }
      expect(page.rows('#weeks tbody tr', 4)).toEqual(recomputed.weeks(facts, window).toSorted())
      const flows = page.rows('#flows tbody tr', 4)
      expect(recomputed.flows(facts, window)).toEqual(expect.arrayContaining(flows))
      expect(flows.length).toBe(Math.min(60, recomputed.flows(facts, window).length))
      const bursts = recomputed.bursts(facts, window)
      burstsSeen += bursts.length
      expect(page.rows('#bursts tbody tr', 6)).toEqual(bursts.toSorted())
      const month = data.year.month_on ?? ''
      const inTables = await recomputed.trends(warehouse, month)
      for (const [name, says] of page.trends()) {
        expect(`${name}: ${says}`).toBe(`${name}: ${inTables.get(name)}`)
        knownSeen += 1
      }
      const rated = page.all('#attrition > .scroll tbody tr').map((row) => {
        const cells = [...row.querySelectorAll('th, td')].map((cell) => words(cell))
        const left = page.all('#attrition .scroll thead')[0]
        const heads = [...(left?.querySelectorAll('th') ?? [])].map(words)
        return [cells[0], cells[1], cells[heads.indexOf('Left')]].join(' | ')
      })
      ratedSeen += rated.length
      expect(rated.toSorted()).toEqual((await recomputed.attrition(warehouse, month)).toSorted())
      const unread = ['Org 0', 'Org 1'].filter(
        (name) => name === 'Org 1' && window.to > Date.UTC(2024, 5, 1),
      )
      expect(page.rows('#coverage tbody tr', 1)).toEqual(unread)
      expect(page.text('#coverage dl')).toContain(`${2 - unread.length} of 2 organisations`)
      const [{ credits } = { credits: -1 }] = await warehouse.all<{ credits: number }>(
        'select sum(credits_used) as credits from ops.pages where requested_at >= $1 and requested_at < $2',
        [new Date(window.from), new Date(window.to)],
      )
      expect(page.text('#coverage dl')).toContain(
        `${(credits ?? 0).toLocaleString('en')} credits for`,
      )
    }
    expect([burstsSeen > 5, knownSeen > 100, ratedSeen > 5], `${knownSeen} ${ratedSeen}`).toEqual([
      true,
      true,
      true,
    ])
  })

  it('of one organisation in a list has only its changes, and names organisations without data', async () => {
    const window = { from: START, to: NOW }
    const list = [
      { by: 'id', value: 'org 3' },
      { by: 'url', value: 'nowhere-inc' },
    ] as const
    const page = parsed(await pageOf(window, list))
    const shown = new Set(page.all('.people tbody tr').map((row) => row.getAttribute('data-name')))
    expect([...shown]).toEqual(['Org 3'])
    expect(page.text('.warning')).toContain('not fetched for the whole period')
    expect(page.text('header')).toContain('nowhere-inc')
    expect(page.text('#joined h2')).toBe('Who joined the organisations listed')
    expect(page.text('nav a[href="#joined"]')).toBe('Who joined')
  })

  it('compares with the time before if that was read completely, and says so if not', async () => {
    const before = async (
      window: ReportWindow,
      list: readonly ListedOrganization[] | null = null,
    ) => {
      const data = await readReport(warehouse, window, list)
      const [joined] = data.counts
      const part = headDigest(data, '').parts.find(({ label }) => label === 'joined')
      const [beside] = parsed(reportPage(data, NOW)).all('.figures .aside')
      return {
        before: joined?.changes_before,
        beside: beside?.textContent,
        digest: part?.lines[0]?.text,
      }
    }
    const not = 'the period before was not completely observed'
    // `org 1` was read up to June.
    const early = { from: Date.UTC(2024, 4, 1), to: Date.UTC(2024, 5, 1) }
    const late = { from: Date.UTC(2024, 6, 1), to: Date.UTC(2024, 7, 1) }
    expect(await before(early)).toEqual({
      before: expect.any(Number) as number,
      beside: expect.stringMatching(/^[▲▼] from \d+ in the period before$/) as string,
      digest: expect.stringMatching(/^\d+ \(\d+ in the period before\), /) as string,
    })
    expect(await before(late)).toEqual({
      before: null,
      beside: not,
      digest: expect.stringContaining(` (${not}), `) as string,
    })
    expect((await before(late, [{ by: 'id', value: 'org 0' }])).before).toEqual(expect.any(Number))
    // Requested from the beginning, but the service had seen nothing by the beginning of the time before.
    const first = { from: START + 20 * DAY, to: START + 50 * DAY }
    expect((await before(first, [{ by: 'id', value: 'org 0' }])).before).toBeNull()
    // Read, but not for all of the time before; `org 3` was never read.
    expect((await before({ from: NOW + DAY, to: NOW + 3 * DAY })).before).toBeNull()
    expect((await before(early, [{ by: 'id', value: 'org 3' }])).before).toBeNull()
  })

  it('of an empty window says that nothing was seen, in every section', async () => {
    const page = parsed(await pageOf({ from: NOW + 400 * DAY, to: NOW + 407 * DAY }))
    for (const id of ['joined', 'left', 'rose', 'organizations', 'bursts']) {
      expect(page.all(`#${id} table`)).toEqual([])
    }
    expect(page.text('#joined')).toContain('No one was seen to join.')
  })

  it('says how many people the figures count under a second profile: 1 of 3', async () => {
    const other = await builtWarehouse(
      ['ada', 'ada', 'bob'].map((page, at) => ({
        profile_id: `person ${at}`,
        organization_id: 'acme',
        event_type: 'joined',
        changed_at: '2024-05-01T00:00:00Z',
        title_current: 'Engineer',
        person_full_name: page,
        person_network_url: `https://network.example/in/${page}`,
      })),
    )
    const data = await readReport(other, { from: START, to: NOW }, null)
    const text = parsed(reportPage(data, NOW)).text('#coverage')
    expect(text).toMatch(
      /1 person ever seen under a second profile.* count them as well, except bursts and layoffs/,
    )
    expect(parsed(await pageOf({ from: START, to: NOW })).text('#coverage')).toContain(
      'Cost so far',
    )
    expect(parsed(await pageOf({ from: START, to: NOW })).text('#coverage')).not.toContain(
      'Duplicates',
    )
  })

  it('shows everything from outside as text: no element, no handler, only https addresses', async () => {
    const pages = [
      'javascript:alert(1)',
      'https://me:secret@evil.example/',
      'https://fine.example/?a="b"&c',
    ]
    const other = await builtWarehouse(
      pages.map((url, at) => ({
        profile_id: `person ${at}`,
        organization_id: HOSTILE,
        event_type: 'joined',
        changed_at: '2024-05-01T00:00:00Z',
        title_current: HOSTILE,
        person_full_name: HOSTILE,
        organization_name: HOSTILE,
        person_network_url: url,
      })),
    )
    const data = await readReport(other, { from: START, to: NOW }, null)
    const page = parsed(reportPage(data, NOW))
    expect(page.all('script').length).toBe(1)
    expect(page.all('img, iframe, [onerror]')).toEqual([])
    const targets = page.all('a').map((link) => link.getAttribute('href') ?? '')
    expect(targets.filter((target) => !target.startsWith('#'))).toEqual([
      'https://fine.example/?a=%22b%22&c',
    ])
    expect(page.text('.people tbody th')).toContain(HOSTILE.replace('\u202E', ''))
    expect(reportPage(data, NOW)).not.toContain('\u202E')
  })
})

it('leaves transfers out of figures, lists, weeks and flows, and shows them for themselves', async () => {
  const other = await builtWarehouse(deal)
  const counted = 'select count(*) from moves where is_transfer'
  expect(await other.number(counted)).toBe(12)
  const data = await readReport(
    other,
    { from: Date.UTC(2024, 1, 1), to: Date.UTC(2024, 3, 1) },
    null,
  )
  const lines = headDigest(data, '').parts.map(({ label, lines: of }) => [label, of[0]?.text])
  const path = join(temporaryFolder(), 'by-organization')
  const window = { from: Date.UTC(2024, 1, 1), to: Date.UTC(2024, 3, 1) }
  await writeReportFolder(other, { window, list: null, path, writtenAt: NOW }, () => undefined)
  const ofGlobex = parsed(readFileSync(join(path, 'organizations', 'globex.html'), 'utf8'))
  const page = parsed(reportPage(data, NOW))
  const says = '12 joined and 12 left by a transfer, such as an acquisition: not counted'
  expect(figuresOn(page)).toEqual(['1', '1', '0'])
  expect(page.text('#main > .note')).toBe(`${says}.`)
  expect(Object.fromEntries(lines)).toMatchObject({ transfers: says })
  expect(page.rows('#joined tbody tr, #left tbody tr', 1)).toEqual(['Ada', 'Ada'])
  expect(page.rows('#flows tbody tr', 3)).toEqual(['Acme | Initech | 1'])
  const sums = (nth: number) =>
    page
      .rows('#weeks tbody tr', 3)
      .map((row) => Number(row.split(' | ')[nth]))
      .reduce((sum, one) => sum + one)
  expect([sums(1), sums(2)]).toEqual([1, 1])
  expect(page.rows('#organizations tbody tr', 6)).toEqual([
    'Acme | 0 | 1 | −1 | 0 | −12',
    'Globex | 0 | 0 | 0 | 0 | +12',
    'Initech | 1 | 0 | +1 | 0 | 0',
  ])
  expect(ofGlobex.text('.note')).toBe(
    'Transfers, such as an acquisition (+12), count only in the headcount.',
  )
})

it('says what grades permit, why no rate of the year before is there, and by what tables are sorted', async () => {
  const of = async (month: number) => {
    const window = { from: Date.UTC(2024, month, 1), to: Date.UTC(2024, month, 28) }
    const acme = [{ by: 'id', value: 'acme' }] as const
    return parsed(await pageOf(window, acme))
  }
  // Observed since July 2022.
  const [early, late] = [await of(3), await of(11)]
  const heads = (page: typeof early) => page.all('#attrition table').map(headsOf)
  const columns = 'Rate Range Grade More left Left'
  expect(heads(early)).toEqual([
    `Organisation ${columns} Headcount`,
    `Function ${columns}`,
    `Level ${columns}`,
  ])
  expect(heads(late)[1]).toBe('Function Rate Range Grade Year before More left Left')
  expect(early.text('#attrition > .note')).toContain(
    'the average of all: a rate of the year before takes two observed years, and none exists yet.',
  )
  expect(late.text('#attrition > .note')).toContain('or without it (–) the average of all.')
  expect(late.text('#attrition > .note')).toContain('Grades: A to quote and compare; B')
  const [cells] = late.rows('#attrition .parts tbody tr', 4)
  expect(cells).toMatch(/^\S+ \| [\d.]+ % \| [\d.]+(–[\d.]+)? % \| [A-D]$/)
  expect(late.text('#trends figure p')).toMatch(/grade [A-D]: (to quote|only to|shows only)/)
  expect(late.text('footer')).toContain('Transfers count only in the headcount.')
})

function headsOf(table: Element | undefined): string {
  return [...(table?.querySelectorAll('thead th') ?? [])].map(words).join(' ')
}

it('marks the range of a trend that does not fit with its top', () => {
  const month = (rate_high: number | null) =>
    ({ month_on: '2024-10-01', rate: 0.2, rate_low: 0.2, rate_high }) as TrendMonth
  const drawn = (high: number | null) => attritionChart([month(high)], 0.5).text
  expect(drawn(0.5)).not.toContain('↑')
  expect(drawn(0.97)).toContain('↑ 97 %')
  expect(drawn(null)).toContain('>↑<')
})

it('of an organisation asked for from the beginning says when its first change was, as attrition counts', async () => {
  const event = (at: number, event_type: string, month: string, title: string) => ({
    profile_id: `person ${at}`,
    organization_id: 'old',
    organization_name: 'Old Ltd',
    event_type,
    changed_at: `${month}-05T00:00:00Z`,
    title_current: title,
  })
  // The first event, a month earlier, is of a side role, which no headcount has.
  const events = [
    event(99, 'joined', '2023-11', 'Board Member'),
    ...Array.from({ length: 40 }, (_, at) =>
      event(at, at < 25 ? 'joined' : 'left', at % 2 === 0 ? '2023-12' : '2024-11', 'Engineer'),
    ),
  ]
  const other = await builtWarehouse(
    events,
    `('old', 'joined,left,title_change', null, timestamptz '2024-12-10 00:00:00Z')`,
  )
  const data = await readReport(
    other,
    { from: Date.UTC(2024, 10, 1), to: Date.UTC(2024, 11, 10) },
    null,
  )
  const rates = await other.number('select count(*) from attrition')
  const page = parsed(reportPage(data, NOW))
  expect([rates, data.year.joined_before, data.year.went_before]).toEqual([0, null, null])
  expect(page.text('#attrition')).toBe(
    'Attrition No rate yet: first change in Dec 2023, first rate on 1 Jan 2025.',
  )
})

it('in a first observed year says when the first rate comes, and without data that nothing was read', async () => {
  const other = await builtWarehouse(
    Array.from({ length: 24 }, (_, at) => ({
      profile_id: `person ${at}`,
      organization_id: 'young',
      organization_name: 'Young Ltd',
      event_type: at < 18 ? 'joined' : 'left',
      changed_at: `2024-0${2 + (at % 5)}-05T00:00:00Z`,
      title_current: 'Engineer',
    })),
    `('young', 'joined,left,title_change', timestamptz '2024-02-01 00:00:00Z', timestamptz '2024-07-10 00:00:00Z')`,
  )
  const window = { from: Date.UTC(2024, 5, 1), to: Date.UTC(2024, 6, 10) }
  const read = async (list: readonly ListedOrganization[] | null) =>
    parsed(reportPage(await readReport(other, window, list), NOW))
  const page = await read(null)
  const unknown = await read([{ by: 'id', value: 'nobody' }])
  const notYet = 'No rate yet: observed since Feb 2024, first rate on 1 Mar 2025.'
  expect(page.text('.answer')).toBe(
    `Are people being lost? No: 6 people left and 18 joined in the 5 months to Jun 2024. ${notYet}`,
  )
  expect(page.text('#attrition')).toBe(`Attrition ${notYet}`)
  expect(page.trends()).toEqual([['Young Ltd', '18, no rate']])
  expect(unknown.text('.answer')).toContain('Not known: nothing was fetched yet.')
  expect(unknown.text('#attrition, #trends')).toContain('Nothing was fetched yet.')
})

it('of a warehouse without built tables is refused with what to do', async () => {
  const empty = await memoryWarehouse()
  const window = { from: START, to: NOW }
  await expect(readReport(empty, window, null)).rejects.toMatchObject({
    exitCode: 2,
    hint: expect.stringContaining('jobtide build') as unknown,
  })
  empty.close()
})

describe('the file', () => {
  it('is private, and below 2 MB even if every name has the maximum length', async () => {
    const long = 'x'.repeat(300)
    const other = await builtWarehouse(
      Array.from({ length: 450 }, (_, at) => at).flatMap((at) =>
        ['joined', 'left'].map((event_type, nth) => ({
          profile_id: `person ${at}`,
          organization_id: `org ${at}`,
          event_type,
          changed_at: `2024-0${3 + 2 * nth}-01T00:00:00Z`,
          title_current: long,
          person_full_name: long,
          organization_name: long,
        })),
      ),
    )
    const path = join(temporaryFolder(), 'deep', 'report.html')
    const window = { from: START, to: NOW }
    const request = { window, list: null, path, writtenAt: NOW }
    await writeReport(other, request)
    // A report is overwritten.
    const { bytes } = await writeReport(other, request)
    expect(bytes).toBeLessThan(2_000_000)
    expect([statSync(path).size, statSync(path).mode & 0o777]).toEqual([bytes, 0o600])
    expect(parsed(readFileSync(path, 'utf8')).text('#left caption')).toContain(
      'The first 400 of 450.',
    )
  })
})

describe('a window', () => {
  it('without a choice is the last whole week, Monday to Sunday', () => {
    const wednesday = Date.UTC(2026, 10, 25, 13)
    expect(windowText(chosenWindow({}, wednesday))).toBe('16 Nov 2026 to 22 Nov 2026')
    expect(chosenWindow({}, Date.UTC(2026, 10, 23))).toEqual(
      chosenWindow({ week: true }, wednesday),
    )
  })

  it.each([
    [{ from: '2026-02-30' }, /not a date: 2026-02-30/],
    [{ to: '2026-02-01' }, /--to needs --from/],
    [{ days: 3, week: true }, /exclude each other/],
    [{ from: '2026-11-02', to: '2026-11-01' }, /is not before/],
  ])('%j is refused', (choice, message) => {
    expect(() => chosenWindow(choice, NOW)).toThrow(message)
  })
})

const PERSON = `person_full_name || case level when 'cxo' then 'C-level' when 'vp' then 'VP' when 'director' then 'Director' else '' end`
const LISTS = {
  joined: `select ${PERSON} as person, concat_ws(' → ', came_from_title, title) as titles from joiners
           where is_primary and not is_transfer and known_at >= $1 and known_at < $2`,
  left: `select ${PERSON} as person, concat_ws(' → ', title, went_to_title) as titles from leavers
         where is_primary and not is_transfer and known_at >= $1 and known_at < $2`,
  rose: `select ${PERSON} as person, concat_ws(' → ', previous_title, title) as titles from promotions
         where is_primary and known_at >= $1 and known_at < $2`,
  organizations: `select organization_name as person, sum(joined)::int::varchar as titles
    from (
      select organization_name, 1 as joined, known_at from joiners where is_primary and not is_transfer
      union all select organization_name, 0, known_at from leavers where is_primary and not is_transfer
      union all select organization_name, 0, known_at from promotions where is_primary
    ) where known_at >= $1 and known_at < $2 group by organization_name`,
}

async function rowsOf(query: string, { from, to }: ReportWindow): Promise<string[]> {
  const rows = await warehouse.all<{ person: string; titles: string }>(query, [
    new Date(from),
    new Date(to),
  ])
  return rows.map(({ person, titles }) => `${person} | ${titles}`).toSorted()
}

async function figuresIn({ from, to }: ReportWindow): Promise<string[]> {
  const count = (rows: string) =>
    warehouse.number(
      `select count(*) from ${rows} and is_primary and known_at >= $1 and known_at < $2`,
      [new Date(from), new Date(to)],
    )
  const counts = []
  for (const rows of [
    'joiners where not is_transfer',
    'leavers where not is_transfer',
    'promotions where true',
  ]) {
    counts.push(await count(rows))
  }
  return counts.map(String)
}

function figuresOn(page: ReturnType<typeof parsed>): string[] {
  return page
    .all('.figures .value')
    .slice(0, 3)
    .map((value) => (value.textContent ?? '').replaceAll(',', ''))
}

async function pageOf(
  window: ReportWindow,
  list: readonly ListedOrganization[] | null = null,
): Promise<string> {
  return reportPage(await readReport(warehouse, window, list), NOW)
}

interface Element {
  readonly textContent: string | null
  getAttribute(name: string): string | null
  querySelectorAll(selector: string): Iterable<Element>
}

function words(element: Element | undefined): string {
  return (element?.textContent ?? '').replaceAll(/\s+/g, ' ').trim()
}

function parsed(page: string) {
  const { document } = parseHTML(page) as unknown as { document: Element }
  const all = (selector: string) => [...document.querySelectorAll(selector)]
  return {
    all,
    text: (selector: string) => all(selector).map(words).join(' '),
    /** The first cells of each row, in any order. */
    rows: (selector: string, cells = 2) =>
      all(selector)
        .map((row) => [...row.querySelectorAll('th, td')].slice(0, cells).map(words).join(' | '))
        .toSorted(),
    /** The name of each small chart, and `17, 25 %` or `12, no rate`. */
    trends: () =>
      all('#trends figure').map((figure) => {
        const texts = [...figure.querySelectorAll('p')].map(words).join(' ')
        const [, people = ''] = /Headcount ([\d,]+)/.exec(texts) ?? []
        const [, rate = 'no rate'] = /Left in a year ([\d.]+ %)/.exec(texts) ?? []
        return [words([...figure.querySelectorAll('h3')][0]), `${people}, ${rate}`] as const
      }),
  }
}

/** Careers of 150 people at 12 organisations within a year. */
function someCareers(): Partial<GivenEvent>[] {
  return Array.from({ length: 150 }, (_, person) => {
    let at = START + random(120) * DAY
    const events: Partial<GivenEvent>[] = []
    for (let job = 0; job < 3; job += 1) {
      const organization = random(12)
      const given = {
        profile_id: `person ${person}`,
        person_full_name: `Person ${person}`,
        organization_id: `org ${organization}`,
        organization_name: `Org ${organization}`,
      }
      const title = random(TITLES.length - 1)
      const step = (event_type: string, more: Partial<GivenEvent>) => {
        at += (5 + random(50)) * DAY
        const detected_at = new Date(at + random(20) * DAY + random(DAY)).toISOString()
        events.push({
          ...given,
          event_type,
          changed_at: new Date(at).toISOString(),
          detected_at,
          ...more,
        })
      }
      step('joined', { title_current: TITLES[title] ?? null })
      if (random(2) === 0) {
        step('title_change', {
          title_previous: TITLES[title] ?? null,
          title_current: TITLES[title + 1] ?? null,
        })
      }
      if (random(4) > 0) step('left', { title_current: TITLES[title] ?? null })
    }
    return events
  }).flat()
}

/** Two organisations where one person joins and leaves every month, and many in some months after the first year. */
function someBursts(): Partial<GivenEvent>[] {
  return Array.from({ length: 30 }, (_, month) =>
    ['joined', 'left'].flatMap((event_type) =>
      ['Acme', 'Globex'].flatMap((name) => {
        const isBurst = month > 16 && (month + (event_type === 'left' ? 2 : 0)) % 5 === 0
        return Array.from({ length: isBurst ? 10 + month : 1 }, (_, nth): Partial<GivenEvent> => {
          const at = Date.UTC(2022, 6 + month, 1 + random(28))
          return {
            profile_id: `${name} ${event_type} ${month} ${nth}`,
            person_full_name: `${name} ${event_type} ${month} ${nth}`,
            title_current: 'Engineer',
            organization_id: name.toLowerCase(),
            organization_name: name,
            event_type,
            changed_at: new Date(at).toISOString(),
            detected_at: new Date(at + random(50) * DAY).toISOString(),
          }
        })
      }),
    ),
  ).flat()
}
