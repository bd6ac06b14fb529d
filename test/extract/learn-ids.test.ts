import { describe, expect, it } from 'vitest'
import { eventFacts } from '../../src/extract/event-facts.ts'
import { IdLearner } from '../../src/extract/learn-ids.ts'
import type { OrganizationRef } from '../../src/journal/records.ts'
import { anEvent, manyEvents, simulate, type EventChoices } from '../simulator/simulator-fixture.ts'
import { anExtraction, batchesOf, type Extraction } from './extract-fixture.ts'

const url = (value: string): OrganizationRef => ({ by: 'url', value })
const batchOf = (...references: OrganizationRef[]) => batchesOf(references)[0]!
const events = (...choices: EventChoices[]) => choices.map((one) => eventFacts(anEvent(one)))

/** What a batch that asks for `references` learns of the events. */
function learntOf(references: readonly OrganizationRef[], ...choices: EventChoices[]) {
  const ids = new IdLearner()
  const batch = batchOf(...references)
  ids.look(batch, events(...choices))
  return ids
    .learn(batch)
    .map(({ organization, organizationId }) => [organization.value, organizationId])
}

const acme: EventChoices = { organization: 'org_7', slug: 'acme' }
const globex: EventChoices = { organization: 'org_8', slug: 'globex' }

describe('the id of a company is learnt', () => {
  it.each([
    ['a slug', 'acme'],
    ['a slug in capitals', 'ACME'],
    ['a URL', 'https://network.example/company/acme'],
    [
      'a URL on another host, with a slash and a query',
      'http://de.other.example/company/Acme/?x=1',
    ],
    ['an encoded URL', 'https://network.example/company/%61cme'],
    ['a URL that goes on after the slug', 'https://network.example/company/acme/about'],
  ])('by %s', (_, value) => {
    expect(learntOf([url(value), url('globex')], acme, globex)).toEqual([
      [value, 'org_7'],
      ['globex', 'org_8'],
    ])
  })

  it('by the URL of the event where it has no slug', () => {
    const event = anEvent(acme)
    const ids = new IdLearner()
    const batch = batchOf(url('acme'), url('globex'))
    ids.look(batch, [eventFacts({ ...event, organization: { ...event.organization, slug: null } })])
    expect(ids.learn(batch)).toMatchObject([{ organizationId: 'org_7' }])
  })

  it('as its only id, where it was asked for alone under another slug', () => {
    expect(learntOf([url('acme-old-name')], acme)).toEqual([['acme-old-name', 'org_7']])
  })

  it('once in a run', () => {
    const ids = new IdLearner()
    const joined = batchOf(url('acme'), url('globex'))
    const left = { ...joined, batch_id: '0002' }
    for (const batch of [joined, left]) ids.look(batch, events(acme))
    expect(ids.learn(joined)).toHaveLength(1)
    expect(ids.learn(left)).toEqual([])
  })
})

describe('no id is learnt', () => {
  it('for a slug that two companies share, also when they are on different pages', () => {
    const ids = new IdLearner()
    const batch = batchOf(url('acme'), url('globex'))
    ids.look(batch, events(acme))
    ids.look(batch, events({ ...acme, organization: 'org_70' }, globex))
    expect(ids.learn(batch)).toMatchObject([{ organizationId: 'org_8' }])
  })

  it('for a company without events, or with another slug', () => {
    expect(learntOf([url('initech'), url('acm')], acme, globex)).toEqual([])
  })

  it('for a company that is asked for by its id', () => {
    expect(learntOf([{ by: 'id', value: 'org_7' }], acme)).toEqual([])
  })

  it('from events that are damaged', () => {
    const ids = new IdLearner()
    const batch = batchOf(url('acme'))
    const damaged = [null, 7, { organization: { slug: 'acme' } }, { organization: null }]
    ids.look(batch, damaged.map(eventFacts))
    expect(ids.learn(batch)).toEqual([])
  })
})

const learntRecords = (extraction: Extraction) =>
  extraction
    .records()
    .flatMap((record) =>
      record.kind === 'organization_learnt'
        ? [[record.organization.value, record.organization_id]]
        : [],
    )

describe('a run', () => {
  it('writes what it learnt of 3 companies once, before their batches are finished', async () => {
    const source = ['a', 'b', 'c'].flatMap((name) =>
      manyEvents(60, { organization: `org_${name}`, slug: `firm-${name}` }),
    )
    const simulator = await simulate(source)
    const references = ['a', 'b', 'c'].map((name) =>
      url(`https://network.example/company/firm-${name}`),
    )
    const batches = (['joined', 'left'] as const).flatMap((type) =>
      batchesOf(references, { batch_id: type, event_types: [type] }),
    )
    const extraction = anExtraction({ simulator, batches })
    await extraction.run()
    expect(learntRecords(extraction)).toEqual(
      ['a', 'b', 'c'].map((name) => [
        `https://network.example/company/firm-${name}`,
        `org_${name}`,
      ]),
    )
    const records = extraction.records()
    const lastLearnt = records.findLastIndex(({ kind }) => kind === 'organization_learnt')
    const end = records.findIndex(
      (record) => record.kind === 'batch_finished' && record.batch_id === 'joined',
    )
    expect(end).toBe(lastLearnt + 1)
  })
})
