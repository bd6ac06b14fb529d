/**
 * `demo`: the whole journey on this machine. A simulator of the service, a backfill of a year, a night that passes, the
 * nightly run, and what an analyst sees afterwards. Needs no account and no network.
 */

import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from '../api/transport.ts'
import { dataDirectory, type DataDirectory } from '../run/data-directory.ts'
import { readJob } from '../run/job.ts'
import { LOCK_FOLDER, acquireLock } from '../run/lock.ts'
import { runJob, type RunReport } from '../run/run.ts'
import { startSimulator } from '../simulator/simulator.ts'
import { writeOrganizationsFile } from '../simulator/organizations-file.ts'
import { shiftedClock, type Clock } from '../support/clock.ts'
import { ConfigError, EXIT, asStorageError, type ExitCode } from '../support/errors.ts'
import { Secret } from '../support/secret.ts'
import { DAY } from '../support/units.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import { runWorld, type Context } from './context.ts'
import { runValues } from './run-result.ts'
import { worldAround } from './simulate-command.ts'
import { bytesText, countText, durationText, numberText, tableText } from './text.ts'

const SEED = 7
const COMPANIES = 150
const KEY = 'demo-simulator-key'
const MARKER = 'made-by-jobtide-demo'
const CONCURRENCY = 4

/** Runs the demo below `<data-dir>/demo`, which it empties first. One demo at a time: it holds the lock of `<data-dir>`. */
export async function demoCommand(context: Context): Promise<ExitCode> {
  const { clock } = context
  const lock = await acquireLock(context.directory.root, { command: 'demo', clock })
  try {
    const directory = dataDirectory(join(context.directory.root, 'demo'))
    await emptyFolder(directory.root, clock)
    return await journey(context, directory)
  } finally {
    lock.release()
  }
}

async function journey(context: Context, directory: DataDirectory): Promise<ExitCode> {
  const clock = shiftedClock(context.clock)
  const simulator = await startSimulator({
    source: worldAround(clock.now(), SEED, COMPANIES),
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
    const overrides = { organizations, snapshotTo: join(directory.root, 'snapshots') }
    const service = { transport, baseUrl: simulator.url }
    const world = { ...runWorld(context), directory, clock }
    const beganAt = clock.monotonic()

    context.output.note('A year of job changes, backfilled from a simulator of the service:')
    const backfill = await readJob('demo', { ...overrides, days: 365 }, directory.root)
    const first = published(await runJob(backfill, 'backfill', service, world))
    context.progress.stop()

    context.output.note('A night passes, and the nightly run asks what is new:')
    clock.advance(DAY)
    const nightly = await readJob('demo', overrides, directory.root)
    const second = published(await runJob(nightly, 'run', service, world))
    context.progress.stop()

    const facts = await readFacts(directory, second.runId)
    const tookMs = clock.monotonic() - beganAt
    const { credits, requests } = simulator.account()
    context.output.document({
      data_dir: directory.root,
      backfill: runValues(first),
      nightly: runValues(second),
      service: { requests, credits },
      ...facts,
    })
    context.output.text(screen(context, directory, { first, second, facts, tookMs }))
    return EXIT.done
  } finally {
    context.progress.stop()
    await transport.close()
    await simulator.close()
  }
}

function published(report: RunReport): RunReport {
  if (report.publishFailure !== null) throw report.publishFailure
  return report
}

// Only a folder that a demo made is emptied, and none that a process works in. The marker is written first and never
// removed, so that a demo that was killed at any moment can be repeated.
async function emptyFolder(root: string, clock: Clock): Promise<void> {
  const lock = await acquireLock(root, { command: 'demo', clock })
  try {
    const entries = readdirSync(root).filter((name) => name !== LOCK_FOLDER)
    if (entries.length > 0 && !entries.includes(MARKER)) {
      throw new ConfigError(`${root} exists and was not made by the demo`, {
        hint: 'Name another folder with --data-dir; nothing was changed.',
      })
    }
    writeFileSync(join(root, MARKER), '')
    for (const name of entries) {
      if (name !== MARKER) rmSync(join(root, name), { recursive: true })
    }
  } catch (error) {
    throw asStorageError(error, root)
  } finally {
    lock.release()
  }
}

interface Facts {
  readonly joined: Changes
  readonly left: Changes
  readonly promoted: Changes
  readonly talent_flows: readonly Flow[]
}

/** What the night brought of one kind. */
interface Changes {
  readonly count: number
  readonly latest: readonly Change[]
}

interface Change {
  readonly person: string
  readonly organization: string
  readonly title: string
}

interface Flow {
  readonly from_organization: string
  readonly to_organization: string
  readonly people: number
}

const ROWS = 2

function readFacts(directory: DataDirectory, nightRunId: string): Promise<Facts> {
  return withWarehouse({ path: directory.warehouse, mode: 'read' }, async (warehouse) => {
    const changes = (table: string, title: string) => newIn(warehouse, nightRunId, table, title)
    return {
      joined: await changes('joiners', 'change.title'),
      left: await changes('leavers', 'change.title'),
      promoted: await changes('promotions', `change.previous_title || ' → ' || change.title`),
      talent_flows: await warehouse.all<Flow>(
        `select
            from_organization_name as from_organization,
            to_organization_name as to_organization,
            cast(people as integer) as people
        from talent_flows
        order by people desc, from_organization_id, to_organization_id
        limit ${ROWS}`,
      ),
    }
  })
}

async function newIn(
  warehouse: Warehouse,
  runId: string,
  table: string,
  title: string,
): Promise<Changes> {
  const rows = await warehouse.all<Change>(
    `select
        change.person_full_name as person,
        change.organization_name as organization,
        ${title} as title
    from ${table} as change
    join job_change_events as event on event.event_key = change.event_key
    where event.first_run_id = $1
    order by change.detected_at desc, change.event_key`,
    [runId],
  )
  return { count: rows.length, latest: rows.slice(0, ROWS) }
}

interface Screen {
  readonly first: RunReport
  readonly second: RunReport
  readonly facts: Facts
  readonly tookMs: number
}

// 23 lines, so that all of it stands in a terminal of 80 × 24 with the prompt below it.
function screen(context: Context, directory: DataDirectory, shown: Screen): string {
  const { first, second, facts, tookMs } = shown
  const width = context.output.columns
  const folder = relativeTo(directory.root)
  return [
    '',
    tableText(
      [
        `${countText(COMPANIES, 'organisation')}, ${durationText(tookMs)}`,
        'pages',
        'credits',
        'events',
        'new rows',
        'changed',
      ],
      [runRow('a year back', first), runRow('the night after', second)],
      { width, numeric: [false, true, true, true, true, true] },
    ),
    '',
    tableText(
      ['that night', 'who', 'where', 'title'],
      [
        ...changeRows('joined', facts.joined),
        ...changeRows('left', facts.left),
        ...changeRows('promoted', facts.promoted),
      ],
      { width },
    ),
    'where people went most often in all that time',
    ...facts.talent_flows.map(
      (flow) =>
        `  ${flow.from_organization} → ${flow.to_organization}: ${numberText(flow.people)} people`,
    ),
    '',
    `journal    ${folder}/journal (each page bought once, kept for ever)`,
    `warehouse  ${folder}/jobtide.duckdb`,
    `snapshot   ${folder}/snapshots (${countText(second.publish?.files ?? 0, 'Parquet file')}, ${bytesText(second.publish?.bytes ?? 0)})`,
    '',
    'next',
    `  npx jobtide query --data-dir ${folder} "from organization_weekly limit 5"`,
    `  npx jobtide status --data-dir ${folder}`,
  ].join('\n')
}

function runRow(name: string, { extract, load }: RunReport): string[] {
  return [
    name,
    numberText(extract.pages),
    numberText(extract.credits),
    numberText(extract.events),
    numberText(load?.inserted ?? 0),
    numberText(load?.updated ?? 0),
  ]
}

function changeRows(what: string, { count, latest }: Changes): string[][] {
  if (count === 0) return [[`0 ${what}`, '', '', '']]
  return latest.map(({ person, organization, title }, index) => [
    index === 0 ? `${numberText(count)} ${what}` : '',
    person,
    organization,
    title,
  ])
}

function relativeTo(path: string): string {
  const here = `${process.cwd()}/`
  return path.startsWith(here) ? path.slice(here.length) : path
}
