/**
 * `query`: what it prints, also for readers that stop or stall, when it is interrupted, and while another process
 * writes.
 */

import { chmodSync, existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { makeAnalystCopy } from '../../src/run/analyst-copy.ts'
import { dataDirectory, type DataDirectory } from '../../src/run/data-directory.ts'
import { acquireLock } from '../../src/run/lock.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT } from '../../src/support/errors.ts'
import { HOUR, SECOND } from '../../src/support/units.ts'
import { openWarehouse, withWarehouse } from '../../src/warehouse/warehouse.ts'
import { callCli, runCli, startCli, type RunningCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { insertEvents } from '../helpers/warehouse.ts'

const ENDLESS = 'select * from range(100000000000)'
const SILENT = 'select sum(a.range * b.range % 7) from range(1000000) as a, range(1000000) as b'
// One function call over one list, in which the engine checks for no interrupt.
const DEAF =
  'select len(list_sort(list_transform(range(30000000), lambda x: hash(x)))) from range(3)'

let empty: Buffer | null = null

/** A data directory with an empty warehouse: a copy of the first one that was made. */
async function emptyWarehouse(): Promise<string> {
  const { root, warehouse } = dataDirectory(temporaryFolder())
  if (empty !== null) writeFileSync(warehouse, empty)
  else await withWarehouse({ path: warehouse, mode: 'write' }, () => Promise.resolve())
  empty ??= readFileSync(warehouse)
  return root
}

/** Runs `query` in this process, on an empty warehouse unless a data directory is named. */
async function query(args: readonly string[], root?: string) {
  return callCli(['query', ...args, '--data-dir', root ?? (await emptyWarehouse())])
}

/** Starts `query` in its own process, on an empty warehouse. */
async function start(args: readonly string[], env = {}): Promise<RunningCli> {
  return startCli(['query', ...args, '--data-dir', await emptyWarehouse()], { env })
}

describe('query', () => {
  const sql = `select 1::bigint as n, 'a,"b"' as t, null as nothing, true as yes,
    timestamptz '2026-01-02 03:04:05Z' as at, date '2026-01-02' as day, 1.50::decimal(9,2) as d,
    9007199254740993::bigint as big, [1, 2] as list`

  it('reads only the attached files, changes none, and names those that cannot be read', async () => {
    const root = await emptyWarehouse()
    const csv = join(root, 'watch list.csv')
    writeFileSync(csv, 'organization_id,owner\norg_1,Kim\norg_2,Lee\n')
    const file = join(root, 'other.duckdb')
    await withWarehouse({ path: file, mode: 'write' }, (other) =>
      other.run(
        `copy (select 7 as n) to '${root}/seven.parquet'; create table kept as select 8 as m`,
      ),
    )
    const before = readFileSync(file)
    const attach = [csv, `s=${root}/seven.parquet`, file].flatMap((one) => ['--attach', one])
    const ask = async (sql: string) => query([...attach, sql, '--format', 'csv'], root)
    const all = 'select owner, n, m from watch_list, s, other.kept where owner > $$L$$'
    expect(await ask(all)).toMatchObject({ exitCode: 0, stdout: 'owner,n,m\nLee,7,8\n' })
    expect(await ask(`from read_csv('${csv}')`)).toMatchObject({ exitCode: 2 })
    expect(await ask('create table other.made as select 1')).toMatchObject({ exitCode: 2 })
    expect(readFileSync(file)).toEqual(before)
    const twice = join(root, 'twice.csv')
    writeFileSync(twice, 'owner,Owner,\nKim,Lee,\n')
    for (const [given, why] of [
      [twice, 'Column with name Owner already exists'],
      ['absent.csv', 'is not there'],
      ['list.xlsx', 'is not a CSV, Parquet or DuckDB file'],
      [`job_change_events=${csv}`, 'table job_change_events already exists'],
      [`ops.parquet=${csv}`, 'is not there'],
    ] as const) {
      const { exitCode, stderr } = await query(['--attach', given, 'select 1'], root)
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(why)])
    }
  })

  it('reads an attached CSV file in the same way as a list: ids as text, in 3 encodings, cells trimmed', async () => {
    const root = await emptyWarehouse()
    const rows = [
      'id;account;since;amount;note;flag;odd;blank',
      '73928e05;007;2026-01-31;12.5; a; TRUE;2026-02-28;',
      ' 1e3 ;008;2026-02-01;-3;# 2;false;2026-02-30;',
      'x;009;;;;;;',
    ]
    const text = `sep=;\r\n${rows.join('\r\n')}\r\n`.replaceAll('note', 'caf\u00e9')
    const typed = ['id', 'account', 'since', 'amount', 'flag', 'odd', 'blank']
    const sql = `select ${typed.map((column) => `typeof(${column})`).join()}, * from crm`
    for (const [name, bytes] of [
      ['utf8', Buffer.from(text)],
      ['utf16', Buffer.from(`\ufeff${text}`, 'utf16le')],
      ['cp1252', Buffer.from(text, 'latin1')],
    ] as const) {
      const file = join(root, `${name}.csv`)
      writeFileSync(file, bytes)
      const { stdout } = await query(['--attach', `crm=${file}`, sql, '--format', 'json'], root)
      const texts = ['id', 'account', 'odd', 'blank'].map((column) => [
        `typeof(${column})`,
        'VARCHAR',
      ])
      const types = { ...Object.fromEntries(texts), 'typeof(flag)': 'BOOLEAN' } as object
      expect(JSON.parse(stdout)).toMatchObject([
        {
          ...types,
          'typeof(since)': 'DATE',
          'typeof(amount)': 'DOUBLE',
          id: '73928e05',
          account: '007',
          amount: 12.5,
          café: 'a',
        },
        { ...types, id: '1e3', account: '008', since: '2026-02-01', amount: -3, café: '# 2' },
        // An empty cell changes no type.
        { ...types, 'typeof(since)': 'DATE', 'typeof(amount)': 'DOUBLE', since: null, flag: null },
      ])
    }
  })

  it('creates the macros that read tables as known on a day if a statement names them', async () => {
    const root = temporaryFolder()
    const build = { buildId: 'build', builtAt: new Date(0) }
    await withWarehouse({ path: join(root, 'jobtide.duckdb'), mode: 'write' }, async (open) => {
      await insertEvents(open, [{}, { event_type: 'left', changed_at: '2026-03-01T00:00:00Z' }])
      await buildModels(open, build)
    })
    const ask = async (sql: string) => (await query([sql, '--format', 'csv'], root)).stdout
    expect(
      await ask(
        `select (select count(*) from joiners) as now, (select count(*) from joiners_as_known_on('2025-01-01')) as early,
           (select count(*) from main."Leavers_As_Known_On"('2026-03-01', organization := 'org_1')) as late`,
      ),
    ).toBe('now,early,late\n1,0,1\n')
    const made = `select count(*) as n from duckdb_functions() where ends_with(function_name, 'known_on')`
    expect(await ask(made)).toBe('n\n0\n')
    expect(await ask(`${made} -- joiners_as_known_on`)).toBe('n\n1\n')
  })

  it('prints a table, CSV and JSON', async () => {
    const root = await emptyWarehouse()
    expect((await query([sql], root)).stdout.split('\n')).toEqual([
      'n  t      nothing  yes   at                    day            d               big  list',
      '1  a,"b"           true  2026-01-02T03:04:05Z  2026-01-02  1.50  9007199254740993  [1,2]',
      '(1 row)',
      '',
    ])
    expect((await query([sql, '--format', 'csv'], root)).stdout).toBe(
      'n,t,nothing,yes,at,day,d,big,list\n1,"a,""b""",,true,2026-01-02T03:04:05Z,2026-01-02,1.50,9007199254740993,"[1,2]"\n',
    )
    const { stdout } = await query([sql, '--format', 'json'], root)
    const [row] = JSON.parse(stdout) as Record<string, unknown>[]
    expect(row).toMatchObject({ n: 1, t: 'a,"b"', nothing: null, yes: true, list: [1, 2] })
    expect(row).toMatchObject({ at: '2026-01-02T03:04:05Z', big: '9007199254740993' })
    expect((await query([sql, '--json'], root)).stdout).toBe(stdout)
  })

  it('refuses everything but reading, reports missing SQL, and names the tables only if one is not found', async () => {
    const root = await emptyWarehouse()
    const before = readdirSync(root)
    for (const statement of [
      'insert into job_change_events select * from job_change_events',
      'drop table job_change_events',
      `copy job_change_events to '${join(root, 'stolen.csv')}'`,
      `attach '${join(root, 'other.duckdb')}' as other`,
      `select * from read_csv('/etc/hostname')`,
      'set enable_external_access = true',
      'select * from nothing_here',
      ' ',
    ]) {
      const { exitCode, stdout, stderr } = await query([statement], root)
      expect([exitCode, stdout], statement).toEqual([2, ''])
      expect(stderr).toMatch(/^jobtide: .+\n(.*\n)* {2}→ .+\n$/)
    }
    expect(readdirSync(root)).toEqual(before)
    const stderr = async (statement: string) => (await query([statement], root)).stderr
    for (const nothing of [';', '/* hi */ ; -- there']) {
      expect(await stderr(nothing)).toMatch(/^jobtide: there is no SQL to run\n {2}→ Try: .+\n$/)
    }
    expect(await stderr('select * from nowhere')).toContain(
      '\n  → Tables for analysts are in `main`, `detail` and `service`, for operators in `ops`: ',
    )
    for (const [statement, says] of [
      ['selec 1', 'syntax error at or near "selec"'],
      ['select lead(1)', 'lead'],
      ['select no_such_function(1)', 'no_such_function'],
      ['select nothing_here from job_change_events', 'nothing_here'],
    ] as const) {
      const message = await stderr(statement)
      expect(message).toContain(says)
      expect(message).not.toContain('→')
    }
  })

  it('runs one reading statement: several, or any other kind, are exit 2; a pivot or a final `;` is fine', async () => {
    const root = await emptyWarehouse()
    const log = `call enable_logging('QueryLog', storage='file', storage_config={'path': '${root}/log'})`
    for (const [statement, why] of [
      [`${log}; select 1`, 'there are 2 statements'],
      ['select 1; select 2', 'there are 2 statements'],
      ['create temp table t as select 7; from t; from t', 'there are 3 statements'],
      ['/* a */ create temp table t as select 7; from t', 'there are 2 statements'],
      [log, 'it does not read'],
      ['set threads = 1', 'it does not read'],
      [`explain analyze copy (select 1) to '${root}/jobtide.duckdb'`, 'it does not read'],
      [`explain (analyze) copy (select 1) to '${root}/jobtide.duckdb.wal'`, 'it does not read'],
      ['/* a */ explain /* b */ analyze create temp table t as select 7', 'it does not read'],
      ['create temp table t as select 7', 'it does not read'],
    ]) {
      // In its own process, because the engine once ended it with SIGABRT.
      const { exitCode, stdout, stderr } = await (statement?.startsWith(log) === true
        ? runCli(['query', statement, '--data-dir', root])
        : query([statement ?? ''], root))
      expect([exitCode, stdout], stderr).toEqual([2, ''])
      expect(stderr).toMatch(`jobtide: a query is one statement that reads: ${why}\n  → `)
    }
    const pivoted = 'pivot (from range(2) as t(a)) on a using count(*); -- that is all'
    for (const statement of [
      pivoted,
      'select 1 ;;',
      'with a as (select 1) from a',
      'describe ops.pages',
      'show tables',
      'summarize ops.pages',
      'explain select 1',
      '/* why */ explain (analyze, format json) with a as (select 1) from a',
      'explain analyze from range(3)',
      'values (1)',
    ]) {
      const { exitCode, stderr } = await query([statement], root)
      expect(exitCode, stderr).toBe(0)
    }
    expect((await query([pivoted], root)).stdout).toMatch(/^0 +1\n1 +1\n/)
  })

  it('with --json prints one incomplete document if it fails late, else the error alone, and never two documents', async () => {
    const late = `select case when range > 900000 then error('boom') else 1 end as a from range(1000000)`
    const broken = await query([late, '--json'])
    expect(broken.exitCode).toBe(2)
    expect(broken.stdout).toMatch(/^\[\{"a":1\},[^\]]*\{"a":1\}$/)
    const early = await query([`select error('boom') from range(9)`, '--json'])
    expect(JSON.parse(early.stdout)).toMatchObject({ error: { exit_code: 2 } })
  })

  it.each(['csv', 'table'])('prints %s in UTC in any time zone, byte for byte', async (format) => {
    const times = `select timestamptz '2024-12-31 23:30:00.5-01' as t, year(t) as y, date_trunc('month', t) as month_at,
      t::varchar as text, t::date as day, {'in': [t]} as nested, strftime(t, '%H %Z') as hour, now() > t as is_past`
    const args = ['query', times, '--format', format, '--data-dir', await emptyWarehouse()]
    const { stdout: utc } = await callCli(args)
    expect((await runCli(args, { env: { TZ: 'Asia/Kolkata' } })).stdout).toBe(utc)
    expect(utc).toContain('2025-01-01T00:30:00.5Z')
    expect(utc).toContain('2025-01-01 00:30:00.5+00')
  })
})

/** Peak memory of a process so far, in MB; 0 when it is gone. */
function peakOf({ process: { pid } }: RunningCli): number {
  const path = `/proc/${pid}/status`
  const status = existsSync(path) ? readFileSync(path, 'utf8') : ''
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_000
}

describe('query over 100,000,000,000 rows', () => {
  it('exits with 0 silently when its reader stops after 10 MB, and never holds 400 MB', async () => {
    const cli = await start([ENDLESS, '--format', 'csv'])
    const { stdout } = cli.process
    await new Promise<void>((resolve) => {
      let read = 0
      stdout?.on('data', (text: string) => {
        read += text.length
        if (read < 10_000_000) return
        stdout.pause()
        resolve()
      })
    })
    const peak = peakOf(cli)
    stdout?.destroy()
    const { exitCode, stderr } = await cli.ended
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(peak).toBeLessThan(400)
  })

  it('prints rows of 300,000 characters, although a batch of 2,048 exceeds one string', async () => {
    const cli = await start([`select repeat('a', 300000) as a from range(2048)`, '--format', 'csv'])
    let read = 0
    cli.process.stdout?.removeAllListeners('data').on('data', (text: string) => {
      read += text.length
    })
    expect(await cli.ended).toMatchObject({ exitCode: 0, stderr: '' })
    expect(read).toBe('a\n'.length + 2_048 * 300_001)
  })

  it('as a table shows the first 200 rows and fetches no more; 200 of 200 are counted', async () => {
    const { stdout } = await query([ENDLESS])
    expect(stdout.trimEnd().split('\n').slice(-2)).toEqual([
      '  199',
      '(the first 200 rows; there are more: all with --format csv)',
    ])
    expect((await query(['from range(200)'])).stdout).toMatch(/199\n\(200 rows\)\n$/)
  })
})

function hasOpen({ process: { pid } }: RunningCli, name: string): boolean {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).some((file) => {
    try {
      return readlinkSync(join(folder, file)).endsWith(name)
    } catch {
      return false
    }
  })
}

describe('query that is stopped', () => {
  it.each([
    ['while it counts and has no row yet', SILENT, 'SIGINT', 130, 2_000],
    ['while nobody reads its rows', ENDLESS, 'SIGTERM', 143, 2_000],
    ['when its terminal closes', ENDLESS, 'SIGHUP', 129, 2_000],
    // The signal ends it.
    ['inside of a function that the engine does not leave', DEAF, 'SIGINT', null, 3_000],
  ] as const)('%s ends at once, and leaves no file', async (_, sql, signal, exitCode, withinMs) => {
    const root = await emptyWarehouse()
    const before = readdirSync(root)
    const cli = startCli(['query', sql, '--format', 'csv', '--data-dir', root])
    cli.process.stdout?.pause()
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    while (!hasOpen(cli, 'jobtide.duckdb')) await pause(20)
    await pause(300)
    const at = performance.now()
    const took = new Promise<number>((resolve) => {
      cli.process.once('exit', () => resolve(performance.now() - at))
    })
    cli.process.kill(signal)
    const tookMs = await took
    cli.process.stdout?.resume()
    const ended = await cli.ended
    expect([ended.exitCode, readdirSync(root)]).toEqual([exitCode, before])
    expect(ended.stderr).toContain(`jobtide: stopped by ${signal}\n  → Nothing was changed`)
    expect(tookMs).toBeLessThan(withinMs)
  })
})

describe('query while another process writes the warehouse', () => {
  const NOTES = 'select answer, 9007199254740993::bigint as big from notes'
  const JSON_OF = (answer: number) => `[{"answer":${answer},"big":"9007199254740993"}]\n`

  /** A warehouse in which `answer` is 2 now, and a copy made 3 hours after its last change, with `answer` 1. */
  async function copiedThenChanged(): Promise<DataDirectory> {
    const directory = dataDirectory(temporaryFolder())
    const write = (sql: string) =>
      withWarehouse({ path: directory.warehouse, mode: 'write' }, (warehouse) => warehouse.run(sql))
    await write('create table notes as select 1 as answer')
    const threeHoursAgo = (Date.now() - 3 * HOUR) / SECOND
    utimesSync(directory.warehouse, threeHoursAgo, threeHoursAgo)
    expect((await makeAnalystCopy({ directory, clock: realClock })).problem).toBeNull()
    await write('update notes set answer = 2')
    return directory
  }

  /** Holds the warehouse as a writer in this process does. */
  async function hold({ warehouse: path }: DataDirectory): Promise<void> {
    const warehouse = await openWarehouse({ path, mode: 'write' })
    onTestFinished(() => warehouse.close())
  }

  // The engine lets one process open a file twice: the reader is another process.
  const ask = ({ root }: DataDirectory, ...args: string[]) =>
    runCli(['query', ...args, '--data-dir', root])

  /** Makes the copy unreadable without changing its size and time. */
  function spoil({ root }: DataDirectory): void {
    const path = join(root, 'analyst.duckdb')
    const { size, mtimeMs } = statSync(path)
    const head = Buffer.from(readFileSync(path)).fill(0, 0, 16_384)
    chmodSync(path, 0o644)
    truncateSync(path)
    writeFileSync(path, head)
    utimesSync(path, mtimeMs / SECOND, mtimeMs / SECOND)
    expect(statSync(path).size).toBe(size)
  }

  it('reads the copy, prints its age to stderr, and prints the same JSON; also between the stages of a run', async () => {
    const directory = await copiedThenChanged()
    const free = await ask(directory, NOTES, '--json')
    expect([free.exitCode, free.stdout, free.stderr]).toEqual([0, JSON_OF(2), ''])
    // A run has the warehouse closed between its stages.
    const lock = await acquireLock(directory.root, { command: 'run', clock: realClock })
    const during = await ask(directory, NOTES, '--json')
    await lock.release()
    expect([during.exitCode, during.stdout]).toEqual([0, JSON_OF(1)])
    expect(during.stderr).toContain(
      `  the data directory is in use by \`jobtide run\` (process ${process.pid} on `,
    )
    await hold(directory)
    const json = await ask(directory, NOTES, '--json')
    expect([json.exitCode, json.stdout]).toEqual([0, JSON_OF(1)])
    expect(json.stderr).toMatch(
      /^answered from \/.*\/analyst\.duckdb, as of \d{4}-\d\d-\d\d \d\d:\d\d UTC \(3 h ago\):\n {2}the warehouse .* is open in another program.*\n$/,
    )
  })

  it('exits with 8 without a copy, or with an unreadable one', async () => {
    const none = dataDirectory(temporaryFolder())
    await hold(none)
    const refused = await ask(none, 'select 1')
    expect([refused.exitCode, refused.stdout]).toEqual([8, ''])
    expect(refused.stderr).toMatch(/^jobtide: the warehouse .* is open in another program/)

    const directory = await copiedThenChanged()
    spoil(directory)
    await hold(directory)
    const spoilt = await ask(directory, NOTES)
    expect([spoilt.exitCode, spoilt.stdout]).toEqual([8, ''])
    expect(spoilt.stderr).toMatch(
      /is open in another .*; its copy cannot be read either: .*analyst/,
    )
  })

  it('reads a copy of the same state silently, and the warehouse if that copy is damaged', async () => {
    const directory = await copiedThenChanged()
    await makeAnalystCopy({ directory, clock: realClock })
    const held = await openWarehouse({ path: directory.warehouse, mode: 'write' })
    const copied = await ask(directory, NOTES, '--json')
    held.close()
    expect([copied.exitCode, copied.stdout, copied.stderr]).toEqual([0, JSON_OF(2), ''])
    spoil(directory)
    const result = await ask(directory, NOTES, '--json')
    expect([result.exitCode, result.stdout, result.stderr]).toEqual([0, JSON_OF(2), ''])
  })

  const spilledIn = ({ root }: DataDirectory) =>
    readdirSync(root).filter((name) => name.includes('.tmp'))
  // Sorted by a hash: 240 MB that do not fit into the memory of a process of 256 MB.
  const SORT = `select count(*) from (select range as n from range(30000000) order by hash(range) offset 1)`
  const SMALL = { JOBTIDE_MEMORY_LIMIT: '256MB' }

  it('killed by SIGKILL leaves its private spill files in the data directory, and the next writer removes them', async () => {
    const directory = await copiedThenChanged()
    const running = startCli(['query', SORT, '--data-dir', directory.root], { env: SMALL })
    await expect.poll(() => spilledIn(directory), { timeout: 30_000 }).toHaveLength(1)
    running.process.kill('SIGKILL')
    await running.ended
    const [left] = spilledIn(directory)
    expect((statSync(join(directory.root, left!)).mode & 0o777).toString(8)).toBe('700')
    await withWarehouse({ path: directory.warehouse, mode: 'read' }, async () => undefined)
    expect(spilledIn(directory)).toEqual([left])
    await withWarehouse({ path: directory.warehouse, mode: 'write' }, async () => undefined)
    expect(spilledIn(directory)).toEqual([])
  })

  it('spills no more to disk than JOBTIDE_TEMP_LIMIT allows, and says so', async () => {
    const directory = await copiedThenChanged()
    const env = { ...SMALL, JOBTIDE_TEMP_LIMIT: '20MB' }
    const result = await runCli(['query', SORT, '--data-dir', directory.root], { env })
    expect(result.exitCode).toBe(EXIT.storage)
    expect(result.stderr).toContain('JOBTIDE_TEMP_LIMIT')
    expect(spilledIn(directory)).toEqual([])
  })
})
