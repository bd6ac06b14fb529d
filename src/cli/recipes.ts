/**
 * `query --recipe`: named questions that ship with Jobtide, sql/recipes/<name>.sql. The header of each file names its
 * question and parameters; its SQL reads them with `getvariable('…')`, so it runs unchanged in any DuckDB.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import { ConfigError } from '../support/errors.ts'
import { didYouMean } from '../support/nearest.ts'
import { quoteIdentifier, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

export interface Recipe {
  readonly name: string
  /** The question it answers. */
  readonly question: string
  /** A parameter without a default value is required. */
  readonly parameters: readonly {
    readonly name: string
    readonly standard: string | null
    readonly about: string
  }[]
  /** Why it finds nothing where this table is empty. */
  readonly empty: { readonly table: string; readonly why: string } | null
  readonly sql: string
}

const FOLDER = join(sqlFolder, 'recipes')
const QUESTION = /^-- question: (.+)$/m
const EMPTY = /^-- empty: (\w+): (.+)$/m
const PARAMETER = /^-- parameter: (\w+)(?: = (.*?))?: (.+)$/gm

export function recipeNames(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .toSorted()
}

/** @throws ConfigError for an unknown name; the hint lists the known ones */
export function readRecipe(name: string): Recipe {
  const names = recipeNames()
  if (!names.includes(name)) {
    throw new ConfigError(`there is no recipe ${name}`, {
      hint: `${didYouMean(name, names)}Recipes: ${names.join(', ')}.`,
    })
  }
  const sql = readFileSync(join(FOLDER, `${name}.sql`), 'utf8')
  const [, table, why] = EMPTY.exec(sql) ?? []
  return {
    name,
    question: QUESTION.exec(sql)?.[1] ?? name,
    parameters: [...sql.matchAll(PARAMETER)].map(([, parameter = '', standard, about = '']) => ({
      name: parameter,
      standard: standard ?? null,
      about,
    })),
    empty: table === undefined || why === undefined ? null : { table, why },
    sql,
  }
}

/** Why a recipe found nothing; null where its table has rows, so that the parameters are the reason. */
export async function whyEmpty(warehouse: Warehouse, { empty }: Recipe): Promise<string | null> {
  if (empty === null) return null
  const rows = await warehouse.number(`select count(*) from ${quoteIdentifier(empty.table)}`)
  return rows === 0 ? `No rows: ${empty.why}.` : null
}

/** Parameters that name an organisation, by its id or its name. */
const ORGANIZATIONS: ReadonlySet<string> = new Set(['organization', 'other'])

/**
 * Gives the parameters of a recipe their values, for this connection. An organisation can be given by its name.
 * @param given such as `organization=org_1`
 * @throws ConfigError for a parameter that it does not take, one that is missing, a value that it cannot have, and a name that
 * no or several organisations have
 */
export async function setParameters(
  warehouse: Warehouse,
  recipe: Recipe,
  given: readonly string[],
): Promise<void> {
  const hint = usageOf(recipe)
  const values = new Map<string, string>()
  for (const one of given) {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/s.exec(one) ?? []
    if (!recipe.parameters.some((parameter) => parameter.name === name)) {
      throw new ConfigError(`${recipe.name} takes no parameter ${one}`, { hint })
    }
    values.set(name, value)
  }
  for (const { name, standard } of recipe.parameters) {
    const value = values.get(name) ?? standard
    if (value === null) throw new ConfigError(`${recipe.name} needs ${name}=…`, { hint })
    refuseUnknown(name, value, [standard, ...(await valuesOf(warehouse, name))])
    const meant = ORGANIZATIONS.has(name) ? await organizationId(warehouse, value) : value
    await warehouse.run(`set variable ${quoteIdentifier(name)} = ${quoteText(meant)}`)
  }
}

/** The values of a parameter with few of them: any other would find nothing, which looks like an answer. Else none. */
async function valuesOf(warehouse: Warehouse, name: string): Promise<readonly string[]> {
  if (name === 'change') return (await import('../plan/watch-lists.ts')).CHANGES
  if (name === 'list') {
    const lists = await warehouse.all<{ name: string }>(
      'select distinct watch_list as name from watch_matches order by name',
    )
    return lists.map((list) => list.name)
  }
  if (name !== 'function' && name !== 'level') return []
  const { FUNCTIONS, LEVELS } = await import('../titles/taxonomy.ts')
  return [...(name === 'function' ? FUNCTIONS : LEVELS), 'unknown']
}

function refuseUnknown(name: string, value: string, allowed: readonly (string | null)[]): void {
  const values = allowed.filter((one) => one !== null)
  if (allowed.length < 2 || values.includes(value) || value.includes('%')) return
  throw new ConfigError(`there is no ${name} ${value}`, {
    hint: `${didYouMean(value, values)}${name} is one of: ${[...new Set(values)].join(', ')}.`,
  })
}

function usageOf({ name, question, parameters }: Recipe): string {
  const given = parameters.map(
    ({ name: parameter, standard, about }) =>
      ` ${parameter}=… (${about}${standard === null ? '' : `; else ${standard}`})`,
  )
  return `${question} jobtide query --recipe ${name}${given.join('')}`
}

async function organizationId(warehouse: Warehouse, idOrName: string): Promise<string> {
  const found = await warehouse.all<{ id: string; name: string | null }>(
    `select organization_id as id, name from main.organizations
     where organization_id = $1 or lower(name) = lower($1)
     order by organization_id <> $1, people_ever desc, organization_id limit 6`,
    [idOrName],
  )
  const [first, second] = found
  if (first === undefined) {
    throw new ConfigError(`no organisation has the id or the name ${idOrName}`, {
      hint: 'Look for it: jobtide query "select organization_id, name from organizations where name ilike \'%…%\'".',
    })
  }
  if (first.id === idOrName || second === undefined) return first.id
  throw new ConfigError(`several organisations are named ${idOrName}`, {
    hint: `Give the id of one of them: ${found.map(({ id }) => id).join(', ')}.`,
  })
}
