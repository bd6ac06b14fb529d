/**
 * Deals across nights: the move of one person can turn the moves of others into transfers. Also the groups in config/.
 */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { readChecks } from '../../src/model/checks.ts'
import { organizationGroupsSchema } from '../../src/model/config-lists.ts'
import { readProject } from '../../src/model/project.ts'
import { sqlFolder } from '../../src/support/assets.ts'
import { parseYaml } from '../../src/titles/yaml-file.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { contentsOf, insertEvents, memoryWarehouse, type GivenEvent } from '../helpers/warehouse.ts'

describe('a deal that shows only after some nights', () => {
  it('turns earlier moves into transfers, also for people without new events', async () => {
    const nights = [
      [move('ada', '2018-01-10'), move('ben', '2018-05-02'), stay('eve', 'globex', '2017-01-01')],
      [move('cy', '2019-02-01')],
      [move('dee', '2019-03-01'), move('fay', '2018-05-02')],
      // The fourth and fifth turn out to be two profiles of one person, which count once.
      [
        stay('dee', 'initech', '2016-01-01', '2017-01-01'),
        stay('ben', 'initech', '2016-01-01', '2017-01-01'),
        stay('fay', 'initech', '2016-01-01', '2017-01-01'),
      ],
      // Later leavers show that only a few moved together.
      Array.from({ length: 40 }, (_, index) =>
        stay(`left ${index}`, 'acme', '2019-01-01', `2020-03-${10 + (index % 20)}`),
      ),
      Array.from({ length: 40 }, (_, index) =>
        stay(`joined ${index}`, 'globex', `2020-03-${10 + (index % 20)}`),
      ),
    ].map((night) => night.flat())
    const transfers: number[] = []
    await inMemory(async (warehouse) => {
      for (const [night, events] of nights.entries()) {
        await insertEvents(warehouse, events)
        const report = await build(warehouse)
        expect(report.fullRefreshReason === null).toBe(night > 0)
        transfers.push(await warehouse.number('select count(*) from moves where is_transfer'))
        if (night !== 1 && night !== 3 && night !== 5) continue
        await inMemory(async (scratch) => {
          await insertEvents(scratch, nights.slice(0, night + 1).flat())
          await build(scratch)
          expect(await contentsOf(warehouse)).toEqual(await contentsOf(scratch))
        })
      }
    })
    expect(transfers).toEqual([0, 3, 5, 5, 5, 0])
  }, 600_000)
})

describe('a check of transfers', () => {
  const damages = [
    ['transfers_are_the_moves_that_say_so', 'delete from core.transfers'],
    ['transfers_are_the_moves_that_say_so', 'update moves set is_transfer = true'],
    ['transfer_evidence_is_between_nothing_and_all', 'update transfer_candidates set people = 2'],
    [
      'transfer_evidence_is_between_nothing_and_all',
      'update transfer_candidates set share_of_joiners = 1.5',
    ],
    ['transfers_are_the_moves_that_say_so', 'insert into core.transfers from core.transfers'],
    ['group_stints_hold_no_more_than_all_stints', 'insert into moves from moves'],
  ]

  it('finds what breaks it', async () => {
    await inMemory(async (warehouse) => {
      const people = ['ada', 'ben', 'cy', 'dee']
      await insertEvents(warehouse, [
        ...people.flatMap((person, index) => move(person, `2018-0${index + 1}-01`)),
        ...move('eve', '2018-01-01', '2023-01-01'),
      ])
      await build(warehouse)
      await warehouse.run(`set search_path = 'main,detail,service,core'`)
      const checks = readChecks(join(sqlFolder, 'checks'))
      for (const [name, damage = ''] of damages) {
        const sql = checks.find((check) => check.name === name)?.sql ?? ''
        expect(await warehouse.all(sql), name).toEqual([])
        await warehouse.run(`begin; ${damage}`)
        expect((await warehouse.all(sql)).length, damage).toBeGreaterThan(0)
        await warehouse.run('rollback')
      }
    })
  })
})

describe('groups of organisations', () => {
  const GROUPS = `
groups:
  - name: globex
    members:
      - { organization: globex, kind: main }
      - { organization: acme, kind: acquisition, from: 2020-03-15 }
      - { organization: globex labs, kind: spin-off, to: 2020-03-15 }
  - name: initech
    members: [{ organization: initech, kind: main }]
`

  it('turn moves between members into transfers while they belong together, and decide alone', async () => {
    const { groups } = parseYaml(GROUPS, 'organization-groups.yaml', organizationGroupsSchema)
    await inMemory(async (warehouse) => {
      await insertEvents(warehouse, [
        ...move('bought', '2018-01-10', '2020-03-01'),
        ...move('months before', '2018-01-10', '2020-01-10'),
        ...move('years later', '2018-01-10', '2024-05-02'),
        ...move('spun off', '2018-01-10', '2020-03-20', 'globex', 'globex labs'),
        ...move('long after', '2018-01-10', '2020-06-01', 'globex', 'globex labs'),
        // A deal according to the data, but both are in different groups.
        ...['a', 'b', 'c', 'd'].flatMap((person, index) =>
          move(person, `2018-0${index + 1}-01`, '2022-01-01', 'initech', 'globex labs'),
        ),
      ])
      await build(warehouse)
      const rows = groups.flatMap(({ name, members }) =>
        members.map(
          ({ organization, kind, from, to }) =>
            `(${[organization, name, kind, from, to].map((one) => (one === undefined ? 'null' : `'${one}'`)).join(', ')})`,
        ),
      )
      await warehouse.run(`insert into organization_groups
         select one, two, three, from_on::timestamptz, to_on::timestamptz
         from (values ${rows.join(', ')}) as given(one, two, three, from_on, to_on)`)
      const { nodes } = await readProject(warehouse)
      const sql = nodes.find(({ name }) => name === 'transfers')?.storedSql ?? ''
      expect(
        await warehouse.all(
          `select profile_id, organization_group, kind from (${sql}) order by profile_id`,
        ),
      ).toEqual([
        { profile_id: 'bought', organization_group: 'globex', kind: 'acquisition' },
        { profile_id: 'spun off', organization_group: 'globex', kind: 'spin-off' },
        { profile_id: 'years later', organization_group: 'globex', kind: 'acquisition' },
      ])
    })
  })
})

/** Joined, left for the other, and still there. */
function move(
  person: string,
  joinedOn: string,
  movedOn = '2020-03-01',
  from = 'acme',
  to = 'globex',
): GivenEvent[] {
  return [...stay(person, from, joinedOn, movedOn), ...stay(person, to, movedOn)]
}

function stay(
  person: string,
  organization: string,
  joinedOn: string,
  leftOn?: string,
): GivenEvent[] {
  const about = { profile_id: person, organization_id: organization, title_current: 'Engineer' }
  return [
    { ...about, event_type: 'joined', changed_at: joinedOn },
    ...(leftOn === undefined ? [] : [{ ...about, event_type: 'left', changed_at: leftOn }]),
  ]
}

async function build(warehouse: Warehouse) {
  const builtAt = new Date('2024-12-10T03:00:00Z')
  return buildModels(warehouse, { buildId: 'night', builtAt, mostChanged: 1 })
}

async function inMemory(work: (warehouse: Warehouse) => Promise<void>): Promise<void> {
  const warehouse = await memoryWarehouse({ threads: 1 })
  try {
    await work(warehouse)
  } finally {
    warehouse.close()
  }
}
