/**
 * The main job on real job changes: 131,811 events of 39,163 organisations, from the simulator's first page to the
 * published snapshot, through the real command line. This test counts the file again without SQL.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { done, runCli, startCli, type CliResult, type RunningCli } from '../helpers/run-cli.ts'
import { readEventsFile } from '../../src/simulator/events.ts'
import { writeOrganizationsFile } from '../../src/simulator/events.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { realClock } from '../../src/support/clock.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { realEvents, realEventsPath as FILE } from '../model/real-events.ts'

const MEGABYTE = 1e6
const isHere = existsSync(FILE)
if (!isHere) process.stdout.write(`skipped: the real events are not at ${FILE}\n`)

/** The events on a free port, with the list of their organisations. */
async function serveFile(folder: string) {
  const source = readEventsFile(FILE)
  const simulator = await startSimulator({ source, clock: realClock })
  onTestFinished(() => simulator.close())
  const list = join(folder, 'organizations.csv')
  writeOrganizationsFile(list, simulator.organizations())
  const JOBTIDE_DATA_DIR = join(folder, 'data')
  return {
    env: { JOBTIDE_BASE_URL: simulator.url, JOBTIDE_API_KEY: 'simulator-key', JOBTIDE_DATA_DIR },
    list,
    account: () => simulator.account(),
  }
}

/** The result of a command, and its peak memory in bytes; null if the system does not report it. */
async function withPeak(running: RunningCli): Promise<CliResult & { peakBytes: number | null }> {
  let peakBytes: number | null = null
  const look = () => {
    const path = `/proc/${running.process.pid}/status`
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readOr(path)) ?? []
    if (kilobytes !== undefined) peakBytes = Number(kilobytes) * 1_024
  }
  const watch = setInterval(look, 25)
  const result = await running.ended
  clearInterval(watch)
  return { ...result, peakBytes }
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function parquetFiles(folder: string): string[] {
  const found = execFileSync('find', [folder, '-name', '*.parquet'], { encoding: 'utf8' })
  return found.trim().split('\n').toSorted()
}

describe.skipIf(!isHere)('131,811 real events', () => {
  it('become 131,807 rows for exactly what the service charged, within 800 MB; a second run changes 0 rows and 0 files', async () => {
    const folder = temporaryFolder()
    const { env, list, account } = await serveFile(folder)
    const query = async <Row>(sql: string): Promise<Row[]> =>
      JSON.parse((await runCli(['query', sql, '--json'], { env })).stdout) as Row[]

    const args = ['backfill', '--days', 'all', '--organizations', list]
    const limited = { ...env, JOBTIDE_MEMORY_LIMIT: '800MB' }
    const first = await withPeak(startCli([...args, '--json'], { env: limited, cwd: folder }))
    done(first)
    const report = JSON.parse(first.stdout) as {
      organizations: number
      extract: { pages: number; events: number; credits: number }
      load: { inserted: number }
    }
    const peak =
      first.peakBytes === null ? 'unknown' : `${Math.round(first.peakBytes / MEGABYTE)} MB`
    process.stdout.write(
      `real events: first run ${(first.tookMs / 1_000).toFixed(1)} s, peak ${peak}\n`,
    )
    expect(first.peakBytes ?? 0).toBeLessThan(800 * MEGABYTE)
    expect(report).toMatchObject({ organizations: 39_163, load: { inserted: 131_807 } })
    expect(report.extract.events).toBe(131_811)

    const events = realEvents()
    const counted = new Map<string, number>()
    for (const { organization_id: id } of events) counted.set(id, (counted.get(id) ?? 0) + 1)
    const rows = await query<{ organization_id: string; events: number }>(
      'select organization_id, count(*) as events from job_change_events group by all order by 1',
    )
    expect(rows.length).toBe(39_163)
    expect(rows.filter((row) => counted.get(row.organization_id) !== row.events)).toEqual([])

    const [ledger] = await query<object>(
      `select sum(credits_used)::int as credits,
          count(*) filter (credits_used > 0)::int as pages, count(*)::int as requests
       from ops.pages`,
    )
    const { credits, charged_pages: pages, requests } = account()
    expect(ledger).toEqual({ credits, pages, requests })
    expect(report.extract.credits).toBe(credits)

    await expectFlows(env)

    const published = parquetFiles(join(folder, 'data', 'snapshots'))
    const second = await withPeak(startCli(args, { env, cwd: folder }))
    done(second)
    expect(second.stdout).toMatch(/loaded +nothing new: no row changed/)
    expect(second.stdout).toMatch(/published +.*(no new Parquet file|already shows all of it)/)
    expect(parquetFiles(join(folder, 'data', 'snapshots'))).toEqual(published)
    expect(account().credits).toBe(credits)
    expect(await query('select count(*) as n from job_change_events')).toEqual([{ n: 131_807 }])
  }, 240_000)
})

/** The most frequent moves, as a query prints them. */
async function expectFlows(env: Record<string, string>): Promise<void> {
  const sql = `select from_organization_name, to_organization_name, moves, people from talent_flows
    order by moves desc, from_organization_id, to_organization_id limit 5`
  const { stdout } = await runCli(['query', sql, '--format', 'csv'], { env })
  expect(stdout.trim().split('\n').slice(1)).toEqual([
    'International Business Machines Corporation,Red Hat Inc.,123,123',
    'Microsoft Corporation,Google LLC,70,68',
    'Amazon,Google LLC,31,31',
    'AWS,Google LLC,29,28',
    'Red Hat Inc.,Google LLC,24,24',
  ])
}
