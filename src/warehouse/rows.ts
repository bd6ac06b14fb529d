/** What goes into the engine and what comes out. */

/** A value bound to a parameter or appended to a table. A Date becomes a TIMESTAMPTZ, bytes a BLOB. */
export type SqlValue = string | number | bigint | boolean | Date | Uint8Array | null

/** A planned statement: takes values or lists of them, returns rows by column. */
export type Prepared<Value> = (
  parameters: readonly (SqlValue | readonly SqlValue[])[],
) => Promise<Readonly<Record<string, readonly Value[]>>>

/** A result set for display: values as JSON, exact (64-bit integers and decimals are strings). */
export interface ResultTable {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly unknown[])[]
}

/** A result that is fetched as it is read: neither side holds more of it than a few thousand rows. */
export interface RowStream {
  readonly columns: ResultTable['columns']
  /** The next rows, at least one; null after the last. @throws BrokenOffError */
  next(): Promise<ResultTable['rows'] | null>
}

/** The rows of a stream, one by one. */
export async function* eachRow(stream: RowStream): AsyncGenerator<readonly unknown[]> {
  for (let rows = await stream.next(); rows !== null; rows = await stream.next()) yield* rows
}
