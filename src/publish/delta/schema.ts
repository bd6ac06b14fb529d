/** The columns of a published table in the words of the Delta protocol. Pure. */

import { PublishError } from '../errors.ts'
import type { ManifestTable } from '../manifest.ts'

type DeltaType = string | { type: 'array'; elementType: DeltaType; containsNull: boolean }

const PRIMITIVES: Readonly<Record<string, string>> = {
  BOOLEAN: 'boolean',
  TINYINT: 'byte',
  SMALLINT: 'short',
  INTEGER: 'integer',
  BIGINT: 'long',
  FLOAT: 'float',
  DOUBLE: 'double',
  VARCHAR: 'string',
  BLOB: 'binary',
  DATE: 'date',
  'TIMESTAMP WITH TIME ZONE': 'timestamp',
}
const DECIMAL = /^DECIMAL\((\d+),\s*(\d+)\)$/

/**
 * The `schemaString` of a table. Every column may be null there: the protocol has no way to add one that may not.
 * @throws PublishError for a column whose type the Delta protocol does not have
 */
export function schemaString(table: Pick<ManifestTable, 'name' | 'schema'>): string {
  const fields = table.schema.map(({ name, type, comment }) => {
    const word = deltaType(type)
    if (word === undefined) {
      throw new PublishError(
        `${table.name}.${name} is a ${type}, which a Delta table cannot hold`,
        {
          hint: 'In the model, cast it to a plain type: bigint, double, decimal, varchar, date, timestamptz or a list of one.',
        },
      )
    }
    return { name, type: word, nullable: true, metadata: comment === null ? {} : { comment } }
  })
  return JSON.stringify({ type: 'struct', fields })
}

/** The Delta protocol's word for DuckDB's `type`; undefined where it has none. */
function deltaType(type: string): DeltaType | undefined {
  if (type.endsWith('[]')) {
    const elementType = deltaType(type.slice(0, -2))
    return elementType && { type: 'array', elementType, containsNull: true }
  }
  const decimal = DECIMAL.exec(type)
  return decimal === null ? PRIMITIVES[type] : `decimal(${decimal[1]},${decimal[2]})`
}
