/**
 * Computed models: the tables that a build computes with src/titles instead of SQL. Each has a file in
 * sql/models/computed. Its header describes the table, and its select, if it has one, returns every key of the table
 * once. They are nodes of the run order like the models. src/titles is loaded only when there is a title to read:
 * loading its word lists takes longer than most commands.
 */

import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import { LEVELS } from '../titles/taxonomy.ts'
import { taxonomyVersion } from '../titles/version.ts'
import { readModelFile, type ModelFile } from '../warehouse/catalog.ts'
import type { SqlValue } from '../warehouse/rows.ts'

export interface ComputedModel extends ModelFile {
  /** Columns with their types, as in `create table`. */
  readonly types: string
  /** Whole rows, by column, for keys, by column; all rows where the file has no select. */
  readonly rowsFor: (keys: Readonly<Record<string, readonly string[]>>) => Promise<Columns>
}

type Columns = Record<string, readonly SqlValue[]>

function computed(name: string, types: string, rowsFor: ComputedModel['rowsFor']): ComputedModel {
  const file = readModelFile(join(sqlFolder, 'models', 'computed', `${name}.sql`))
  return { ...file, sql: file.sql.replaceAll(/^--.*\n/gm, '').trim(), types, rowsFor }
}

const titles = computed(
  'titles',
  `ladder varchar not null, title varchar not null, level varchar not null, level_order integer, rank integer,
    is_management boolean, function varchar not null, core varchar, office varchar, is_interim boolean not null,
    is_side_role boolean not null, is_advisory boolean not null, is_end_marker boolean not null, rule varchar not null, confidence double not null, taxonomy_version varchar not null`,
  async ({ ladder = [], title = [] }) => {
    const { understandTitle } = await import('../titles/understand.ts')
    const understood = title.map((written, place) => understandTitle(written, ladder[place]))
    return {
      ladder,
      title,
      level: understood.map(({ level }) => level),
      level_order: understood.map(({ level }) =>
        level === 'unknown' ? null : LEVELS.indexOf(level) + 1,
      ),
      rank: understood.map(({ rank }) => rank),
      is_management: understood.map(({ isManagement }) => isManagement),
      function: understood.map((one) => one.function),
      core: understood.map(({ core }) => core),
      office: understood.map(({ office }) => office),
      is_interim: understood.map((one) => one.isInterim),
      is_side_role: understood.map(({ isSideRole }) => isSideRole),
      is_advisory: understood.map(({ isAdvisory }) => isAdvisory),
      is_end_marker: understood.map(({ isEndMarker }) => isEndMarker),
      rule: understood.map(({ rule }) => rule),
      confidence: understood.map(({ confidence }) => confidence),
      taxonomy_version: title.map(() => taxonomyVersion),
    }
  },
)

const titlePairs = computed(
  'title_pairs',
  `ladder varchar not null, previous_title varchar not null, title varchar not null, label varchar not null,
    rule varchar not null, confidence double not null, taxonomy_version varchar not null`,
  async ({ ladder = [], previous_title = [], title = [] }) => {
    const { compareTitles } = await import('../titles/compare.ts')
    const compared = title.map((after, place) =>
      compareTitles(previous_title[place] ?? '', after, ladder[place]),
    )
    return {
      ladder,
      previous_title,
      title,
      label: compared.map(({ label }) => label),
      rule: compared.map(({ rule }) => rule),
      confidence: compared.map(({ confidence }) => confidence),
      taxonomy_version: title.map(() => taxonomyVersion),
    }
  },
)

const organizationLadders = computed(
  'organization_ladders',
  'organization_id varchar not null, ladder varchar not null',
  async () => {
    const { ladders } = await import('../titles/ladders.ts')
    const ladderOf = new Map(
      ladders.flatMap(({ name, organizations }) => organizations.map((id) => [id, name] as const)),
    )
    return { organization_id: [...ladderOf.keys()], ladder: [...ladderOf.values()] }
  },
)

const organizationGroups = computed(
  'organization_groups',
  'organization_id varchar not null, organization_group varchar not null, kind varchar not null, from_at timestamptz, to_at timestamptz',
  async () => {
    const { organizationGroups: groups } = await import('./organization-groups.ts')
    const members = groups.flatMap(({ name, members: all }) => all.map((one) => ({ name, ...one })))
    return {
      organization_id: members.map(({ organization }) => organization),
      organization_group: members.map(({ name }) => name),
      kind: members.map(({ kind }) => kind),
      from_at: members.map(({ from }) => (from === undefined ? null : new Date(from))),
      to_at: members.map(({ to }) => (to === undefined ? null : new Date(to))),
    }
  },
)

const pseudoEmployerNames = computed(
  'pseudo_employers',
  'name varchar not null, kind varchar not null',
  async () => {
    const { pseudoEmployers } = await import('./pseudo-employers.ts')
    return {
      name: pseudoEmployers.map(({ name }) => name),
      kind: pseudoEmployers.map(({ kind }) => kind),
    }
  },
)

const decidedTransfers = computed(
  'transfer_decisions',
  'from_organization_id varchar not null, to_organization_id varchar not null, is_transfer boolean not null',
  async () => {
    const { transferDecisions } = await import('./transfer-decisions.ts')
    return {
      from_organization_id: transferDecisions.map(({ from }) => from),
      to_organization_id: transferDecisions.map(({ to }) => to),
      is_transfer: transferDecisions.map((one) => one.is_transfer),
    }
  },
)

/**
 * The inputs, other than ladders, of computed models without a select: after a change there, a build is a full refresh.
 */
export const configFiles: Readonly<Record<string, string>> = {
  organization_groups: 'config/organization-groups.yaml',
  pseudo_employers: 'config/pseudo-employers.yaml',
  transfer_decisions: 'config/transfers.yaml',
}

export const computedModels: readonly ComputedModel[] = [
  organizationGroups,
  organizationLadders,
  pseudoEmployerNames,
  decidedTransfers,
  titles,
  titlePairs,
]
