/**
 * Computed models: the tables that a build computes in TypeScript instead of SQL. Each has a file in
 * sql/models/computed: its header describes the table, and its select, if it has one, returns every key of the table
 * once. src/titles is loaded only when there is a title to read: loading its word lists takes longer than most
 * commands.
 */

import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import { toSnakeCase } from '../support/json.ts'
import { LEVELS } from '../titles/taxonomy.ts'
import { taxonomyVersion } from '../titles/kept.ts'
import { readModelFile, type ModelFile } from '../warehouse/catalog.ts'
import { appendRows, type Row } from '../warehouse/rows.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

export interface ComputedModel extends ModelFile {
  /** The columns with their types, as in `create table`. */
  readonly types: string
  /** The rows of these keys; all rows if the file has no select. */
  readonly rowsOf: (keys: readonly Key[]) => Promise<readonly Row[]>
}

type Key = Readonly<Record<'ladder' | 'title' | 'previous_title', string>>

function computed(name: string, types: string, rowsOf: ComputedModel['rowsOf']): ComputedModel {
  const file = readModelFile(join(sqlFolder, 'models', 'computed', `${name}.sql`))
  return { ...file, sql: file.sql.replaceAll(/^--.*\n/gm, '').trim(), types, rowsOf }
}

const dateOf = (day: string | undefined) => (day === undefined ? null : new Date(day))

export const computedModels: readonly ComputedModel[] = [
  computed(
    'organization_groups',
    'organization_id varchar not null, organization_group varchar not null, kind varchar not null, from_at timestamptz, to_at timestamptz',
    async () => {
      const { organizationGroups } = await import('./config-lists.ts')
      return organizationGroups().flatMap(({ name: organization_group, members }) =>
        members.map(({ organization: organization_id, kind, from, to }) => {
          const times = { from_at: dateOf(from), to_at: dateOf(to) }
          return { organization_id, organization_group, kind, ...times }
        }),
      )
    },
  ),
  computed(
    'organization_ladders',
    'organization_id varchar not null, ladder varchar not null',
    async () => {
      const { ladders } = await import('../titles/ladders.ts')
      const ladderOf = new Map(
        ladders().flatMap(({ name, organizations }) =>
          organizations.map((id) => [id, name] as const),
        ),
      )
      return [...ladderOf].map(([organization_id, ladder]) => ({ organization_id, ladder }))
    },
  ),
  computed('pseudo_employers', 'name varchar not null, kind varchar not null', async () => {
    const { pseudoEmployers } = await import('./config-lists.ts')
    return pseudoEmployers
  }),
  computed(
    'transfer_decisions',
    'from_organization_id varchar not null, to_organization_id varchar not null, is_transfer boolean not null',
    async () => {
      const { transferDecisions } = await import('./config-lists.ts')
      return transferDecisions().map(({ from, to, is_transfer }) => {
        return { from_organization_id: from, to_organization_id: to, is_transfer }
      })
    },
  ),
  computed(
    'titles',
    `ladder varchar not null, title varchar not null, level varchar not null, level_order integer, rank integer,
    is_management boolean, function varchar not null, core varchar, office varchar, is_interim boolean not null,
    is_side_role boolean not null, is_advisory boolean not null, is_end_marker boolean not null,
    is_seat_of_staff boolean not null, is_held_beside boolean not null, rule varchar not null, confidence double not null, taxonomy_version varchar not null`,
    async (keys) => {
      const { understandTitle } = await import('../titles/understand.ts')
      return keys.map(({ ladder, title }) => {
        const understood = understandTitle(title, ladder)
        const { level } = understood
        return {
          ladder,
          title,
          ...(toSnakeCase(understood) as Row),
          level_order: level === 'unknown' ? null : LEVELS.indexOf(level) + 1,
          taxonomy_version: taxonomyVersion(),
        }
      })
    },
  ),
  computed(
    'title_pairs',
    `ladder varchar not null, previous_title varchar not null, title varchar not null, label varchar not null,
    rule varchar not null, confidence double not null, taxonomy_version varchar not null`,
    async (keys) => {
      const { compareTitles } = await import('../titles/compare.ts')
      return keys.map(({ ladder, previous_title, title }) => {
        const { label, rule, confidence } = compareTitles(previous_title, title, ladder)
        const key = { ladder, previous_title, title }
        return { ...key, label, rule, confidence, taxonomy_version: taxonomyVersion() }
      })
    },
  ),
]

/** The inputs, except ladders, of computed models without a select. After a change there, a build is a full refresh. */
export const configFiles: Readonly<Record<string, string>> = {
  organization_groups: 'config/organization-groups.yaml',
  pseudo_employers: 'config/pseudo-employers.yaml',
  transfer_decisions: 'config/transfers.yaml',
}

// Keys pass through JavaScript in batches, so memory does not grow with the warehouse.
const BATCH_ROWS = 50_000

/** Adds the keys that the inputs mention, and removes those that nothing mentions. @returns how many rows that were */
export async function computeAll(warehouse: Warehouse, model: ComputedModel): Promise<number> {
  const name = `${model.schema}.${quoteIdentifier(model.name)}`
  const append = async (keys: readonly Key[]) => {
    const rows = await model.rowsOf(keys)
    await appendRows(warehouse, `${model.schema}.${model.name}`, rows)
    return rows.length
  }
  if (model.sql === '') {
    await warehouse.run(`delete from ${name}`)
    return append([])
  }
  const columns = model.key.map(quoteIdentifier)
  const isSame = columns.map((column) => `known.${column} = mentioned.${column}`).join(' and ')
  await warehouse.run(`create or replace temp table mentioned_keys as ${model.sql}`)
  const removed = await warehouse.number(
    `delete from ${name} as known
     where taxonomy_version <> $1
       or not exists (select 1 from mentioned_keys as mentioned where ${isSame})`,
    [taxonomyVersion()],
  )
  const key = columns.join(', ')
  await warehouse.run(
    `create or replace temp table missing_keys as
     select ${key}, row_number() over (order by ${key}) as place from mentioned_keys as mentioned
     where not exists (select 1 from ${name} as known where ${isSame})`,
  )
  let added = 0
  for (;;) {
    const keys = await warehouse.all<Key>(
      `select ${key} from missing_keys where place > $1 and place <= $2`,
      [added, added + BATCH_ROWS],
    )
    if (keys.length === 0) break
    added += await append(keys)
  }
  await warehouse.run('drop table mentioned_keys; drop table missing_keys')
  return removed + added
}
