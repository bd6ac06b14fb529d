/**
 * Making the tables that are kept by people part by part: what a model needs at once is bounded by the part, not by the
 * warehouse. A part is a share of all people, so that a row depends on rows of its own part only. Which people a model sees
 * is decided by temporary views under the names it reads, as in a night's build; its SQL stays the same.
 */

import { loadedTables } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/warehouse.ts'
import type { BuildWork } from './build.ts'
import type { ProjectNode } from './project.ts'
import { columnsOf, createModelTable, describeModelTable, rowsIn, saying } from './tables.ts'
import { Temporaries } from './temporaries.ts'
import { PERSON } from './tonight.ts'

/** Into how many parts the people are divided, 1 or more. */
export async function partsOf({ warehouse, eventsPerPart }: BuildWork): Promise<number> {
  return Math.max(1, Math.ceil((await rowsIn(warehouse, 'job_change_events')) / eventsPerPart))
}

/**
 * Makes the table of a model, part by part where that is possible.
 * @returns its rows; null for a view
 */
export async function createByParts(
  work: BuildWork,
  node: ProjectNode,
  parts: number,
): Promise<number | null> {
  const { warehouse } = work
  if (parts === 1 || node.kind !== 'table' || node.scope.join() !== PERSON) {
    return createModelTable(warehouse, node)
  }
  const temporaries = await Temporaries.in(warehouse)
  const table = temporaries.main(node.name)
  const tables = await tablesOfPeople(work, node)
  for (let part = 0; part < parts; part += 1) {
    for (const name of tables) {
      await temporaries.shadow(
        name,
        `select * from ${temporaries.main(name)} where hash(${quoteIdentifier(PERSON)}) % ${parts} = ${part}`,
      )
    }
    const begin = part === 0 ? `create table ${table} as` : `insert into ${table} by name`
    await saying(`model ${node.name}`, () => warehouse.run(`${begin}\n${node.sql}`))
    await temporaries.unshadow()
  }
  await describeModelTable(warehouse, node)
  return rowsIn(warehouse, table)
}

/** The tables of people below a model; a view is none, but reads the tables below it by the same names. */
async function tablesOfPeople(
  { warehouse, project }: BuildWork,
  node: ProjectNode,
): Promise<string[]> {
  const tables: string[] = []
  for (const { name } of loadedTables) {
    if ((await columnsOf(warehouse, name)).includes(PERSON)) tables.push(name)
  }
  const before = project.nodes.slice(0, project.nodes.indexOf(node))
  const made = before.filter(({ kind, scope }) => kind === 'table' && scope.join() === PERSON)
  return [...tables, ...made.map(({ name }) => name)]
}
