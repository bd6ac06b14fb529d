/** Makes docs/tables.md from the headers of models and the comments of the schema. */

import { GROUPS, readCatalogue, type CatalogueTable } from '../../src/model/catalogue.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'

const HEAD = `# Tables

This page says what a row and each column of every table mean. \`npx jobtide models\` adds row counts and lineage.
\`npx jobtide models --html tables.html\` makes a page that you can search. [Other endpoints](endpoints.md) have their
own tables. Times are UTC. Columns that end in \`_at\` are instants, those in \`_on\` are dates.

The page is made from the headers of the models and the comments of the schema: do not edit it by hand.
`

type Section = Pick<CatalogueTable, 'name' | 'grain' | 'key' | 'purpose' | 'needs' | 'columns'>

/** The text of the page. */
export async function tablesPage(): Promise<string> {
  const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
  try {
    const tables = (await readCatalogue(warehouse, null)).toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    )
    const tiers = GROUPS.filter(({ schema }) => schema !== 'own').map(
      ({ schema, title, about }) => ({
        title,
        about,
        tables: tables.filter((one) => one.schema === schema),
      }),
    )
    const steps = tiers.pop()
    return [
      HEAD,
      ...tiers.map((tier) => `${wrapped(`**${tier.title}**: ${linksTo(tier.tables)}`, '')}\n`),
      ...tiers.flatMap((tier) => [headOf(tier), ...tier.tables.map(sectionText)]),
      '## For operators\n',
      ...(await operators(warehouse)).map(sectionText),
      ...(steps === undefined ? [] : [headOf(steps)]),
      ...(steps?.tables ?? []).map((one) => sectionText({ ...one, name: `core.${one.name}` })),
    ].join('\n')
  } finally {
    warehouse.close()
  }
}

/** The tables of ops, which the catalogue for analysts lacks. */
async function operators(warehouse: Warehouse): Promise<Section[]> {
  const rows = await warehouse.all<{ name: string; grain: string; columns: string }>(
    `select columns.schema_name || '.' || columns.table_name as name,
       any_value(coalesce(tables.comment, views.comment)) as grain,
       to_json(list(
         struct_pack(name := column_name, type := data_type, description := columns.comment)
         order by column_index
       )) as columns
     from duckdb_columns() as columns
     left join duckdb_tables() as tables using (schema_name, table_name)
     left join duckdb_views() as views
       on views.schema_name = columns.schema_name and views.view_name = columns.table_name
     where columns.schema_name = 'ops' group by all order by 1`,
  )
  const none = { key: [], purpose: null, needs: [] }
  return rows.map(({ name, grain, columns }) => {
    return { ...none, name, grain, columns: JSON.parse(columns) as Section['columns'] }
  })
}

function headOf({ title, about }: { readonly title: string; readonly about: string }): string {
  return `## ${title}\n\n${wrapped(about, '')}\n`
}

function linksTo(tables: readonly { readonly name: string }[]): string {
  return tables.map(({ name }) => `[${name}](#${name})`).join(', ')
}

function sectionText({ name, grain, key, purpose, needs, columns }: Section): string {
  const quoted = (names: readonly string[], word: string) =>
    names.map((one) => `\`${one}\``).join(word)
  const keyText = key.length === 0 ? '' : ` Key: ${quoted(key, ', ')}.`
  const from =
    needs.length === 0 ? '' : ` The table comes with the first answer of ${quoted(needs, ' or ')}.`
  const text = `${grain}${keyText}${purpose === null ? '' : ` ${purpose}`}${from}`
  const items = columns.map((column) =>
    wrapped(`- \`${column.name}\`: ${column.description ?? ''}`, '  '),
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
