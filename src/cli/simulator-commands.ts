/**
 * `simulate`: serves a simulator of the service on loopback until stopped. `demo`: runs everything on this machine in about
 * ten seconds: a simulator, a backfill of 14 months, a simulated week, the nightly run, and an analyst's queries. Backfill
 * and nightly run each build once and load the pages requested before them; only the second publishes.
 */

import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createTransport } from '../api/transport.ts'
import { commandName } from '../config.ts'
import { chosenWindow } from '../report/window.ts'
import type { RunCommand } from '../run/begin.ts'
import { dataDirectory, type DataDirectory } from '../run/data-directory.ts'
import { isExampleText } from '../run/folder.ts'
import { readJob, type Overrides } from '../run/job.ts'
import { LOCK_FOLDER, acquireLock } from '../run/lock.ts'
import { runJob, type RunReport } from '../run/run.ts'
import { readEventsFile, writeOrganizationsFile } from '../simulator/events.ts'
import type { Fault } from '../simulator/faults.ts'
import { startSimulator } from '../simulator/simulator.ts'
import { createWorld } from '../simulator/world.ts'
import { shiftedClock, type Clock } from '../support/clock.ts'
import { ConfigError, EXIT, messageOf, asStorageError, type ExitCode } from '../support/errors.ts'
import { bytesText, countText, durationText, numberText, sum } from '../support/numbers.ts'
import { Secret } from '../support/secret.ts'
import { csvLine } from '../support/text.ts'
import { DAY, SECOND } from '../support/units.ts'
import { queryReport } from '../warehouse/query-report.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { facts, table, type Report, type Table } from './report.ts'
import { runValues } from './run-result.ts'

// The made-up world reaches a month past today, so that an advanced clock still finds new events.
const WORLD_PAST_MS = 400 * DAY
const WORLD_AHEAD_MS = 31 * DAY
const SIGNALS_EACH_MS = 5 * SECOND

/**
 * A made-up world around `now` (milliseconds since 1970 UTC); the same for a whole UTC day.
 * @param pastMs how far it reaches back
 */
export function worldAround(
  now: number,
  seed: number,
  organizations: number,
  pastMs = WORLD_PAST_MS,
) {
  const today = Math.floor(now / DAY) * DAY
  const [startAt, endAt] = [today - pastMs, today + WORLD_AHEAD_MS]
  return createWorld({ seed, organizations, startAt, endAt })
}

export async function simulateCommand(
  context: Context,
  options: OptionsOf<'simulate'>,
): Promise<ExitCode> {
  const { clock, output, stop } = context
  const { port, key, seed, companies, events, rateLimit, faults, organizationsOut } = options
  const simulator = await startSimulator({
    source:
      events === undefined ? worldAround(clock.now(), seed, companies) : readEventsFile(events),
    clock,
    port,
    apiKeys: [key],
    ...(rateLimit && { rateLimit: { requests: rateLimit, windowMs: SECOND } }),
    ...(faults && { faults: readFaults(faults) }),
  }).catch((error: unknown) => {
    if (!(error instanceof ConfigError) || error.hint !== undefined) throw error
    throw new ConfigError(error.message, {
      hint: '--port 0 takes any free port. docs/simulator.md has an example of each fault.',
      cause: error,
    })
  })
  try {
    const organizations = simulator.organizations()
    if (organizationsOut !== undefined) {
      writeOrganizationsFile(organizationsOut, organizations, isExampleText)
    }
    const { url } = simulator
    output.report({
      title: [
        `serving ${countText(organizations.length, 'organisation')} at ${url} (stop with Ctrl-C)`,
        `  export JOBTIDE_BASE_URL=${url} JOBTIDE_API_KEY=${key}`,
        ...(organizationsOut ? [`  organisations written to ${organizationsOut}`] : []),
      ],
      values: { url, apiKey: key, organizations: organizations.length, pid: process.pid },
    })
    // The real service makes them hourly or daily, which is too long to wait here.
    while (!stop.aborted) {
      await simulator.runSignals()
      await clock.sleep(SIGNALS_EACH_MS, stop).catch(() => undefined)
    }
    const { requests, charged_pages: pages, credits } = simulator.account()
    output.note(
      `served ${countText(requests, 'request')}: ${countText(pages, 'charged page')}, ${countText(credits, 'credit')}`,
    )
    return EXIT.done
  } finally {
    await simulator.close()
  }
}

function readFaults(file: string): Fault[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Fault[]
  } catch (error) {
    throw new ConfigError(`--faults ${file}: ${messageOf(error)}`, {
      hint: 'Expected a JSON array of faults. docs/simulator.md has an example of each.',
      cause: error,
    })
  }
}

const SEED = 7
const COMPANIES = 45
const KEY = 'demo-simulator-key'
const MARKER = 'made-by-jobtide-demo'
const CONCURRENCY = 4
// Rates of attrition begin after a whole observed year, from the first of a month.
const PAST_MS = 430 * DAY
const WEEK_MS = 7 * DAY

/** Runs the demo below `<data-dir>/demo`, which it empties first. One demo at a time: it holds the lock of `<data-dir>`. */
export async function demoCommand(context: Context): Promise<Report> {
  const { clock } = context
  const lock = await acquireLock(context.directory.root, { command: 'demo', clock })
  try {
    const directory = dataDirectory(join(context.directory.root, 'demo'))
    await emptyFolder(directory.root, clock)
    return await journey(context, directory)
  } finally {
    await lock.release()
  }
}

async function journey(context: Context, directory: DataDirectory): Promise<Report> {
  const clock = shiftedClock(context.clock)
  // The last night is that of the newest Monday: what is new then is what a report of the last week shows.
  clock.advance(chosenWindow({ week: true }, clock.now()).to - WEEK_MS - clock.now())
  const simulator = await startSimulator({
    source: worldAround(clock.now(), SEED, COMPANIES, PAST_MS),
    clock,
    apiKeys: [KEY],
  })
  const transport = createTransport({
    baseUrl: simulator.url,
    apiKey: new Secret(KEY),
    clock,
    connections: CONCURRENCY,
  })
  try {
    const organizations = join(directory.root, 'organizations.csv')
    writeOrganizationsFile(organizations, simulator.organizations())
    const pages = join(directory.root, 'pages.csv')
    const urls = simulator.organizations().map(({ network_url: url }) => csvLine([url]))
    writeFileSync(pages, ['url\n', ...urls].join(''))
    const api = { transport, baseUrl: simulator.url }
    const world = { ...context, directory, ownFolder: null, clock }
    const beganAt = clock.monotonic()
    const run = async (name: string, command: RunCommand, more: Overrides) => {
      const report = await runJob(await readJob(name, more, directory.root), command, api, world)
      if (report.stageFailure !== null) throw report.stageFailure
      return report
    }

    context.output.note('The pages of made-up organisations:')
    const companies = await run('companies', 'extract', { organizations: pages })
    context.output.note('Their job changes so far, backfilled from a simulator of the service:')
    const first = await run('demo', 'backfill', { organizations, days: 'all', publish: false })
    context.output.note('The job openings on their pages:')
    const postings = await run('postings', 'extract', {})

    context.output.note('A week passes, and the nightly run asks what is new:')
    clock.advance(WEEK_MS)
    const snapshotTo = join(directory.root, 'snapshots')
    const second = await run('demo', 'run', { organizations, snapshotTo })

    const { credits, requests } = simulator.account()
    const ran = runsTable({ companies, first, postings, second }, clock.monotonic() - beganAt)
    const values = {
      dataDir: directory.root,
      backfill: runValues(first),
      nightly: runValues(second),
      service: { requests, credits },
    }
    return await withWarehouse({ path: directory.warehouse, mode: 'read' }, (warehouse) =>
      demoReport(warehouse, { ran, values, nightly: second }, commandName(world.environment)),
    )
  } finally {
    await transport.close()
    await simulator.close()
  }
}

// Only a folder that a demo made is emptied, and none that a process works in. The marker is written first and never
// removed, so that a demo that was killed at any moment can be repeated.
async function emptyFolder(root: string, clock: Clock): Promise<void> {
  const lock = await acquireLock(root, { command: 'demo', clock })
  try {
    const entries = readdirSync(root).filter((name) => name !== LOCK_FOLDER)
    if (entries.length > 0 && !entries.includes(MARKER)) {
      throw new ConfigError(`${root} exists and was not made by the demo`, {
        hint: 'Name another folder with --data-dir. Nothing was changed.',
      })
    }
    writeFileSync(join(root, MARKER), '')
    for (const name of entries) {
      if (name !== MARKER) rmSync(join(root, name), { recursive: true })
    }
  } catch (error) {
    throw asStorageError(error, root)
  } finally {
    await lock.release()
  }
}

type Runs = Readonly<Record<'companies' | 'first' | 'postings' | 'second', RunReport>>

/** The service's charges, whose credits add up to those of `credits`. */
function runsTable({ companies, first, postings, second }: Runs, tookMs: number): Table {
  const others = [companies.extract, postings.extract]
  const pages = sum(others.map((one) => one.pages))
  const credits = sum(others.map((one) => one.credits))
  const rows = [
    { name: '14 months back', extract: first.extract, load: first.load },
    { name: 'after a week', extract: second.extract, load: second.load },
    { name: 'their pages and openings', extract: { pages, credits, events: null }, load: null },
  ]
  return table(null, rows, [
    [`${countText(COMPANIES, 'organisation')}, ${durationText(tookMs)}`, 'name'],
    ['pages', ({ extract }) => extract.pages, 'number'],
    ['credits', ({ extract }) => extract.credits, 'number'],
    ['events', ({ extract }) => extract.events, 'number'],
    ['new rows', ({ load }) => load?.inserted, 'number'],
    ['changed', ({ load }) => load?.updated, 'number'],
  ])
}

const ORGANIZATIONS_SHOWN = 4
const CHANGES_SHOWN = 2
const FLOWS_SHOWN = 2

// 27 lines fit most terminals with the prompt below.
async function demoReport(
  warehouse: Warehouse,
  { ran, values, nightly }: { ran: Table; values: { dataDir: string }; nightly: RunReport },
  name: string,
): Promise<Report> {
  const below = relative(process.cwd(), values.dataDir)
  const folder = below.startsWith('..') ? values.dataDir : below
  type Change = Readonly<Record<'what' | 'person' | 'organization' | 'title', string>>
  const changes = await queryReport<Change>(warehouse, 'demo_changes', { run_id: nightly.runId })
  type Flow = Record<'from_organization' | 'to_organization', string> & { people: number }
  const flows = await queryReport<Flow>(warehouse, 'demo_flows', { limit: FLOWS_SHOWN })
  type Known = { organization: string } & Record<'headcount' | 'seen' | 'open_roles', number>
  const most = { limit: ORGANIZATIONS_SHOWN }
  const organizations = await queryReport<Known>(warehouse, 'demo_organizations', most)
  const kinds = ['joined', 'left', 'promoted'].map((what) => {
    const found = changes.filter((change) => change.what === what)
    return { what, count: found.length, latest: found.slice(0, CHANGES_SHOWN) }
  })
  const mostMoves = flows.map(({ from_organization: from, to_organization: to, people }) => {
    return `${from} → ${to}: ${countText(people, 'person', 'people')}`
  })
  const { files = 0, bytes = 0 } = nightly.publish ?? {}
  return {
    sections: [
      ran,
      table(
        null,
        kinds.flatMap(({ what, count, latest }) =>
          latest.map((change, index) => ({
            ...change,
            kind: index === 0 ? `${numberText(count)} ${what}` : '',
          })),
        ),
        [
          ['since then', 'kind'],
          ['who', 'person'],
          ['where', 'organization'],
          ['title', 'title'],
        ],
      ),
      table(null, organizations, [
        // Names go below their heading, like the people above.
        ['hiring', () => ''],
        ['organisation', 'organization'],
        ['headcount', 'headcount', 'number'],
        // How many of them changed a row.
        ['seen', 'seen', 'number'],
        ['open', 'open_roles', 'number'],
      ]),
      facts({
        'most moves': mostMoves,
        journal: `${folder}/journal (each page bought once, kept forever)`,
        snapshot: `${folder}/snapshots (${countText(files, 'Parquet file')}, ${bytesText(bytes)})`,
        open: `${folder}/analyst.duckdb (a copy to read, in any DuckDB)`,
      }),
    ],
    notes: [
      'next',
      `  ${name} query --data-dir ${folder} --recipe attrition`,
      `  ${name} report --data-dir ${folder}`,
    ],
    values: {
      ...values,
      ...Object.fromEntries(kinds.map(({ what, ...found }) => [what, found])),
      talentFlows: flows,
      organizations,
    },
  }
}
