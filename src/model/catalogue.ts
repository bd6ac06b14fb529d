/** Describes each table, from the project and the database: for `models`, its page, and the list in docs. */

import { queryReport } from '../warehouse/query-report.ts'
import { loadedTables } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { withOwn } from './own/project.ts'
import { readProject } from './project.ts'

export type CatalogueTable = Awaited<ReturnType<typeof readCatalogue>>[number]

/** A warehouse without data: it has the tables that exist from the beginning, with columns but no rows. */
export const IN_MEMORY = ':memory:'

/** The schemas of tables, in the order in which readers need them, with their headings. */
export const GROUPS = [
  {
    schema: 'main',
    title: 'For every day',
    about: 'Schema `main`: most questions need no other table.',
  },
  {
    schema: 'detail',
    title: 'Details',
    about:
      "Schema `detail`: what the tables for every day are made from, and answers to rarer questions. `jobtide query` finds them without the schema. Other programs write `detail.tenure_survival`, or first run `set search_path = 'main,detail,service'`.",
  },
  {
    schema: 'service',
    title: 'From other endpoints',
    about: 'Schema `service`: each table comes with the first answer of its endpoint.',
  },
  { schema: 'own', title: 'Your own', about: 'Made by `models/` of your project.' },
  {
    schema: 'core',
    title: 'Steps of the build',
    about: 'Schema `core` serves the other models only. It is not published.',
  },
]

/** Its schema, or `own` for a model of the user's. */
export function groupOf({ schema, isOwn }: Pick<CatalogueTable, 'schema' | 'isOwn'>): string {
  return isOwn ? 'own' : schema
}

/** Every table that is loaded or made. @param ownFolder the folder of the user's models; null without any */
export async function readCatalogue(warehouse: Warehouse, ownFolder: string | null) {
  const { nodes, checks } = await withOwn(warehouse, await readProject(warehouse), ownFolder)
  type Column = { table: string; name: string; type: string; description: string | null }
  const actual = await queryReport<Column>(warehouse, 'models_columns')
  const loaded = { schema: 'main', kind: 'loaded', file: '', purpose: null, reads: [] }
  const tables = [
    ...loadedTables.map((table) => ({ ...table, ...loaded, columns: null, isOwn: false })),
    ...nodes,
  ]
  const entries = tables.map(async (table) => {
    const { name, schema, kind, file, grain, purpose, key, reads, endpoints, isOwn = false } = table
    const stored = actual.filter((column) => column.table === name)
    const typeOf = (column: string) => stored.find((one) => one.name === column)?.type ?? null
    const namesOf = (readers: readonly { name: string; reads: readonly string[] }[]) =>
      readers.filter((one) => one.reads.includes(name)).map((one) => one.name)
    const isStored = warehouse.path !== IN_MEMORY && stored.length > 0 && kind !== 'view'
    const columns =
      table.columns === null || (isOwn && stored.length > 0)
        ? stored.map(({ table: _table, ...column }) => column)
        : [...table.columns].map(([column, description]) => {
            return { name: column, type: typeOf(column), description }
          })
    return {
      name,
      schema,
      kind,
      isOwn,
      // The file of a model, below sql/models or the folder of the project; computed models come from the words of
      // config/titles.
      file: file === '' ? null : file,
      grain,
      purpose,
      key,
      // The endpoints whose first answer creates it; empty if it exists, or needs none.
      needs: stored.length > 0 ? [] : (endpoints ?? []),
      rows: isStored ? await warehouse.number(`select count(*) from ${schema}.${name}`) : null,
      reads,
      readBy: namesOf(nodes),
      columns,
      checks: namesOf(checks),
    }
  })
  return Promise.all(entries)
}
