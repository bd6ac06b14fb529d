/**
 * Forgetting: people, or events from before a day, out of journal, warehouse, analysts' copy and every snapshot, with a
 * certificate of what was done and a proof that nothing is left. Who is forgotten is on the suppression list first, so
 * whatever happens after, no load brings them back. Stopped at any point, it goes on when it is called again.
 */

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '../../journal/journal.ts'
import {
  readSuppression,
  suppressEventsBefore,
  suppressPeople,
  type Suppression,
} from '../../load/suppression.ts'
import { noteList } from '../../load/suppression-list.ts'
import { buildModels } from '../../model/build.ts'
import { sha256OfFile } from '../../publish/parquet.ts'
import { isoInstant } from '../../support/clock.ts'
import { asStorageError } from '../../support/errors.ts'
import { stableJson } from '../../support/json.ts'
import { writePrivateFile } from '../../support/private-file.ts'
import { newUlid } from '../../support/ulid.ts'
import { eraseRows, rewriteWarehouse } from '../../warehouse/erase.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import { analystCopyPath, makeAnalystCopy } from '../analyst-copy.ts'
import {
  certificateDocument,
  type Certificate,
  type StoreCertificate,
} from './forget-certificate.ts'
import { eraseJournal, eventOfReject, findInJournal } from './forget-journal.ts'
import { acquireAlone } from './forget-lock.ts'
import {
  PENDING_FILE,
  newPending,
  readPending,
  removePending,
  together,
  writePending,
  type Pending,
} from './forget-pending.ts'
import { searchFolder, type Proof } from './forget-proof.ts'
import { forgetInTarget, knownDestinations, searchTarget } from './forget-stores.ts'
import { markersOf, textsOfEvent, textsOfPeople, type Marker } from './forget-texts.ts'
import {
  passingFolder,
  tell,
  type ForgetRequest,
  type ForgetTarget,
  type ForgetWorld,
} from './forget-world.ts'
import { remainingIn } from './remaining.ts'

/** What killed processes leave: private files and databases in the making, passing folders. */
const LEFT_OVER =
  /^(?:(?:forget\.pending|suppressed)\.json\.\d+\.tmp|scratch\.forget-\d+|(?:jobtide|analyst)\.duckdb(?:\.(?:new|replay|restore|rewritten))+(?:\.wal)?)$/

/**
 * Forgets, goes on with what an earlier call left undone, and writes the certificate, which says what is left where
 * something is.
 * @throws LockedError when another process works in the data directory, or reads the warehouse
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function forget(world: ForgetWorld, request: ForgetRequest): Promise<Certificate> {
  const { directory, clock } = world
  const lock = acquireAlone(directory.root, 'forget', clock)
  try {
    return await new Forgetting(world, request).run()
  } finally {
    lock.release()
  }
}

class Forgetting {
  readonly #world: ForgetWorld
  /** ULID of this attempt, and of its certificate. */
  readonly #id: string
  /** The keyed hash of each person. */
  readonly #people: readonly string[]
  readonly #suppression: Suppression
  #pending: Pending

  /** Puts them on the list, before anything else. */
  constructor(world: ForgetWorld, request: ForgetRequest) {
    const { root } = world.directory
    const journal = openJournal(world.directory.journal, world.clock)
    this.#world = world
    this.#id = newUlid(world.clock.now())
    const pending = together(readPending(root) ?? newPending(), request)
    this.#pending = { ...pending, attempts: [...pending.attempts, this.#id] }
    tell(world, { step: 'list' })
    const { profile_ids: ids, events_before: before } = this.#pending
    this.#people = ids.length === 0 ? [] : suppressPeople(journal, ids, world.clock.now())
    if (before !== null) suppressEventsBefore(journal, Date.parse(before))
    writePending(root, this.#pending)
    this.#suppression = readSuppression(journal)
  }

  async run(): Promise<Certificate> {
    const { directory, clock } = this.#world
    const journal = openJournal(directory.journal, clock)
    journal.recover()
    await noteList(journal, clock.now())
    await this.#noteTexts()
    if (journal.segments().length > 0 || existsSync(directory.warehouse)) {
      await this.#eraseJournal()
      await this.#eraseWarehouse()
    }
    await this.#eraseCopies()
    const { markers, targets } = await this.#whatAndWhere()
    const stores: StoreCertificate[] = []
    for (const target of targets) {
      stores.push(await forgetInTarget(this.#world, target, this.#pending, markers))
    }
    const reached = targets.filter(({ to }) =>
      stores.some(({ destination, problem }) => destination === to && problem === null),
    )
    return this.#certify(stores, await this.#prove(markers, reached), markers.length)
  }

  /** Notes their texts while they are still there: what is searched for at the end. */
  async #noteTexts(): Promise<void> {
    const { directory, clock } = this.#world
    tell(this.#world, { step: 'search' })
    const ids = new Set(this.#pending.profile_ids)
    if (ids.size === 0) return
    const texts = new Set(this.#pending.texts)
    findInJournal(
      openJournal(directory.journal, clock),
      this.#suppression.coversEvent,
      (event) => {
        const found = textsOfEvent(event)
        // Not those of people who were forgotten before.
        if (found.some((text) => ids.has(text))) for (const text of found) texts.add(text)
      },
      (done, total) => tell(this.#world, { step: 'search', done, total }),
    )
    if (existsSync(directory.warehouse)) {
      const known = await this.#withWarehouse((warehouse) => textsOfPeople(warehouse, [...ids]))
      for (const text of known) texts.add(text)
    }
    this.#keep({ texts: [...texts].filter((text) => !ids.has(text)) })
  }

  async #eraseJournal(): Promise<void> {
    const { directory, clock } = this.#world
    tell(this.#world, { step: 'journal' })
    const segments = await eraseJournal({
      directory,
      journal: openJournal(directory.journal, clock),
      suppression: this.#suppression,
      onSegment: (done, total) => tell(this.#world, { step: 'journal', done, total }),
    })
    this.#keep({ segments: [...this.#pending.segments, ...segments] })
  }

  async #eraseWarehouse(): Promise<void> {
    const { directory, clock } = this.#world
    tell(this.#world, { step: 'warehouse' })
    const before = this.#pending.warehouse_sha256_before
    this.#keep({ warehouse_sha256_before: before ?? (await sha256OfFile(directory.warehouse)) })
    const rows = await this.#withWarehouse((warehouse) =>
      eraseRows(warehouse, erasedOf(this.#pending, this.#suppression)),
    )
    this.#keep({ rows: added(this.#pending.rows, rows) })
    tell(this.#world, { step: 'build' })
    await this.#withWarehouse((warehouse) =>
      buildModels(warehouse, {
        buildId: newUlid(clock.now()),
        builtAt: new Date(clock.now()),
        clock,
        onProgress: ({ done, total }) => tell(this.#world, { step: 'build', done, total }),
      }),
    )
    tell(this.#world, { step: 'rewrite' })
    await rewriteWarehouse(directory.warehouse)
  }

  /** What in the data directory was made of the rest, and what killed processes left. */
  async #eraseCopies(): Promise<void> {
    const { directory, clock, logger } = this.#world
    tell(this.#world, { step: 'copies' })
    const { root, warehouse, scratch, published } = directory
    try {
      for (const folder of [scratch, published, `${warehouse}.tmp`]) {
        rmSync(folder, { recursive: true, force: true })
      }
      for (const name of readdirSync(root).filter((entry) => LEFT_OVER.test(entry))) {
        rmSync(join(root, name), { recursive: true, force: true })
      }
    } catch (error) {
      throw asStorageError(error, root)
    }
    const copy = analystCopyPath(directory)
    if (!existsSync(copy)) return
    const { problem } = await makeAnalystCopy({ directory, clock })
    if (problem === null) return
    // One that still names them must not stay, even if there is no other.
    logger.warn({ reason: problem.message }, 'forget.no_analyst_copy')
    rmSync(copy, { force: true })
  }

  /** What to look for in what was published, and where that is. Of events from before a day only people's are looked for. */
  async #whatAndWhere(): Promise<{
    readonly markers: readonly Marker[]
    readonly targets: readonly ForgetTarget[]
  }> {
    const { directory, targets } = this.#world
    const { profile_ids: ids, texts } = this.#pending
    if (ids.length === 0) return { markers: [], targets: [] }
    if (!existsSync(directory.warehouse)) {
      return { markers: ids.map((text) => ({ text, isUnique: true })), targets: targets([]) }
    }
    return this.#withWarehouse(async (warehouse) => ({
      markers: await markersOf(warehouse, ids, texts),
      targets: targets(await knownDestinations(warehouse)),
    }))
  }

  async #prove(markers: readonly Marker[], targets: readonly ForgetTarget[]): Promise<Proof> {
    const { directory, clock, stop } = this.#world
    if (markers.length === 0) return { files: 0, bytes: 0, matches: [] }
    tell(this.#world, { step: 'proof' })
    const onFile = (done: number, total: number) => {
      tell(this.#world, { step: 'proof', done, total })
    }
    const options = {
      markers,
      scratchFolder: passingFolder(directory),
      clock,
      signal: stop,
      onFile,
    }
    // It names them on purpose, and goes when this proof holds.
    const pending = join(directory.root, PENDING_FILE)
    const proofs = [await searchFolder(directory.root, options, [pending])]
    for (const target of targets) {
      const proof = await searchTarget(this.#world, target, markers, onFile)
      if (proof !== null) proofs.push(proof)
    }
    return {
      files: proofs.reduce((sum, { files }) => sum + files, 0),
      bytes: proofs.reduce((sum, { bytes }) => sum + bytes, 0),
      matches: proofs.flatMap(({ matches }) => matches),
    }
  }

  async #certify(
    stores: readonly StoreCertificate[],
    proof: Proof,
    texts: number,
  ): Promise<Certificate> {
    const { directory, clock, version } = this.#world
    const failed = stores.flatMap(({ destination, problem }) =>
      problem === null ? [] : [`${destination}: ${problem}`],
    )
    const remaining = [...failed, ...remainingIn(directory.root, proof.matches)]
    const pending = this.#pending
    const certificate: Certificate = {
      path: join(directory.root, 'certificates', `forget-${this.#id}.json`),
      format_version: 1,
      id: this.#id,
      made_at: isoInstant(clock.now()),
      jobtide: version,
      is_complete: remaining.length === 0,
      remaining,
      people: this.#people,
      events_before: pending.events_before,
      segments: pending.segments,
      rows: pending.rows,
      warehouse_sha256_before: pending.warehouse_sha256_before,
      warehouse_sha256_after: existsSync(directory.warehouse)
        ? await sha256OfFile(directory.warehouse)
        : null,
      stores,
      proof: { texts, ...proof },
    }
    const text = stableJson(certificateDocument(certificate), 2)
    writePrivateFile(certificate.path, `${text}\n`)
    if (certificate.is_complete) removePending(directory.root)
    return certificate
  }

  #keep(change: Partial<Pending>): void {
    this.#pending = { ...this.#pending, ...change }
    writePending(this.#world.directory.root, this.#pending)
  }

  #withWarehouse<T>(work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
    return withWarehouse({ path: this.#world.directory.warehouse, mode: 'write' }, work)
  }
}

/** What of a warehouse goes. */
function erasedOf(
  { profile_ids: profileIds, events_before: before }: Pending,
  suppression: Suppression,
): Parameters<typeof eraseRows>[1] {
  return {
    profileIds,
    eventsBefore: before === null ? null : new Date(before),
    isErasedReject: (eventText) => suppression.coversEvent(eventOfReject(eventText)),
  }
}

function added(
  one: Readonly<Record<string, number>>,
  other: Readonly<Record<string, number>>,
): Record<string, number> {
  const sums: Record<string, number> = { ...one }
  for (const [name, rows] of Object.entries(other)) sums[name] = (sums[name] ?? 0) + rows
  return sums
}
