import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readsOf, runOrder } from '../../src/model/project.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'

let warehouse: Warehouse
beforeAll(async () => {
  warehouse = await memoryWarehouse()
})
afterAll(() => warehouse.close())

async function reads(sql: string) {
  const refuse = (_: unknown, problem: string) => new Error(problem)
  return (await readsOf(warehouse, [{ sql }], refuse)).get(sql)
}

describe('tables a model reads', () => {
  it.each([
    ['a join with using', 'select * from a join b using (id)', ['a', 'b']],
    ['a subquery in from', 'select * from (select * from a) as x', ['a']],
    [
      'exists and in',
      'select 1 from a where exists (select 1 from b) and x in (select y from c)',
      ['a', 'b', 'c'],
    ],
    ['a union', 'select * from a union all select * from b', ['a', 'b']],
    ['a name in another case', 'select * from Joiners', ['joiners']],
    ['a table of another schema', 'select * from main.a join ops.runs on true', ['a', 'ops.runs']],
    ['no table', 'select 1 as x', []],
  ])('finds those of %s', async (_, sql, tables) => {
    expect(await reads(sql)).toEqual(tables)
  })

  it.each([
    ['a CTE that reads a table', 'with x as (select * from a) select * from x', ['a']],
    [
      'a CTE with the name of the table it reads',
      'with a as (select * from a) select * from a',
      ['a'],
    ],
    ['a CTE that hides a table from the rest', 'with a as (select 1 as x) select * from a', []],
    [
      'a CTE of a subquery, out of scope outside',
      'select * from (with a as (select * from b) select * from a) as s join a on true',
      ['a', 'b'],
    ],
    [
      'an outer CTE seen from a subquery',
      'with a as (select * from b) select 1 where exists (select 1 from a)',
      ['b'],
    ],
    [
      'a recursive CTE',
      'with recursive t as (select 1 as n from a union all select n + 1 from t join b using (n)) select * from t',
      ['a', 'b'],
    ],
  ])('keeps the scope of %s', async (_, sql, tables) => {
    expect(await reads(sql)).toEqual(tables)
  })

  it.each([
    ['two selects', 'select 1; select 2', 'a file is one select, not 2'],
    ['another statement', 'drop table a', 'Only SELECT'],
    ['a syntax error', 'selec 1', 'syntax error'],
  ])('refuses %s', async (_, sql, message) => {
    await expect(reads(sql)).rejects.toThrow(message)
  })
})

describe('run order', () => {
  it('puts every model after those it reads, for any order of files', () => {
    const models = [
      { name: 'weekly', reads: ['joiners', 'leavers'] },
      { name: 'leavers', reads: ['staged', 'moves'] },
      { name: 'joiners', reads: ['staged', 'moves'] },
      { name: 'moves', reads: ['events'] },
      { name: 'staged', reads: ['events'] },
    ]
    const order = ['moves', 'staged', 'joiners', 'leavers', 'weekly']
    for (const given of [models, models.toReversed()]) {
      expect(runOrder(given, ['events']).map(({ name }) => name)).toEqual(order)
    }
  })

  it('names the cycle of 3 models, without the model that only leads into it', () => {
    const models = [
      { name: 'a', reads: ['b'] },
      { name: 'b', reads: ['c'] },
      { name: 'c', reads: ['d'] },
      { name: 'd', reads: ['b'] },
    ]
    expect(() => runOrder(models, [])).toThrow('models read each other in a circle: b → c → d → b')
    expect(() => runOrder([{ name: 'a', reads: ['a'] }], [])).toThrow('circle: a → a')
  })

  it('names the model and the table that does not exist', () => {
    expect(() => runOrder([{ name: 'a', reads: ['evnets'] }], ['events'])).toThrow(
      'model a reads evnets: no such table',
    )
  })

  it('names a model that has the name of another model or a loaded table', () => {
    const model = { name: 'a', reads: [] }
    expect(() => runOrder([model, model], [])).toThrow('model a: there is another table')
    expect(() => runOrder([model], ['a'])).toThrow('model a: there is another table')
  })
})
