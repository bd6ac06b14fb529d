import { describe, expect, it } from 'vitest'
import { IdLearner } from '../../src/extract/learn-ids.ts'
import { eventFacts } from '../../src/extract/page-record.ts'
import type { OrganizationRef } from '../../src/journal/records.ts'
import { anEvent, manyEvents, type EventChoices } from '../simulator/simulator-fixture.ts'
import { aRun, batchOf, simulated } from './extract-fixture.ts'

const url = (value: string): OrganizationRef => ({ by: 'url', value })
const events = (...choices: EventChoices[]) => choices.map((one) => eventFacts(anEvent(one)))

/** What a batch that asks for `references` learns of the events. */
function learntOf(references: readonly OrganizationRef[], ...choices: EventChoices[]) {
  const ids = new IdLearner()
  const batch = batchOf(references)
  ids.look(batch, events(...choices))
  return ids.learn(batch).map(({ organization, organization_id: id }) => [organization.value, id])
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
    const batch = batchOf([url('acme'), url('globex')])
    ids.look(batch, [eventFacts({ ...event, organization: { ...event.organization, slug: null } })])
    expect(ids.learn(batch)).toMatchObject([{ organization_id: 'org_7' }])
  })

  it('as its only id, where it was asked for alone under another slug', () => {
    expect(learntOf([url('acme-old-name')], acme)).toEqual([['acme-old-name', 'org_7']])
  })

  it('once in a run', () => {
    const ids = new IdLearner()
    const joined = batchOf([url('acme'), url('globex')])
    const left = { ...joined, batch_id: '0002' }
    for (const batch of [joined, left]) ids.look(batch, events(acme))
    expect(ids.learn(joined)).toHaveLength(1)
    expect(ids.learn(left)).toEqual([])
  })
})

describe('no id is learnt', () => {
  it('for a slug that two companies share, also when they are on different pages', () => {
    const ids = new IdLearner()
    const batch = batchOf([url('acme'), url('globex')])
    ids.look(batch, events(acme))
    ids.look(batch, events({ ...acme, organization: 'org_70' }, globex))
    expect(ids.learn(batch)).toMatchObject([{ organization_id: 'org_8' }])
  })

  it('for a company without events, or with another slug', () => {
    expect(learntOf([url('initech'), url('acm')], acme, globex)).toEqual([])
  })

  it('for a company that is asked for by its id', () => {
    expect(learntOf([{ by: 'id', value: 'org_7' }], acme)).toEqual([])
  })

  it('from events that are damaged', () => {
    const ids = new IdLearner()
    const batch = batchOf([url('acme')])
    const damaged = [null, 7, { organization: { slug: 'acme' } }, { organization: null }]
    ids.look(batch, damaged.map(eventFacts))
    expect(ids.learn(batch)).toEqual([])
  })
})

describe('a run', () => {
  it('writes what it learnt of 3 companies once, before their batch is finished', async () => {
    const names = ['a', 'b', 'c']
    const service = simulated(
      names.flatMap((name) =>
        manyEvents(60, { organization: `org_${name}`, slug: `firm-${name}` }),
      ),
    )
    const references = names.map((name) => url(`https://network.example/company/firm-${name}`))
    const run = aRun(
      service,
      (['joined', 'left'] as const).map((type) =>
        batchOf(references, { batch_id: type, event_types: [type] }),
      ),
    )
    await run.extract()
    expect(run.records('organization_learnt')).toMatchObject(
      references.map((organization, i) => ({ organization, organization_id: `org_${names[i]}` })),
    )
    const kinds = run.frames.map(({ record }) =>
      record.kind === 'batch_finished' ? `end of ${record.batch_id}` : record.kind,
    )
    expect(kinds.indexOf('end of joined')).toBe(kinds.lastIndexOf('organization_learnt') + 1)
  })
})
