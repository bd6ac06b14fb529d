/** The table `titles`: every title the events mention, understood once, so that models only join to it. */

import { understandTitle } from '../titles/understand.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

/** What the table is. */
export const titlesTable: TableDefinition & {
  readonly purpose: string
  readonly columns: ReadonlyMap<string, string>
} = {
  name: 'titles',
  grain: 'One row per distinct title in job_change_events.',
  key: ['title'],
  partitionByYearOf: null,
  leftOut: [],
  purpose: 'How each title is understood: how senior it is and whether it manages people.',
  columns: new Map([
    ['title', 'The title as written.'],
    [
      'level',
      'intern, entry, mid, senior, lead, manager, director, vp, cxo, or unknown where the title does not say.',
    ],
    [
      'rank',
      'Seniority as a number, higher is more senior, 3 or more is a clear step; null when unknown.',
    ],
    ['is_management', 'Whether the title manages people; null when unknown.'],
  ]),
}

/**
 * Makes `titles` anew from the events; part of the build's transaction.
 * @returns how many titles there are
 */
export async function fillTitles(warehouse: Warehouse): Promise<number> {
  await warehouse.run(
    'create or replace table titles (title varchar not null, level varchar not null, rank integer, is_management boolean)',
  )
  const rows = await warehouse.all<{ title: string }>(
    `select title_current as title from job_change_events where title_current is not null
     union
     select title_previous from job_change_events where title_previous is not null
     order by title`,
  )
  const understood = rows.map(({ title }) => understandTitle(title))
  await warehouse.append('titles', {
    title: rows.map(({ title }) => title),
    level: understood.map(({ level }) => level),
    rank: understood.map(({ rank }) => rank),
    is_management: understood.map(({ isManagement }) => isManagement),
  })
  return rows.length
}
