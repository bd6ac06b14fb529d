import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { compareTitles } from '../../src/titles/compare.ts'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, type GivenEvent } from './insert-events.ts'

const titles = [
  'Software Engineer Intern',
  'Junior Developer',
  'Software Engineer',
  'Software Engineer II',
  'Senior Software Engineer',
  'Staff Software Engineer',
  'Principal Engineer',
  'Team Lead',
  'Engineering Manager',
  'Senior Manager, Engineering',
  'Director of Engineering',
  'Senior Director of Engineering',
  'VP Engineering',
  'SVP Engineering',
  'CTO',
  'Chief of Staff',
  'Wizard of Light',
]

describe('promotions', () => {
  it('are the pairs that compareTitles calls a promotion, for each of 272 pairs of 17 titles', async () => {
    const events = titles.flatMap((previous) =>
      titles
        .filter((current) => current !== previous)
        .map((current): GivenEvent => ({
          profile_id: `${previous} → ${current}`,
          organization_id: 'acme',
          event_type: 'title_change',
          changed_at: '2024-03-01',
          title_previous: previous,
          title_current: current,
        })),
    )
    const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
    try {
      await insertEvents(warehouse, events)
      await buildModels(warehouse, { buildId: 'pairs', builtAt: new Date('2024-12-01T03:00:00Z') })
      const promoted = await warehouse.all<{ profile_id: string }>(
        'select profile_id from promotions',
      )
      const expected = events.filter(
        ({ title_previous, title_current }) =>
          compareTitles(title_previous ?? '', title_current ?? '').label === 'promotion',
      )
      expect(events).toHaveLength(272)
      expect(expected.length).toBeGreaterThan(80)
      expect(promoted.map((row) => row.profile_id).toSorted()).toEqual(
        expected.map((event) => event.profile_id).toSorted(),
      )
    } finally {
      warehouse.close()
    }
  })
})
