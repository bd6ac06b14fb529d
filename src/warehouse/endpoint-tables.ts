/**
 * Tables of endpoints (`-- endpoint:` in the header of a model), which do not exist before the first answer of one of
 * their endpoints.
 */

import { ConfigError } from '../support/errors.ts'
import { TIERS, readModelFiles, type TableDefinition } from './catalog.ts'
import { relationsIn } from './columns.ts'
import type { Warehouse } from './warehouse.ts'

export type Filled = Pick<TableDefinition, 'name' | 'endpoints'>

/** Whether it may be absent. */
export function isOfEndpoints({ endpoints = [] }: Filled): boolean {
  return endpoints.length > 0
}

export async function withoutAbsent<T extends Filled>(warehouse: Warehouse, tables: readonly T[]) {
  // Other schemas are the user's, who may have any name there.
  const ours: ReadonlySet<string> = new Set(TIERS)
  const relations = await relationsIn(warehouse)
  const there = new Set(relations.flatMap(({ schema, name }) => (ours.has(schema) ? name : [])))
  return tables.filter((table) => !isOfEndpoints(table) || there.has(table.name))
}

/** The reason why there may be no table of this name, and how to get it; null if it does not depend on endpoints. */
export function unaskedTable(table: string): ConfigError | null {
  const { name, endpoints: [first = '', ...others] = [] } =
    readModelFiles().find((model) => model.name === table.toLowerCase()) ?? {}
  if (first === '') return null
  const command = ASKED_BY[first]
  return new ConfigError(
    `there is no table ${name} yet: it comes with the first answer of ${[first, ...others].join(' or ')}`,
    {
      hint: `Run a pipeline of kind: collect with endpoint: ${first}${command === undefined ? '' : `, or ${command}`}. See docs/endpoints.md.`,
    },
  )
}

/** The command that asks an endpoint and comes with Jobtide. */
const ASKED_BY: Readonly<Record<string, string>> = {
  'company-profile': '`jobtide run companies`',
  'company-search': '`jobtide find companies`',
  'job-details': '`jobtide run postings`',
  'people-search': '`jobtide find people`',
  'post-search': '`jobtide run posts`',
  'signal-create': '`jobtide run signals`',
}
