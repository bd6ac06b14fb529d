/** The copy for analysts: its content, who can read it meanwhile, and what remains after a kill or on a full disk. */

import { spawn } from 'node:child_process'
import fs from 'node:fs/promises'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { staleCopy } from '../../src/cli/run-result.ts'
import { findAnalystCopy, makeAnalystCopy } from '../../src/run/analyst-copy.ts'
import { dataDirectory, type DataDirectory } from '../../src/run/data-directory.ts'
import { packageRoot } from '../../src/support/assets.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT } from '../../src/support/errors.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { replaceBuiltins, systemError } from '../helpers/faulty-disk.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { rounds } from '../helpers/tier.ts'
import { insertEvents } from '../helpers/warehouse.ts'

const disk = { isFull: false }
const copyWhole = fs.copyFile
replaceBuiltins(fs, {
  copyFile: async (from, to, mode) => {
    await copyWhole(from, to, mode)
    if (!disk.isFull) return
    truncateSync(to, 100_000)
    throw systemError('ENOSPC', 'copyfile')
  },
})

const ROUNDS_OF_KILLS = rounds('COPY_KILLS', 2, 10)
const dist = (path: string) => JSON.stringify(pathToFileURL(join(packageRoot, 'dist', path)).href)

const write = <T>(directory: DataDirectory, work: (warehouse: Warehouse) => Promise<T>) =>
  withWarehouse({ path: directory.warehouse, mode: 'write' }, work)
const makeCopy = (directory: DataDirectory) => makeAnalystCopy({ directory, clock: realClock })

/** A warehouse with this many events, each of another person. */
async function warehouseOf(events: number): Promise<DataDirectory> {
  const directory = dataDirectory(temporaryFolder())
  await addEvents(directory, 0, events)
  return directory
}

function addEvents(directory: DataDirectory, from: number, events: number): Promise<void> {
  const people = Array.from({ length: events }, (_, n) => ({ profile_id: `person_${from + n}` }))
  return write(directory, (warehouse) => insertEvents(warehouse, people))
}

/** Another program that opens a database file and answers SQL, a line each. */
function otherProgram(path: string, mode: 'READ_ONLY' | 'READ_WRITE') {
  const script = `
    import { createInterface } from 'node:readline'
    import { DuckDBInstance } from ${JSON.stringify(import.meta.resolve('@duckdb/node-api'))}
    const instance = await DuckDBInstance.create(process.argv[1], { access_mode: process.argv[2] })
    const connection = await instance.connect()
    console.log('open')
    for await (const sql of createInterface({ input: process.stdin })) {
      console.log(String((await connection.runAndReadAll(sql)).getRows()[0]?.[0]))
    }`
  const args = ['--input-type=module', '-e', script, path, mode]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => (await lines.next()).value as string
  return {
    isOpen: next,
    ask(sql: string): Promise<string> {
      child.stdin.write(`${sql}\n`)
      return next()
    },
    kill: () =>
      new Promise((resolve) => {
        child.once('close', resolve)
        child.kill('SIGKILL')
      }),
  }
}

const COUNT = 'select count(*) as n from job_change_events'

async function eventsIn(path: string): Promise<number> {
  const [row] = await withWarehouse({ path, mode: 'read' }, (warehouse) =>
    warehouse.all<{ n: bigint }>(COUNT),
  )
  return Number(row?.n)
}

describe('the copy for analysts', () => {
  it('stays the same file while the warehouse is unchanged, and is a new one after 1 more event', async () => {
    const directory = await warehouseOf(1_000)
    const copied = async () => {
      const { path, bytes, problem } = await makeCopy(directory)
      expect(problem).toBeNull()
      expect(bytes).toBe(statSync(path).size)
      return statSync(path).ino
    }
    const first = await copied()
    expect(await copied()).toBe(first)
    await addEvents(directory, 1_000, 1)
    expect(await copied()).not.toBe(first)
  })

  it('has every byte of the warehouse, is read-only, and states its time until the warehouse or its log is written', async () => {
    const directory = await warehouseOf(1)
    expect(findAnalystCopy(directory)).toBeNull()
    const report = await makeCopy(directory)
    const bytes = statSync(directory.warehouse).size
    expect(report).toMatchObject({ path: join(directory.root, 'analyst.duckdb'), bytes })
    expect(report.problem).toBeNull()
    expect(statSync(report.path).mode & 0o777).toBe(0o400)
    expect(readFileSync(report.path).equals(readFileSync(directory.warehouse))).toBe(true)
    expect(readdirSync(directory.root).toSorted()).toEqual(['analyst.duckdb', 'jobtide.duckdb'])
    const asOf = Math.round(statSync(directory.warehouse).mtimeMs)
    expect(findAnalystCopy(directory)).toMatchObject({ asOf, isCurrent: true })

    await write(directory, async (warehouse) => {
      await insertEvents(warehouse, [{ profile_id: 'person_2' }])
      expect(findAnalystCopy(directory)).toMatchObject({ asOf, isCurrent: false })
    })
    expect(findAnalystCopy(directory)).toMatchObject({ asOf, isCurrent: false })
    await makeCopy(directory)
    expect(findAnalystCopy(directory)?.isCurrent).toBe(true)
  })

  it('is replaced while it is read, and the reader continues with the old one; files of killed readers are removed once no one reads them', async () => {
    const directory = await warehouseOf(3)
    const { path } = await makeCopy(directory)
    const reader = otherProgram(path, 'READ_ONLY')
    await reader.isOpen()
    const left = `${path}.tmp.0d1b1f0e-6d1c-4c39-9a53-2f1ad9e0c001`
    mkdirSync(left)
    writeFileSync(join(left, 'duckdb_temp_storage_DEFAULT-0.tmp'), 'Ada')
    await addEvents(directory, 3, 4)
    expect((await makeCopy(directory)).problem).toBeNull()
    expect(existsSync(left)).toBe(true)

    expect(await reader.ask(COUNT)).toBe('3')
    const later = otherProgram(path, 'READ_ONLY')
    await later.isOpen()
    expect(await later.ask(COUNT)).toBe('7')
    expect(await reader.ask('select count(distinct profile_id) from job_change_events')).toBe('3')

    await Promise.all([reader.kill(), later.kill()])
    expect((await makeCopy(directory)).problem).toBeNull()
    expect(existsSync(left)).toBe(false)
    expect(statSync(path).mode & 0o777).toBe(0o400)
  })

  it('is made even while another program reads the warehouse; while one writes, the old copy stays', async () => {
    const directory = await warehouseOf(3)
    const reader = otherProgram(directory.warehouse, 'READ_ONLY')
    await reader.isOpen()
    const { path, problem } = await makeCopy(directory)
    expect([problem, await eventsIn(path)]).toEqual([null, 3])

    const other = await warehouseOf(2)
    await makeCopy(other)
    const writer = otherProgram(other.warehouse, 'READ_WRITE')
    await writer.isOpen()
    await writer.ask('create table kept as select 42 as answer')
    const refused = await makeCopy(other)
    expect(refused).toMatchObject({ bytes: 0, problem: { exitCode: EXIT.locked } })
    expect(staleCopy(refused)).toBeNull()
    expect(refused.problem?.message).toMatch(/is open in another program/)
    expect(await eventsIn(refused.path)).toBe(2)
  })

  it('includes what a killed process had committed only to the log', async () => {
    const directory = await warehouseOf(3)
    const writer = otherProgram(directory.warehouse, 'READ_WRITE')
    await writer.isOpen()
    await writer.ask('create table kept as select 42 as answer')
    await writer.kill()
    expect(existsSync(`${directory.warehouse}.wal`)).toBe(true)
    const { path, problem } = await makeCopy(directory)
    expect(problem).toBeNull()
    const rows = await withWarehouse({ path, mode: 'read' }, (warehouse) =>
      warehouse.all('select answer from kept'),
    )
    expect(rows).toEqual([{ answer: 42 }])
    expect(findAnalystCopy(directory)?.isCurrent).toBe(true)
  })

  it('survives a disk that is full after 100,000 bytes: the run fails, and no part of a new copy is left', async () => {
    const directory = await warehouseOf(3)
    await makeCopy(directory)
    await addEvents(directory, 3, 4)
    disk.isFull = true
    const full = await makeCopy(directory)
    disk.isFull = false
    expect(full).toMatchObject({ bytes: 0, problem: { exitCode: EXIT.storage } })
    expect(staleCopy(full)).toBe(full.problem)
    expect(full.problem?.message).toMatch(/analyst\.duckdb: the disk is full/)
    expect(await eventsIn(full.path)).toBe(3)
    expect(readdirSync(directory.root).toSorted()).toEqual(['analyst.duckdb', 'jobtide.duckdb'])

    expect((await makeCopy(directory)).problem).toBeNull()
    expect(await eventsIn(full.path)).toBe(7)
  })

  it(`is complete after each of ${ROUNDS_OF_KILLS} kills while it is made, and the next run cleans up`, async () => {
    const directory = await warehouseOf(20_000)
    const { path } = await makeCopy(directory)
    const script = `
      import { makeAnalystCopy } from ${dist('run/analyst-copy.js')}
      import { dataDirectory } from ${dist('run/data-directory.js')}
      import { realClock } from ${dist('support/clock.js')}
      import { utimesSync } from 'node:fs'
      const directory = dataDirectory(process.argv[1])
      for (let second = 1; ; second += 1) {
        // An unchanged warehouse is not copied.
        utimesSync(directory.warehouse, second, second)
        await makeAnalystCopy({ directory, clock: realClock })
      }`
    let leftBehind = 0
    for (let round = 0; round < ROUNDS_OF_KILLS; round += 1) {
      const args = ['--input-type=module', '-e', script, directory.root]
      const child = spawn(process.execPath, args, { stdio: 'inherit' })
      let steps = 0
      const watcher = watch(directory.root, (_, name) => {
        steps += name === 'analyst.duckdb.new' ? 1 : 0
        if (steps > round) child.kill('SIGKILL')
      })
      const signal = await new Promise((resolve) => child.once('close', (_code, by) => resolve(by)))
      watcher.close()
      expect(signal).toBe('SIGKILL')
      leftBehind += existsSync(`${path}.new`) ? 1 : 0
      expect(await eventsIn(path)).toBe(20_000)
    }
    expect(leftBehind).toBeGreaterThan(0)
    expect((await makeCopy(directory)).problem).toBeNull()
    expect(existsSync(`${path}.new`)).toBe(false)
  })

  it('drops the log of a program that wrote into the old copy', async () => {
    const directory = await warehouseOf(3)
    const { path } = await makeCopy(directory)
    writeFileSync(`${path}.wal`, 'a log of another file')
    expect((await makeCopy(directory)).problem).toBeNull()
    expect(await eventsIn(path)).toBe(3)
  })
})
