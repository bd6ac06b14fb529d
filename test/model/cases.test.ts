/**
 * Runs test/models/<model>/<case>/: the rows in given.<table>.json go in, everything is built, and each table that
 * expected.json names must hold exactly its rows, in any order, compared in the columns that they name. A case that stands
 * for a rule has without.json: the model's SQL with that rule taken out. Built so, something must come out differently;
 * else the case does not show what the rule is for.
 */

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { readProject, type ProjectNode } from '../../src/model/project.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertGiven } from './given-tables.ts'

type Row = Record<string, unknown>

/** A rule and how to take it out of a model. */
interface Without {
  readonly rule: string
  readonly model: string
  /** Text of the model's SQL; it stands there exactly once. */
  readonly replace: string
  readonly with: string
}

const builtAt = new Date('2024-12-01T03:00:00Z')
const casesFolder = join(import.meta.dirname, '..', 'models')
const cases = readdirSync(casesFolder).flatMap((model) =>
  readdirSync(join(casesFolder, model)).map((name) => ({
    model,
    name,
    folder: join(casesFolder, model, name),
  })),
)
const rules = cases
  .filter(({ folder }) => existsSync(join(folder, 'without.json')))
  .map((one) => ({ ...one, without: readJson<Without>(join(one.folder, 'without.json')) }))

let warehouse: Warehouse
let nodes: readonly ProjectNode[]
beforeAll(async () => {
  warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
  ;({ nodes } = await readProject(warehouse))
})
afterAll(() => warehouse.close())

describe('model cases', () => {
  it.each(cases)('$model: $name', async ({ model, folder }) => {
    const expected = readExpected(folder)
    expect(Object.keys(expected)).toContain(model)
    await insertGiven(warehouse, folder)
    await buildModels(warehouse, { buildId: 'case', builtAt })
    expect(await actualRows(expected)).toEqual(expected)
  })

  it('has at least one case for each model', () => {
    const withCase = new Set(cases.map((one) => one.model))
    const models = readModelFiles().map((model) => model.name)
    expect(models.length).toBeGreaterThan(10)
    expect(models.filter((model) => !withCase.has(model))).toEqual([])
  })
})

describe('a case that stands for a rule comes out differently without it', () => {
  it.each(rules)('$without.rule ($model: $name)', async ({ folder, without }) => {
    const expected = readExpected(folder)
    const folders = sqlWithout(without, Object.keys(expected))
    await insertGiven(warehouse, folder)
    await buildModels(warehouse, { buildId: 'without', builtAt, ...folders })
    expect(await actualRows(expected)).not.toEqual(expected)
  })
})

/**
 * A copy of the models that `tables` rest on, with the rule taken out, and no checks but of keys and values: a whole build for
 * each rule would take a minute more.
 */
function sqlWithout(
  without: Without,
  tables: readonly string[],
): { modelFolder: string; checkFolder: string } {
  const folder = temporaryFolder()
  const modelFolder = join(folder, 'models')
  const checkFolder = join(folder, 'checks')
  mkdirSync(checkFolder)
  const needed = new Set(tables)
  for (const { name, reads } of nodes.toReversed()) {
    if (needed.has(name)) for (const table of reads) needed.add(table)
  }
  for (const { name, file, sql } of nodes) {
    if (sql === '' || !needed.has(name)) continue
    mkdirSync(dirname(join(modelFolder, file)), { recursive: true })
    writeFileSync(
      join(modelFolder, file),
      withoutReferences(name === without.model ? withoutRule(sql, without) : sql),
    )
  }
  expect(needed, 'a table of expected.json rests on the model of the rule').toContain(without.model)
  return { modelFolder, checkFolder }
}

function withoutRule(sql: string, { model, replace, with: instead }: Without): string {
  const parts = sql.split(replace)
  if (parts.length === 2) return parts.join(instead)
  throw new Error(`${model} has ${parts.length - 1} times: ${replace}`)
}

// They may lead to tables that are not built.
function withoutReferences(sql: string): string {
  return sql.replaceAll(/^-- references: .*\n/gm, '')
}

function readExpected(folder: string): Record<string, Row[]> {
  const expected = readJson<Record<string, Row[]>>(join(folder, 'expected.json'))
  return Object.fromEntries(Object.entries(expected).map(([table, rows]) => [table, sorted(rows)]))
}

/** The rows of the tables that are expected, in the columns that are. */
async function actualRows(expected: Record<string, Row[]>): Promise<Record<string, Row[]>> {
  const actual: Record<string, Row[]> = {}
  for (const [table, rows] of Object.entries(expected)) {
    const columns = Object.keys(rows[0] ?? { '*': null })
    const found = await warehouse.all<Row>(`select ${columns.join(', ')} from ${table}`)
    actual[table] = sorted(found.map(readable))
  }
  return actual
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T
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
