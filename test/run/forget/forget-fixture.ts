/** A data directory with a world of 200 people over two nights, published each night, for tests of erasing people. */

import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openJournal, type Journal } from '../../../src/journal/journal.ts'
import { listSnapshots } from '../../../src/publish/manifest.ts'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import { verifySnapshot } from '../../../src/publish/verify.ts'
import { dataDirectory } from '../../../src/run/data-directory.ts'
import { erase, planErasure } from '../../../src/run/forget/erase.ts'
import { searchFolder } from '../../../src/run/forget/search.ts'
import type { ErasureWorld } from '../../../src/run/forget/search.ts'
import type { SnapshotTarget } from '../../../src/run/job.ts'
import { buildStage, loadStage, publishStage, type RunWorld } from '../../../src/run/stages.ts'
import type { JobChangeEvent } from '../../../src/simulator/events.ts'
import { realClock, shiftedClock } from '../../../src/support/clock.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { DAY } from '../../../src/support/units.ts'
import { withWarehouse, type Warehouse } from '../../../src/warehouse/warehouse.ts'
import { makeAnalystCopy } from '../../../src/run/analyst-copy.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { aPage, aBatch, startRun, wireEvent } from '../../load/load-fixture.ts'

/** The erased person, and every text by which they could be found. */
export const ADA = 'per_ada_00000000077'
/** A person only in the events of the second night. */
export const LATE = 'per_late_0000000078'
export const MARKERS = [
  ADA,
  'ada-handle-q7x9',
  'Ada Q7x9 Lovelace',
  'Headline q7x9 of the first night',
  'Headline q7x9 of the last night',
  'https://network.example/in/q7x9-ada',
  'Analytical Engineer q7x9',
  'Countess q7x9 of Engines',
]

const PEOPLE = 200

/** A data directory and the parts that work on it. */
export type ForgetSite = ReturnType<typeof forgetSite>

/** A data directory on the day after this many nights. */
export function forgetSite(
  root = join(temporaryFolder(), 'data'),
  nights = 0,
  s3Endpoint?: string,
) {
  const directory = dataDirectory(root)
  const clock = shiftedClock(realClock)
  clock.advance(nights * DAY)
  const journal = openJournal(directory.journal, clock)
  const signal = new AbortController().signal
  const world: RunWorld = {
    directory,
    clock,
    random: () => 0.5,
    logger: silentLogger,
    version: '0.4.0-test',
    s3Endpoint,
    stop: signal,
    abort: signal,
    onProgress: () => undefined,
  }
  const open = <T>(work: (warehouse: Warehouse) => Promise<T>) =>
    withWarehouse({ path: directory.warehouse, mode: 'write', threads: 1 }, work)
  return {
    directory,
    journal,
    world,
    /** Buys, loads, builds and publishes. */
    async night(target: SnapshotTarget, number: number): Promise<void> {
      clock.advance(DAY)
      await buy(journal, number)
      await open(async (warehouse) => {
        await loadStage(warehouse, journal, world)
        await buildStage(warehouse, world)
        const writer = journal.writer()
        await publishStage(warehouse, target, { runId: null, writer }, world)
        await writer.close()
        await loadStage(warehouse, journal, world)
      })
      await makeAnalystCopy({ directory, clock })
    },
    /** The effects of an erasure that publishes nowhere else. */
    erasing: (
      targets: readonly SnapshotTarget[] = [],
      onStep: (step: string) => void = () => undefined,
    ): ErasureWorld => ({
      ...world,
      targets: () => targets,
      onProgress: (progress) => {
        if (progress.stage === 'forget') onStep(`${progress.name} ${progress.done}`)
      },
    }),
    read: open,
  }
}

/** A destination that keeps every snapshot of these tests. */
export function targetAt(to: string): SnapshotTarget {
  return { to, s3: {}, keep: { last: 30, daily: 0, weekly: 0, monthly: 0 } }
}

const made: string[] = []
let pristine: Promise<string> | null = null
let erased: ReturnType<typeof eraseAda> | null = null

// Journal, warehouse, copy and two snapshots of two nights, in a folder that is only copied.
async function makeNights(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-nights-'))
  made.push(folder)
  const root = join(folder, 'data')
  const site = forgetSite(root)
  for (const night of [1, 2]) await site.night(targetAt(join(root, 'snapshots')), night)
  return root
}

const siteAt = (root: string) => ({
  site: forgetSite(root, 2),
  target: targetAt(join(root, 'snapshots')),
})

/** Journal, warehouse, copy and two snapshots of two nights, in the test's own folder. */
export async function twoNights() {
  const root = join(temporaryFolder(), 'data')
  pristine ??= makeNights()
  cpSync(await pristine, root, { recursive: true, preserveTimestamps: true })
  return siteAt(root)
}

// The site, the plan and result of the erasure, and the warehouse and the events of others from before it.
async function eraseAda() {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-erased-'))
  made.push(folder)
  const root = join(folder, 'data')
  pristine ??= makeNights()
  cpSync(await pristine, root, { recursive: true, preserveTimestamps: true })
  const { site, target } = siteAt(root)
  await site.read((now) => now.run(`create view own_view as from people where events > 1`))
  const before = await site.read(others)
  const backup = join(folder, 'jobtide.duckdb')
  cpSync(site.directory.warehouse, backup)
  const namedIn = await matchesIn(root)
  const store = openFolderStore(target.to, realClock)
  const ids = (await listSnapshots(store)).map(({ snapshot_id: id }) => id)
  const plan = await planErasure(site.erasing([target]), REQUEST)
  const isNoted = existsSync(join(root, 'suppressed.json'))
  const certificate = (await erase(site.erasing([target]), REQUEST))!
  return { root, before, backup, namedIn, ids, plan, isNoted, certificate }
}

/** Two nights after the erasure of Ada, and the warehouse from before it, in the test's own folder. */
export async function erasedNights() {
  erased ??= eraseAda()
  const { root, ...rest } = await erased
  const own = join(temporaryFolder(), 'data')
  cpSync(root, own, { recursive: true, preserveTimestamps: true })
  return { ...siteAt(own), ...rest, from: root }
}

/** Removes the originals of these copies; call it after the last test. */
export function removeNights(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
  pristine = null
  erased = null
}

/** Writes one night's pages: the events of everyone, two of them Ada's, and a reject that names her. */
export async function buy(journal: Journal, night: number): Promise<void> {
  const writer = journal.writer()
  const runId = `run_${night}`
  startRun(writer, [aBatch()], runId)
  const events: unknown[] = eventsOf(night)
  for (let from = 0, page = 1; from < events.length; from += 50, page += 1) {
    const some = events.slice(from, from + 50)
    const { record, body } = aPage(some, { runId, page, requestId: `${runId}_${page}` })
    writer.write(record, body)
  }
  await writer.close()
}

/** The events of one night, as sent. */
function eventsOf(night: number): unknown[] {
  const year = Date.UTC(2023 + night, 1, 1)
  const events: JobChangeEvent[] = Array.from({ length: PEOPLE }, (_, index) => {
    const isAda = index === 77
    const event = wireEvent({
      person: isAda ? ADA : `per_${index}`,
      organization: `org_${(index + night) % 7}`,
      organizationName: `Organisation ${(index + night) % 7}`,
      type: 'joined',
      changedAt: year + (index % 28) * DAY,
      detectedAt: year + 40 * DAY,
      title: isAda ? 'Analytical Engineer q7x9' : `VP Engineering ${index % 11}`,
      name: isAda ? 'Ada Q7x9 Lovelace' : `Person ${index % 150}`,
      headline: isAda ? headlineOf(night) : `Headline ${index}`,
    })
    if (!isAda) return event
    const network_url = 'https://network.example/in/q7x9-ada'
    return { ...event, person: { ...event.person, handle: 'ada-handle-q7x9', network_url } }
  })
  const left = wireEvent({
    person: ADA,
    organization: `org_${(77 + night) % 7}`,
    type: 'left',
    changedAt: year + 60 * DAY,
    detectedAt: year + 61 * DAY,
    title: 'Countess q7x9 of Engines',
    previousTitle: 'Countess q7x9 of Engines',
    name: 'Ada Q7x9 Lovelace',
  })
  const reject = { ...left, changed_at: 'not a date' }
  const late = wireEvent({ person: LATE, changedAt: year, detectedAt: year + 40 * DAY })
  return [...events, left, reject, ...(night === 2 ? [late] : [])]
}

function headlineOf(night: number): string {
  return night === 1 ? MARKERS[3]! : MARKERS[4]!
}

/** Files below a folder that contain a text literally. */
export function filesWith(folder: string, texts: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const bytes = readFileSync(path)
      return texts.some((text) => bytes.includes(text))
    })
}

/** An erasure of Ada. */
export const REQUEST = { profileIds: [ADA], eventsBefore: null }
/** The remaining work. */
export const NOTHING_NEW = { profileIds: [], eventsBefore: null }
/** The events of everyone else. */
export const others = (warehouse: Warehouse) =>
  warehouse.all(
    `select * exclude (times_seen) from job_change_events where profile_id <> $1 order by event_key`,
    [ADA],
  )

/** Where they are found below a folder, in any kind of file. */
export async function matchesIn(folder: string): Promise<readonly string[]> {
  const markers = MARKERS.map((text) => ({ text, is_unique: true }))
  const scratchFolder = join(temporaryFolder(), 'scratch')
  return (await searchFolder(folder, { markers, scratchFolder })).matches
}

/** Every snapshot is what `verify` says it should be. */
export async function expectProved(folder: string): Promise<void> {
  const store = openFolderStore(folder, realClock)
  const scratchFolder = join(temporaryFolder(), 'scratch')
  for (const { snapshot_id: snapshotId } of await listSnapshots(store)) {
    const report = await verifySnapshot({ store, snapshotId, scratchFolder })
    expect(report.findings).toEqual([])
  }
}
