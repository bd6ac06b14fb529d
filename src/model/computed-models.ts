/**
 * Computed models: the tables that a build computes with src/titles instead of SQL. They are titles and pairs of titles, each
 * understood once, and the organisations with a ladder of their own. They are nodes of the run order beside the models.
 * src/titles is loaded only where there is a title to read: its word lists take longer to load than most commands take.
 */

import { LEVELS, taxonomyVersion } from '../titles/taxonomy.ts'
import type { DescribedTable } from '../warehouse/catalog.ts'
import type { SqlValue } from '../warehouse/rows.ts'

/** One computed model. */
export interface ComputedModel extends DescribedTable {
  /** Tables that its SQL reads. */
  readonly reads: readonly string[]
  /** Columns with their types, as in `create table`. */
  readonly types: string
  /** A select of every key that has to be in the table, each once; null where the rows come from `config/` alone. */
  readonly mentioned: string | null
  /** Whole rows, by column, for keys, by column, that `mentioned` returned; all rows where that is null. */
  readonly rowsFor: (
    keys: Readonly<Record<string, readonly string[]>>,
  ) => Promise<Record<string, readonly SqlValue[]>>
}

const VERSION_COLUMN = 'Version of the taxonomy that said so; another one labels every title again.'
const LADDER_COLUMN =
  'The ladder it is read by: standard, or the name of one in config/ladders.yaml.'

const titles: ComputedModel = {
  name: 'titles',
  grain:
    'One row per ladder and distinct title of an event, of a corrected one also its titles before.',
  key: ['ladder', 'title'],
  partitionByYearOf: null,
  leftOut: [],
  purpose: 'How each title is understood: level, field of work, role, and how sure that is.',
  columns: new Map([
    ['ladder', LADDER_COLUMN],
    ['title', 'The title as written.'],
    [
      'level',
      'intern, entry, mid, senior, lead, manager, director, vp, cxo, or unknown where the title does not say.',
    ],
    ['level_order', 'level as a number, 1 (intern) to 9 (cxo); null when unknown.'],
    [
      'rank',
      'Seniority as a number from 0 to 99, which also orders the steps inside a level; null when unknown.',
    ],
    ['is_management', 'Whether the title manages people; null when unknown.'],
    [
      'function',
      'Field of work such as engineering or sales; other when the title names none, unknown when it is not understood.',
    ],
    [
      'core',
      'The role without level, team and place, in English words where known; null when none is seen.',
    ],
    [
      'is_side_role',
      'Whether it is a role beside a main job: board member, adviser, investor, volunteer.',
    ],
    ['rule', 'The rule that decided the level.'],
    ['confidence', 'How likely the level is right, 0 to 1; 0 when unknown.'],
    ['taxonomy_version', VERSION_COLUMN],
  ]),
  types: `ladder varchar not null, title varchar not null, level varchar not null, level_order integer, rank integer,
    is_management boolean, function varchar not null, core varchar, is_side_role boolean not null, rule varchar not null,
    confidence double not null, taxonomy_version varchar not null`,
  reads: ['job_change_event_versions', 'job_change_events', 'organization_ladders'],
  mentioned: `
    with written as (
        select organization_id, title_current as title from job_change_events
        union all
        select organization_id, title_previous as title from job_change_events
        union all
        select organization_id, title_current as title from job_change_event_versions
        union all
        select organization_id, title_previous as title from job_change_event_versions
    )
    select 'standard' as ladder, title_current as title from job_change_events where title_current is not null
    union
    select 'standard' as ladder, title_previous as title from job_change_events where title_previous is not null
    union
    select 'standard' as ladder, title_current as title from job_change_event_versions where title_current is not null
    union
    select 'standard' as ladder, title_previous as title from job_change_event_versions where title_previous is not null
    union
    select own.ladder, written.title
    from written inner join organization_ladders as own on own.organization_id = written.organization_id
    where written.title is not null`,
  async rowsFor(keys) {
    const { understandTitle } = await import('../titles/understand.ts')
    const { ladder = [], title = [] } = keys
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
      is_side_role: understood.map(({ isSideRole }) => isSideRole),
      rule: understood.map(({ rule }) => rule),
      confidence: understood.map(({ confidence }) => confidence),
      taxonomy_version: title.map(() => taxonomyVersion),
    }
  },
}

const titlePairs: ComputedModel = {
  name: 'title_pairs',
  grain:
    'One row per ladder and two titles that one person had one after the other at one organisation.',
  key: ['ladder', 'previous_title', 'title'],
  partitionByYearOf: null,
  leftOut: [],
  purpose: 'What kind of change it is from the one title to the other, and how sure that is.',
  columns: new Map([
    ['ladder', LADDER_COLUMN],
    ['previous_title', 'The title before as written.'],
    ['title', 'The title after as written.'],
    [
      'label',
      'promotion, demotion, lateral, retitle, or unclassified where the titles do not say.',
    ],
    ['rule', 'The rule that decided the label.'],
    ['confidence', 'How likely the label is right, 0 to 1; 0 when unclassified.'],
    ['taxonomy_version', VERSION_COLUMN],
  ]),
  types: `ladder varchar not null, previous_title varchar not null, title varchar not null, label varchar not null,
    rule varchar not null, confidence double not null, taxonomy_version varchar not null`,
  reads: ['title_steps'],
  mentioned: `
    select distinct ladder, previous_title, title from title_steps
    where ladder is not null and previous_title is not null and title is not null`,
  async rowsFor(keys) {
    const { compareTitles } = await import('../titles/compare.ts')
    const { ladder = [], previous_title = [], title = [] } = keys
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
}

const organizationLadders: ComputedModel = {
  name: 'organization_ladders',
  grain: 'One row per organisation whose titles are read by a ladder of its own.',
  key: ['organization_id'],
  partitionByYearOf: null,
  leftOut: [],
  purpose:
    'Which ladder of config/ladders.yaml it is; all other organisations have the standard one.',
  columns: new Map([
    ['organization_id', 'The service’s stable id of the organisation.'],
    ['ladder', 'The name of its ladder.'],
  ]),
  types: 'organization_id varchar not null, ladder varchar not null',
  reads: [],
  mentioned: null,
  async rowsFor() {
    const { ladders } = await import('../titles/ladders.ts')
    // The first ladder that names an organisation is its ladder.
    const ladderOf = new Map(
      ladders
        .toReversed()
        .flatMap(({ name, organizations }) => organizations.map((id) => [id, name] as const)),
    )
    return { organization_id: [...ladderOf.keys()], ladder: [...ladderOf.values()] }
  },
}

/** Every computed model. */
export const computedModels: readonly ComputedModel[] = [organizationLadders, titles, titlePairs]
