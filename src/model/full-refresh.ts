/**
 * Writes every table from all events and runs every check on whole tables. Part of the build's transaction.
 *
 * Tables with `incremental_by` are written part by part where there are many events: the part, not the warehouse, bounds the
 * memory that a model needs. A part is a share of all people, or of all keys, so that a row depends on rows of its own part only.
 * Temporary views under the names that a model reads decide what it sees, as in an incremental build.
 */

import { loadedTables } from '../warehouse/catalog.ts'
import { columnsOfAll } from '../warehouse/columns.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { knownOnMacros, knownOnName, makeKnownOnMacros, offeredAsKnownOn } from './as-known-on.ts'
import { lastFingerprint } from './build-state.ts'
import { runCheck } from './checks.ts'
import { computeAll } from './compute.ts'
import type { ProjectNode } from './project.ts'
import { takeSteps, type BuildWork, type BuiltTables } from './steps.ts'
import { PERSON } from './table-delta.ts'
import {
  commentOn,
  createComputedTable,
  createModelTable,
  describeModelTable,
  dropBuiltTables,
  refuseForeignTables,
  rowsIn,
} from './tables.ts'
import { Temporaries } from './temporaries.ts'

// What counts by keys holds less of an event than what follows people: 10 million events were counted in the memory in which
// tables of people are written for 3.3 million, and 30 million were not.
const PERSON_PARTS_PER_KEY_PART = 3

export async function refreshFully(work: BuildWork): Promise<BuiltTables> {
  const { warehouse, project, eventsPerPart } = work
  await dropBuiltTables(warehouse)
  await refuseForeignTables(warehouse, project.nodes)
  const parts = Math.ceil((await rowsIn(warehouse, 'job_change_events')) / eventsPerPart)
  const conditions: Conditions = new Map()
  const built = await takeSteps(
    work,
    async (node) => ({ rows: await createNode(work, node, parts, conditions), rowsChanged: null }),
    (check) => runCheck(warehouse, check),
  )
  // The macros depend on the same files as the fingerprint, not on rows.
  const modelNodes = project.nodes.filter(({ computed }) => computed === null)
  const isOther = (await lastFingerprint(warehouse)) !== project.fingerprint
  if (isOther || (await isMacroMissing(warehouse, modelNodes))) {
    await makeKnownOnMacros(warehouse, modelNodes, project.macros)
  }
  return built
}

async function isMacroMissing(
  warehouse: Warehouse,
  models: readonly ProjectNode[],
): Promise<boolean> {
  const macros = new Set(await knownOnMacros(warehouse))
  return offeredAsKnownOn(models).some((name) => !macros.has(knownOnName(name)))
}

/** Of each table made part by part: a condition, for each part, that holds for its rows; SQL. */
type Conditions = Map<string, readonly string[]>

/** @returns the rows of the table; null for a view */
async function createNode(
  work: BuildWork,
  node: ProjectNode,
  parts: number,
  conditions: Conditions,
): Promise<number | null> {
  const { warehouse } = work
  if (node.computed !== null) {
    await createComputedTable(warehouse, node.computed)
    await computeAll(warehouse, node.computed)
    await commentOn(warehouse, node)
    return rowsIn(warehouse, quoteIdentifier(node.name))
  }
  if (node.kind === 'view' || node.incrementalBy.length === 0)
    return createModelTable(warehouse, node)
  const isByPerson = node.incrementalBy.join() === PERSON
  const own = isByPerson ? parts : Math.ceil(parts / PERSON_PARTS_PER_KEY_PART)
  if (own <= 1) return createModelTable(warehouse, node)
  return isByPerson ? createByPeople(work, node, own, conditions) : createByKeys(work, node, own)
}

/** Writes the part of a table that follows from what the tables of `shown` show. @param shown name → a select */
async function writePart(
  temporaries: Temporaries,
  { name, sql }: Pick<ProjectNode, 'name' | 'sql'>,
  part: number,
  shown: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [input, select] of shown) await temporaries.shadow(input, select)
  const table = temporaries.stored(name)
  const begin = part === 0 ? `create table ${table} as` : `insert into ${table} by name`
  await temporaries.warehouse.run(`${begin}\n${sql}`)
  await temporaries.unshadow()
}

/** A row of a key follows from the rows of that key in the inputs that have its columns, as in an incremental build. */
async function createByKeys(
  { warehouse, project }: BuildWork,
  node: ProjectNode,
  parts: number,
): Promise<number> {
  const temporaries = await Temporaries.in(warehouse, project.nodes)
  const [first = ''] = node.incrementalBy
  const inputs = await tablesWith(warehouse, node.reads, node.incrementalBy)
  for (let part = 0; part < parts; part += 1) {
    const isOfPart = shareSql(first, part, parts)
    const shown = inputs.map((name): [string, string] => {
      return [name, `select * from ${temporaries.stored(name)} where ${isOfPart}`]
    })
    const sql = `select * from (${node.sql}) as made where ${isOfPart}`
    await writePart(temporaries, { name: node.name, sql }, part, new Map(shown))
  }
  await describeModelTable(warehouse, node)
  return rowsIn(warehouse, temporaries.stored(node.name))
}

/** SQL for `where`: that a row is of one part of all values of a column. */
function shareSql(column: string, part: number, parts: number): string {
  return `hash(${quoteIdentifier(column)}) % ${parts} = ${part}`
}

async function createByPeople(
  { warehouse, project }: BuildWork,
  node: ProjectNode,
  parts: number,
  conditions: Conditions,
): Promise<number> {
  const temporaries = await Temporaries.in(warehouse, project.nodes)
  const table = temporaries.stored(node.name)
  const before = project.nodes.slice(0, project.nodes.indexOf(node))
  const names = loadedTables.map(({ name }) => name)
  const loaded = await tablesWith(warehouse, names, [PERSON])
  const ofPeople = before.filter(({ incrementalBy }) => incrementalBy.join() === PERSON)
  const inputs = [
    ...loaded.map((name) => ({ name, viewSql: null })),
    ...ofPeople.map(({ name, kind, sql }) => ({ name, viewSql: kind === 'view' ? sql : null })),
  ]
  const own: string[] = []
  let last = -1n
  for (let part = 0; part < parts; part += 1) {
    const isOfPart = shareSql(PERSON, part, parts)
    const shown = inputs.map(({ name, viewSql }): [string, string] => {
      const condition = conditions.get(name)?.[part] ?? isOfPart
      return [name, viewSql ?? `select * from ${temporaries.stored(name)} where ${condition}`]
    })
    await writePart(temporaries, node, part, new Map(shown))
    // Rows of a part stand together, because rows are added at the end: to find them by place takes less than half of hashing
    // the person of each row.
    const [row] = await warehouse.all<{ last: bigint | null }>(
      `select max(rowid) as last from ${table}`,
    )
    const end: bigint = row?.last ?? last
    own.push(`rowid > ${last} and rowid <= ${end}`)
    last = end
  }
  conditions.set(node.name, own)
  await describeModelTable(warehouse, node)
  return rowsIn(warehouse, table)
}

/** Those of some tables that have all of the columns. */
async function tablesWith(
  warehouse: Warehouse,
  names: readonly string[],
  columns: readonly string[],
): Promise<string[]> {
  const all = await columnsOfAll(warehouse)
  return names.filter((table) =>
    columns.every((column) => all.get(table)?.some(({ name }) => name === column)),
  )
}
