/**
 * Questions narrowed by filters, in complete runs against the simulator over HTTP: what each costs, covers, and
 * continues.
 */

import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import { coverageOfAll, coverageReport, wantedOf } from '../../src/plan/coverage-report.ts'
import { makePlan, type Question } from '../../src/plan/plan.ts'
import { placeOf } from '../../src/simulator/endpoints/world.ts'
import { DAY, HOUR } from '../../src/support/units.ts'
import { NOW, anEvent, manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import { jobOver, nightsOf } from './nights-fixture.ts'

// 600 engineers, and 600 vice presidents, about a fifth of them in London.
const ENGINEERS = manyEvents(600, { detectedDaysAgo: 100 })
const OFFICERS = Array.from({ length: 600 }, (_, n) =>
  anEvent({ person: `vp_${n}`, title: 'Vice President, Sales', detectedDaysAgo: 100, lagDays: n }),
)
const EVENTS = [...ENGINEERS, ...OFFICERS]
const IN_LONDON = OFFICERS.filter(({ person }) => placeOf(person.profile_id).city === 'London')
const PAGES = { all: 24, officers: 12, inLondon: Math.ceil(IN_LONDON.length / 50) }

const OFFICER = { title: 'vice president' }
const IN_TOWN = { ...OFFICER, geo_city: 'London' }
const asking = (filters: Question['filters']) =>
  jobOver(['org_a'], filters === undefined ? {} : { filters })
const unfiltered = asking(undefined)

describe('a question with filters', () => {
  it(`of vice presidents in London costs ${PAGES.inLondon} pages of the 24 that the company has`, async () => {
    const simulator = await simulate(EVENTS)
    const nights = nightsOf(simulator, asking(IN_TOWN))
    const { extract } = await nights.night(NOW)
    expect(PAGES.inLondon).toBeLessThan(4)
    expect(extract).toMatchObject({ events: IN_LONDON.length, credits: PAGES.inLondon * 10 })
    expect(simulator.account().charged_pages).toBe(PAGES.inLondon)
  })

  it('covers no other question, and no other question covers it', async () => {
    const simulator = await simulate(EVENTS)
    const nights = nightsOf(simulator, unfiltered)
    const costs: number[] = []
    for (const filters of [undefined, OFFICER, IN_TOWN, undefined, OFFICER, IN_TOWN]) {
      const { extract } = await nights.night(NOW, { job: asking(filters) })
      costs.push(extract.credits)
    }
    expect(costs).toEqual([240, 120, PAGES.inLondon * 10, 0, 0, 0])
    const history = readHistory(nights.journal)
    const nowMs = NOW + HOUR
    expect(coverageReport(null, history, nowMs).organizations).toHaveLength(1)
    expect(coverageOfAll(history, nowMs).organizations).toMatchObject([
      { question: '', events: 1_200, watermark: NOW },
      { question: 'title="vice president"', events: 600, watermark: NOW },
      { question: 'title="vice president" geo_city=London', events: IN_LONDON.length },
    ])
    expect([...history.coverage.keys()]).toEqual(['org_a'])
  })

  it('continues from its own watermark, shared with pipelines that ask the same', async () => {
    const late = [
      anEvent({ person: 'late vp', title: 'Vice President', detectedAt: NOW + HOUR, lagDays: 0 }),
      anEvent({ person: 'late engineer', detectedAt: NOW + HOUR, lagDays: 0 }),
    ]
    const simulator = await simulate([...EVENTS, ...late])
    const nights = nightsOf(simulator, asking(OFFICER))
    await nights.night(NOW)
    // The other pipeline runs between two of ours: only newer events are due.
    const other = { ...asking(OFFICER), pipeline: 'weekly' }
    const weekly = { ...other, question: { ...other.question, pipeline: 'weekly' } }
    const { extract } = await nights.night(NOW + 2 * HOUR, { job: weekly })
    expect(extract).toMatchObject({ events: 1, credits: 10 })
    await nights.night(NOW + DAY)
    const asked = simulator.account().log.map(({ request }) => request?.['days_ago'])
    expect([...new Set(asked)]).toEqual([365, 1, 2])
    // Windows are whole days: the page with the late one is bought again, as without filters.
    expect(simulator.account().credits).toBe(120 + 10 + 10)
  })

  it('asks for a company by its address, and by its id once events show it', async () => {
    const simulator = await simulate(EVENTS)
    const job = jobOver([], {
      organizations: [{ by: 'url', value: 'https://network.example/company/company-a' }],
      filters: IN_TOWN,
    })
    const nights = nightsOf(simulator, job)
    await nights.night(NOW)
    const history = readHistory(nights.journal)
    const plan = makePlan(job.question, history, NOW + HOUR)
    expect(plan).toMatchObject({ neverAsked: 0, silent: 0 })
    expect(plan.batches[0]).toMatchObject({
      organizations: [{ by: 'id', value: 'org_a' }],
      days_ago: 1,
      filters: IN_TOWN,
    })
    const report = coverageReport(wantedOf(job.question), history, NOW + HOUR)
    expect(report.organizations).toMatchObject([{ organizationId: 'org_a', watermark: NOW }])
    expect(makePlan(asking(OFFICER).question, history, NOW)).toMatchObject({ neverAsked: 1 })
  })

  it('without a match says nothing about the list: no organisation counts as unknown', async () => {
    const simulator = await simulate(EVENTS)
    const nights = nightsOf(simulator, asking({ title: 'Astronaut' }))
    const report = await nights.night(NOW)
    expect(report).toMatchObject({ endedEarly: null, unread: 0 })
    expect(simulator.account()).toMatchObject({ requests: 1, credits: 0 })
  })
})

describe('a run that stops in a filtered batch', () => {
  it('buys no page twice over 3 budgets of 50 credits', async () => {
    const simulator = await simulate(EVENTS)
    const nights = nightsOf(simulator, { ...asking(OFFICER), creditsLimit: 50 })
    for (const [night, pages] of [5, 10, 12].entries()) {
      await nights.night(NOW + night * DAY)
      expect(simulator.account().charged_pages).toBe(pages)
    }
    const history = readHistory(nights.journal)
    expect(history.runs.size).toBe(1)
    expect(history.filtered.get('title="vice president"')?.coverage.get('org_a')).toMatchObject([
      { to: NOW },
    ])
  })

  it('is not continued by another question, whether without filters or with others', async () => {
    for (const filters of [undefined, IN_TOWN]) {
      const simulator = await simulate(EVENTS)
      const nights = nightsOf(simulator, { ...asking(OFFICER), creditsLimit: 50 })
      await nights.night(NOW)
      const job = { ...asking(filters), creditsLimit: null }
      const report = await nights.night(NOW, { job })
      expect(report).toMatchObject({ resumed: false, leftBehind: 5, endedEarly: null })
      const pages = filters === undefined ? PAGES.all : PAGES.inLondon
      expect(report.extract.credits).toBe(pages * 10)
    }
  })

  it('reads each organisation with the new filters if they changed meanwhile', async () => {
    const names = ['org_a', 'org_b']
    const events = names.flatMap((organization) =>
      manyEvents(120, { organization, title: 'Vice President', detectedDaysAgo: 9 }),
    )
    const simulator = await simulate(events)
    const nights = nightsOf(simulator, {
      ...jobOver(names, { filters: OFFICER }),
      creditsLimit: 30,
    })
    await nights.night(NOW)
    const report = await nights.night(NOW, {
      job: { ...jobOver(names, { filters: { title: 'President' } }), creditsLimit: null },
    })
    expect(report).toMatchObject({ resumed: false, unread: 0 })
    const { filtered } = readHistory(nights.journal)
    expect([...(filtered.get('title=President')?.coverage.keys() ?? [])]).toEqual(names)
    expect(filtered.get('title="vice president"')?.coverage.size).toBe(0)
  })
})

describe('the journal', () => {
  it('is recorded before the batches each time a run begins or resumes, and in each batch', async () => {
    const simulator = await simulate(EVENTS)
    const nights = nightsOf(simulator, { ...asking(OFFICER), creditsLimit: 50 })
    await nights.night(NOW)
    await nights.night(NOW)
    const journal = openJournal(nights.journal.folder, simulator.clock)
    const frames = journal.segments().flatMap((segment) => [...journal.read(segment)])
    const kinds = frames.map(({ record }) => record.kind)
    const planned = kinds.flatMap((kind, at) =>
      kind === 'run_started' || kind === 'run_resumed' ? kinds[at - 1] : [],
    )
    expect(planned).toEqual(['question_filtered', 'question_filtered'])
    const begun = frames.find(({ record }) => record.kind === 'run_started')
    expect(JSON.parse(begun?.payload().toString() ?? '')).toMatchObject([{ filters: OFFICER }])
  })

  it('has no such record of a run without filters, and its batches no filters', async () => {
    const simulator = await simulate(EVENTS)
    const nights = nightsOf(simulator, unfiltered)
    await nights.night(NOW)
    const frames = nights.journal.segments().flatMap((one) => [...nights.journal.read(one)])
    expect(frames.map(({ record }) => record.kind)).not.toContain('question_filtered')
    expect(frames.map((frame) => frame.payload().toString()).join('')).not.toContain('"filters"')
  })
})
