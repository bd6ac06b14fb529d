/** Makes docs/tables.md from what the tables themselves say: headers of models, comments of the schema. */

import {
  loadedTables,
  readModelFiles,
  type ModelFile,
  type TableDefinition,
} from '../../src/warehouse/catalog.ts'
import { computedModels } from '../../src/model/computed-models.ts'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'

const HEAD = `# Tables

Made from the headers of the models and the comments of the schema; do not edit it by hand. \`npx jobtide models\` prints
the same with rows and lineage. Times are UTC; columns in \`_at\` are instants, in \`_on\` dates.
`

interface Section {
  readonly schema?: string
  readonly name: string
  readonly grain: string
  readonly key: readonly string[]
  readonly purpose: string
  readonly endpoints?: readonly string[]
  readonly columns: Iterable<readonly [string, string]>
}

/** The text of the page. */
export async function tablesPage(): Promise<string> {
  const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
  try {
    const columns = await warehouse.all<{ place: string; name: string; comment: string | null }>(
      `select schema_name || '.' || table_name as place, column_name as name, comment
       from duckdb_columns() where not internal order by schema_name, table_name, column_index`,
    )
    const columnsOf = (place: string) =>
      columns
        .filter((one) => one.place === place)
        .map((one) => [one.name, one.comment ?? ''] as const)
    const loaded = (table: TableDefinition): Section => ({
      ...table,
      purpose: '',
      columns: columnsOf(`main.${table.name}`),
    })
    const described = (table: ModelFile): Section => ({
      ...table,
      columns: table.columns,
    })
    const ops = await warehouse.all<{ name: string; comment: string }>(
      `select table_name as name, comment from duckdb_tables() where schema_name = 'ops'
       union all select view_name, comment from duckdb_views() where schema_name = 'ops' order by 1`,
    )
    const models = readModelFiles()
    const analysts = [
      ...loadedTables.map(loaded),
      ...computedModels.map(described),
      ...models.filter(({ schema }) => schema !== 'core').map(described),
    ].toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const operators = ops.map(({ name, comment }) => ({
      name: `ops.${name}`,
      grain: comment,
      key: [],
      purpose: '',
      columns: columnsOf(`ops.${name}`),
    }))
    const core = models
      .filter(({ schema }) => schema === 'core')
      .map((model) => ({ ...described(model), name: `core.${model.name}` }))
    const tiers = TIERS_SHOWN.map(({ tier, title, about }) => {
      const tables = analysts.filter(({ schema = 'main' }) => schema === tier)
      return { title, about, tables }
    })
    return [
      HEAD,
      ...tiers.map(({ title, tables }) => `${wrapped(`**${title}**: ${linksTo(tables)}`, '')}\n`),
      ...tiers.flatMap(({ title, about, tables }) => [
        `## ${title}\n\n${wrapped(about, '')}\n`,
        ...tables.map(sectionText),
      ]),
      '## For operators\n',
      ...operators.map(sectionText),
      '## Steps of the build\n\nSchema `core` serves the other models only. It is not published.\n',
      ...core.map(sectionText),
    ].join('\n')
  } finally {
    warehouse.close()
  }
}

const TIERS_SHOWN = [
  {
    tier: 'main',
    title: 'For every day',
    about: 'Schema `main`: most questions need no other table.',
  },
  {
    tier: 'detail',
    title: 'Details',
    about:
      "Schema `detail`: what the tables for every day are made from, and answers to rarer questions. `jobtide query` finds them without the schema; other programs name it, as in `detail.tenure_survival`, or `set search_path = 'main,detail,service'`.",
  },
  {
    tier: 'service',
    title: 'From other endpoints',
    about:
      'Schema `service`: each table comes with the first answer of its endpoint ([endpoints](endpoints.md)).',
  },
] as const

function linksTo(tables: readonly { readonly name: string }[]): string {
  return tables.map(({ name }) => `[${name}](#${name})`).join(', ')
}

function sectionText({ name, grain, key, purpose, endpoints = [], columns }: Section): string {
  const quoted = (names: readonly string[], word: string) =>
    names.map((one) => `\`${one}\``).join(word)
  const keyText = key.length === 0 ? '' : ` Key: ${quoted(key, ', ')}.`
  const needs =
    endpoints.length === 0 ? '' : ` It comes with the first answer of ${quoted(endpoints, ' or ')}.`
  const text = `${grain}${keyText}${purpose === '' ? '' : ` ${purpose}`}${needs}`
  const items = [...columns].map(([column, comment]) =>
    wrapped(`- \`${column}\`: ${comment}`, '  '),
  )
  return `### ${name}\n\n${wrapped(text, '')}\n\n${items.join('\n')}\n`
}

const WIDTH = 120

/** Breaks a text into lines of the documents' width. */
export function wrapped(text: string, indent: string): string {
  const lines = ['']
  for (const word of text.trim().split(/\s+/)) {
    const line = lines.at(-1) ?? ''
    const longer = line === '' ? word : line === indent ? `${line}${word}` : `${line} ${word}`
    if (longer.length <= WIDTH) lines[lines.length - 1] = longer
    else lines.push(`${indent}${word}`)
  }
  return lines.join('\n').trimEnd()
}
