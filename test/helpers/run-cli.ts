/**
 * Runs the real command line in its own process: `node dist/cli.js …`, with its output and exit code. A simulator in
 * the test's process serves it. It gets only PATH from the test's environment, and every folder is new.
 */

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import { DOCUMENTS, failure } from '../../src/cli/documents.ts'
import { runCommandLine } from '../../src/cli/main.ts'
import { writeOrganizationsFile } from '../../src/simulator/events.ts'
import { startSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { createWorld, worldSightings } from '../../src/simulator/world.ts'
import { realClock, shiftedClock } from '../../src/support/clock.ts'
import { jsonOrNull } from '../../src/support/json.ts'
import { DAY } from '../../src/support/units.ts'
import { temporaryFolder, type OnEnd } from './temporary-folder.ts'

/** The command line as `npm run build` made it. */
export const CLI = resolve(import.meta.dirname, '..', '..', 'dist', 'cli.js')

/** How a command ended. */
export interface CliResult {
  /** Null if a signal ended it. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** Milliseconds. */
  readonly tookMs: number
}

/** A running command. */
export type RunningCli = ReturnType<typeof startCli>

/** Where and how a command runs. */
export interface CliOptions {
  /** Added to PATH; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Current folder; default the system's folder for temporary files, where there is no pipelines/. */
  readonly cwd?: string
  /** Another installed copy of the command line. */
  readonly cli?: string
  /** Both outputs are terminals; in this process only. */
  readonly isTerminal?: boolean
}

/** Starts the command line. */
export function startCli(args: readonly string[], options: CliOptions = {}) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [options.cli ?? CLI, ...args], {
    cwd: options.cwd ?? tmpdir(),
    env: { PATH: process.env['PATH'], ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    written.stdout += part
  })
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    written.stderr += part
  })
  const ended = new Promise<CliResult>((resolveEnd, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode, signal) => {
      try {
        expectDocument(args, written.stdout)
      } catch (error) {
        reject(error as Error)
      }
      resolveEnd({ exitCode, signal, ...written, tookMs: performance.now() - startedAt })
    })
  })
  return {
    process: child,
    ended,
    /** Its output so far. */
    stderr: () => written.stderr,
    stdout: () => written.stdout,
  }
}

/** Runs the command line to its end. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(args, options).ended
}

let last: Promise<unknown> = Promise.resolve()

/**
 * Runs a command to its end in this process, in a twentieth of the time, for tests that are not about signals, locks or
 * file modes. Only one at a time, because the process has one current folder.
 */
export function callCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const result = last.then(() => callAlone(args, options))
  last = result.catch(() => undefined)
  return result
}

async function callAlone(args: readonly string[], options: CliOptions): Promise<CliResult> {
  const startedAt = performance.now()
  const { isTerminal: isTTY = false } = options
  const stream = () => Object.assign(new PassThrough(), { isTTY })
  const [stdout, stderr] = [stream(), stream()]
  const texts = Promise.all([text(stdout), text(stderr)])
  const never = new AbortController().signal
  const back = process.cwd()
  process.chdir(options.cwd ?? tmpdir())
  try {
    const exitCode = await runCommandLine(args, {
      environment: { PATH: process.env['PATH'], ...options.env },
      streams: { stdout, stderr },
      random: Math.random,
      stop: never,
      abort: never,
    })
    stdout.end()
    stderr.end()
    const [out, err] = await texts
    const tookMs = performance.now() - startedAt
    expectDocument(args, out)
    return { exitCode, signal: null, stdout: out, stderr: err, tookMs }
  } finally {
    process.chdir(back)
  }
}

/**
 * Checks every `--json` output against the schema of the command, so that no document has an undeclared key. A
 * truncated document is ignored.
 */
function expectDocument(args: readonly string[], stdout: string): void {
  const schema = DOCUMENTS[args[0] ?? '']
  const document = args.includes('--json') ? jsonOrNull(stdout) : null
  if (schema === undefined || document === null) return
  const { data, error } = z.union([schema, failure]).safeParse(document)
  expect(error?.message, `${args.join(' ')}: ${stdout.slice(0, 2_000)}`).toBeUndefined()
  // Parsing drops undeclared keys.
  expect(data).toEqual(document)
}

/** A command that exited with 0. */
export function done(result: CliResult): CliResult {
  expect(result.exitCode, result.stderr).toBe(0)
  return result
}

/** The key that a test's simulator accepts; `/`, `+` and `=` look different in each encoding. */
export const KEY = 'canary+key/for=tests-5f2c9d'

/** The NODE_OPTIONS of a process whose clock is this far ahead of this machine's. */
export const clockAhead = (ms: number) =>
  `--import=data:text/javascript,const{now}=Date;Date.now=()=>now.call(Date)%2B(${ms})`

/** A service, a list of its organisations, a pipeline that reads it, and a data directory. */
export type Site = Awaited<ReturnType<typeof openSite>>

/** The options of a site. */
export interface SiteOptions extends Partial<SimulatorOptions> {
  /** Organisations of the made-up world; default 8. */
  readonly companies?: number
  readonly events?: number
  /** Further lines of the pipeline file. */
  readonly pipelineLines?: readonly string[]
  /** As for temporaryFolder. */
  readonly onEnd?: OnEnd
}

/** The made-up world of a site: two years up to today and a month more. */
export function worldOf({ companies = 8, events }: Pick<SiteOptions, 'companies' | 'events'>) {
  const today = Math.floor(Date.now() / DAY) * DAY
  return {
    seed: 11,
    organizations: companies,
    startAt: today - 730 * DAY,
    endAt: today + 31 * DAY,
    ...(events === undefined ? {} : { events }),
  }
}

/**
 * How many distinct events of the world of `openSite({ companies })` the service has detected so far, counted from the
 * world.
 */
export function eventsOfTheWorld(companies = 8): number {
  const keys = new Set<string>()
  for (const { event } of worldSightings(worldOf({ companies }))) {
    if (Date.parse(event.detected_at) > Date.now()) continue
    const { person, organization, event_type: type, changed_at: at, title } = event
    const key = [person.profile_id, organization.organization_id, type, at]
    keys.add(JSON.stringify(type === 'title_change' ? [...key, title.current] : key))
  }
  return keys.size
}

/** Opens a site that closes with the test, or as `onEnd` says. */
export async function openSite(options: SiteOptions = {}) {
  const { companies, events, pipelineLines = [], onEnd = onTestFinished, ...others } = options
  const world = { ...(companies && { companies }), ...(events && { events }) }
  const clock = shiftedClock(realClock)
  const simulator = await startSimulator({
    source: createWorld(worldOf(world)),
    clock,
    apiKeys: [KEY],
    ...others,
  })
  onEnd(() => simulator.close())
  const folder = temporaryFolder(onEnd)
  const organizations = join(folder, 'organizations.csv')
  writeOrganizationsFile(organizations, simulator.organizations())
  const pipeline = join(folder, 'test.yaml')
  writeFileSync(pipeline, pipelineText(pipelineLines))
  const dataDir = join(folder, 'data')
  const env = { JOBTIDE_BASE_URL: simulator.url, JOBTIDE_API_KEY: KEY, JOBTIDE_DATA_DIR: dataDir }
  const withEnv = (more: CliOptions = {}): CliOptions => ({
    cwd: folder,
    ...more,
    env: { ...env, ...more.env },
  })
  /** The `--json` output of a command that exits with 0; it runs in this process. */
  const json = async <T = Record<string, unknown>>(...args: readonly string[]): Promise<T> =>
    JSON.parse(done(await callCli([...args, '--json'], withEnv())).stdout) as T
  return {
    simulator,
    folder,
    dataDir,
    organizations,
    /** Path of a pipeline file named `test`. */
    pipeline,
    env,
    /** Runs a command in this process, with the data directory and the service's address and key; see callCli. */
    call: (args: readonly string[], more?: CliOptions) => callCli(args, withEnv(more)),
    /** Runs a command in its own process, with the same. */
    run: (args: readonly string[], more?: CliOptions) => runCli(args, withEnv(more)),
    /** Starts a command in its own process, with the same. */
    start: (args: readonly string[], more?: CliOptions) => startCli(args, withEnv(more)),
    json,
    /** Rows of a query on the warehouse. */
    query: <Row>(sql: string) => json<Row[]>('query', sql),
    /** Moves the time of the service only. */
    advance: (ms: number) => clock.advance(ms),
  }
}

/** A pipeline file named `test` over organizations.csv next to it, with further lines. */
export function pipelineText(lines: readonly string[] = []): string {
  return [
    'name: test',
    'organizations: organizations.csv',
    'window: since-last',
    'initial_window: all',
    'snapshot: { to: snapshots }',
    ...lines,
    '',
  ].join('\n')
}
