/**
 * `extract` and `load` of a whole list, compared with a bare loop that fetches the same pages and puts their rows into
 * DuckDB: separate processes, in turn, against one simulator. Prints medians of wall and CPU time of each process. It
 * uses the real events if they are next to the repository, otherwise a simulated world. JOBTIDE_BENCH_ROUNDS sets the
 * number of rounds (3).
 */

import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { realEventsPath } from '../model/real-events.ts'

const CLI = join(import.meta.dirname, '../../dist/cli.js')
const BARE = join(import.meta.dirname, 'bare-loop.mjs')
const ROUNDS = Number(process.env['JOBTIDE_BENCH_ROUNDS'] ?? 3)
// The organisations of about 130,000 events.
const COMPANIES = 1_500

interface Took {
  readonly seconds: number
  readonly cpu: number
}

async function timed(folder: string, args: readonly string[], url: string): Promise<Took> {
  const report = join(folder, 'cpu.txt')
  const hook = `import { writeFileSync } from 'node:fs'
    process.on('exit', () => writeFileSync(${JSON.stringify(report)}, JSON.stringify(process.cpuUsage())))`
  const began = performance.now()
  await promisify(execFile)(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, ...args],
    { env: { ...process.env, JOBTIDE_BASE_URL: url, JOBTIDE_API_KEY: 'simulator-key' } },
  )
  const seconds = (performance.now() - began) / 1_000
  const { user, system } = JSON.parse(readFileSync(report, 'utf8')) as NodeJS.CpuUsage
  return { seconds, cpu: (user + system) / 1e6 }
}

/** Starts the simulator; the list of its organisations is in `list`. */
async function serve(list: string) {
  const world = existsSync(realEventsPath)
    ? ['--events', realEventsPath]
    : ['--companies', String(COMPANIES)]
  const options = ['--json', '--port', '0', '--organizations-out', list, ...world]
  const simulator = spawn(process.execPath, [CLI, 'simulate', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = (await once(simulator.stdout, 'data')) as [Buffer]
  const { url } = JSON.parse(said.toString()) as { url: string }
  return { url, stop: () => simulator.kill() }
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

it('extracts and loads, compared with a bare loop', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
  const list = join(folder, 'organizations.csv')
  const pipeline = join(folder, 'all.yaml')
  const simulator = await serve(list)
  writeFileSync(
    pipeline,
    `name: all\norganizations: ${list}\nwindow: all\nlimits: { concurrency: 8 }\n`,
  )
  const commands: [string, (data: string) => string[]][] = [
    ['bare loop', (data) => [BARE, simulator.url, list, data]],
    ['extract', (data) => [CLI, 'extract', pipeline, '--data-dir', data]],
    ['load', (data) => [CLI, 'load', '--data-dir', data]],
  ]
  try {
    const took = new Map(commands.map(([name]) => [name, [] as Took[]]))
    for (let round = 0; round < ROUNDS; round += 1) {
      const data = mkdtempSync(join(folder, 'round-'))
      for (const [name, args] of commands) {
        took.get(name)?.push(await timed(folder, args(data), simulator.url))
      }
      rmSync(data, { recursive: true })
    }
    const of = (name: string) => {
      const rounds = took.get(name) ?? []
      expect(rounds).toHaveLength(ROUNDS)
      return {
        seconds: median(rounds.map((one) => one.seconds)),
        cpu: median(rounds.map((one) => one.cpu)),
      }
    }
    const [bare, extract, load] = commands.map(([name]) => of(name)) as [Took, Took, Took]
    const show = (name: string, { seconds, cpu }: Took) =>
      process.stdout.write(
        `${name.padEnd(16)} ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of processor time\n`,
      )
    show('bare loop', bare)
    show('extract', extract)
    show('load', load)
    const ratio = (of: keyof Took) => ((extract[of] + load[of]) / bare[of]).toFixed(1)
    process.stdout.write(
      `ratio            ${ratio('seconds')}, ${ratio('cpu')} of processor time\n`,
    )
  } finally {
    simulator.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
