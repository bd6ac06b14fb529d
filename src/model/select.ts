/**
 * Parts of a project: the models that `build --select` names, those of endpoints that answered, and those of titles
 * alone.
 */

import { ConfigError } from '../support/errors.ts'
import { didYouMean } from '../support/nearest.ts'
import { loadedTables, TIERS, readModelFiles, WATCH_ENTRIES } from '../warehouse/catalog.ts'
import { isOfEndpoints, withoutAbsent, type Filled } from '../warehouse/endpoint-tables.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { readProject, type Project, type ProjectNode } from './project.ts'

type Reader = Pick<ProjectNode, 'name' | 'reads'>
type Node = Reader & Pick<ProjectNode, 'file' | 'schema'>

/** Those of `names` and all models that read one of them, directly or by others. @param nodes in run order */
export function withReaders(nodes: readonly Reader[], names: Iterable<string>): Set<string> {
  const found = new Set(names)
  for (const { name, reads } of nodes) if (reads.some((read) => found.has(read))) found.add(name)
  return found
}

/** Those of `names` and all tables that they read, directly or by others. @param nodes in run order */
export function withRead(nodes: readonly Reader[], names: Iterable<string>): Set<string> {
  const found = new Set(names)
  for (const { name, reads } of nodes.toReversed())
    if (found.has(name)) for (const read of reads) found.add(read)
  return found
}

/**
 * The names of the models that are selected, in the syntax of dbt: `name`, `+name`, `name+`, `path:models`,
 * `tier:detail`.
 * @param nodes in run order
 * @param words each one or several selectors, separated by blanks or commas; the result is their union
 * @throws ConfigError for a selector that names no model, with a proposal
 */
export function selectModels(nodes: readonly Node[], words: readonly string[]) {
  const names = nodes.map(({ name }) => name)
  const selected = new Set<string>()
  for (const selector of words.flatMap((word) => word.split(/[\s,]+/)).filter(Boolean)) {
    const [, above, method = '', value = '', below] =
      /^(\+?)(?:(path|tier):)?(.*?)(\+?)$/.exec(selector) ?? []
    const isNamed = {
      '': ({ name }: Node) => name === value.toLowerCase(),
      path: ({ file }: Node) => `${file}/`.startsWith(`${value.replace(/\/$/, '')}/`),
      tier: ({ schema }: Node) => schema === value,
    }[method]
    const named = nodes.filter((node) => isNamed?.(node)).map(({ name }) => name)
    if (named.length === 0) {
      throw new ConfigError(`there is no model ${selector}`, {
        hint: `${didYouMean(value, names)}Write name, +name (with what it reads), name+ (with what reads it), path:models or tier:detail: \`jobtide models\` lists the names. Nothing was built.`,
      })
    }
    for (const name of below ? withReaders(nodes, named) : named) selected.add(name)
    if (!above) continue
    const read = withRead(nodes, named)
    for (const name of names) if (read.has(name)) selected.add(name)
  }
  if (selected.size > 0) return selected
  throw new ConfigError('--select names no model', {
    hint: 'Name some: jobtide build --select my_model+',
  })
}

/** The project if Spark builds the rest: computed models and what they read are made, all others are views. */
export function titlesOnly(project: Project): Project {
  const computed = project.nodes.flatMap((node) => (node.computed === null ? [] : node.name))
  const made = withRead(project.nodes, computed)
  const nodes = project.nodes.map((node): ProjectNode =>
    made.has(node.name) ? node : { ...node, kind: 'view', isByPerson: false },
  )
  const there = new Set([...loadedTables.map(({ name }) => name), WATCH_ENTRIES, ...made])
  const checks = project.checks.filter(({ reads }) => reads.every((name) => there.has(name)))
  return { ...project, nodes, checks, fingerprint: `${project.fingerprint} titles only` }
}

/** The project without tables that no answer fills yet, and without the models and checks that read one of them. */
export async function askedOnly(warehouse: Warehouse, project: Project): Promise<Project> {
  const rows = await warehouse.all<{ name: string }>(
    'select distinct endpoint as name from answers',
  )
  const answered = new Set(rows.map(({ name }) => name))
  const isUnasked = ({ endpoints = [] }: Filled) =>
    endpoints.length > 0 && !endpoints.some((one) => answered.has(one))
  const absent = withReaders(
    project.nodes,
    project.nodes.filter(isUnasked).map(({ name }) => name),
  )
  return {
    ...project,
    nodes: project.nodes.filter(({ name }) => !absent.has(name)),
    checks: project.checks.filter(({ reads }) => !reads.some((read) => absent.has(read))),
  }
}

/** Gives this session empty tables for the missing ones of endpoints that a select reads. @returns their names */
export async function standIn(warehouse: Warehouse, sql: string): Promise<Filled[]> {
  const named = readModelFiles().filter(
    (model) => isOfEndpoints(model) && new RegExp(String.raw`\b${model.name}\b`, 'i').test(sql),
  )
  const there = new Set(await withoutAbsent(warehouse, named))
  if (there.size === named.length) return []
  const { nodes } = await readProject(warehouse)
  const made = new Set(await withoutAbsent(warehouse, nodes))
  const absent = nodes.filter((node) => !made.has(node))
  // They read each other as temporary views, which are in none of our schemas.
  const names = absent.map(({ name }) => name).join('|')
  const ofAbsent = new RegExp(String.raw`\b(?:${TIERS.join('|')})\.(${names})\b`, 'g')
  for (const { name, storedSql } of absent) {
    await warehouse.run(
      `create temp view ${quoteIdentifier(name)} as ${storedSql.replaceAll(ofAbsent, '$1')}`,
    )
  }
  return named.filter((model) => !there.has(model))
}
