/**
 * Runs test/models/<model>/<case>/: the rows in given.<table>.json go in, everything is built, and each table that
 * expected.json names must hold exactly its rows, in any order, compared in the columns that they name. A case that
 * stands for a rule has without.json: how to remove that rule from the model's SQL. Without the rule, the result must
 * differ; otherwise the case does not show what the rule is for.
 *
 * All cases are built at once: a mark before every id keeps them apart, and is removed again.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { readProject, type ProjectNode } from '../../src/model/project.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import {
  columnsOf,
  detectedAt,
  insertEvents,
  memoryWarehouse,
  type GivenEvent,
} from '../helpers/warehouse.ts'

type Row = Record<string, unknown>

/** A rule and how to remove it from a model. */
interface Without {
  readonly rule: string
  readonly model: string
  /** Text that occurs exactly once in the model's SQL. */
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
  // One thread: planning small queries costs the most time.
  warehouse = await memoryWarehouse({ threads: 1 })
  ;({ nodes } = await readProject(warehouse))
  await insertGiven()
  await buildModels(warehouse, { buildId: 'cases', builtAt })
  await warehouse.run(`set search_path = 'main,detail,service,core'`)
})
afterAll(() => warehouse.close())

describe('model cases', () => {
  const built = new Map<string, Promise<RowsByMark>>()
  const builtRows = (table: string) => {
    const rows = built.get(table) ?? rowsByMark(table)
    built.set(table, rows)
    return rows
  }

  it.each(cases)('$model: $name', async ({ model, folder, mark }) => {
    const expected = readExpected(folder)
    expect(expected.has(model)).toBe(true)
    for (const [table, rows] of expected) {
      expect({ [table]: readable(await builtRows(table), mark, rows) }).toEqual({ [table]: rows })
    }
  })
})

// Builds do not check the key of a view (src/model/checks.ts), and nothing else checks views over answers.
it('each view has one row for each key, whatever the cases give', async () => {
  const repeated: string[] = []
  for (const { name, key, kind, schema } of nodes) {
    if (kind !== 'view') continue
    const twice = await warehouse.number(
      `select count(*) from (select 1 from ${schema}.${name} group by ${key.join(', ')} having count(*) > 1)`,
    )
    if (twice > 0) repeated.push(`${name}: ${twice}`)
  }
  expect(repeated).toEqual([])
})

// All at once: each model is built for every case without the rule of that case. All cases share the day of the data.
const [ofAll, ofOne] = [true, false].map((isOfAll) =>
  rules.filter(({ without }) => (without.model === 'as_of') === isOfAll),
) as [typeof rules, typeof rules]
const groups = [{ of: ofOne }, ...ofAll.map((rule) => ({ of: [rule] }))]

describe.each(groups)('a case that stands for a rule changes without the rule', ({ of }) => {
  const made = new Map<string, RowsByMark>()
  const marks = new Set(of.map(({ mark }) => mark))

  beforeAll(async () => {
    const changed = modelsAfter(of.map(({ without }) => without.model))
    const read = new Set(of.flatMap(({ folder }) => [...readExpected(folder).keys()]))
    for (const { name, reads } of nodes.toReversed()) {
      if (read.has(name)) for (const one of reads) read.add(one)
    }
    for (const node of nodes.filter(({ name }) => changed.has(name) && read.has(name))) {
      await warehouse.run(`create temp table ${node.name} as ${withoutRules(node, of)}`)
      if (node.name !== 'as_of') made.set(node.name, await rowsByMark(node.name))
    }
  }, 300_000)
  afterAll(async () => {
    for (const { name } of nodes) await warehouse.run(`drop table if exists temp.${name}`)
  })

  it.each(of)('$without.rule ($model: $name)', ({ folder, mark, without }) => {
    const after = modelsAfter([without.model])
    const differing = [...readExpected(folder)].filter(
      ([table, rows]) => after.has(table) && isOther(table, mark, rows),
    )
    expect(differing, 'tables of expected.json that differ').not.toEqual([])
  })

  // Without a rule about the day of the data any case may change.
  if (of === ofOne) {
    it('but no other case changes', () => {
      const differing = cases
        .filter(({ mark }) => !marks.has(mark))
        .flatMap(({ folder, mark }) =>
          [...readExpected(folder)].flatMap(([table, rows]) =>
            made.has(table) && isOther(table, mark, rows) ? `${table} of ${folder}` : [],
          ),
        )
      expect(differing).toEqual([])
    })
  }

  const isOther = (table: string, mark: string, rows: readonly Row[]) =>
    JSON.stringify(readable(made.get(table) ?? new Map(), mark, rows)) !== JSON.stringify(rows)
})

/** Builds models and their readers again as temporary tables, which queries find before the built ones. */
function modelsAfter(models: readonly string[]): ReadonlySet<string> {
  const changed = new Set(models)
  for (const { name, reads, computed } of nodes) {
    if (computed === null && reads.some((one) => changed.has(one))) changed.add(name)
  }
  return changed
}

/** The SQL of a model, in which each case that stands for one of its rules has its rows without that rule. */
function withoutRules({ name, sql }: ProjectNode, of: typeof rules): string {
  const own = of.filter(({ without }) => without.model === name)
  const [first] = own
  if (first === undefined) return sql
  if (name === 'as_of') return withoutRule(sql, first.without)
  const markOf = String.raw`regexp_extract(cast(to_json(kept) as varchar), 'case \d{3}: ')`
  const listed = own.map(({ mark }) => `'${mark}'`).join(', ')
  return [
    `select * from (${sql}) as kept where ${markOf} not in (${listed})`,
    ...own.map(({ mark, without }) => {
      return `select * from (${withoutRule(sql, without)}) as kept where ${markOf} = '${mark}'`
    }),
  ].join(' union all by name ')
}

function withoutRule(sql: string, { model, replace, with: instead }: Without): string {
  const parts = sql.split(replace)
  if (parts.length === 2) return parts.join(instead)
  throw new Error(`${model} has ${parts.length - 1} times: ${replace}`)
}

/** The rows of each table that a case names, with their columns in one order. */
function readExpected(folder: string): Map<string, Row[]> {
  const expected = readJson<Record<string, Row[]>>(join(folder, 'expected.json'))
  return new Map(
    Object.entries(expected).map(([table, rows]) => {
      const columns = Object.keys(rows[0] ?? {})
      return [table, sorted(rows.map((row) => pick(row, columns)))]
    }),
  )
}

type RowsByMark = ReadonlyMap<string, Row[]>

/** The rows of `table` by the mark of their case. */
async function rowsByMark(table: string): Promise<RowsByMark> {
  const byMark = new Map<string, Row[]>()
  for (const row of await warehouse.all<Row>(`select * from ${table}`)) {
    const [mark] = /case \d{3}: /.exec(Object.values(row).join('|')) ?? []
    if (mark === undefined) throw new Error(`${table} has a row of no case`)
    byMark.set(mark, [...(byMark.get(mark) ?? []), row])
  }
  return byMark
}

/** The rows of one case in the expected columns: instants as ISO 8601, midnight as the date alone, ids without mark. */
function readable(rows: RowsByMark, mark: string, expected: readonly Row[]): Row[] {
  const found = rows.get(mark) ?? []
  const columns = Object.keys(expected[0] ?? found[0] ?? {})
  return sorted(
    found.map((row) => {
      const text = JSON.stringify(pick(row, columns)).replaceAll(mark, '')
      return JSON.parse(text.replaceAll('T00:00:00.000Z"', '"')) as Row
    }),
  )
}

function pick(row: Row, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map((name) => [name, row[name]]))
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T
}

function sorted(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

interface GivenCoverage {
  readonly organization_id: string
  readonly event_types?: string
  readonly covered_from_at?: string | null
  readonly covered_to_at: string
}

/** Versions of corrected events, by default received at their detection. */
async function insertVersions(
  warehouse: Warehouse,
  versions: readonly GivenEvent[],
): Promise<void> {
  await warehouse.append('job_change_event_versions', {
    ...columnsOf(versions, detectedAt),
    version_key: versions.map((_, index) => String(index)),
  })
}

async function insertCoverage(
  warehouse: Warehouse,
  intervals: readonly GivenCoverage[],
): Promise<void> {
  await warehouse.append('ops.coverage', {
    organization_id: intervals.map((interval) => interval.organization_id),
    event_types: intervals.map((interval) => interval.event_types ?? 'joined,left,title_change'),
    covered_from: intervals.map(({ covered_from_at: from }) => (from ? new Date(from) : null)),
    covered_to: intervals.map((interval) => new Date(interval.covered_to_at)),
  })
}

interface GivenFilters {
  readonly organization_id: string
  readonly filters: string
  readonly first_asked_at: string
  readonly covered_to_at: string | null
}

async function insertFilters(warehouse: Warehouse, given: readonly GivenFilters[]): Promise<void> {
  await warehouse.append('ops.organization_filters', {
    organization_id: given.map((one) => one.organization_id),
    filters: given.map(({ filters }) => filters),
    first_asked_at: given.map((one) => new Date(one.first_asked_at)),
    covered_to: given.map(({ covered_to_at: to }) => (to ? new Date(to) : null)),
  })
}

interface GivenWatchEntry extends Readonly<
  Partial<Record<(typeof WATCHED_BY)[number] | 'changes' | 'levels' | 'functions', string>>
> {
  readonly watch_list: string
  readonly entry: number
}
const WATCHED_BY = [
  'profile_id',
  'url',
  'handle',
  'name',
  'organization_id',
  'company_url',
] as const

/** Entries of watch-lists, under the names of the columns of a list. */
async function insertWatchEntries(
  warehouse: Warehouse,
  given: readonly GivenWatchEntry[],
): Promise<void> {
  const rows = given.flatMap((row) =>
    WATCHED_BY.flatMap((kind) => (row[kind] ? [{ ...row, kind, listed_as: row[kind] }] : [])),
  )
  const texts = (column: 'changes' | 'levels' | 'functions') =>
    rows.map((row) => row[column] ?? null)
  await warehouse.append('ops.watch_entries', {
    pipeline: rows.map(() => 'nightly'),
    watch_list: rows.map((row) => row.watch_list),
    entry: rows.map(({ entry }) => entry),
    kind: rows.map(({ kind }) => kind),
    listed_as: rows.map((row) => row.listed_as),
    changes: texts('changes'),
    levels: texts('levels'),
    functions: texts('functions'),
  })
}

interface GivenAnswer {
  readonly subject: string
  readonly received_at: string
  readonly endpoint?: string
  readonly outcome?: string
  readonly page?: number
  readonly has_more?: boolean
  /** The run that asked; by default one at that time. */
  readonly run?: string
  /** @ stands for the mark of the case, with which its ids and pages begin. */
  readonly body: unknown
}

async function insertAnswers(warehouse: Warehouse, answers: readonly GivenAnswer[]): Promise<void> {
  await warehouse.append('answers', {
    request_id: answers.map((_, index) => String(index)),
    run_id: answers.map((answer) => answer.run ?? answer.received_at),
    endpoint: answers.map(({ endpoint }) => endpoint ?? 'company-profile'),
    lookup_key: answers.map(({ subject }) => subject),
    subject: answers.map(({ subject }) => subject),
    page: answers.map(({ page }) => page ?? 1),
    outcome: answers.map(({ outcome }) => outcome ?? 'found'),
    received_at: answers.map((answer) => new Date(answer.received_at)),
    has_more: answers.map((answer) => answer.has_more ?? null),
    body: answers.map(({ body, subject }) =>
      JSON.stringify(body).replaceAll('@', /^case \d{3}: /.exec(subject)?.[0] ?? ''),
    ),
  })
}

type InsertRows = (warehouse: Warehouse, rows: never[]) => Promise<void>
const GIVEN: Readonly<Record<string, InsertRows>> = {
  'given.job_change_events.json': insertEvents,
  'given.job_change_event_versions.json': insertVersions,
  'given.organization_coverage.json': insertCoverage,
  'given.organization_filters.json': insertFilters,
  'given.watch_entries.json': insertWatchEntries,
  'given.answers.json': insertAnswers,
}

/** Inserts the rows that the given.<table>.json of all cases name, with their mark before each id. */
async function insertGiven(): Promise<void> {
  const files = cases.flatMap(({ folder, mark }) =>
    readdirSync(folder).map((name) => ({ name, mark, path: join(folder, name) })),
  )
  const unknown = files.find(({ name }) => name.startsWith('given.') && !(name in GIVEN))
  if (unknown !== undefined) throw new TypeError(`${unknown.path} is for no loaded table`)
  for (const [given, insert] of Object.entries(GIVEN)) {
    const rows = files
      .filter(({ name }) => name === given)
      .flatMap(({ path, mark }) => readJson<Row[]>(path).map((row) => marked(row, mark)))
    await insert(warehouse, rows as never[])
  }
}

function marked(row: Row, mark: string): Row {
  const isId = (column: string) =>
    /^(?:profile_id|organization_id|event_key|watch_list|subject|organization_network_url)$/.test(
      column,
    )
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (name === 'person_network_url' && typeof value === 'string') {
        return [name, value.replace('@', mark)]
      }
      return [name, isId(name) ? mark + String(value) : value]
    }),
  )
}
