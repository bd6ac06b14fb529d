/**
 * `demo`: the whole journey on this machine. A simulator of the service, a backfill of a year, a night that passes, the
 * nightly run, and what an analyst sees afterwards. Needs no account and no network.
 */

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from '../api/transport.ts'
import { dataDirectory, type DataDirectory } from '../run/data-directory.ts'
import { readJob } from '../run/job.ts'
import { runJob, type RunReport } from '../run/run.ts'
import { startSimulator } from '../simulator/simulator.ts'
import { writeOrganizationsFile } from '../simulator/organizations-file.ts'
import { shiftedClock } from '../support/clock.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { Secret } from '../support/secret.ts'
import { DAY } from '../support/units.ts'
import { openWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import { runWorld, type Context } from './context.ts'
import { runDocument } from './report.ts'
import { worldAround } from './simulate-command.ts'
import { bytesText, countText, durationText, numberText, tableText } from './text.ts'

const SEED = 7
const COMPANIES = 60
const KEY = 'demo-simulator-key'
const MARKER = 'made-by-jobtide-demo'
const CONCURRENCY = 4

/** Runs the demo below `<data-dir>/demo`, which it empties first. */
export async function demoCommand(context: Context): Promise<ExitCode> {
  const directory = dataDirectory(join(context.directory.root, 'demo'))
  emptyFolder(directory.root)
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
    writeFileSync(join(directory.root, MARKER), '')
    const overrides = { organizations, snapshotTo: join(directory.root, 'snapshots') }
    const service = { transport, baseUrl: simulator.url }
    const world = { ...runWorld(context), directory, clock }
    const beganAt = clock.monotonic()

    context.output.note('a year back …')
    const backfill = await readJob('demo', { ...overrides, days: 365 }, directory.root)
    const first = await runJob(backfill, 'backfill', service, world)
    context.progress.stop()

    context.output.note('… a night passes …')
    clock.advance(DAY)
    const nightly = await readJob('demo', overrides, directory.root)
    const second = await runJob(nightly, 'run', service, world)
    context.progress.stop()

    const facts = await readFacts(directory)
    const tookMs = clock.monotonic() - beganAt
    const { credits, requests } = simulator.account()
    context.output.document({
      data_dir: directory.root,
      backfill: runDocument(first),
      nightly: runDocument(second),
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

// Only a folder that a demo made is emptied.
function emptyFolder(root: string): void {
  if (!existsSync(root)) return
  if (!existsSync(join(root, MARKER))) {
    throw new ConfigError(`${root} exists and was not made by the demo`, {
      hint: 'Name another folder with --data-dir; nothing was changed.',
    })
  }
  rmSync(root, { recursive: true })
}

interface Facts {
  readonly joiners: readonly Person[]
  readonly leavers: readonly Person[]
  readonly promotions: readonly Person[]
  readonly talent_flows: readonly Flow[]
}

interface Person {
  readonly person: string
  readonly organization: string
  readonly title: string
  readonly changed_on: string
}

interface Flow {
  readonly from_organization: string
  readonly to_organization: string
  readonly moves: number
}

const ROWS = 2

async function readFacts(directory: DataDirectory): Promise<Facts> {
  const warehouse = await openWarehouse({ path: directory.warehouse, mode: 'read' })
  try {
    return {
      joiners: await people(warehouse, 'joiners', 'title', 'joined_at'),
      leavers: await people(warehouse, 'leavers', 'title', 'left_at'),
      promotions: await people(
        warehouse,
        'promotions',
        `previous_title || ' → ' || title`,
        'promoted_at',
      ),
      talent_flows: await warehouse.all<Flow>(
        `select
            from_organization_name as from_organization,
            to_organization_name as to_organization,
            cast(moves as integer) as moves
        from talent_flows
        order by moves desc, from_organization_id, to_organization_id
        limit ${ROWS}`,
      ),
    }
  } finally {
    warehouse.close()
  }
}

function people(warehouse: Warehouse, table: string, title: string, at: string): Promise<Person[]> {
  return warehouse.all<Person>(
    `select
        person_full_name as person,
        organization_name as organization,
        ${title} as title,
        strftime(${at}, '%Y-%m-%d') as changed_on
    from ${table}
    order by detected_at desc, event_key
    limit ${ROWS}`,
  )
}

interface Screen {
  readonly first: RunReport
  readonly second: RunReport
  readonly facts: Facts
  readonly tookMs: number
}

function screen(context: Context, directory: DataDirectory, shown: Screen): string {
  const { first, second, facts, tookMs } = shown
  const width = context.output.columns
  const runs = [
    ['backfill 365 days', first],
    ['the next night', second],
  ] as const
  const person = (what: string, rows: readonly Person[]) =>
    rows.map((row) => [what, row.changed_on, row.person, row.organization, row.title])
  const folder = relativeTo(directory.root)
  return [
    '',
    tableText(
      ['', 'pages', 'events', 'credits', 'new', 'changed'],
      runs.map(([name, { extract, load }]) => [
        name,
        numberText(extract.pages),
        numberText(extract.events),
        numberText(extract.credits),
        numberText(load?.inserted ?? 0),
        numberText(load?.updated ?? 0),
      ]),
      { width, numeric: [false, true, true, true, true, true] },
    ),
    '',
    tableText(
      ['last seen', 'when', 'who', 'where', 'title'],
      [
        ...person('joined', facts.joiners),
        ...person('left', facts.leavers),
        ...person('rose', facts.promotions),
      ],
      { width },
    ),
    ...facts.talent_flows.map(
      (flow) =>
        `moved      ${flow.from_organization} → ${flow.to_organization}: ${countText(flow.moves, 'move')}`,
    ),
    '',
    `snapshot   ${folder}/snapshots (${countText(second.publish?.files ?? 0, 'Parquet file')}, ${bytesText(second.publish?.bytes ?? 0)})`,
    `warehouse  ${folder}/jobtide.duckdb · journal ${folder}/journal · ${durationText(tookMs)}`,
    '',
    'next',
    `  npx jobtide query --data-dir ${folder} "select * from organization_weekly limit 5"`,
    `  npx jobtide status --data-dir ${folder}`,
    '  npx jobtide simulate    # and point a pipeline of your own at it: README.md',
  ].join('\n')
}

function relativeTo(path: string): string {
  const here = `${process.cwd()}/`
  return path.startsWith(here) ? path.slice(here.length) : path
}
