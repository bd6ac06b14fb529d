import { describe, expect, it } from 'vitest'
import { needsTimestampNtz, schemaString } from '../../../src/publish/delta/schema.ts'

const tableOf = (...types: string[]) => ({
  name: 't',
  schema: types.map((type, index) => {
    const comment = index === 0 ? 'What it is.' : null
    return { name: `c${index}`, type, field_id: index + 1, comment }
  }),
})

describe('the schema in a Delta log', () => {
  it('has a word for each of the 12 types, decimals and lists', () => {
    const types = ['BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'FLOAT', 'DOUBLE']
    types.push('VARCHAR', 'BLOB', 'DATE', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE')
    types.push('DECIMAL(38,0)', 'VARCHAR[]')
    const { fields } = JSON.parse(schemaString(tableOf(...types))) as {
      fields: { type: unknown; nullable: boolean; metadata: object }[]
    }
    expect(fields.map(({ type }) => type)).toEqual([
      'boolean',
      'byte',
      'short',
      'integer',
      'long',
      'float',
      'double',
      'string',
      'binary',
      'date',
      'timestamp_ntz',
      'timestamp',
      'decimal(38,0)',
      { type: 'array', elementType: 'string', containsNull: true },
    ])
    expect(fields.every(({ nullable }) => nullable)).toBe(true)
    expect(fields.map(({ metadata }) => metadata).slice(0, 2)).toEqual([
      { comment: 'What it is.' },
      {},
    ])
  })

  it('refuses a type that the protocol does not have, with the name of the column', () => {
    expect(() => schemaString(tableOf('INTEGER', 'UBIGINT'))).toThrow(/t\.c1 is a UBIGINT/)
    expect(() => schemaString(tableOf('TIME'))).toThrow(/cannot hold/)
  })

  it('needs a feature of its own for times without a zone only', () => {
    expect(needsTimestampNtz(tableOf('TIMESTAMP WITH TIME ZONE', 'DATE'))).toBe(false)
    expect(needsTimestampNtz(tableOf('TIMESTAMP'))).toBe(true)
    expect(needsTimestampNtz(tableOf('TIMESTAMP[]'))).toBe(true)
  })
})
