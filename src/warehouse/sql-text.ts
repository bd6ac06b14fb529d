/** Names and texts in SQL. Pure. */

/** Quotes an identifier for SQL text; values are bound as parameters, never quoted. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes a text literal for the few places where DuckDB takes no parameter, such as COPY options. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Takes `schema.table` apart; a name without a schema has null. */
export function splitName(table: string): [schema: string | null, name: string] {
  const dot = table.indexOf('.')
  return dot < 0 ? [null, table] : [table.slice(0, dot), table.slice(dot + 1)]
}
