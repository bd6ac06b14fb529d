/** Deals and duplicate people in the public data next to the repository; skipped where ../shared/data is absent. */

import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, memoryWarehouse, type GivenEvent } from '../helpers/warehouse.ts'
import { groupBy } from './careers-reference.ts'
import { realEvents, realEventsPath } from './real-events.ts'

interface Candidate {
  readonly source: string
  readonly target: string
  readonly kind: string
  readonly is_transfer: boolean
}

let warehouse: Warehouse
let events: readonly GivenEvent[]

describe.skipIf(!existsSync(realEventsPath))('transfers in the real data', () => {
  beforeAll(async () => {
    events = realEvents()
    warehouse = await memoryWarehouse()
    await insertEvents(warehouse, events)
    await buildModels(warehouse, { buildId: 'real', builtAt: new Date('2024-12-10T03:00:00Z') })
  }, 240_000)
  afterAll(() => warehouse.close())

  it('are those of known deals, but not of rivals that exchange people', async () => {
    const candidates = await warehouse.all<Candidate>(
      `select from_organization_name as source, to_organization_name as target, kind, is_transfer
       from transfer_candidates`,
    )
    const deals = candidates.filter((one) => one.is_transfer)
    const found = deals.map(({ source, target, kind }) => `${source} → ${target}: ${kind}`)
    expect(found).toEqual(
      expect.arrayContaining([
        'Heptio Inc. → VMware Inc.: acquisition',
        'Rancher Labs Inc. → SUSE LLC: acquisition',
        'CloudByte Inc → MayaData Inc. (f/k/a CloudByte Inc): rename',
        'Pivotal → VMware Inc.: acquisition',
        'Deis → Microsoft Corporation: acquisition',
        'International Business Machines Corporation → Kyndryl: spin-off',
      ]),
    )
    expect(found.length).toBeLessThan(100)
    const rivals = ['Google LLC', 'Meta Platforms Inc.', 'Amazon', 'AWS', 'Microsoft Corporation']
    const between = deals.filter(({ source, target }) =>
      [source, target].every((one) => rivals.includes(one)),
    )
    expect(between).toEqual([])
  })

  it('contain the people who moved in the window, duplicates once', async () => {
    const wrong = await warehouse.all(
      `select candidates.from_organization_id, candidates.to_organization_id, candidates.people
       from transfer_candidates as candidates
       join moves on moves.from_organization_id = candidates.from_organization_id
         and moves.to_organization_id = candidates.to_organization_id and moves.is_direct
         and moves.month_start_on between candidates.window_start_on and candidates.window_end_on
       left join duplicate_people as twins on twins.profile_id = moves.profile_id
       group by all
       having count(distinct coalesce(twins.main_profile_id, moves.profile_id)) <> candidates.people`,
    )
    expect(wrong).toEqual([])
  })

  it('find the same duplicate people as a comparison of histories without SQL', async () => {
    const histories = [...groupBy(events, (event) => event.profile_id)].map(([person, own]) => {
      const told = new Set(
        own.map((event) =>
          JSON.stringify([
            event.organization_id,
            event.event_type,
            event.changed_at,
            event.title_current,
            event.title_previous,
          ]),
        ),
      )
      return { person, events: told.size, history: [...told].toSorted().join() }
    })
    const expected = [
      ...groupBy(
        histories.filter((one) => one.events >= 4),
        ({ history }) => history,
      ).values(),
    ]
      .filter((alike) => alike.length > 1)
      .flatMap((alike) => {
        const people = alike.map(({ person }) => person).toSorted()
        return people.map((person) => `${person} ${people[0]}`)
      })
    const actual = await warehouse.all<{ row: string }>(
      `select profile_id || ' ' || main_profile_id as row from duplicate_people`,
    )
    expect(expected.length).toBeGreaterThan(500)
    expect(actual.map(({ row }) => row).toSorted()).toEqual(expected.toSorted())
  })
})
