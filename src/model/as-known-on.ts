/**
 * Reads every table as it was known at the end of a day: `joiners_as_known_on('2024-06-30')`. Each is a table macro
 * made of the same models as the table, over the events known by then. With `organization := 'org_…'`, or the name of
 * an organisation, only the people who were ever there are computed, which takes a fraction of the time.
 *
 * The macros are temporary: stored in the warehouse, every open would parse 2 MB of SQL.
 */

import { sqlText } from '../support/assets.ts'
import { TIERS } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import { withoutSemicolon } from './checks.ts'
import type { Project, ProjectNode } from './project.ts'
import { withRead } from './select.ts'

/** A model and every table it reads. Models of `core` get no macro of their own. */
type ReadingModel = Pick<ProjectNode, 'name' | 'sql' | 'reads'> & {
  readonly columns: ReadonlyMap<string, unknown>
  readonly schema?: string
}

const CREATE = 'create or replace temp macro'
const PART = /^-- (table|macro): (.+)\n((?:(?!-- (?:table|macro): ).*\n?)*)/gm

const HEAD = `-- Every table as it was known at the end of a day: select * from joiners_as_known_on('2024-06-30').
-- A build writes this file. Run it in each session that reads so, for example
-- duckdb -readonly -init data/as_known_on.sql data/analyst.duckdb
-- It also lets the session find the tables of the schemas \`detail\` and \`service\`, which the macros read.
set search_path = '${TIERS.join()}';
`

/** The statements that create the macros in a session, in order. @param isWanted whether a table gets its macro */
export function knownOnStatements(
  { nodes, macros }: Pick<Project, 'nodes' | 'macros'>,
  isWanted: (table: string) => boolean = () => true,
): string[] {
  const models = nodes.filter(({ computed, isOwn }) => computed === null && isOwn !== true)
  const parts = [...sqlText('known_on.sql').matchAll(PART)]
  const loaded = parts.flatMap(([, kind, name = '', sql = '']): ReadingModel[] =>
    kind === 'table' ? [{ name, sql, reads: [], columns: LOADED_KEYS, ...OTHERWISE[name] }] : [],
  )
  const ofLoaded = new Set(loaded.map(({ name }) => name))
  const dependencies = [...loaded, ...models.filter(({ name }) => !ofLoaded.has(name))].map(
    (model): ReadingModel => ({ ...model, sql: withoutComments(model.sql) }),
  )
  const offered = new Set([...ofLoaded, ...offeredAsKnownOn(models)])
  const made = dependencies.filter(
    ({ name, schema }) => schema !== 'core' && offered.has(name) && isWanted(name),
  )
  return [
    ...withoutComments(macros)
      .split(/;\s*$/m)
      .map((one) => one.trim().replace('create or replace macro', CREATE)),
    ...parts.flatMap(([, kind, name = '', sql = '']) =>
      kind === 'macro' ? `${CREATE} ${name} as ${withoutSemicolon(sql)}` : [],
    ),
    ...made.map((model) => definitionOf(model, dependencies)),
  ]
}

export function knownOnFile(project: Pick<Project, 'nodes' | 'macros'>): string {
  return `${HEAD}\n${knownOnStatements(project).join(';\n\n')};\n`
}

/** Models for analysts, except those made from answers alone, which say since when they hold. @param models in run order */
export function offeredAsKnownOn(models: readonly ReadingModel[]): string[] {
  const ofAnswers = new Set(['answers'])
  for (const { name, reads } of models)
    if (reads.some((table) => ofAnswers.has(table)) && !HAS_ALSO.has(name)) ofAnswers.add(name)
  return models.flatMap(({ name, schema }) =>
    schema !== 'core' && !ofAnswers.has(name) ? name : [],
  )
}

/** Models that compare all people or organisations, so that a single one shows nothing. */
const COMPARES_ALL: ReadonlySet<string> = new Set(['duplicate_organizations', 'duplicate_people'])

/** Models that combine the statements of a page with careers. */
const HAS_ALSO: ReadonlySet<string> = new Set([
  'attrition',
  'organization_headcount_monthly',
  'organization_headcounts',
])

/** The macro of a table. Its `with` holds the models below it by name, so that they read one another as of then. */
function definitionOf({ name, columns }: ReadingModel, dependencies: readonly ReadingModel[]) {
  const needed = withRead(dependencies, [name])
  const parts = dependencies
    .filter((model) => needed.has(model.name))
    .map((model) => `${quoteIdentifier(model.name)} as (\n${model.sql})`)
  const ofOne = columns.has('organization_id')
    ? 'organization_id = organization_named(organization)'
    : columns.has('from_organization_id')
      ? 'organization_named(organization) in (from_organization_id, to_organization_id)'
      : 'true'
  const isOfPeople = columns.has('organization_id') || columns.has('profile_id')
  const one = isOfPeople && !COMPARES_ALL.has(name) ? ofOne : null
  const parameters = `day, seen_by := 'service'${one === null ? '' : ', organization := null'}`
  const sql = `${CREATE} ${name}_as_known_on(${parameters}) as table with ${parts.join(',\n')} select * from ${quoteIdentifier(name)}`
  // A model that cannot be computed for one organisation alone has no such parameter.
  return one === null
    ? sql.replaceAll(OF_ORGANIZATION, '')
    : `${sql} where organization is null or ${one}`
}

/** In sql/known_on.sql: for one organisation, only the people who were ever there. */
const OF_ORGANIZATION =
  / and \(organization is null or profile_id in \(select [^()]* organization_id = organization_named\(organization\)\)\)/g

// Headers are long, and a macro holds the SQL of all models below its own.
function withoutComments(sql: string): string {
  return withoutSemicolon(sql).replaceAll(/^\s*--.*\n/gm, '')
}

/** The keys of all loaded tables: enough to filter them. */
const LOADED_KEYS = new Map([
  ['organization_id', null],
  ['profile_id', null],
])
/** The parts of sql/known_on.sql that are not tables of the load. */
const OTHERWISE: Readonly<Record<string, Partial<ReadingModel>>> = {
  as_of: { schema: 'core', reads: ['organization_coverage'] },
  transfers: { schema: 'core' },
  duplicate_marks: { schema: 'core' },
  answers: { schema: 'core' },
}
