import { expect, it } from 'vitest'
import { IdLearner } from '../../src/extract/learn-ids.ts'
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
  const ids = new IdLearner()
  const batch = batchOf([url(asked), url('another'), 'org_7'])
  for (const events of pages) ids.look(batch, events.map(eventFacts))
  const organization = url(asked)
  expect(ids.learn(batch)).toEqual(id === undefined ? [] : [{ organization, organization_id: id }])
})

it('the only id in a batch is learnt for a company that was asked for alone under another slug', () => {
  const ids = new IdLearner()
  const batch = batchOf([url('acme-old-name')])
  ids.look(batch, [acme].map(eventFacts))
  expect(ids.learn(batch)).toMatchObject([{ organization_id: 'org_7' }])
})

it('a run writes what it learnt of 3 companies once, before their batch is finished', async () => {
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
