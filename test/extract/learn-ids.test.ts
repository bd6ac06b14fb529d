import { expect, it } from 'vitest'
import { Names } from '../../src/extract/names.ts'
import { eventFacts } from '../../src/extract/page-record.ts'
import type { OrganizationRef } from '../../src/journal/records.ts'
import { anEvent, manyEvents } from '../simulator/simulator-fixture.ts'
import { aRun, batchOf, simulated } from './extract-fixture.ts'

const url = (value: string): OrganizationRef => ({ by: 'url', value })
const acme = anEvent({ organization: 'org_7', slug: 'acme' })
const globex = anEvent({ organization: 'org_8', slug: 'globex' })
const secondAcme = anEvent({ organization: 'org_70', slug: 'acme' })
const withoutSlug = { ...acme, organization: { ...acme.organization, slug: null } }
const damaged = [null, 7, { organization: { slug: 'acme' } }, { organization: null }]

it.each<[what: string, asked: string, pages: unknown[][], id: string | undefined]>([
  ['by a slug', 'acme', [[globex], [acme]], 'org_7'],
  ['by a slug in capitals', 'ACME', [[acme, globex]], 'org_7'],
  ['by a URL', 'https://network.example/company/acme', [[acme]], 'org_7'],
  [
    'by a URL on another host, with a slash and a query',
    'http://de.other.example/company/Acme/?x=1',
    [[acme]],
    'org_7',
  ],
  ['by an encoded URL', 'https://network.example/company/%61cme', [[acme]], 'org_7'],
  ['by a URL that goes on', 'https://network.example/company/acme/about', [[acme]], 'org_7'],
  ['by the URL of an event without a slug', 'acme', [[withoutSlug]], 'org_7'],
  ['not for a slug that two companies share', 'acme', [[acme, globex], [secondAcme]], undefined],
  ['not for a company without events', 'initech', [[acme, globex]], undefined],
  ['not for a company with another slug', 'acm', [[acme, globex]], undefined],
  ['not from events that are damaged', 'acme', [damaged], undefined],
])('the id of a company is learnt %s', (_, asked, pages, id) => {
  const ids = new Names()
  const batch = batchOf([url(asked), url('another'), 'org_7', 'org_8'])
  for (const events of pages) ids.look(batch, events.map(eventFacts))
  const organization = url(asked)
  expect(ids.learn(batch)).toEqual(id === undefined ? [] : [{ organization, organization_id: id }])
})

it('the only id in a batch is learnt for a company requested alone under another slug', () => {
  const ids = new Names()
  const batch = batchOf([url('acme-old-name')])
  ids.look(batch, [acme].map(eventFacts))
  expect(ids.learn(batch)).toMatchObject([{ organization_id: 'org_7' }])
})

it.each<[what: string, asked: (string | OrganizationRef)[], id: string | undefined]>([
  ['where an event has that URL', [url('acme'), url('https://n.example/company/99')], 'org_9'],
  ['where the batch asks for it alone', [url('1234')], 'org_8'],
  [
    'not as what is left beside a slug: nobody may have asked for it',
    [url('acme'), url('1234')],
    undefined,
  ],
  ['not as what is left beside an id', ['org_7', url('1234')], undefined],
])('the id of a URL with a number, answered under a slug, is learnt %s', (_, asked, id) => {
  const ids = new Names()
  const batch = batchOf(asked)
  const network_url = 'https://network.example/company/99'
  const numbered = {
    ...globex,
    organization: { ...globex.organization, organization_id: 'org_9', network_url },
  }
  const events =
    asked.length === 1 ? [globex] : id === undefined ? [acme, globex] : [acme, numbered]
  ids.look(batch, events.map(eventFacts))
  const learnt = ids.learn(batch).filter(({ organization }) => /\d$/.test(organization.value))
  expect(learnt.map(({ organization_id }) => organization_id)).toEqual(id === undefined ? [] : [id])
})

it('a company given as URL in one batch and as id in another is bought once, even if the run is killed in between', async () => {
  const firms = ['a', 'b', 'c'].map((name) => ({
    organization: `org_${name}`,
    slug: `firm-${name}`,
  }))
  const events = firms.flatMap((firm) => manyEvents(120, firm))
  const by = {
    url: batchOf([url('https://n.example/company/firm-a'), url('firm-b')], { batch_id: 'url' }),
    ids: batchOf(['org_a', 'org_c'], { batch_id: 'ids' }),
    only: batchOf(['org_b'], { batch_id: 'only' }),
  }
  for (const isKilled of [false, true]) {
    const service = simulated(events)
    const run = aRun(service, [by.ids, by.only, by.url], (record) => {
      if (isKilled && record.kind === 'batch_split' && kills++ === 0) run.kill()
    })
    let kills = 0
    const first = run.extract({ concurrency: 4 })
    if (isKilled) await expect(first).rejects.toThrow()
    else await first
    if (isKilled) await run.extract({ ids: run.history().ids })
    // 240 events of two companies are 5 pages, 120 of one are 3.
    expect(service.charged()).toBe(80)
    expect(run.bought().size).toBe(360)
    const { coverage, ids } = run.history()
    expect([...coverage.keys()].toSorted()).toEqual(['org_a', 'org_b', 'org_c'])
    expect(ids.get('firm-b')).toBe('org_b')
    const reasons = run.records('batch_split').map(({ batch_id, reason }) => [batch_id, reason])
    const reason = 'requested under another name'
    expect(Object.fromEntries(reasons)).toEqual({ ids: reason, only: reason })
    expect([...run.run().batches.values()].map(({ state }) => state)).not.toContain('planned')
  }
})

it('a company is still requested by its id if its URL was read for other types or a shorter window', async () => {
  const service = simulated(manyEvents(60, { organization: 'org_a', slug: 'firm-a' }))
  const shorter = batchOf([url('firm-a')], { batch_id: 'shorter', days_ago: 365 })
  const other = batchOf([url('firm-a')], { batch_id: 'other', event_types: ['joined'] })
  const run = aRun(service, [shorter, other, batchOf(['org_a'])])
  await run.extract()
  expect(run.records('batch_split')).toEqual([])
  expect(run.records('batch_finished')).toHaveLength(3)
})

it('a run records the ids of 3 companies once, before their batch is finished', async () => {
  const names = ['a', 'b', 'c']
  const service = simulated(
    names.flatMap((name) => manyEvents(60, { organization: `org_${name}`, slug: `firm-${name}` })),
  )
  const references = names.map((name) => url(`https://network.example/company/firm-${name}`))
  const batches = (['joined', 'left'] as const).map((type) =>
    batchOf(references, { batch_id: type, event_types: [type] }),
  )
  const run = aRun(service, batches)
  await run.extract()
  expect(run.records('organization_learnt')).toMatchObject(
    references.map((organization, i) => ({ organization, organization_id: `org_${names[i]}` })),
  )
  const kinds = run.frames.map(({ record }) =>
    record.kind === 'batch_finished' ? `end of ${record.batch_id}` : record.kind,
  )
  expect(kinds.indexOf('end of joined')).toBe(kinds.lastIndexOf('organization_learnt') + 1)
})
