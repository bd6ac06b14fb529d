/**
 * Computes the run order of the models from their own SQL. Reads the syntax tree that DuckDB's
 * json_serialize_sql returns, because its getTableNames silently finds nothing in `join … using`. Pure.
 */

import { EXIT, JobtideError } from '../support/errors.ts'

export interface ModelReads {
  readonly name: string
  readonly reads: readonly string[]
}

type TreeNode = Readonly<Record<string, unknown>>

/**
 * The tables that one `select` reads, sorted, in lower case; `main.` is dropped, other schemas stay as prefix.
 * Names of CTEs are not tables where the CTE is in scope: a CTE may have the name of the very table it reads.
 * @param serialized what json_serialize_sql returned for the model
 * @param subject whose SQL it is, for the message, such as `model moves`
 * @throws JobtideError when the SQL is not exactly one select
 */
export function tablesRead(serialized: string, subject: string): string[] {
  const tree = JSON.parse(serialized) as TreeNode
  if (tree['error'] === true) {
    throw new JobtideError(EXIT.defect, `${subject}: ${String(tree['error_message'])}`)
  }
  const statements = tree['statements']
  if (!Array.isArray(statements) || statements.length !== 1) {
    throw new JobtideError(EXIT.defect, `${subject} must be exactly one select`)
  }
  const tables = new Set<string>()
  visit(statements[0], new Set(), tables)
  return [...tables].toSorted()
}

function visit(value: unknown, ctes: ReadonlySet<string>, tables: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, ctes, tables)
    return
  }
  if (value === null || typeof value !== 'object') return
  const node = value as TreeNode
  if (node['type'] === 'BASE_TABLE') return addTable(node, ctes, tables)
  const scope = new Set(ctes)
  if (node['type'] === 'RECURSIVE_CTE_NODE') scope.add(lowerCase(node['cte_name']))
  // A CTE sees those before it but not itself, so its body is visited before its name is in scope.
  for (const cte of commonTables(node)) {
    visit(cte['value'], scope, tables)
    scope.add(lowerCase(cte['key']))
  }
  for (const [key, child] of Object.entries(node)) {
    if (key !== 'cte_map') visit(child, scope, tables)
  }
}

function addTable(node: TreeNode, ctes: ReadonlySet<string>, tables: Set<string>): void {
  const schema = lowerCase(node['schema_name'])
  const table = lowerCase(node['table_name'])
  if (schema === '' && ctes.has(table)) return
  tables.add(schema === '' || schema === 'main' ? table : `${schema}.${table}`)
}

function commonTables(node: TreeNode): readonly TreeNode[] {
  const cteMap = node['cte_map'] as TreeNode | undefined
  return (cteMap?.['map'] ?? []) as readonly TreeNode[]
}

function lowerCase(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase() : ''
}

/**
 * Model names so that every model comes after the models it reads; alphabetical where that leaves a choice.
 * @param existing tables that are there before any model runs
 * @throws JobtideError naming model and table when a model reads an unknown table or takes a name that is in use, or
 *   naming a circle of models
 */
export function runOrder(models: readonly ModelReads[], existing: readonly string[]): string[] {
  const readsOf = new Map<string, readonly string[]>()
  for (const { name, reads } of models) {
    if (readsOf.has(name) || existing.includes(name)) {
      throw new JobtideError(EXIT.defect, `model ${name}: there is another table of that name`)
    }
    readsOf.set(name, reads)
  }
  const done = new Set<string>(existing)
  const order: string[] = []

  const place = (name: string, trail: readonly string[]): void => {
    if (done.has(name)) return
    const reads = readsOf.get(name)
    if (reads === undefined) {
      throw new JobtideError(EXIT.defect, `model ${trail.at(-1)} reads ${name}: no such table`)
    }
    if (trail.includes(name)) {
      const circle = [...trail.slice(trail.indexOf(name)), name]
      throw new JobtideError(
        EXIT.defect,
        `models read each other in a circle: ${circle.join(' → ')}`,
      )
    }
    for (const table of reads.toSorted()) place(table, [...trail, name])
    done.add(name)
    order.push(name)
  }

  for (const name of [...readsOf.keys()].toSorted()) place(name, [])
  return order
}
