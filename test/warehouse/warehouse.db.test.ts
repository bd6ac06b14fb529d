import { spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { withoutAbsent } from '../../src/warehouse/endpoint-tables.ts'
import { compactDatabase } from '../../src/warehouse/erase-rows.ts'
import { asWarehouseError } from '../../src/warehouse/errors.ts'
import { quoteIdentifier, quotePath, quoteText } from '../../src/warehouse/sql-text.ts'
import type { SqlValue } from '../../src/warehouse/rows.ts'
import type { WarehouseOptions } from '../../src/warehouse/engine-settings.ts'
import { applySchema } from '../../src/warehouse/warehouse.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'

const filePath = () => join(temporaryFolder(), 'jobtide.duckdb')
async function opened(options: WarehouseOptions): Promise<Warehouse> {
  const warehouse = await openWarehouse(options)
  onTestFinished(() => warehouse.close())
  return warehouse
}

let memory: Warehouse
beforeAll(async () => {
  memory = await memoryWarehouse({ threads: 1 })
})
afterAll(() => memory.close())

/** A closed warehouse file with 300 events. */
async function aFile(): Promise<string> {
  const path = filePath()
  const warehouse = await openWarehouse({ path, mode: 'write' })
  await insertEvents(
    warehouse,
    Array.from({ length: 300 }, (_, i) => ({ profile_id: `per_${i}` })),
  )
  warehouse.close()
  return path
}

it('does not take a table in a schema of the user for one that an endpoint fills', async () => {
  const warehouse = await memoryWarehouse({ threads: 1 })
  onTestFinished(() => warehouse.close())
  await warehouse.run('create schema crm; create table crm.people_found (n integer)')
  const table = { name: 'people_found', endpoints: ['people-search'] }
  expect(await withoutAbsent(warehouse, [table])).toEqual([])
})

describe('the first creation of a warehouse file', () => {
  it.each([
    ['an empty one', Buffer.alloc(0)],
    ['half of a header', Buffer.alloc(2_000, 7)],
  ])(
    'leaves the file and nothing else, also after a killed process that left %s',
    async (_, bytes) => {
      const path = filePath()
      writeFileSync(`${path}.new`, bytes)
      writeFileSync(`${path}.new.wal`, 'leftover')
      const warehouse = await openWarehouse({ path, mode: 'write' })
      await insertEvents(warehouse, [{}])
      warehouse.close()
      expect(readdirSync(join(path, '..'))).toEqual(['jobtide.duckdb'])
    },
  )
})

describe('a warehouse file', () => {
  it('needs DuckDB 1.3 for reading, even after it was copied for an erasure', async () => {
    const path = await aFile()
    const versionOf = async () => {
      await memory.run(`attach ${quoteText(path)} as file (read_only)`)
      const [file] = await memory.all<{ version: string }>(
        `select tags['storage_version'] as version from duckdb_databases() where database_name = 'file'`,
      )
      await memory.run('detach file')
      return file?.version
    }
    expect(await versionOf()).toBe('v1.3.0+')
    await compactDatabase(path)
    expect(await versionOf()).toBe('v1.3.0+')
  })
})

describe('a warehouse whose file was deleted', () => {
  it('begins empty, without the log of the old one', async () => {
    const path = filePath()
    // Ends without closing, so that its transaction is in the log only.
    const script = `
      const { openWarehouse } = await import(${JSON.stringify(join(packageRoot, 'dist', 'warehouse', 'warehouse.js'))})
      const warehouse = await openWarehouse({ path: ${JSON.stringify(path)}, mode: 'write' })
      await warehouse.run("insert into ops.journal_positions (segment, bytes) values ('a.journal', 7)")
      process.kill(process.pid, 'SIGKILL')`
    spawnSync(process.execPath, ['--input-type=module', '-e', script])
    expect(existsSync(`${path}.wal`)).toBe(true)
    rmSync(path)
    const warehouse = await openWarehouse({ path, mode: 'write' })
    expect(await warehouse.all('select * from ops.journal_positions')).toEqual([])
    warehouse.close()
  })
})

describe('a path', () => {
  it.each(['**', 'a*', '[ab]', 'a[b'])(
    'with %s in it names one file, and no other',
    async (name) => {
      const folder = temporaryFolder()
      for (const one of [name, 'a', 'ab']) {
        const path = join(folder, one, 'x.parquet')
        mkdirSync(join(folder, one))
        await memory.run(`copy (select ${quoteText(one)} as found) to ${quoteText(path)}`)
      }
      const path = quotePath(join(folder, name, 'x.parquet'))
      const found = await memory.all(`select found from read_parquet(${path})`)
      expect(found).toEqual([{ found: name }])
    },
  )

  it('with a folder in place of the warehouse is exit 9', async () => {
    const path = temporaryFolder()
    await expect(openWarehouse({ path, mode: 'write' })).rejects.toMatchObject({ exitCode: 9 })
  })
})

it.each([
  ['Out of Memory Error: could not allocate block (96.0 MiB used)', 'DuckDB ran out of memory in'],
  ['FATAL Error: fsync failed!', 'the disk refused a write to'],
  [
    'FATAL Error: Failed to create checkpoint because of error: fsync failed!',
    'the disk refused a write to',
  ],
  [
    'IO Error: Cannot open file "w.wal": Too many open files',
    'jobtide.duckdb: this process has too many files open',
  ],
  [
    'libduckdb.so: cannot open shared object file: Too many open files',
    'jobtide.duckdb: this process has too many files open',
  ],
  [
    'IO Error: Cannot open file "w": Too many open files in system',
    'jobtide.duckdb: this machine has too many files open',
  ],
  [
    'IO Error: Cannot open file "/nowhere/scratch/x.parquet": No space left on device',
    'jobtide.duckdb: the disk is full (ENOSPC)',
  ],
  ...[
    'TransactionContext Error: Failed to commit',
    'Error: Failure while replaying WAL file "w"',
  ].map((text) => [
    `${text}: failed to offload data block of size 256.0 KiB (0 bytes/0 bytes used).`,
    'the disk has no room next to',
  ]),
])('is exit 9 instead of damage or a defect: %s', (text, message) => {
  expect(asWarehouseError(new Error(text), 'jobtide.duckdb')).toMatchObject({
    name: 'StorageError',
    exitCode: 9,
    message: expect.stringContaining(message ?? '') as unknown,
    hint: expect.stringMatching(/continues where it stopped|Nothing is lost/) as unknown,
  })
})

describe('a warehouse opened to read', () => {
  it('changes no byte, and refuses to write', async () => {
    const path = await aFile()
    const before = readFileSync(path)
    const { mtimeMs } = statSync(path)
    const warehouse = await openWarehouse({ path, mode: 'read' })
    const [count] = await warehouse.all<{ n: bigint }>(
      'select count(*) as n from job_change_events',
    )
    expect(count?.n).toBe(300n)
    await expect(warehouse.run('delete from job_change_events')).rejects.toThrow(/read-only/)
    warehouse.close()
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(statSync(path).mtimeMs).toBe(mtimeMs)
    expect(readdirSync(join(path, '..'))).toEqual(['jobtide.duckdb'])
  })

  it('needs a file: exit 2, and none is created', async () => {
    const path = filePath()
    await expect(openWarehouse({ path, mode: 'read' })).rejects.toMatchObject({
      name: 'ConfigError',
      exitCode: 2,
    })
    expect(existsSync(path)).toBe(false)
  })
})

describe('a warehouse that another process holds', () => {
  it('is locked: exit 8 and the program’s name, after 5 s for a writer, and it opens once the other has ended', async () => {
    const path = await aFile()
    const engine = import.meta.resolve('@duckdb/node-api')
    const script = `
      import { DuckDBInstance } from ${JSON.stringify(engine)}
      const instance = await DuckDBInstance.create(${JSON.stringify(path)})
      await instance.connect()
      process.stdout.write('open')
      setInterval(() => instance, 1000)
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    onTestFinished(() => void child.kill('SIGKILL'))
    await new Promise((resolve) => child.stdout.once('data', resolve))
    for (const mode of ['read', 'write'] as const) {
      const error: unknown = await openWarehouse({ path, mode }).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ name: 'LockedError', exitCode: 8 })
      expect((error as Error).message).toContain(path)
      expect((error as Error).message).toMatch(new RegExp(`node.*${child.pid}`))
    }
    // As after a read-only command: a writer waits up to 5 seconds.
    setTimeout(() => child.kill('SIGKILL'), 500)
    const warehouse = await openWarehouse({ path, mode: 'write' })
    await ended
    warehouse.close()
  })
})

describe('a damaged warehouse file', () => {
  const damages: [string, (path: string) => Promise<void> | void][] = [
    [
      'is no database',
      (path) => writeFileSync(path, 'this is a text file, not a database\n'.repeat(500)),
    ],
    ['is cut to 5,000 bytes', (path) => truncateSync(path, 5_000)],
    ['has zeros for its first blocks', (path) => overwrite(path, 12_288, 524_288)],
  ]
  it.each(damages)('that %s: exit 9 and the way to rebuild it', async (_, damage) => {
    const path = await aFile()
    await damage(path)
    const work = async () => {
      const warehouse = await openWarehouse({ path, mode: 'write' })
      try {
        await warehouse.all('select * from job_change_events')
      } finally {
        warehouse.close()
      }
    }
    const error: unknown = await work().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'WarehouseDamagedError', exitCode: 9 })
    expect(error).toMatchObject({ hint: expect.stringContaining('jobtide replay') })
  })

  async function overwrite(path: string, from: number, bytes: number): Promise<void> {
    const file = await open(path, 'r+')
    await file.write(Buffer.alloc(Math.min(bytes, statSync(path).size - from)), 0, undefined, from)
    await file.close()
  }
})

describe('errors about the SQL', () => {
  it.each([
    `select cast('disk full' as integer)`,
    `select cast('corrupt checksum' as integer)`,
    `select cast('permission denied' as timestamptz)`,
    `select 'could not set lock on file' + 1`,
    `select "no space left" from job_change_events`,
    `select * from "could not read enough bytes"`,
    `corrupt checksum`,
    `select error('read-only file system')`,
  ])('are SQL errors even if they quote other words: %s', async (sql) => {
    await expect(memory.all(sql)).rejects.toMatchObject({ name: 'SqlError', exitCode: 1 })
  })
})

describe('append', () => {
  const moment = new Date('2026-03-01T10:20:30.456Z')
  const kinds: Record<string, (i: number) => SqlValue> = {
    a_varchar: (i) => (i % 3 === 0 ? null : `text ${i} é 漢 🎈 ' "`),
    an_integer: (i) => (i % 5 === 0 ? null : i - 1_000),
    a_bigint: (i) => BigInt(i) * 2_000_000_000_000_003n,
    a_double: (i) => i / 7,
    a_boolean: (i) => (i % 4 === 0 ? null : i % 2 === 0),
    a_timestamptz: (i) => (i % 6 === 0 ? null : new Date(moment.getTime() - i * 86_400_001)),
  }

  it.each([0, 2_048, 4_097])('keeps %i rows of every type', async (rows) => {
    await memory.run(`create or replace table t (
      n integer, a_varchar varchar, an_integer integer, a_bigint bigint, a_double double, a_boolean boolean,
      a_timestamptz timestamptz, left_out varchar)`)
    const numbers = Array.from({ length: rows }, (_, i) => i)
    const columns = Object.fromEntries(
      Object.entries(kinds).map(([name, value]) => [name, numbers.map(value)]),
    )
    await memory.append('t', { n: numbers, ...columns })
    const found = await memory.all<Record<string, SqlValue>>('select * from t order by n')
    expect(found).toEqual(
      numbers.map((n) => ({
        n,
        ...Object.fromEntries(Object.entries(kinds).map(([name, value]) => [name, value(n)])),
        left_out: null,
      })),
    )
  })

  it('keeps instants before 1970 and in the year 9999 to the millisecond', async () => {
    await memory.run('create or replace table t (seen_at timestamptz)')
    const instants = [
      '0001-01-01T00:00:00.001Z',
      '1969-12-31T23:59:59.999Z',
      '9999-12-31T23:59:59.999Z',
    ]
    await memory.append('t', { seen_at: instants.map((text) => new Date(text)) })
    const rows = await memory.all<{ seen_at: Date }>('select * from t order by 1')
    expect(rows.map(({ seen_at }) => seen_at.toISOString())).toEqual(instants)
  })

  it('refuses a column that the table does not have, and columns of different lengths', async () => {
    await memory.run('create or replace table t (a integer, b integer)')
    await expect(memory.append('t', { a: [1], c: [1] })).rejects.toThrow('t has no column c')
    await expect(memory.append('t', { a: [1, 2], b: [1] })).rejects.toThrow('b has 1 of 2 values')
    expect(await memory.all('select * from t')).toEqual([])
  })
})

describe('a text that begins with U+FEFF', () => {
  it('is read back as stored, short or long, in every way', async () => {
    const ids = ['\ufeffper_1', `\ufeff\ufeff${'p'.repeat(40)}`]
    const sql = `select unnest(['${ids.join("','")}']) as id`
    expect(await memory.all(sql)).toEqual(ids.map((id) => ({ id })))
    expect((await memory.table(sql)).rows).toEqual(ids.map((id) => [id]))
    expect(await memory.columns(sql)).toEqual({ id: ids })
    const { batches } = await memory.stream(sql)
    for await (const batch of batches) expect(batch).toEqual(ids.map((id) => [id]))
  })
})

describe('transaction', () => {
  it('keeps everything or nothing, and the connection still works', async () => {
    await memory.run('create or replace table t (a integer)')
    const reason = new Error('in the middle')
    const work = memory.transaction(async () => {
      await memory.run('insert into t values (1)')
      await memory.append('t', { a: [2] })
      throw reason
    })
    await expect(work).rejects.toBe(reason)
    expect(await memory.all('select * from t')).toEqual([])
    const result = await memory.transaction(async () => {
      await memory.run('insert into t values (3)')
      return 'done'
    })
    expect(result).toBe('done')
    expect(await memory.all('select * from t')).toEqual([{ a: 3 }])
  })
})

describe('a quoted text', () => {
  it.each([
    `'; drop table t; --`,
    `" ; drop schema ops; --`,
    `$1`,
    `\\'; select 1`,
    `漢字 \u202e 🎈`,
  ])('survives as a value and as a name: %j', async (text) => {
    const rows = await memory.all(`select ${quoteText(text)} as ${quoteIdentifier(text)}`)
    expect(rows).toEqual([{ [text]: text }])
  })
})

describe('schema files', () => {
  /**
   * A warehouse made with the shipped schema files, a further file in a copy of their folder, and a function that
   * applies them.
   */
  async function aWarehouse() {
    const folder = join(temporaryFolder(), 'schema')
    cpSync(join('sql', 'schema'), folder, { recursive: true })
    const warehouse = await opened({ path: ':memory:', mode: 'write' })
    const apply = () => applySchema(warehouse, folder)
    return { warehouse, file: (name: string) => join(folder, name), apply }
  }

  it('that come later are applied to an existing warehouse, once, in order', async () => {
    const { warehouse, apply, file } = await aWarehouse()
    writeFileSync(file('000008_b.sql'), 'create table b as select * from a;')
    writeFileSync(file('000007_a.sql'), 'create table a (n integer);')
    writeFileSync(file('notes.txt'), 'not a schema file')
    await apply()
    await apply()
    expect(await warehouse.all('select * from b')).toEqual([])
    const [applied] = await warehouse.all('select count(*)::int as n from ops.schema_files')
    expect(applied).toEqual({ n: readdirSync(join('sql', 'schema')).length + 2 })
  })

  it('that changed after they were applied are refused by name', async () => {
    const { warehouse, apply, file } = await aWarehouse()
    writeFileSync(file('000002_operations.sql'), '-- something else')
    writeFileSync(file('000001_a.sql'), 'create table a (n integer);')
    await expect(apply()).rejects.toThrow('000002_operations.sql changed after it was applied')
    // Not even earlier ones.
    await expect(warehouse.all('from a')).rejects.toThrow('does not exist')
  })

  it('that a newer version applied are refused with exit 2', async () => {
    const { apply, file } = await aWarehouse()
    writeFileSync(file('000004_newer.sql'), 'create table newer (n integer);')
    await apply()
    rmSync(file('000004_newer.sql'))
    await expect(apply()).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('made by a newer Jobtide: its schema has 000004_newer.sql'),
    })
  })

  it('that fail half-way leave nothing behind and are applied completely the next time', async () => {
    const { warehouse, apply, file } = await aWarehouse()
    writeFileSync(
      file('000004_half.sql'),
      'create table half (n integer); create table half (n integer);',
    )
    await expect(apply()).rejects.toMatchObject({ name: 'SqlError' })
    writeFileSync(file('000004_half.sql'), 'create table half (n integer);')
    await apply()
    expect(await warehouse.all('select * from half')).toEqual([])
  })
})
