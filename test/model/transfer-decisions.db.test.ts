/** Decisions in config/transfers.yaml, the table transfer_decisions, override all evidence in the data. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { holdsOwn } from '../../src/model/own/files.ts'
import { readProject } from '../../src/model/project.ts'
import { refuseWrongOwn } from '../../src/run/stages.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse, type GivenEvent } from '../helpers/warehouse.ts'

const DECISIONS = [
  ['doubtful', 'giant', true],
  ['proven', 'giant', false],
  ['two people', 'giant', true],
  ['undecided', 'elsewhere', true],
] as const

describe('a decision on a pair of organisations', () => {
  it('turns moves without evidence into transfers, and proven transfers into plain moves', async () => {
    const warehouse = await memoryWarehouse({ threads: 1 })
    try {
      await insertEvents(warehouse, [
        ...movers('doubtful', 5, (nth) => `2021-04-${10 + 3 * nth}`),
        ...stayers('doubtful', 25),
        ...movers('proven', 5, () => '2021-04-13'),
        ...movers('two people', 2, () => '2021-04-13'),
        ...movers('undecided', 5, (nth) => `2021-04-${10 + 3 * nth}`),
        ...stayers('undecided', 25),
        ...stayers('giant', 40),
      ])
      await buildModels(warehouse, { buildId: 'night', builtAt: new Date('2024-12-10T03:00:00Z') })
      const transfers = `select from_organization_id as source, count(*) as moves from moves where is_transfer
         group by all order by all`
      expect(await warehouse.all(transfers)).toEqual([{ source: 'proven', moves: 5n }])

      await warehouse.append('detail.transfer_decisions', {
        from_organization_id: DECISIONS.map(([from]) => from),
        to_organization_id: DECISIONS.map(([, to]) => to),
        is_transfer: DECISIONS.map(([, , is]) => is),
      })
      const { nodes } = await readProject(warehouse)
      const sqlOf = (name: string) => nodes.find((node) => node.name === name)?.storedSql ?? ''
      await warehouse.run(
        `create or replace table detail.transfer_candidates as ${sqlOf('transfer_candidates')}`,
      )
      expect(
        await warehouse.all(
          `select from_organization_id as source, evidence, decision, is_transfer, needs_decision
           from transfer_candidates order by all`,
        ),
      ).toEqual([
        row('doubtful', null, true, true, false),
        row('proven', 'same day', false, false, false),
        row('undecided', null, null, false, true),
      ])
      expect(
        await warehouse.all(
          `select from_organization_id as source, count(*) as moves from (${sqlOf('transfers')}) group by all order by all`,
        ),
      ).toEqual([
        { source: 'doubtful', moves: 5n },
        { source: 'two people', moves: 2n },
      ])
    } finally {
      warehouse.close()
    }
  }, 60_000)
})

describe('the lists of a project', () => {
  it('decide in place of the package’s, also where a later build names no folder, and no longer once they are gone', async () => {
    const project = temporaryFolder()
    const list = (name: string) => join(project, 'config', `${name}.yaml`)
    mkdirSync(join(project, 'config'))
    const warehouse = await memoryWarehouse({ threads: 1 })
    const build = (ownFolder: string | null) =>
      buildModels(warehouse, {
        buildId: 'night',
        builtAt: new Date('2024-12-10T03:00:00Z'),
        ownFolder,
      })
    const seen = async () => {
      const [found] = await warehouse.all(
        `select (select count(*)::int from moves where is_transfer) as transfers,
           (select count(*)::int from organization_groups) as groups,
           (select level from titles where ladder = 'giants' and title = 'Engineer') as level`,
      )
      return found
    }
    try {
      await insertEvents(warehouse, [
        ...movers('doubtful', 5, (nth) => `2021-04-${10 + 3 * nth}`),
        ...stayers('doubtful', 25),
        // Far below the confidence of a pair without a decision.
        ...movers('weak', 3, (nth) => `2021-04-${10 + 3 * nth}`),
        ...Array.from({ length: 30 }, (_, nth): GivenEvent[] => [
          { ...atWork(`left ${nth}`, 'weak'), event_type: 'joined', changed_at: '2016-03-04' },
          { ...atWork(`left ${nth}`, 'weak'), event_type: 'left', changed_at: '2021-04-12' },
          { ...atWork(`came ${nth}`, 'giant'), event_type: 'joined', changed_at: '2021-04-14' },
        ]).flat(),
        ...stayers('giant', 40),
      ])
      const without = { transfers: 0, groups: 0, level: null }
      expect([await build(project), await seen()]).toEqual([expect.anything(), without])
      writeFileSync(
        list('transfers'),
        'transfers:\n  - { from: doubtful, to: giant, is_transfer: true }\n  - { from: weak, to: giant, is_transfer: true }\n',
      )
      writeFileSync(
        list('organization-groups'),
        'groups:\n  - { name: both, members: [{ organization: a, kind: main }, { organization: b, kind: alias }] }\n',
      )
      writeFileSync(
        list('ladders'),
        'ladders:\n  - { name: giants, organizations: [giant], rungs: [{ title: engineer, level: director }] }\n',
      )
      const decided = { transfers: 8, groups: 2, level: 'director' }
      expect((await build(project)).fullRefreshReason).toMatch(/changed since the last build/)
      expect(await seen()).toEqual(decided)
      expect((await build(null)).fullRefreshReason).toBeNull()
      expect(await seen()).toEqual(decided)
      // Another step of the same ladder.
      writeFileSync(
        list('ladders'),
        readFileSync(list('ladders'), 'utf8').replace('director', 'vp'),
      )
      await build(project)
      expect(await seen()).toEqual({ ...decided, level: 'vp' })
      rmSync(join(project, 'config'), { recursive: true })
      await build(null)
      expect(await seen()).toEqual(without)
    } finally {
      warehouse.close()
    }
  }, 120_000)

  it('with a fault is refused with its file and line', async () => {
    const project = temporaryFolder()
    mkdirSync(join(project, 'config'))
    writeFileSync(
      join(project, 'config', 'transfers.yaml'),
      'transfers:\n  - { from: a, to: a, is_transfer: true }\n',
    )
    await expect(refuseWrongOwn(project, false)).rejects.toThrow(
      'config/transfers.yaml:2: transfers.0.to: a is the one that was left',
    )
    writeFileSync(join(project, 'config', 'transfers.yaml'), '')
    await refuseWrongOwn(project, true)
    // It would never be read.
    const misnamed = join(project, 'config', 'ladders.yml')
    writeFileSync(misnamed, '')
    expect(holdsOwn(project)).toBe(true)
    await expect(refuseWrongOwn(project, true)).rejects.toThrow(`${misnamed} is not read`)
    rmSync(join(project, 'config', 'transfers.yaml'))
    expect(holdsOwn(project)).toBe(true)
  })
})

function row(
  source: string,
  evidence: string | null,
  decision: boolean | null,
  isTransfer: boolean,
  needsDecision: boolean,
) {
  return { source, evidence, decision, is_transfer: isTransfer, needs_decision: needsDecision }
}

function atWork(profile_id: string, organization_id: string) {
  return { profile_id, organization_id, title_current: 'Engineer' }
}

function movers(from: string, people: number, dayOf: (nth: number) => string): GivenEvent[] {
  return Array.from({ length: people }, (_, nth) => {
    const about = { profile_id: `${from} ${nth}`, title_current: 'Engineer' }
    const day = dayOf(nth)
    return [
      {
        ...about,
        organization_id: from,
        event_type: 'joined',
        changed_at: `201${4 + nth}-02-0${3 + nth}`,
      },
      { ...about, organization_id: from, event_type: 'left', changed_at: day },
      { ...about, organization_id: 'giant', event_type: 'joined', changed_at: day },
    ]
  }).flat()
}

function stayers(organization: string, people: number): GivenEvent[] {
  return Array.from({ length: people }, (_, nth) => ({
    profile_id: `${organization} stays ${nth}`,
    organization_id: organization,
    event_type: 'joined',
    changed_at: `201${4 + (nth % 4)}-0${1 + (nth % 8)}-05`,
    title_current: 'Engineer',
  }))
}
