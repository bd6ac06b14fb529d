/**
 * Erases people, or events from before a day, from everything that a data directory keeps and published:
 *
 *     tombstones ▶ journal ▶ warehouse ▶ snapshots ▶ copies ▶ proof ▶ certificate
 *
 * Each step can be done again, and `forget.pending.json` says which comes next: an erasure that was stopped goes on with
 * the next `forget`, or at the end of the next run. Tombstones, the entries of the suppression list, come first: so no load
 * brings people back whatever happens after.
 *
 * The steps are in src/load/suppression.ts, journal.ts, rebuild.ts, snapshots.ts, ../analyst-copy.ts and search.ts; what is
 * searched for is in markers.ts.
 */

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '../../journal/journal.ts'
import { suppress, type Erasable } from '../../load/suppression.ts'
import { isoInstant } from '../../support/clock.ts'
import { asStorageError } from '../../support/errors.ts'
import { stableJson } from '../../support/json.ts'
import { sum } from '../../support/numbers.ts'
import { writePrivateFile } from '../../support/private-file.ts'
import { newUlid } from '../../support/ulid.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import { analystCopyPath, makeAnalystCopy } from '../analyst-copy.ts'
import { acquireLock } from '../lock.ts'
import { eraseFromJournal } from './journal.ts'
import { markersOf } from './markers.ts'
import {
  PENDING_FILE,
  STEPS,
  readPending,
  together,
  writePending,
  type Pending,
} from './pending.ts'
import { rebuildWithout } from './rebuild.ts'
import { remainingIn, searchFolder, type SearchReport } from './search.ts'
import { eraseInTarget, knownDestinations, searchTarget } from './snapshots.ts'
import { searchIn, tell, type ErasureWorld } from './world.ts'

/** What was erased, and what is left; it names nobody. `certificates/forget-<ULID>.json` holds all of it but `path`. */
export interface Certificate extends Pick<
  Pending,
  'events_before' | 'segments' | 'rows' | 'stores'
> {
  readonly path: string
  readonly format_version: 2
  /** ULID. */
  readonly id: string
  /** ISO 8601, UTC. */
  readonly made_at: string
  /** Version of Jobtide. */
  readonly jobtide: string
  /** True when nothing is left anywhere. */
  readonly is_complete: boolean
  /** What is left, a sentence each. */
  readonly remaining: readonly string[]
  /** The keyed hash of each person, as on the suppression list. */
  readonly people: readonly string[]
  /** How many texts were searched for in how many files and bytes, and where one was found. */
  readonly proof: SearchReport & { readonly texts: number }
}

/**
 * Erases what is asked for and what an earlier erasure left, and events of erased people that were bought since.
 * @param request nobody and null: only what is left to do
 * @returns null when nothing was asked for, and nothing left
 * @throws LockedError when another process works in the data directory, or reads the warehouse
 * @throws StorageError when the suppression list is lost
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function erase(world: ErasureWorld, request: Erasable): Promise<Certificate | null> {
  const { directory, clock } = world
  const lock = await acquireLock(directory.root, { command: 'forget', clock })
  try {
    openJournal(directory.journal, clock).recover()
    return await new Erasure(world).run(request)
  } finally {
    lock.release()
  }
}

// What killed processes leave: private files and databases in the making, folders of searches, and what a query spilled.
const LEFT_OVER =
  /^(?:(?:forget\.pending|suppressed)\.json\.\d+\.tmp|scratch(?:\.forget-\d+)?|published|(?:jobtide|analyst)\.duckdb(?:\.(?:new|tmp|replay|restore|erased))+(?:\.wal|\.\d+)?)$/

class Erasure {
  readonly #world: ErasureWorld
  /** Whether the data directory holds neither journal nor warehouse. */
  readonly #isEmpty: boolean
  /** The keyed hash of each person. */
  #people: readonly string[] = []
  #proof: SearchReport = { files: 0, bytes: 0, matches: [] }
  #pending = together(null, { profileIds: [], eventsBefore: null })

  constructor(world: ErasureWorld) {
    this.#world = world
    const { journal, warehouse } = world.directory
    const segments = openJournal(journal, world.clock).segments()
    this.#isEmpty = segments.length === 0 && !existsSync(warehouse)
  }

  async run(request: Erasable): Promise<Certificate | null> {
    const earlier = readPending(this.#world.directory.root)
    const isNew = request.profileIds.length > 0 || request.eventsBefore !== null
    if (!this.#isEmpty) await eraseFromJournal(this.#world, 'noted')
    if (earlier === null && !isNew) return null
    this.#pending = together(earlier, request)
    if (isNew) this.#keep({ step: STEPS[0], markers: await this.#markers() })
    this.#people = await this.#suppress()
    for (const [index, step] of STEPS.entries()) {
      if (index < STEPS.indexOf(this.#pending.step)) continue
      tell(this.#world, step)
      this.#keep({ ...(await this.#steps[step]()), step: STEPS[index + 1] ?? step })
    }
    return this.#certify()
  }

  readonly #steps: Readonly<Record<(typeof STEPS)[number], () => Promise<Partial<Pending>>>> = {
    journal: async () => {
      if (this.#isEmpty) return {}
      const segments = await eraseFromJournal(this.#world, 'all')
      return { segments: [...this.#pending.segments, ...segments] }
    },
    warehouse: async () => {
      if (this.#isEmpty) return {}
      const { profile_ids: ids, rows: before } = this.#pending
      const rows = { ...(await rebuildWithout(this.#world, this.#world.directory.warehouse, ids)) }
      for (const [table, count] of Object.entries(before)) rows[table] = (rows[table] ?? 0) + count
      return { rows }
    },
    snapshots: () => this.#eraseSnapshots(),
    copies: () => this.#eraseCopies(),
    proof: async () => {
      if (this.#pending.markers.length > 0) this.#proof = await this.#search()
      return {}
    },
  }

  /** What to look for, noted while it is still there, and before anything is changed. */
  async #markers(): Promise<Pending['markers']> {
    const { profile_ids: ids, markers } = this.#pending
    if (ids.length === 0) return []
    if (this.#isEmpty) return ids.map((text) => ({ text, is_unique: true }))
    const found = await this.#withWarehouse((warehouse) => markersOf(warehouse, ids))
    return [...new Map([...markers, ...found].map((marker) => [marker.text, marker])).values()]
  }

  #suppress(): Promise<string[]> {
    const { directory, clock } = this.#world
    const { profile_ids: profileIds, events_before: before } = this.#pending
    const eventsBefore = before === null ? null : Date.parse(before)
    const journal = openJournal(directory.journal, clock)
    return suppress(journal, { profileIds, eventsBefore }, clock.now())
  }

  /** Snapshots are left to their own retention where only events of an age are erased. */
  async #eraseSnapshots(): Promise<Pick<Pending, 'stores'>> {
    const { markers, stores } = this.#pending
    const found: Pending['stores'] = []
    for (const target of markers.length === 0 ? [] : await this.#targets()) {
      const store = await eraseInTarget(this.#world, target, markers)
      const before = stores.find(({ destination }) => destination === store.destination)
      found.push({ ...store, snapshots: [...(before?.snapshots ?? []), ...store.snapshots] })
    }
    return { stores: found }
  }

  async #targets() {
    const known = this.#isEmpty ? [] : await this.#withWarehouse(knownDestinations)
    return this.#world.targets(known)
  }

  /** What in the data directory was made of the rest, and what killed processes left. */
  async #eraseCopies(): Promise<Partial<Pending>> {
    const { directory, clock, logger } = this.#world
    const { root } = directory
    try {
      const names = existsSync(root) ? readdirSync(root) : []
      for (const name of names.filter((entry) => LEFT_OVER.test(entry))) {
        rmSync(join(root, name), { recursive: true, force: true })
      }
    } catch (error) {
      throw asStorageError(error, root)
    }
    const copy = analystCopyPath(directory)
    if (!existsSync(copy)) return {}
    const { problem } = await makeAnalystCopy({ directory, clock })
    if (problem === null) return {}
    // One that still names them must not stay, even if there is no other.
    logger.warn({ reason: problem.message }, 'erasure.no_analyst_copy')
    rmSync(copy, { force: true })
    return {}
  }

  async #search(): Promise<SearchReport> {
    const { markers, stores } = this.#pending
    const { root } = this.#world.directory
    const options = { ...searchIn(this.#world, 'proof'), markers }
    // The pending erasure names them on purpose, and goes when this proof holds.
    const reports = [await searchFolder(root, options, join(root, PENDING_FILE))]
    for (const target of await this.#targets()) {
      const isReached = stores.some(
        ({ destination, problem }) => destination === target.to && problem === null,
      )
      const report = isReached ? await searchTarget(this.#world, target, markers) : null
      if (report !== null) reports.push(report)
    }
    return {
      files: sum(reports.map(({ files }) => files)),
      bytes: sum(reports.map(({ bytes }) => bytes)),
      matches: reports.flatMap(({ matches }) => matches),
    }
  }

  #certify(): Certificate {
    const { directory, clock, version } = this.#world
    const { events_before, segments, rows, stores, markers } = this.#pending
    const failed = stores.flatMap(({ destination, problem }) =>
      problem === null ? [] : [`${destination}: ${problem}`],
    )
    const remaining = [...failed, ...remainingIn(directory.root, this.#proof.matches)]
    const now = clock.now()
    const id = newUlid(now)
    const path = join(directory.root, 'certificates', `forget-${id}.json`)
    const content = {
      format_version: 2 as const,
      id,
      made_at: isoInstant(now),
      jobtide: version,
      is_complete: remaining.length === 0,
      remaining,
      people: this.#people,
      events_before,
      segments,
      rows,
      stores,
      proof: { texts: markers.length, ...this.#proof },
    }
    writePrivateFile(path, `${stableJson(content, 2)}\n`)
    if (content.is_complete) writePending(directory.root, null)
    // Mended by then, the rest is looked for again.
    else this.#keep({ step: 'snapshots' })
    return { path, ...content }
  }

  #keep(change: Partial<Pending>): void {
    this.#pending = { ...this.#pending, ...change }
    writePending(this.#world.directory.root, this.#pending)
  }

  #withWarehouse<T>(work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
    return withWarehouse({ path: this.#world.directory.warehouse, mode: 'write' }, work)
  }
}
