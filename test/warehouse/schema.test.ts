import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** A warehouse made with a copy of the shipped schema files, and the folder of the copy. */
async function aWarehouse() {
  const folder = temporaryFolder()
  const schemaFolder = join(folder, 'schema')
  cpSync(join('sql', 'schema'), schemaFolder, { recursive: true })
  const path = join(folder, 'jobtide.duckdb')
  const open = () => openWarehouse({ path, mode: 'write', schemaFolder })
  const warehouse = await open()
  warehouse.close()
  return { path, schemaFolder, open }
}

describe('schema files', () => {
  it('are applied once', async () => {
    const { open } = await aWarehouse()
    const warehouse = await open()
    const rows = await warehouse.all<{ file_name: string }>('select * from ops.schema_files')
    expect(rows.map(({ file_name }) => file_name)).toEqual([
      '000001_events.sql',
      '000002_operations.sql',
      '000003_views.sql',
    ])
    warehouse.close()
  })

  it('that come later are applied to a warehouse that exists, in order', async () => {
    const { open, schemaFolder } = await aWarehouse()
    writeFileSync(join(schemaFolder, '000005_b.sql'), 'create table b as select * from a;')
    writeFileSync(join(schemaFolder, '000004_a.sql'), 'create table a (n integer);')
    writeFileSync(join(schemaFolder, 'notes.txt'), 'not a schema file')
    const warehouse = await open()
    expect(await warehouse.all('select * from b')).toEqual([])
    warehouse.close()
  })

  it('that changed after they were applied are refused by name', async () => {
    const { open, schemaFolder } = await aWarehouse()
    writeFileSync(join(schemaFolder, '000002_operations.sql'), '-- something else')
    await expect(open()).rejects.toThrow('000002_operations.sql changed after it was applied')
  })

  it('that a newer version applied are refused with exit 2, and the file stays as it is', async () => {
    const { open, schemaFolder } = await aWarehouse()
    const newer = join(schemaFolder, '000004_newer.sql')
    writeFileSync(newer, 'create table newer (n integer);')
    const warehouse = await open()
    warehouse.close()
    rmSync(newer)
    await expect(open()).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('made by a newer Jobtide (schema file 000004_newer.sql)'),
    })
  })

  it('that fail half-way leave nothing behind and are applied whole the next time', async () => {
    const { open, schemaFolder } = await aWarehouse()
    const file = join(schemaFolder, '000004_half.sql')
    writeFileSync(file, 'create table half (n integer); create table half (n integer);')
    await expect(open()).rejects.toMatchObject({ name: 'SqlError' })
    writeFileSync(file, 'create table half (n integer);')
    const warehouse = await open()
    expect(await warehouse.all('select * from half')).toEqual([])
    warehouse.close()
  })
})
