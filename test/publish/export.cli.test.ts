/** Tables in other forms; into a real PostgreSQL where it is installed (Debian's), else that test is skipped and says so. */

import { spawnSync, type SpawnSyncOptions } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { callCli, done } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const ODD = `
  create table odd as from (values
    (1, 'a,"b"' || chr(10) || 'ü', '', null, 170141183460469231731687303715884105727::hugeint,
     timestamptz '2026-01-02 03:04:05.678Z', [1, 2], 1.5::double, true, date '2026-01-02'),
    (2, 'nul' || chr(0), null, 'x', null, null, null, null, null, null)
  ) as t(id, text, empty, nothing, huge, seen_at, list, ratio, yes, day);
  comment on table odd is 'It''s odd.';
  comment on column odd.seen_at is 'When.'`

async function site() {
  const dataDir = temporaryFolder()
  const path = join(dataDir, 'jobtide.duckdb')
  await withWarehouse({ path, mode: 'write' }, (warehouse) => warehouse.run(ODD))
  const to = join(dataDir, 'export')
  const run = (...args: readonly string[]) =>
    callCli(['export', '--data-dir', dataDir, '--json', ...args])
  return { dataDir, path, to, run }
}

it('writes a folder of CSV and its script, and a DuckDB file with rows, types and comments; each replaces the one before', async () => {
  const { dataDir, to, run } = await site()
  const first = JSON.parse(done(await run('--to', to)).stdout) as { rows: number }
  expect(first).toMatchObject({ rows: 2 })
  expect(readdirSync(to)).toEqual(expect.arrayContaining(['odd.csv', 'job_change_events.csv']))
  done(await run('--to', to, '--tables', 'odd'))
  expect(readdirSync(to).toSorted()).toEqual(['load.sql', 'odd.csv'])
  expect(readFileSync(join(to, 'odd.csv'), 'utf8')).toBe(
    'id,text,empty,nothing,huge,seen_at,list,ratio,yes,day\n' +
      '1,"a,""b""\nü","",,170141183460469231731687303715884105727,2026-01-02 03:04:05.678+00,"[1,2]",1.5,true,2026-01-02\n' +
      '2,nul,,x,,,,,,\n',
  )
  const file = join(dataDir, 'out.duckdb')
  for (const names of ['job_change_events', 'odd']) done(await run('--to', file, '--tables', names))
  await withWarehouse({ path: file, mode: 'read' }, async (out) => {
    expect(await out.all('select id, ascii(text[4:4]) as nul, yes from odd')).toMatchObject([
      { id: 1 },
      { id: 2, yes: null },
    ])
    const comments = await out.all(
      `select comment from duckdb_tables() where table_name in ('odd', 'job_change_events')
       union all select comment from duckdb_columns() where column_name = 'seen_at' and comment is not null`,
    )
    expect(comments).toEqual([{ comment: "It's odd." }, { comment: 'When.' }])
  })
})

it('refuses an unknown table, a server, and a folder that no export made, and changes nothing', async () => {
  const { dataDir, to, run } = await site()
  for (const [args, why] of [
    [['--to', to, '--tables', 'nonsense'], 'there is no table "nonsense"'],
    [['--to', 'postgres://db/people'], 'connects to no server'],
    [['--to', dataDir], 'keeps its own files'],
  ] as const) {
    const { exitCode, stderr } = await run(...args)
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(why)])
  }
  expect(readdirSync(dataDir)).toEqual(['jobtide.duckdb'])
})

it('refuses what no export made, and what Jobtide itself keeps, also where it is not there yet; nothing is changed', async () => {
  const { dataDir, path, run } = await site()
  const folder = temporaryFolder()
  const at = (name: string) => join(folder, name)
  await withWarehouse({ path: at('theirs.duckdb'), mode: 'write' }, (warehouse) =>
    warehouse.run('create table theirs as select 1 as one; checkpoint'),
  )
  for (const name of ['notes', 'a-folder.duckdb']) mkdirSync(at(name))
  for (const name of ['notes/load.sql', 'text.duckdb', 'a-file']) writeFileSync(at(name), 'mine')
  // An export, and something of the user's in it since.
  done(await run('--to', at('export'), '--tables', 'odd'))
  writeFileSync(at('export/my-load.sql'), 'mine')
  done(await run('--to', at('export.duckdb'), '--tables', 'odd'))
  done(await run('--to', at('export.duckdb'), '--tables', 'odd'))
  await withWarehouse({ path: at('export.duckdb'), mode: 'write' }, (warehouse) =>
    warehouse.run('create table mine as select 1 as one; checkpoint'),
  )
  writeFileSync(at('empty.duckdb'), '')
  symlinkSync(path, at('link.duckdb'))
  symlinkSync(dataDir, at('data'))
  const contents = () =>
    [
      path,
      ...['theirs.duckdb', 'text.duckdb', 'a-file', 'notes/load.sql', 'export/my-load.sql'].map(at),
    ].map((file) => readFileSync(file).toString('base64'))
  const names = () => [readdirSync(dataDir), readdirSync(folder).toSorted()]
  const before = [contents(), names()]
  const others = [
    'theirs.duckdb',
    'text.duckdb',
    'empty.duckdb',
    'a-folder.duckdb',
    'notes',
    'a-file',
    'export',
    'export.duckdb',
  ]
  const own = ['jobtide.duckdb', 'analyst.duckdb', 'journal', 'reports/x', 'scratch/x.duckdb']
  for (const [to, why] of [
    ...others.map((name) => [at(name), 'no export made all of it']),
    ...own.map((name) => [join(dataDir, name), 'keeps its own files']),
    [at('link.duckdb'), 'keeps its own files'],
    [at('data/jobtide.duckdb'), 'keeps its own files'],
  ] as [string, string][]) {
    const { exitCode, stderr } = await run('--to', to, '--tables', 'odd')
    expect([to, exitCode, stderr]).toEqual([to, 2, expect.stringContaining(why)])
  }
  expect([contents(), names()]).toEqual(before)
})

const BIN = '/usr/lib/postgresql'
const bin = existsSync(BIN) ? join(BIN, readdirSync(BIN).at(-1) ?? '', 'bin') : null
// Its client may be here alone.
const hasServer = bin !== null && existsSync(join(bin, 'initdb'))

it.skipIf(!hasServer)(
  'load.sql fills a real PostgreSQL twice, and a load that fails changes nothing (skipped without it)',
  { timeout: 60_000 },
  async () => {
    const { to, run } = await site()
    done(await run('--to', to, '--tables', 'odd'))
    const psql = startPostgres(temporaryFolder())
    for (const _ of [1, 2]) expect(psql(['-f', 'load.sql'], to)).toMatchObject({ status: 0 })
    const ask = (sql: string) => String(psql(['-At', '-c', sql], to).stdout).trim()
    expect(
      ask(
        `select id, text, empty is null, nothing is null, huge, seen_at at time zone 'utc', list->>1, day from odd order by id`,
      ),
    ).toBe(
      '1|a,"b"\nü|f|t|170141183460469231731687303715884105727|2026-01-02 03:04:05.678|2|2026-01-02\n2|nul|t|f||||',
    )
    expect(
      ask(`select obj_description('odd'::regclass), col_description('odd'::regclass, 6)`),
    ).toBe("It's odd.|When.")
    ask('create view on_it as select id from odd')
    expect(psql(['-f', 'load.sql'], to).status).not.toBe(0)
    expect(ask('select count(*) from odd')).toBe('2')
  },
)

/** A server on a socket in a folder of its own, which ends with the test; root may not be its user. */
function startPostgres(folder: string) {
  const owner = process.getuid?.() === 0 ? Number(spawnSync('id', ['-u', 'postgres']).stdout) : null
  const data = join(folder, 'pg')
  mkdirSync(data)
  if (owner !== null) for (const one of [folder, data]) chownSync(one, owner, statSync(one).gid)
  const as: SpawnSyncOptions = { cwd: folder, ...(owner === null ? {} : { uid: owner }) }
  const call = (name: string, ...args: string[]) =>
    spawnSync(join(bin ?? '', name), args, { ...as, stdio: 'ignore' }).status
  expect(
    call(
      'initdb',
      '-D',
      data,
      '-U',
      'tester',
      '-A',
      'trust',
      '--no-sync',
      '-E',
      'UTF8',
      '--locale=C',
    ),
  ).toBe(0)
  const options = `-k ${folder} -c listen_addresses= -c fsync=off`
  expect(call('pg_ctl', 'start', '-w', '-D', data, '-o', options)).toBe(0)
  onTestFinished(() => {
    call('pg_ctl', 'stop', '-m', 'immediate', '-D', data)
  })
  return (args: readonly string[], cwd: string) =>
    spawnSync('psql', ['-X', '-q', '-h', folder, '-U', 'tester', 'postgres', ...args], { cwd })
}
