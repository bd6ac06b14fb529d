/** Names and texts in SQL. Pure. */

/** Quotes an identifier for SQL text; values are bound as parameters, never quoted. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Quotes a text for the few places where DuckDB takes no parameter, such as COPY options; NUL would end the statement. */
export function quoteText(text: string): string {
  const literals = text.split('\0').map((part) => `'${part.replaceAll("'", "''")}'`)
  return literals.length === 1 ? literals.join('') : `(${literals.join(' || chr(0) || ')})`
}

/** Quotes a path for functions that take patterns. None can express a backslash, but one without a match is literal. */
export function quotePath(path: string): string {
  return quoteText(path.includes('\\') ? path : path.replaceAll(/[*?[]/g, '[$&]'))
}
