/** The types of values that go into the engine and come out. */

/** A value bound to a parameter or appended to a table. A Date becomes a TIMESTAMPTZ, bytes a BLOB. */
export type SqlValue = string | number | bigint | boolean | Date | Uint8Array | null

export type Row = Readonly<Record<string, SqlValue>>

/** All rows have the same columns. */
export async function appendRows(
  warehouse: {
    append: (table: string, columns: Record<string, readonly SqlValue[]>) => Promise<void>
  },
  table: string,
  rows: readonly Row[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).map((name): [string, SqlValue[]] => {
    return [name, rows.map((row) => row[name] ?? null)]
  })
  if (columns.length > 0) await warehouse.append(table, Object.fromEntries(columns))
}

/** The parameters of a statement by place: values, and lists of at least one value. */
export type SqlList = readonly (SqlValue | readonly SqlValue[])[]

/** The parameters of a statement, by place or by name. */
export type SqlParameters = SqlList | Readonly<Record<string, SqlValue>>

/** A result set for display: values as JSON, exact (64-bit integers and decimals are strings). */
export interface ResultTable {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly unknown[])[]
}

export function asObjects({ columns, rows }: ResultTable): Readonly<Record<string, unknown>>[] {
  return rows.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at]])))
}

/** A result that is fetched as it is read: neither side holds more than a few thousand rows. */
export interface RowStream {
  readonly columns: ResultTable['columns']
  /** Some rows at a time, to be read once. @throws JobtideError if the statement fails midway */
  readonly batches: AsyncIterable<ResultTable['rows']>
}
