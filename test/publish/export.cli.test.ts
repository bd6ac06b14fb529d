/**
 * Tables in other formats; into a real PostgreSQL if it is installed (Debian's), else that test is skipped with a
 * message.
 */

import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { hasPostgres, startPostgres } from '../helpers/postgres.ts'
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

it('writes a folder of CSV and its script, which replaces the previous one', async () => {
  const { to, run } = await site()
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
})

it('writes Parquet files with unchanged types, in place of the earlier CSV, and a script that loads them', async () => {
  const { to, run } = await site()
  done(await run('odd', '--to', to))
  done(await run('odd', '--to', to, '--format', 'parquet'))
  expect(readdirSync(to).toSorted()).toEqual(['load.sql', 'odd.parquet'])
  const back = process.cwd()
  process.chdir(to)
  onTestFinished(() => process.chdir(back))
  await withWarehouse({ path: ':memory:', mode: 'write' }, async (out) => {
    await out.run(readFileSync('load.sql', 'utf8'))
    expect(
      await out.all('select id, huge, ascii(text[4:4]) as nul, list from odd where id = 1'),
    ).toMatchObject([{ id: 1, huge: '170141183460469231731687303715884105727', list: [1, 2] }])
    expect(await out.all(`select comment from duckdb_tables() where table_name = 'odd'`)).toEqual([
      { comment: "It's odd." },
    ])
  })
  done(await run('odd', '--to', to))
  expect(readdirSync(to).toSorted()).toEqual(['load.sql', 'odd.csv'])
})

it('refuses an unknown table, a server, and a folder that no export made, and changes nothing', async () => {
  const { dataDir, to, run } = await site()
  for (const [args, why] of [
    [['--to', to, '--tables', 'nonsense'], 'there is no table "nonsense"'],
    [['--to', 'mysql://me:secret@db/people'], 'export cannot write to mysql://…@db/people'],
    [['--to', to, '--schema', 'x'], '--schema is for postgres://…'],
    [['--to', `${to}.duckdb`], 'export cannot write to'],
    [['--to', dataDir], 'keeps its own files'],
    [['--to', dirname(dataDir)], `an export cannot go to ${dirname(dataDir)}: Jobtide keeps`],
    [['--to', `${to}.csv`], 'the name is that of a file'],
    [['--to', `${to}.XLSX`], 'jobtide query --format csv'],
    [['--to', `${to}.parquet`], 'Name a folder'],
  ] as const) {
    const { exitCode, stderr } = await run(...args)
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(why)])
  }
  expect(readdirSync(dataDir)).toEqual(['jobtide.duckdb'])
})

it('refuses targets that no export made, and Jobtide’s own folders, even missing ones, and changes nothing', async () => {
  const { dataDir, path, run } = await site()
  const folder = temporaryFolder()
  const at = (name: string) => join(folder, name)
  mkdirSync(at('notes'))
  for (const name of ['notes/load.sql', 'a-file']) writeFileSync(at(name), 'mine')
  // An export to which the user has added a file.
  done(await run('--to', at('export'), '--tables', 'odd'))
  writeFileSync(at('export/my-load.sql'), 'mine')
  symlinkSync(path, at('link'))
  symlinkSync(dataDir, at('data'))
  const contents = () =>
    [path, ...['a-file', 'notes/load.sql', 'export/my-load.sql'].map(at)].map((file) =>
      readFileSync(file).toString('base64'),
    )
  const names = () => [readdirSync(dataDir), readdirSync(folder).toSorted()]
  const before = [contents(), names()]
  const others = ['notes', 'a-file', 'export']
  const own = ['locks', 'journal', 'reports/x', 'scratch/x']
  for (const [to, why] of [
    ...others.map((name) => [at(name), 'not all of it comes from an export']),
    ...own.map((name) => [join(dataDir, name), 'keeps its own files']),
    [at('link'), 'keeps its own files'],
    [at('data/journal'), 'keeps its own files'],
  ] as [string, string][]) {
    const { exitCode, stderr } = await run('--to', to, '--tables', 'odd')
    expect([to, exitCode, stderr]).toEqual([to, 2, expect.stringContaining(why)])
  }
  expect([contents(), names()]).toEqual(before)
})

it.skipIf(!hasPostgres)(
  'load.sql fills a real PostgreSQL twice, and a load that fails changes nothing (skipped without it)',
  { timeout: 60_000 },
  async () => {
    const { to, run } = await site()
    done(await run('--to', to, '--tables', 'odd'))
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const ask = (sql: string) => server.ask(sql)
    for (const _ of [1, 2]) expect(server.psql(['-f', 'load.sql'], to)).toMatchObject({ status: 0 })
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
    expect(server.psql(['-f', 'load.sql'], to).status).not.toBe(0)
    expect(ask('select count(*) from odd')).toBe('2')
  },
)
