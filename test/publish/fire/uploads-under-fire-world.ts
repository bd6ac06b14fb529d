/**
 * What the tests of publishing under fire share: tables whose files are large enough for deleted rows and for uploads in
 * parts, changes of a night, a clock that jumps, and publishers that can be cut off from their store for good.
 */

import { once } from 'node:events'
import { createServer, connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { publishSnapshot, type PublishReport } from '../../../src/publish/publish.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { thisWriter } from '../../../src/publish/sweep/intent-writer.ts'
import type { Keep } from '../../../src/publish/sweep/retention.ts'
import { sweepStore, type SweepReport } from '../../../src/publish/sweep/sweep.ts'
import { pick, type Random } from '../../../src/simulator/random.ts'
import { realClock, type Clock } from '../../../src/support/clock.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import type { TableDefinition } from '../../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import { rounds } from '../../helpers/tier.ts'
import { memoryWarehouse } from '../../helpers/warehouse.ts'
import { oneJournal } from '../fixtures.ts'

/** How many uploads are hit in all. */
export const UPLOADS = rounds('JOBTIDE_UPLOADS', 24, 400)
/** What is drawn depends on nothing but this; it is printed. */
export const SEED = Number(process.env['JOBTIDE_UPLOADS_SEED'] ?? Math.floor(Math.random() * 1e9))

/** The newest three, and one of each of two days. */
export const KEEP: Keep = { last: 3, daily: 2, weekly: 0, monthly: 0 }

/** A table whose file goes up in parts. */
export const largeTable: TableDefinition = {
  name: 'letters',
  grain: 'One row per letter.',
  key: ['letter_id'],
  partitionByYearOf: null,
  leftOut: [],
}

// What no compression makes smaller.
const text = (of: string) => `md5(${of} || 'a') || md5(${of} || 'b') || md5(${of} || 'c')`
const LETTER_COLUMNS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const letterOf = (id: string, edition: number) =>
  LETTER_COLUMNS.map((name) => `(hash(${id}, '${name}', ${edition}) >> 1)::bigint as ${name}`)

/** The tables of a lake: 8,000 people and 3 × 8,000 moves of 2019 to 2021. @param who makes its texts differ from those of others */
export async function firedWarehouse(who = 'us'): Promise<Warehouse> {
  const warehouse = await memoryWarehouse({ threads: 1 })
  onTestFinished(() => warehouse.close())
  await warehouse.run(`
    create table people as
    select i::integer as person_id, ${text(`'${who}' || i`)} as name from range(8000) numbers(i);
    create table moves as
    select i::integer as move_id, ${text(`'${who} move ' || i`)} as title,
      make_timestamptz((2019 + i % 3)::bigint, 5, 1, 12, 0, 0) as moved_at
    from range(24000) numbers(i)`)
  return warehouse
}

/** Adds a table of 290,000 rows, 17.7 MiB as Parquet. */
export async function addLetters(warehouse: Warehouse): Promise<void> {
  await warehouse.run(`create table letters as
    select i::integer as letter_id, ${letterOf('i', 0).join(', ')} from range(290000) numbers(i)`)
}

/** What can happen in a night. Numbers in the SQL make each night another. */
const NIGHTS: Readonly<Record<string, (n: number) => string>> = {
  'nothing happens': () => '',
  'some change': (n) =>
    `update people set name = 'Renamed ${n} ' || person_id where person_id % 400 = ${n % 400};
     update moves set title = 'Corrected ${n} ' || move_id where move_id % 600 = ${n % 600}`,
  'some go': (n) =>
    `delete from people where person_id % 1000 = ${n % 1000};
     delete from moves where move_id % 1500 = ${n % 1500}`,
  'some come': (n) =>
    `insert into people select ${10_000 + 20 * n} + i, ${text(`'new ${n} ' || i`)} from range(20) numbers(i)`,
  'a year is corrected': (n) =>
    `update moves set title = ${text(`'year ${n} ' || move_id`)} where year(moved_at) = ${2019 + (n % 3)}`,
}

/** Lets night `n` (from 1, at most 100,000) happen; returns its name. */
export async function aNightOf(warehouse: Warehouse, n: number, random: Random): Promise<string> {
  const name = pick(random, Object.keys(NIGHTS))
  const sql = NIGHTS[name]?.(n) ?? ''
  if (sql !== '') await warehouse.run(sql)
  return name
}

/** Lets every letter, or 0.2 % of them, be written anew. */
export async function lettersAnew(warehouse: Warehouse, n: number, all: boolean): Promise<void> {
  const assign = letterOf('letter_id', n).map((column) => {
    const at = column.lastIndexOf(' as ')
    return `${column.slice(at + 4)} = ${column.slice(0, at)}`
  })
  const where = all ? '' : `where letter_id % 500 = ${n % 500}`
  await warehouse.run(`update letters set ${assign.join(', ')} ${where}`)
}

/** A clock on which a sleep takes no time, but is over as if it had. */
export function jumpingClock(): Clock & { advance(ms: number): void } {
  let aheadMs = 0
  return {
    now: () => realClock.now() + aheadMs,
    monotonic: () => realClock.monotonic() + aheadMs,
    async sleep(ms, signal) {
      aheadMs += ms
      await new Promise((resolve) => setImmediate(resolve))
      signal?.throwIfAborted()
    },
    advance(ms) {
      aheadMs += ms
    },
  }
}

/** A publisher's own way to a server. */
export interface Line {
  readonly endpoint: string
  /** Nothing passes from now on, as when its process is gone. */
  cut(): void
}

/** Opens a port that leads to `endpoint`. */
export async function openLine(endpoint: string): Promise<Line> {
  const { hostname, port } = new URL(endpoint)
  const sockets = new Set<Socket>()
  const relay = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      // A reset must arrive as a reset.
      from.on('error', () => to.resetAndDestroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroySoon()
      })
      from.pipe(to)
    }
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const address = relay.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP port')
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    cut() {
      relay.close()
      for (const socket of sockets) socket.resetAndDestroy()
    },
  }
}

/** One process that publishes and then sweeps, as the command does. */
export interface Publisher {
  readonly warehouse: Warehouse
  readonly tables: readonly TableDefinition[]
  readonly open: () => Promise<ObjectStore>
  readonly clock: Clock
  readonly scratchFolder: string
  readonly cacheFolder: string
  readonly snapshotId: string
  readonly compact?: boolean
}

/** What came of it. */
export interface Outcome {
  readonly snapshotId: string
  /** What went wrong before it was published; undefined when it was. */
  readonly error: unknown
  readonly report: PublishReport | undefined
  /** Undefined where it was not come to, or failed. */
  readonly sweep: SweepReport | undefined
  readonly sweepError: unknown
}

/** Publishes and sweeps. Rejects never. */
export async function publishAndSweep(publisher: Publisher): Promise<Outcome> {
  const { clock, snapshotId, open } = publisher
  let store: ObjectStore
  let report: PublishReport
  const nothing = { snapshotId, report: undefined, sweep: undefined, sweepError: undefined }
  try {
    store = await open()
    report = await publishSnapshot({
      ...publisher,
      store,
      runId: null,
      ...oneJournal,
      version: '0.0.0',
      writer: thisWriter(),
      logger: silentLogger,
    })
  } catch (error) {
    return { ...nothing, error }
  }
  const done = { ...nothing, error: undefined, report }
  const sweeping = { store, owner: snapshotId, clock, keep: KEEP, logger: silentLogger }
  try {
    return { ...done, sweep: await sweepStore(sweeping) }
  } catch (error) {
    return { ...done, sweepError: error }
  }
}
