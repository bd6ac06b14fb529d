/**
 * Processes that write everything a data directory keeps, each ended at a random call by a kill or a power cut, some
 * after a failed fsync. The next process finds everything that was reported durable, finds no loss, and continues.
 */

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { eraseFromSegment, findInSegment, type CutPage } from '../../src/journal/erase-events.ts'
import {
  journalIdentity,
  openJournal,
  type Journal,
  type JournalWriter,
} from '../../src/journal/journal.ts'
import { readHistory, removeCheckpoint, saveCheckpoint } from '../../src/journal/read-history.ts'
import { endsWithSeal } from '../../src/journal/reader.ts'
import type { BatchRecord } from '../../src/journal/records.ts'
import { readSuppression, suppress } from '../../src/load/suppression.ts'
import { seededRandom, type Random } from '../../src/simulator/random.ts'
import { OWNER_ONLY, fsyncDirectory, writeFileAtomic } from '../../src/support/atomic-file.ts'
import { StorageError } from '../../src/support/errors.ts'
import { sha256Hex } from '../../src/support/hash.ts'
import { newUlid } from '../../src/support/ulid.ts'
import { KIB } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { rounds } from '../helpers/tier.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { useVolatileDisk } from '../helpers/volatile-disk.ts'
import { aBatch, aFinish, aPage, aRequest, aStart } from './journal-fixture.ts'

const CRASHES = rounds('JOBTIDE_CRASHES', 50, 2_000)
const PROCESSES = 5
// Not hexadecimal, unlike the rest of a page.
const ERASED = 'zoe'

const disk = useVolatileDisk()
const counts = { powerCuts: 0, kills: 0, failedSyncs: 0, pages: 0, batches: 0, erased: 0, files: 0 }

const cut: CutPage = (body) =>
  body.includes(ERASED)
    ? { body: Buffer.from(body.toString().replaceAll(ERASED, '')), places: [0], events: 1 }
    : null

/** What one data directory has reported as durable. */
class Reported {
  readonly pages = new Map<string, string>()
  readonly covered = new Set<string>()
  readonly erased = new Set<string>()
  readonly people = new Set<string>()
  readonly files = new Map<string, string>()
  identity: string | null = null
}

/** A process: it starts as usual, and then does some of the pending work, in any order. */
class Process {
  readonly #data: string
  readonly #journal: Journal
  readonly #reported: Reported
  readonly #random: Random
  readonly #clock = virtualClock()
  #made = 0

  constructor(data: string, reported: Reported, random: Random) {
    this.#data = data
    this.#reported = reported
    this.#random = random
    this.#journal = openJournal(join(data, 'journal'), this.#clock, 6 * KIB)
  }

  async work(): Promise<void> {
    this.#journal.recover()
    readHistory(this.#journal)
    const all = [
      () => this.buy(),
      () => this.buy(),
      () => this.erase(),
      () => this.suppress(),
      () => this.note(),
      () => this.keep(),
    ]
    for (let step = 0; step < 5; step += 1) {
      await all[Math.floor(this.#random() * all.length)]!()
    }
  }

  /** Buys batches in parallel, and publishes. */
  async buy(): Promise<void> {
    const writer = this.#journal.writer()
    const run = newUlid(this.#clock.now() + (this.#made += 1) + Math.floor(this.#random() * 1e9))
    const batches = ['s1', 's2', 's3'].map((batch_id) =>
      aBatch({ batch_id, organizations: [{ by: 'id', value: `${run} ${batch_id}` }] }),
    )
    await writer.append(aStart({ run_id: run, batches: 3 }), JSON.stringify(batches))
    const bought = batches.map((batch) => this.#batch(writer, run, batch))
    // All of them end before the process does.
    for (const outcome of await Promise.allSettled(bought)) {
      if (outcome.status === 'rejected') throw outcome.reason as Error
    }
    if (this.#random() < 0.8) await writer.close()
  }

  async #batch(writer: JournalWriter, run: string, plan: BatchRecord): Promise<void> {
    const { batch_id } = plan
    const at = this.#clock.now()
    const pages = 1 + Math.floor(this.#random() * 4)
    for (let page = 1; page <= pages; page += 1) {
      const request_id = `${run} ${batch_id} ${page}`
      const names = { run_id: run, batch_id, request_id }
      const kilobytes = Math.floor(this.#random() * 3)
      const noise = Array.from({ length: kilobytes * 16 }, (_, i) =>
        sha256Hex(`${request_id} ${i}`),
      )
      const body = `${request_id} ${this.#random() < 0.3 ? ERASED : ''} ${noise.join('')}`
      writer.write(aRequest(page, { ...names, at }))
      await writer.append(
        aPage(page, { ...names, requested_at: at, at, server_at: at, has_more: page < pages }),
        body,
      )
      this.#reported.pages.set(request_id, body)
      counts.pages += 1
    }
    await writer.append(
      aFinish({ run_id: run, batch_id, pages, at, covered_to: at }),
      JSON.stringify(plan),
    )
    this.#reported.covered.add(`${run} ${batch_id}`)
    counts.batches += 1
  }

  /** Erases events from closed segments. */
  async erase(): Promise<void> {
    for (const segment of this.#journal.segments()) {
      const found = findInSegment(this.#journal, segment, cut)
      if (found === null || !endsWithSeal(join(this.#journal.folder, segment))) continue
      const names = [...this.#journal.read(segment)].flatMap(({ record }) =>
        record.kind === 'page_received' ? [record.request_id] : [],
      )
      eraseFromSegment(this.#journal, found, cut)
      for (const name of names) this.#reported.erased.add(name)
      counts.erased += found.events
    }
  }

  async suppress(): Promise<void> {
    const profileIds = [`person ${Math.floor(this.#random() * 1e6)}`]
    await suppress(this.#journal, { profileIds, eventsBefore: null }, this.#clock.now())
    for (const id of profileIds) this.#reported.people.add(id)
  }

  async note(): Promise<void> {
    const path = join(this.#data, 'certificates', `copy-${Math.floor(this.#random() * 4)}.json`)
    const content = `certificate ${this.#random()}`
    // While it is replaced, either version may be there.
    this.#reported.files.delete(path)
    writeFileAtomic(path, content, OWNER_ONLY)
    this.#reported.files.set(path, content)
    counts.files += 1
  }

  async keep(): Promise<void> {
    saveCheckpoint(this.#journal)
    const identity = journalIdentity(this.#journal.folder, this.#clock.now())
    if (existsSync(this.#journal.folder)) this.#reported.identity ??= identity
  }

  /** What the next process finds. */
  check(): void {
    const { pages, covered, erased, people, files, identity } = this.#reported
    const journal = this.#journal
    journal.recover()
    journal.check('bytes')
    const found = new Map<string, string>()
    for (const segment of journal.segments()) {
      for (const frame of journal.read(segment)) {
        const { record } = frame
        if (record.kind === 'page_received') {
          found.set(record.request_id, frame.payload().toString())
        }
      }
    }
    for (const [name, body] of pages) {
      const cutBody = body.replaceAll(ERASED, '')
      expect(erased.has(name) ? [cutBody] : [body, cutBody], name).toContain(found.get(name))
    }
    const history = readHistory(journal)
    for (const name of covered) expect(history.coverage.has(name), name).toBe(true)
    if (identity !== null) expect(journalIdentity(journal.folder, 0)).toBe(identity)
    const suppression = readSuppression(journal)
    for (const id of people) expect(suppression.coversPerson(id), id).toBe(true)
    for (const [path, content] of files) expect(readFileSync(path, 'utf8')).toBe(content)
    removeCheckpoint(journal.folder)
    expect(readHistory(journal)).toEqual(history)
    const left = existsSync(journal.folder) ? readdirSync(journal.folder) : []
    expect(left.filter((name) => !/\.journal$|^identity(\.\d+\.tmp)?$/.test(name))).toEqual([])
  }
}

it(
  `loses nothing that was reported durable, and reports no loss, in ${CRASHES} crashes`,
  { timeout: 1_200_000 },
  async () => {
    const folder = temporaryFolder()
    for (let seed = 0; seed * PROCESSES < CRASHES; seed += 1) {
      const random = seededRandom(seed)
      const root = join(folder, String(seed))
      const data = join(root, 'data')
      mkdirSync(root)
      disk.begin(root)
      mkdirSync(data)
      fsyncDirectory(root)
      const reported = new Reported()
      for (let number = 0; number < PROCESSES; number += 1) {
        await crash(new Process(data, reported, random), random)
        try {
          new Process(data, reported, random).check()
        } catch (error) {
          throw new Error(`seed ${seed}, process ${number}: ${(error as Error).message}`, {
            cause: error,
          })
        }
      }
      disk.end()
      rmSync(root, { recursive: true })
    }
    process.stdout.write(`${counts.powerCuts + counts.kills} crashes: ${JSON.stringify(counts)}\n`)
    expect(counts.powerCuts + counts.kills).toBeGreaterThanOrEqual(CRASHES)
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0)
  },
)

/** Lets a process work until it is cut off at a random call or has finished. */
async function crash(one: Process, random: Random): Promise<void> {
  disk.cutAt(1 + Math.floor(random() * 150))
  const fails = random() < 0.3
  if (fails) disk.failSyncAt(1 + Math.floor(random() * 40))
  try {
    await one.work()
  } catch (error) {
    // Errors after the end of the process reach no one.
    if (!disk.isEnded && !(fails && error instanceof StorageError)) throw error
    if (!disk.isEnded) counts.failedSyncs += 1
  }
  if (random() < 0.7) {
    counts.powerCuts += 1
    disk.powerLoss(random)
  } else {
    counts.kills += 1
    disk.restart()
  }
}
