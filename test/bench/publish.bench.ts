/**
 * What a publish of all tables costs beside the engine alone: the same ordered COPY for each partition, and a copy of the
 * file. Then a night of new events, and how much of the snapshot that sends. JOBTIDE_BENCH_EVENTS takes another number of
 * events, JOBTIDE_BENCH_NIGHT another number of new ones. Each in a process of its own, of the built program.
 */

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import type { PublishReport } from '../../src/publish/publish.ts'
import { MIB } from '../../src/support/units.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { makeEvents, makeNight } from './made-events.ts'

const EVENTS = Number(process.env['JOBTIDE_BENCH_EVENTS'] ?? 10_000_000)
const NIGHT = Number(process.env['JOBTIDE_BENCH_NIGHT'] ?? EVENTS / 400)
const SIZE = { people: EVENTS / 4, organizations: EVENTS / 250 }
const ONCE = join(import.meta.dirname, 'publish-once.mjs')

interface Measured {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly peakMib: number
  readonly report: PublishReport
}

function print(name: string, { seconds, cpuSeconds, peakMib }: Measured, bare: Measured): void {
  const ratio = `${(seconds / bare.seconds).toFixed(2)} × bare`
  process.stdout.write(
    `${name.padEnd(34)} ${seconds.toFixed(1).padStart(7)} s  ${cpuSeconds.toFixed(1).padStart(6)} CPU s  ${ratio.padStart(12)}  peak ${peakMib.toFixed(0).padStart(5)} MiB\n`,
  )
}

it(`publishes the tables of ${EVENTS} events, then a night of ${NIGHT}`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-bench-'))
  const path = join(folder, 'jobtide.duckdb')
  const open = <T>(work: (warehouse: Warehouse) => Promise<T>, options = {}) =>
    withWarehouse({ path, mode: 'write', threads: 2, ...options }, work)
  const build = (buildId: string) =>
    open((warehouse) => buildModels(warehouse, { buildId, builtAt: new Date() }))
  const once = async (what: 'bare' | 'publish'): Promise<Measured> => {
    const { stdout } = await promisify(execFile)(process.execPath, [ONCE, what, path, folder])
    return JSON.parse(stdout) as Measured
  }
  try {
    const making = { memoryLimit: '2GB' }
    await open(async (warehouse) => {
      await makeEvents(warehouse, SIZE)
      await warehouse.run('checkpoint')
    }, making)
    await build('first')
    const bare = await once('bare')
    const first = await once('publish')
    const again = await once('publish')
    expect(again.report).toMatchObject({ unchanged: true })
    await open((warehouse) => makeNight(warehouse, SIZE, NIGHT), making)
    await build('night')
    const night = await once('publish')
    const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`
    const { rows, files, bytes } = first.report
    process.stdout.write(
      `${EVENTS} events: warehouse ${mib(statSync(path).size)}, snapshot ${mib(bytes)} in ${files} files, ${rows} rows\n`,
    )
    print('bare COPY of each partition + copy', bare, bare)
    print('first publish', first, bare)
    print('publish again, nothing new', again, bare)
    print(`publish after a night of ${NIGHT}`, night, bare)
    const { newBytes, newFiles } = night.report
    const share = ((100 * newBytes) / bytes).toFixed(2)
    process.stdout.write(
      `the night sent ${mib(newBytes)} in ${newFiles} files: ${share} % of the snapshot\n`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
