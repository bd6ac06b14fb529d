/**
 * Runs test/models/<model>/<case>/: the events in given.job_change_events.json go in, everything is built, and each table that
 * expected.json names must hold exactly its rows, in any order, compared in the columns that they name.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, type GivenEvent } from './insert-events.ts'

type Row = Record<string, unknown>

const casesFolder = join(import.meta.dirname, '..', 'models')
const cases = readdirSync(casesFolder).flatMap((model) =>
  readdirSync(join(casesFolder, model)).map((name) => ({ model, name })),
)

describe('model cases', () => {
  it.each(cases)('$model: $name', async ({ model, name }) => {
    const folder = join(casesFolder, model, name)
    const given = readJson(join(folder, 'given.job_change_events.json')) as GivenEvent[]
    const expected = readJson(join(folder, 'expected.json')) as Record<string, Row[]>
    expect(Object.keys(expected)).toContain(model)

    const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
    try {
      await insertEvents(warehouse, given)
      await buildModels(warehouse, { buildId: 'case', builtAt: new Date('2024-12-01T03:00:00Z') })
      for (const [table, rows] of Object.entries(expected)) {
        const columns = Object.keys(rows[0] ?? { '*': null })
        const actual = await warehouse.all<Row>(`select ${columns.join(', ')} from ${table}`)
        expect(sorted(actual.map(readable)), table).toEqual(sorted(rows))
      }
    } finally {
      warehouse.close()
    }
  })

  it('has at least one case for each of the 8 models', () => {
    const withCase = new Set(cases.map((one) => one.model))
    const models = readModelFiles().map((model) => model.name)
    expect(models).toHaveLength(8)
    expect(models.filter((model) => !withCase.has(model))).toEqual([])
  })
})

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** Instants as ISO 8601, midnight as the date alone. */
function readable(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      value instanceof Date ? value.toISOString().replace('T00:00:00.000Z', '') : value,
    ]),
  )
}

function sorted(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
