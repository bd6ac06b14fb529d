/**
 * All models and checks over 10 million events, from nothing and after a night of 50,000 new ones, with the memory that the
 * process took. JOBTIDE_BENCH_EVENTS takes another number.
 */

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { buildModels, type BuildReport } from '../../src/model/build.ts'
import { MIB } from '../../src/support/units.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { makeEvents, makeNight } from './made-events.ts'

const EVENTS = Number(process.env['JOBTIDE_BENCH_EVENTS'] ?? 10_000_000)
const EVENTS_OF_A_PERSON = 4
const SIZE = { people: EVENTS / EVENTS_OF_A_PERSON, organizations: EVENTS / 250 }
const NIGHT = EVENTS / 200
const THREADS = 2
const SLOWEST_SHOWN = 8

interface Measured<T> {
  readonly result: T
  readonly seconds: number
  readonly peakMib: number
}

async function measured<T>(work: () => Promise<T>): Promise<Measured<T>> {
  let peak = 0
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const timer = setInterval(look, 50)
  const began = performance.now()
  try {
    const result = await work()
    look()
    return { result, seconds: (performance.now() - began) / 1_000, peakMib: peak / MIB }
  } finally {
    clearInterval(timer)
  }
}

function print(name: string, { seconds, peakMib }: Measured<unknown>): void {
  process.stdout.write(
    `${name.padEnd(28)} ${seconds.toFixed(1).padStart(7)} s  ${peakMib.toFixed(0).padStart(5)} MiB\n`,
  )
}

function printSlowest({ models, durationMs }: BuildReport): void {
  const slowest = models.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST_SHOWN)
  const ofModels = models.reduce((sum, model) => sum + model.durationMs, 0)
  const parts = slowest.map(({ name, durationMs: ms, rows, rowsChanged }) => {
    const what =
      rowsChanged === null ? `${rows ?? 'no'} rows` : `${rowsChanged} of ${rows ?? 'no'} rows`
    return `${name} ${(ms / 1_000).toFixed(1)} s (${what})`
  })
  parts.push(`checks and the rest ${((durationMs - ofModels) / 1_000).toFixed(1)} s`)
  for (const part of parts) process.stdout.write(`    ${part}\n`)
}

describe('models', () => {
  it(`${EVENTS} events, then a night of ${NIGHT}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
    const path = join(folder, 'jobtide.duckdb')
    const open = <T>(work: (warehouse: Warehouse) => Promise<T>, options = {}) =>
      withWarehouse({ path, mode: 'write', threads: THREADS, ...options }, work)
    const making = { memoryLimit: '2GB' }
    const builtAt = new Date('2024-12-02T03:00:00Z')
    try {
      const made = await measured(() =>
        open(async (warehouse) => {
          await makeEvents(warehouse, SIZE)
          await warehouse.run('checkpoint')
        }, making),
      )
      const whole = await open((warehouse) =>
        measured(() => buildModels(warehouse, { buildId: 'whole', builtAt })),
      )
      expect(whole.result.fullRefreshReason).not.toBeNull()
      await open((warehouse) => makeNight(warehouse, SIZE, NIGHT), making)
      const night = await open((warehouse) =>
        measured(() => buildModels(warehouse, { buildId: 'night', builtAt })),
      )
      expect(night.result.fullRefreshReason).toBeNull()
      process.stdout.write(
        `file with all tables         ${(statSync(path).size / MIB).toFixed(0)} MiB\n`,
      )
      print('making the events', made)
      print('full refresh', whole)
      printSlowest(whole.result)
      print(`incremental build of ${NIGHT}`, night)
      printSlowest(night.result)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
