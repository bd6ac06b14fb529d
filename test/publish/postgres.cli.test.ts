/** Tables in a real PostgreSQL if it is installed (Debian's), else these tests are skipped with a message. */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { PASSWORD, hasPostgres, startPostgres } from '../helpers/postgres.ts'
import { callCli, done, startCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let server: Awaited<ReturnType<typeof startPostgres>>
const ask = (sql: string) => server.ask(sql)
let schemas = 0

const ODD = `
  create table odd as from (values
    (1, 'a,"b"' || chr(10) || 'ü', '', null, 170141183460469231731687303715884105727::hugeint,
     timestamptz '2026-01-02 03:04:05.678Z', ['x', null], 1.5::double, true, date '2026-01-02', 12.30::decimal(18, 2),
     {'a': 'nul' || chr(0) || chr(0) || chr(92) || chr(0) || '.', 'b': chr(92) || 'u0000'}, time '03:04:05', 'ab'::blob),
    (2, 'nul' || chr(0), null, 'x', null, null, null, 'nan'::double, null, null, null, null, null, null)
  ) as t(id, text, empty, nothing, huge, seen_at, list, ratio, yes, day, price, struct, clock, bytes);
  comment on table odd is 'It''s odd.';
  comment on column odd.seen_at is 'When.'`

/** A data directory with a table of every type, and its own schema. */
async function site(sql = ODD) {
  const dataDir = temporaryFolder()
  const schema = `s${(schemas += 1)}`
  const change = (statement: string) =>
    withWarehouse({ path: join(dataDir, 'jobtide.duckdb'), mode: 'write' }, (warehouse) =>
      warehouse.run(statement),
    )
  await change(sql)
  const args = (...more: readonly string[]) => {
    const to = more.includes('--to') ? [] : ['--to', '${JOBTIDE_PG_URL}']
    return ['export', '--data-dir', dataDir, '--json', '--schema', schema, ...to, ...more]
  }
  const env = { JOBTIDE_PG_URL: server.url }
  const run = (...more: readonly string[]) => callCli(args(...more), { env })
  const changed = async (...more: readonly string[]) => {
    const { tables } = JSON.parse(done(await run(...more)).stdout) as {
      tables: { name: string; rows: number; rows_changed: number | null }[]
    }
    return tables.map(({ name, rows_changed: rows }) => [name, rows])
  }
  return { dataDir, schema, change, args, env, run, changed }
}

describe.skipIf(!hasPostgres)('export --to postgres:// (skipped without a PostgreSQL)', () => {
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.remove())

  it('loads every type, comments and the key, without NUL; a repeat sends no row', async () => {
    const { schema, changed } = await site()
    expect(await changed('odd')).toEqual([['odd', 2]])
    expect(
      ask(
        `select id, text, empty is null, nothing is null, huge, seen_at at time zone 'utc', list, ratio, yes, day, price,
           struct, clock, bytes from ${schema}.odd order by id`,
      ),
    ).toBe(
      '1|a,"b"\nü|f|t|170141183460469231731687303715884105727|2026-01-02 03:04:05.678|["x", null]|1.5|t|2026-01-02|12.30|' +
        String.raw`{"a": "nul\\.", "b": "\\u0000"}|03:04:05|\x6162` +
        '\n2|nul|t|f||||NaN||||||',
    )
    expect(
      ask(
        `select format_type(atttypid, atttypmod) from pg_attribute where attrelid = '${schema}.odd'::regclass and attnum > 0 order by attnum`,
      ).split('\n'),
    ).toEqual([
      'integer',
      'text',
      'text',
      'text',
      'numeric',
      'timestamp with time zone',
      'jsonb',
      'double precision',
      'boolean',
      'date',
      'numeric(18,2)',
      'jsonb',
      'time without time zone',
      'bytea',
    ])
    expect(ask(`select col_description('${schema}.odd'::regclass, 6)`)).toBe('When.')
    expect(ask(`select obj_description('${schema}.odd'::regclass)`)).toMatch(
      /^It's odd\.\n\nExported by Jobtide \S+ at 2\S+Z, content [0-9a-f]{64}\.$/,
    )
    expect(await changed('odd')).toEqual([['odd', null]])
  })

  it('all tables of a warehouse have the primary keys of their models', async () => {
    const { schema, changed } = await site()
    const all = await changed()
    expect(all.length).toBe(6)
    expect(
      ask(
        `select string_agg(a.attname, ',' order by a.attnum) from pg_index i join pg_attribute a on a.attrelid = i.indrelid
         and a.attnum = any (i.indkey) where indisprimary and indrelid = '${schema}.answers'::regclass`,
      ),
    ).toBe('request_id')
    expect(new Set((await changed()).map(([, rows]) => rows))).toEqual(new Set([null]))
  })

  it('only changed rows are written: views, grants, indexes and the user’s new column stay', async () => {
    const { schema, change, changed } = await site(
      'create table answers_like as select range as id, range::varchar as text from range(1000)',
    )
    expect(await changed('answers_like')).toEqual([['answers_like', 1000]])
    ask(
      `create role reader_${schema}; grant select on ${schema}.answers_like to reader_${schema};
       create index on_text on ${schema}.answers_like (text);
       create view ${schema}.mine as select id, text from ${schema}.answers_like`,
    )
    await change(
      `update answers_like set text = 'new' where id = 7; alter table answers_like add column more integer`,
    )
    await changed('answers_like')
    expect(
      ask(
        `select text, has_table_privilege('reader_${schema}', '${schema}.answers_like', 'select'),
           to_regclass('${schema}.on_text') from ${schema}.mine where id = 7`,
      ),
    ).toBe(`new|t|${schema}.on_text`)
  })

  it('with a key, 2 changed rows of 1,000 are written as 2; a table whose column changed its type is refused if a view needs it', async () => {
    const { schema, change, changed, run } = await site('select 1')
    const rows = `select 'r' || range as request_id, range as n from range(1000)`
    await change(`drop table if exists answers; create table answers as ${rows}`)
    expect(await changed('answers')).toEqual([['answers', 1000]])
    await change(
      `update answers set n = -1 where request_id = 'r5'; delete from answers where request_id = 'r6'`,
    )
    expect(await changed('answers')).toEqual([['answers', 3]])
    expect(ask(`select count(*), min(n) from ${schema}.answers`)).toBe('999|-1')
    ask(`create view ${schema}.of_theirs as select n from ${schema}.answers`)
    await change('alter table answers alter n type varchar')
    const refused = await run('answers')
    expect(refused.exitCode).toBe(7)
    expect(refused.stderr).toContain(`view ${schema}.of_theirs depends on table`)
    expect(ask(`select count(*) from ${schema}.of_theirs`)).toBe('999')
    ask(`drop view ${schema}.of_theirs`)
    expect(await changed('answers')).toEqual([['answers', 999]])
  })

  it('a reader in the middle sees all tables as before, without waiting', async () => {
    const { schema, change, changed } = await site(
      'create table one as select 1 as n; create table two as select 1 as n',
    )
    await changed('one', 'two')
    await change('update one set n = 2; update two set n = 2')
    const { Client } = (await import('pg')).default
    const reader = new Client({ connectionString: server.url })
    await reader.connect()
    onTestFinished(() => reader.end())
    const sum = async () =>
      (await reader.query(`select one.n || ' ' || two.n as both from ${schema}.one, ${schema}.two`))
        .rows
    await reader.query('begin isolation level repeatable read')
    expect(await sum()).toEqual([{ both: '1 1' }])
    expect(await changed('one', 'two')).toEqual([
      ['one', 2],
      ['two', 2],
    ])
    expect(await sum()).toEqual([{ both: '1 1' }])
    await reader.query('commit')
    expect(await sum()).toEqual([{ both: '2 2' }])
  })

  it('a killed export leaves the tables unchanged, and the next one loads them', async () => {
    const { schema, change, changed, args, env } = await site(
      'create table large as select range as n, 1 as version from range(100)',
    )
    await changed('large')
    await change(
      'drop table large; create table large as select range as n, 2 as version from range(2_000_000)',
    )
    const running = startCli(args('large'), { env })
    const isCopying = `select count(*) from pg_stat_activity where query like 'copy %' and state = 'active'`
    await vi.waitFor(() => expect(ask(isCopying)).not.toBe('0'), { timeout: 30_000, interval: 5 })
    running.process.kill('SIGKILL')
    await running.ended.catch(() => undefined)
    expect(ask(`select count(*), max(version) from ${schema}.large`)).toBe('100|1')
    await vi.waitFor(() => expect(ask(isCopying)).toBe('0'), { timeout: 30_000 })
    expect(await changed('large')).toEqual([['large', 2_000_100]])
  })

  it('drops no foreign table, and then loads none of the others', async () => {
    const { schema, run } = await site()
    ask(
      `create schema ${schema}; create table ${schema}.odd (mine text); insert into ${schema}.odd values ('mine')`,
    )
    const { exitCode, stderr } = await run('answers', 'odd')
    expect([exitCode, stderr]).toEqual([
      7,
      expect.stringContaining(`${schema}.odd exists, but no export made it`),
    ])
    expect(ask(`select mine, to_regclass('${schema}.answers') is null from ${schema}.odd`)).toBe(
      'mine|t',
    )
  })

  it('says what is wrong with the server, the connection or the account, and never the password', async () => {
    const { dataDir, args, schema } = await site()
    const at = (url: string, env: Record<string, string> = {}, ...more: string[]) =>
      callCli(args('odd', ...more), { env: { JOBTIDE_PG_URL: url, ...env } })
    ask(
      `create role nobody login password 'another-secret'; revoke temporary on database postgres from public`,
    )
    onTestFinished(() => void ask('grant temporary on database postgres to public'))
    const where = `127.0.0.1:${server.port}`
    for (const [url, code, why] of [
      [
        `postgres://tester:wrong-secret@${where}/postgres`,
        7,
        'password authentication failed for user "tester"',
      ],
      [
        `postgres://tester@${where}/postgres`,
        7,
        'it requires a password for tester, but none is set',
      ],
      [`postgres://tester:${PASSWORD}@${where}/nowhere`, 7, 'database "nowhere" does not exist'],
      [`postgres://nobody:another-secret@${where}/postgres`, 7, 'permission denied'],
      [
        `postgres://tester:${PASSWORD}@127.0.0.1:1/postgres`,
        7,
        'postgres://127.0.0.1:1/postgres cannot be reached',
      ],
      [
        `postgres://tester:${PASSWORD}@${where}/postgres?sslmode=verify-full`,
        7,
        'does not support SSL',
      ],
      [`postgres://tester:${PASSWORD}@${where}/postgres?sslmode=prefer`, 2, 'sslmode: expected'],
      ['mysql://tester:wrong-secret@127.0.0.1/x', 2, 'JOBTIDE_PG_URL holds no address'],
    ] as const) {
      const { exitCode, stderr, stdout } = await at(url)
      expect([exitCode, stderr]).toEqual([code, expect.stringContaining(why)])
      expect(stderr + stdout).not.toMatch(/secret/)
    }
    const direct = ['--to', `postgres://tester:${PASSWORD}@${where}/postgres`]
    const written = await at('', {}, ...direct)
    expect([written.exitCode, written.stderr]).toEqual([
      2,
      expect.stringContaining('a password does not belong'),
    ])
    const open = await at(
      '',
      { PGPASSWORD: PASSWORD },
      '--to',
      `postgres://tester@${where}/postgres`,
      '--log-level',
      'trace',
    )
    expect(open.exitCode).toBe(0)
    const unset = await callCli(args('odd'))
    expect([unset.exitCode, unset.stderr]).toEqual([
      2,
      expect.stringContaining('JOBTIDE_PG_URL is not set'),
    ])
    for (const { stderr, stdout } of [written, open, unset])
      expect(stderr + stdout).not.toContain(PASSWORD)
    const kept = readdirSync(join(dataDir, 'databases')).map((name) =>
      readFileSync(join(dataDir, 'databases', name), 'utf8'),
    )
    expect(kept.join()).toContain(schema)
    expect(kept.join()).not.toMatch(/secret/)
  })

  it('two exports at once into one schema: the second one exits with 8', async () => {
    const { schema, args, env, run } = await site(
      'create table large as select range as n from range(1_000_000)',
    )
    const running = startCli(args('large'), { env })
    const isLocked = `select count(*) from pg_locks where locktype = 'advisory'`
    await vi.waitFor(() => expect(ask(isLocked)).toBe('1'), { timeout: 30_000, interval: 5 })
    const second = await run('large')
    expect([second.exitCode, second.stderr]).toEqual([
      8,
      expect.stringContaining(`another export loads schema ${schema}`),
    ])
    expect((await running.ended).exitCode).toBe(0)
  })
})
