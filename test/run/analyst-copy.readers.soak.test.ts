/**
 * Reading never stops writing: real processes read as fast as they can, with `jobtide query` and with the engine by
 * itself, while several nights are loaded and built. Nobody is refused, and everybody sees a state that was copied.
 */

import { spawn } from 'node:child_process'
import { expect, it, onTestFinished } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { analystCopyPath, makeAnalystCopy } from '../../src/run/analyst-copy.ts'
import { dataDirectory } from '../../src/run/data-directory.ts'
import { acquireLock } from '../../src/run/lock.ts'
import { buildStage, loadStage } from '../../src/run/stages.ts'
import { realClock } from '../../src/support/clock.ts'
import { DAY } from '../../src/support/units.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { openSite, type Site } from '../helpers/run-cli.ts'
import { insertEvents } from '../helpers/warehouse.ts'

const NIGHTS = 3
const QUERIES_AT_ONCE = 2
const ENGINES_AT_ONCE = 2
const STATE = `select concat(count(*), ' events, ', (select count(*) from joiners), ' joiners') as state from job_change_events`

/** What one night of the warehouse does, in this process, as a run does it: one lock, each stage opens for itself. */
async function night(site: Site, count: number): Promise<string> {
  const directory = dataDirectory(site.dataDir)
  const world = {
    clock: realClock,
    stop: new AbortController().signal,
    onProgress: () => undefined,
  }
  const write = <T>(work: (warehouse: Warehouse) => Promise<T>) =>
    withWarehouse({ path: directory.warehouse, mode: 'write' }, work)
  const lock = await acquireLock(directory.root, { command: 'run', clock: realClock })
  try {
    const journal = openJournal(directory.journal, realClock)
    await write((warehouse) => loadStage(warehouse, journal, world))
    // So that each night has something of its own, whatever the service has that day.
    await write(async (warehouse) => {
      const person = `of_night_${count}`
      await insertEvents(warehouse, [{ profile_id: person }])
      await warehouse.append('ops.changed_people', { profile_id: [person] })
    })
    await write((warehouse) => buildStage(warehouse, world))
    const [row] = await write((warehouse) => warehouse.all<{ state: string }>(STATE))
    const copy = await makeAnalystCopy({ directory, clock: realClock })
    expect(copy.problem).toBeNull()
    return row?.state ?? ''
  } finally {
    lock.release()
  }
}

/** Opens the copy, asks, closes it, again and again; prints each answer. */
function startEngine(path: string) {
  const script = `
    import { DuckDBInstance } from ${JSON.stringify(import.meta.resolve('@duckdb/node-api'))}
    process.stdin.resume().once('end', () => process.exit(0))
    for (;;) {
      const instance = await DuckDBInstance.create(process.argv[1], { access_mode: 'READ_ONLY' })
      const connection = await instance.connect()
      const [[state]] = (await connection.runAndReadAll(process.argv[2])).getRows()
      console.log(state)
      connection.closeSync()
      instance.closeSync()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }`
  const args = ['--input-type=module', '-e', script, path, STATE]
  const child = spawn(process.execPath, args)
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()))
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return async () => {
    child.stdin.end()
    const exitCode = await ended
    return { exitCode, stderr, states: stdout.split('\n').slice(0, -1) }
  }
}

/** Asks with the command line again and again until it is told to stop. */
function startQueries(site: Site) {
  const states: string[] = []
  const failures: string[] = []
  let isOver = false
  const loop = async () => {
    while (!isOver) {
      const { exitCode, stdout, stderr } = await site.run(['query', STATE, '--format', 'csv'])
      if (exitCode === 0) states.push(stdout.split('\n')[1]?.replaceAll('"', '') ?? '')
      else failures.push(`${exitCode}: ${stderr}`)
    }
  }
  const ended = loop()
  return async () => {
    isOver = true
    await ended
    return { states, failures }
  }
}

it(`over ${NIGHTS} nights no reader and no writer meets a lock, and no reader sees a night in part`, async () => {
  const site = await openSite({ companies: 5 })
  const extract = async () => {
    const { exitCode, stderr } = await site.run(['extract', site.pipeline])
    expect(exitCode, stderr).toBe(0)
  }
  await extract()
  const copied = [await night(site, 0)]
  const path = analystCopyPath({ root: site.dataDir })

  const engines = Array.from({ length: ENGINES_AT_ONCE }, () => startEngine(path))
  const queries = Array.from({ length: QUERIES_AT_ONCE }, () => startQueries(site))
  for (let count = 1; count <= NIGHTS; count += 1) {
    site.advance(DAY)
    await extract()
    copied.push(await night(site, count))
  }
  const byEngine = await Promise.all(engines.map((end) => end()))
  const byQuery = await Promise.all(queries.map((end) => end()))

  expect(new Set(copied).size).toBe(NIGHTS + 1)
  for (const { exitCode, stderr } of byEngine) expect([exitCode, stderr]).toEqual([0, ''])
  expect(byQuery.flatMap(({ failures }) => failures)).toEqual([])
  for (const { states } of [...byEngine, ...byQuery]) {
    expect(states.length).toBeGreaterThan(3)
    const order = states.map((state) => copied.indexOf(state))
    expect(order).not.toContain(-1)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  }
}, 120_000)
