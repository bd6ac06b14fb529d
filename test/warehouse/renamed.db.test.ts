/** The error for an old name of a table or column names the new one. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import { RENAMED_TABLES, renamedHint } from '../../src/warehouse/renamed.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'

let warehouse: Warehouse
beforeAll(async () => {
  warehouse = await memoryWarehouse({ threads: 1 })
  await insertEvents(warehouse, [{}])
  await buildModels(warehouse, { buildId: 'names', builtAt: new Date('2025-06-01T00:00:00Z') })
})
afterAll(() => warehouse.close())

async function hintOf(sql: string): Promise<string | null> {
  const refusal = await warehouse.all(sql).then(
    () => null,
    (error: unknown) => (error as Error).message,
  )
  return refusal === null ? 'not refused' : renamedHint(refusal, sql)
}

describe('the hint of a refused statement', () => {
  it.each([
    ['select is_future from joiners', 'The column is_future is now was_announced.'],
    ['select j.is_future from joiners as j', 'The column is_future is now was_announced.'],
    ['select Is_Future from leavers', 'The column is_future is now was_announced.'],
    [
      'select name from organizations order by leavers desc',
      'The column leavers is now leavers_ever (in organizations).',
    ],
    [
      'select o.promotions from organizations as o',
      'The column promotions is now promotions_ever (in organizations).',
    ],
    [
      'select cutoff_on from data_cutoffs',
      'data_cutoffs is now organizations (columns lag_days_p90 and cutoff_on).',
    ],
    [
      'select * from main.promotion_velocity',
      'promotion_velocity is now promotion_waits (rows of each to_level, columns months_of_promoted_…).',
    ],
    [
      'select observed_from_on from organization_observation',
      'organization_observation is now organizations (columns observed_from_on and observed_until_on).',
    ],
    ['select leavers from people', null],
    ['select nothing from joiners', null],
    ['select * from nowhere', null],
  ])('%s', async (sql, hint) => {
    expect(await hintOf(sql)).toBe(hint)
  })

  it('names no existing table as old', () => {
    const models = readModelFiles().filter(({ schema }) => schema === 'main')
    expect(models.filter(({ name }) => RENAMED_TABLES.has(name))).toEqual([])
  })
})
