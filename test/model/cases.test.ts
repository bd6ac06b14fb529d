/**
 * Runs test/models/<model>/<case>/: the rows in given.<table>.json go in, everything is built, and each table that
 * expected.json names must hold exactly its rows, in any order, compared in the columns that they name. A case that stands
 * for a rule has without.json: the model's SQL with that rule taken out. Put together so, something must come out
 * differently; else the case does not show what the rule is for.
 *
 * All cases are built at once: a mark before every id keeps them apart, and is taken off again.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { readProject, type ProjectNode } from '../../src/model/project.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
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
const cases = readdirSync(casesFolder)
  .flatMap((model) => readdirSync(join(casesFolder, model)).map((name) => ({ model, name })))
  .map(({ model, name }, index) => ({
    model,
    name,
    folder: join(casesFolder, model, name),
    mark: `case ${String(index).padStart(3, '0')}: `,
  }))
const rules = cases
  .filter(({ folder }) => existsSync(join(folder, 'without.json')))
  .map((one) => ({ ...one, without: readJson<Without>(join(one.folder, 'without.json')) }))

let warehouse: Warehouse
let nodes: readonly ProjectNode[]
beforeAll(async () => {
  warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
  ;({ nodes } = await readProject(warehouse))
  for (const { folder, mark } of cases) await insertGiven(warehouse, folder, mark)
  await buildModels(warehouse, { buildId: 'cases', builtAt })
  await warehouse.run(`set search_path = 'main,core'`)
})
afterAll(() => warehouse.close())

describe('model cases', () => {
  it.each(cases)('$model: $name', async ({ model, folder, mark }) => {
    const expected = readExpected(folder)
    expect(Object.keys(expected)).toContain(model)
    for (const [table, rows] of Object.entries(expected)) {
      expect({ [table]: await actualRows(table, rows, mark) }).toEqual({ [table]: rows })
    }
  })

  it('has at least one case for each model', () => {
    const withCase = new Set(cases.map((one) => one.model))
    const models = readModelFiles().map((model) => model.name)
    expect(models.length).toBeGreaterThan(10)
    expect(models.filter((model) => !withCase.has(model))).toEqual([])
  })
})

describe('a case that stands for a rule comes out differently without it', () => {
  it.each(rules)('$without.rule ($model: $name)', async ({ folder, mark, without }) => {
    const expected = Object.entries(readExpected(folder))
    const actual: Record<string, Row[]> = {}
    const queries = expected.map(([table]) => queryWithout(table, without))
    expect(queries.join(''), 'a table of expected.json rests on the model of the rule').not.toBe('')
    for (const [index, [table, rows]] of expected.entries()) {
      actual[table] = await actualRows(table, rows, mark, queries[index])
    }
    expect(actual).not.toEqual(Object.fromEntries(expected))
  })
})

/**
 * `with` the models from the rule's to `table`, each under its own name: they are read instead of the built ones. Nothing
 * where `table` does not rest on the rule's model.
 */
function queryWithout(table: string, without: Without): string {
  const changed = new Set([without.model])
  for (const { name, reads, computed } of nodes) {
    if (computed === null && reads.some((one) => changed.has(one))) changed.add(name)
  }
  if (!changed.has(table)) return ''
  const needed = new Set([table])
  for (const { name, reads } of nodes.toReversed()) {
    if (needed.has(name)) for (const one of reads) if (changed.has(one)) needed.add(one)
  }
  const parts = nodes
    .filter(({ name }) => needed.has(name))
    .map(({ name, sql }) => {
      const text = name === without.model ? withoutRule(sql, without) : sql
      return `${name} as (\n${text}\n)`
    })
  return `with ${parts.join(',\n')} `
}

function withoutRule(sql: string, { model, replace, with: instead }: Without): string {
  const parts = sql.split(replace)
  if (parts.length === 2) return parts.join(instead)
  throw new Error(`${model} has ${parts.length - 1} times: ${replace}`)
}

function readExpected(folder: string): Record<string, Row[]> {
  const expected = readJson<Record<string, Row[]>>(join(folder, 'expected.json'))
  return Object.fromEntries(Object.entries(expected).map(([table, rows]) => [table, sorted(rows)]))
}

/** What `table` holds of the case with this mark, in the columns of the expected rows. @param query what stands before */
async function actualRows(
  table: string,
  expected: readonly Row[],
  mark: string,
  query = '',
): Promise<Row[]> {
  const found = await warehouse.all<Row>(`${query}select * from ${table}`)
  const marked = found.map((row) => ({
    row,
    mark: /case \d{3}: /.exec(Object.values(row).join('|')),
  }))
  expect(marked.filter((one) => one.mark === null)).toEqual([])
  const columns = Object.keys(expected[0] ?? found[0] ?? {})
  return sorted(
    marked
      .filter((one) => one.mark?.[0] === mark)
      .map(({ row }) =>
        readable(Object.fromEntries(columns.map((name) => [name, row[name]])), mark),
      ),
  )
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T
}

/** Instants as ISO 8601, midnight as the date alone; ids without the mark. */
function readable(row: Row, mark: string): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      if (value instanceof Date) return [column, value.toISOString().replace('T00:00:00.000Z', '')]
      return [column, typeof value === 'string' ? value.replaceAll(mark, '') : value]
    }),
  )
}

function sorted(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
