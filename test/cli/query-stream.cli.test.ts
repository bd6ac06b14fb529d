/** `query` on results that fit into no memory, for readers that stop or stall, and for people who stop it. Starts the command line. */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { dataDirectory } from '../../src/run/data-directory.ts'
import { openWarehouse } from '../../src/warehouse/warehouse.ts'
import { runCli, startCli, type RunningCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const ENDLESS = 'select * from range(100000000000)'
const SILENT = 'select sum(a.range * b.range % 7) from range(1000000) as a, range(1000000) as b'
// One call of one function over one list: the engine does not look for an interrupt inside of it.
const DEAF =
  'select len(list_sort(list_transform(range(30000000), lambda x: hash(x)))) from range(3)'

async function emptyWarehouse(): Promise<string> {
  const { root, warehouse } = dataDirectory(temporaryFolder())
  const opened = await openWarehouse({ path: warehouse, mode: 'write' })
  opened.close()
  return root
}

async function query(...args: string[]) {
  return runCli(['query', ...args, '--data-dir', await emptyWarehouse()])
}

/** Peak memory of a process so far, in MB. */
function peakOf({ process: { pid } }: RunningCli): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_000
}

/** Reads `bytes` of stdout, then nothing more. */
function readOnly({ process: { stdout } }: RunningCli, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    let read = 0
    stdout?.on('data', (text: string) => {
      read += text.length
      if (read >= bytes) {
        stdout.pause()
        resolve()
      }
    })
  })
}

describe('query over 100,000,000,000 rows', () => {
  it.each(['csv', 'json'])(
    'as %s ends with 0 and without a word when its reader has read 20 MB, and never holds 400 MB',
    async (format) => {
      const cli = startCli([
        'query',
        ENDLESS,
        '--format',
        format,
        '--data-dir',
        await emptyWarehouse(),
      ])
      await readOnly(cli, 20_000_000)
      const peak = peakOf(cli)
      cli.process.stdout?.destroy()
      const { exitCode, stderr } = await cli.ended
      expect([exitCode, stderr]).toEqual([0, ''])
      expect(peak).toBeLessThan(400)
    },
  )

  it('as a table shows the first 200 and fetches no more; 200 of 200 are counted', async () => {
    const many = await query(ENDLESS)
    expect(many.exitCode).toBe(0)
    const lines = many.stdout.trimEnd().split('\n')
    expect(lines.slice(-2)).toEqual([
      '  199',
      '(the first 200 rows; there are more: all with --format csv)',
    ])
    expect((await query('from range(200)')).stdout).toMatch(/199\n\(200 rows\)\n$/)
  })

  it('in a statement before the last one keeps none of them', async () => {
    const cli = startCli([
      'query',
      `create temp table n as select 7 as a; from range(100000000000); from n`,
      '--data-dir',
      await emptyWarehouse(),
    ])
    const peaks: number[] = []
    const timer = setInterval(
      () => existsSync(`/proc/${cli.process.pid}/status`) && peaks.push(peakOf(cli)),
      20,
    )
    const { exitCode, stdout } = await cli.ended
    clearInterval(timer)
    expect([exitCode, stdout]).toEqual([0, 'a\n7\n(1 row)\n'])
    expect(Math.max(...peaks.filter((peak) => peak > 0))).toBeLessThan(400)
  })
})

describe('query that fails on its way', () => {
  it('with --json prints one broken document and no second one, or the error alone when nothing was printed', async () => {
    const late = `select case when range > 9000000 then error('boom') else 1 end as a from range(10000000)`
    const BEGINNING = /^\[\{"a":1\},[^\]]*\{"a":1\}$/
    const broken = await query(late, '--json')
    expect(broken.exitCode).toBe(2)
    expect(broken.stdout).toMatch(BEGINNING)
    const early = await query(`select error('boom') from range(9)`, '--json')
    expect(JSON.parse(early.stdout)).toMatchObject({ error: { exit_code: 2 } })
  })
})

/** Starts a query, waits until its folder for temporary files is there and it had time to begin, and stops it. */
async function stopped(sql: string, signal: 'SIGINT' | 'SIGTERM', ...args: string[]) {
  const temporary = temporaryFolder()
  const cli = startCli(['query', sql, ...args, '--data-dir', await emptyWarehouse()], {
    env: { TMPDIR: temporary },
  })
  cli.process.stdout?.pause()
  while (readdirSync(temporary).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 20))
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const at = performance.now()
  const took = new Promise<number>((resolve) => {
    cli.process.once('exit', () => resolve(performance.now() - at))
  })
  cli.process.kill(signal)
  const tookMs = await took
  cli.process.stdout?.resume()
  return { ...(await cli.ended), tookMs, left: readdirSync(temporary) }
}

describe('query that is stopped', () => {
  it.each([
    ['while it counts and has no row yet', SILENT, 'SIGINT', 130, []],
    ['while nobody reads its rows', ENDLESS, 'SIGTERM', 143, ['--format', 'csv']],
  ] as const)('%s ends at once', async (_, sql, signal, exitCode, args) => {
    const result = await stopped(sql, signal, ...args)
    expect([result.exitCode, result.left]).toEqual([exitCode, []])
    expect(result.stderr).toContain(`jobtide: stopped by ${signal}\n  → Nothing was changed`)
    expect(result.tookMs).toBeLessThan(2_000)
  })

  it('inside of a function that the engine does not leave ends at once all the same, by the signal', async () => {
    const result = await stopped(DEAF, 'SIGINT')
    expect([result.exitCode, result.signal, result.left]).toEqual([null, 'SIGINT', []])
    expect(result.stderr).toContain('jobtide: stopped by SIGINT')
    expect(result.tookMs).toBeLessThan(3_000)
  })
})

describe('query in any time zone', () => {
  const SQL = `select timestamptz '2024-12-31 23:30:00.5-01' as t, year(t) as y, date_trunc('month', t) as month_at,
    t::varchar as text, t::date as day, {'in': [t]} as nested, strftime(t, '%H %Z') as hour, now() > t as is_past`

  it.each(['json', 'csv', 'table'])('prints %s in UTC, byte for byte', async (format) => {
    const root = await emptyWarehouse()
    const [utc, ...others] = await Promise.all(
      ['UTC', 'America/Los_Angeles', 'Asia/Kolkata'].map(async (TZ) => {
        const args = ['query', SQL, '--format', format, '--data-dir', root]
        return (await runCli(args, { env: { TZ } })).stdout
      }),
    )
    expect(others).toEqual([utc, utc])
    expect(utc).toContain('2025-01-01T00:30:00.5Z')
    expect(utc).toContain('2025-01-01 00:30:00.5+00')
  })
})
