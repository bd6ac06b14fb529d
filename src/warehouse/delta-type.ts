/** The types of columns that a Delta table, and so a snapshot, can hold. */

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

/** The Delta protocol's word for DuckDB's `type`; undefined where it has none. */
export function deltaType(type: string): DeltaType | undefined {
  if (type.endsWith('[]')) {
    const elementType = deltaType(type.slice(0, -2))
    return elementType && { type: 'array', elementType, containsNull: true }
  }
  const decimal = /^DECIMAL\((\d+),\s*(\d+)\)$/.exec(type)
  return decimal === null ? PRIMITIVES[type] : `decimal(${decimal[1]},${decimal[2]})`
}
