/** Which models a build makes where some endpoints were never asked, and what a select sees of the others. */

import { TIERS, readModelFiles } from '../warehouse/catalog.ts'
import { isOfEndpoints, withoutAbsent, type Filled } from '../warehouse/endpoint-tables.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { readProject, type Project } from './project.ts'

/** The project without the tables that no answer fills yet, and without the models and checks that read one of them. */
export async function askedOnly(warehouse: Warehouse, project: Project): Promise<Project> {
  const rows = await warehouse.all<{ name: string }>(
    'select distinct endpoint as name from answers',
  )
  const answered = new Set(rows.map(({ name }) => name))
  const absent = new Set<string>()
  const isMade = ({ reads }: { readonly reads: readonly string[] }) =>
    !reads.some((read) => absent.has(read))
  // In run order each comes after those it reads.
  const nodes = project.nodes.filter((node) => {
    const isAsked = !isOfEndpoints(node) || node.endpoints?.some((one) => answered.has(one))
    if (isAsked && isMade(node)) return true
    absent.add(node.name)
    return false
  })
  return { ...project, nodes, checks: project.checks.filter(isMade) }
}

/**
 * Replaces missing tables of endpoints that a select names by empty ones, for this session.
 * @returns them
 */
export async function standIn(warehouse: Warehouse, sql: string): Promise<Filled[]> {
  const named = readModelFiles().filter(
    (model) => isOfEndpoints(model) && new RegExp(String.raw`\b${model.name}\b`, 'i').test(sql),
  )
  const there = new Set(await withoutAbsent(warehouse, named))
  if (there.size === named.length) return []
  const { nodes } = await readProject(warehouse)
  const made = new Set(await withoutAbsent(warehouse, nodes))
  const absent = nodes.filter((node) => !made.has(node))
  // They read each other as temporary views, which belong to none of our schemas.
  const names = absent.map(({ name }) => name).join('|')
  const ofAbsent = new RegExp(String.raw`\b(?:${TIERS.join('|')})\.(${names})\b`, 'g')
  for (const { name, storedSql } of absent) {
    const sql = storedSql.replaceAll(ofAbsent, '$1')
    await warehouse.run(`create temp view ${quoteIdentifier(name)} as ${sql}`)
  }
  return named.filter((model) => !there.has(model))
}
