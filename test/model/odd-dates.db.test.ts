/**
 * Impossible career dates, at random among others: every check passes, and none reaches a month, a cohort or a tenure.
 */

import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'
import { seedOf } from '../helpers/tier.ts'

const ODD = ['0001-01-01', '1600-06-01', '1900-01-01', '1970-01-01', '2037-01-01', '9999-12-31']
const SEEN = '2024-12-01T02:15:00Z'

const anyEvent = fc.record({
  profile_id: fc.integer({ min: 1, max: 150 }).map((n) => `person_${n}`),
  organization_id: fc.integer({ min: 1, max: 4 }).map((n) => `org_${n}`),
  event_type: fc.constantFrom('joined', 'joined', 'left', 'title_change'),
  changed_at: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...ODD) },
    {
      weight: 7,
      arbitrary: fc
        .tuple(fc.integer({ min: 2018, max: 2024 }), fc.integer({ min: 1, max: 9 }))
        .map(([year, month]) => `${year}-0${month}-01`),
    },
  ),
  detected_at: fc.constantFrom('2024-10-03', '2024-11-20', SEEN, '9999-01-01'),
  title_current: fc.constantFrom('Baker', 'Senior Baker', 'Head of Baking', null),
  title_previous: fc.constantFrom('Baker', 'Apprentice', null),
})

it('in 3 of 10 of 1,000 events pass all checks of a build, and reach no month, cohort or tenure', async () => {
  const warehouse = await memoryWarehouse({ threads: 1 })
  onTestFinished(() => warehouse.close())
  const [events = []] = fc.sample(fc.array(anyEvent, { minLength: 1_000, maxLength: 1_000 }), {
    numRuns: 1,
    seed: seedOf('odd dates'),
  })
  const keyed = new Map(
    events.map((event) => {
      const { profile_id: person, organization_id: organization, event_type: type } = event
      return [`${person} ${organization} ${type} ${event.changed_at}`, event]
    }),
  )
  const given = [...keyed].map(([event_key, event]) => ({
    ...event,
    event_key,
    first_seen_at: SEEN,
  }))
  await insertEvents(warehouse, given)
  await buildModels(warehouse, { buildId: 'odd', builtAt: new Date(SEEN) })
  const odd = given.filter(({ changed_at: at }) => ODD.includes(at)).length
  expect(odd).toBeGreaterThan(150)
  expect(await warehouse.number('select sum(undated_events) from organizations')).toBe(odd)
  const outside = (column: string) =>
    `${column} not between date '2018-01-01' and date '2024-12-31'`
  // Nor does a detection in 9999 move the last detection.
  const late = `select count(*) from organizations where last_detected_at > timestamptz '${SEEN}'`
  expect(await warehouse.number(late)).toBe(0)
  for (const [table, condition] of [
    ['organization_monthly', outside('month_start_on')],
    ['organization_weekly', `week_start_on not between date '2017-12-25' and date '2024-12-31'`],
    ['detection_lag', outside('month_start_on')],
    ['restatements', outside('month_start_on')],
    ['tenure_at_exit', 'cohort_year not between 2018 and 2024 or tenure_calendar_months > 84'],
    ['talent_flows_yearly', 'year not between 2018 and 2024'],
    ['stints', 'cohort_year not between 2018 and 2024 or months_away > 84'],
    ['leavers', 'tenure_days > 2600'],
    ['joiners', outside('joined_on')],
    ['career_changes', outside('changed_on')],
  ]) {
    const rows = await warehouse.number(`select count(*) from ${table} where ${condition}`)
    expect(rows, table).toBe(0)
  }
})
