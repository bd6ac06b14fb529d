/** `query` while another process writes the warehouse: the copy for analysts answers, and says so. */

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { chmodSync, truncateSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeAnalystCopy } from '../../src/run/analyst-copy.ts'
import { dataDirectory, type DataDirectory } from '../../src/run/data-directory.ts'
import { acquireLock } from '../../src/run/lock.ts'
import { realClock } from '../../src/support/clock.ts'
import { HOUR, SECOND } from '../../src/support/units.ts'
import { openWarehouse, withWarehouse } from '../../src/warehouse/warehouse.ts'
import { runCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const SQL = 'select answer, 9007199254740993::bigint as big from notes'
const JSON_OF = (answer: number) => `[{"answer":${answer},"big":"9007199254740993"}]\n`

/** A warehouse that was copied 3 hours after its last change, when `answer` was 1, and says 2 by now. */
async function copiedThenChanged(): Promise<DataDirectory> {
  const directory = dataDirectory(temporaryFolder())
  const write = (sql: string) =>
    withWarehouse({ path: directory.warehouse, mode: 'write' }, (warehouse) => warehouse.run(sql))
  await write('create table notes as select 1 as answer')
  const threeHoursAgo = (Date.now() - 3 * HOUR) / SECOND
  utimesSync(directory.warehouse, threeHoursAgo, threeHoursAgo)
  expect((await makeAnalystCopy({ directory, clock: realClock })).problem).toBeNull()
  await write('update notes set answer = 2')
  return directory
}

/** Holds the warehouse as a writer in this process does. */
async function hold({ warehouse: path }: DataDirectory): Promise<void> {
  const warehouse = await openWarehouse({ path, mode: 'write' })
  onTestFinished(() => warehouse.close())
}

const query = ({ root }: DataDirectory, ...args: string[]) =>
  runCli(['query', ...args, '--data-dir', root])

describe('query', () => {
  it('reads the copy while the warehouse is written, says its age on stderr, and prints the same JSON', async () => {
    const directory = await copiedThenChanged()
    const free = await query(directory, SQL, '--json')
    expect([free.exitCode, free.stdout, free.stderr]).toEqual([0, JSON_OF(2), ''])

    await hold(directory)
    const [json, csv] = await Promise.all([
      query(directory, SQL, '--json'),
      query(directory, SQL, '--format', 'csv'),
    ])
    expect([json.exitCode, json.stdout]).toEqual([0, JSON_OF(1)])
    expect([csv.exitCode, csv.stdout]).toEqual([0, 'answer,big\n1,9007199254740993\n'])
    expect(json.stderr).toMatch(
      /^answered from \/.*\/analyst\.duckdb, as of \d{4}-\d\d-\d\d \d\d:\d\d UTC \(3 h ago\):\n {2}the warehouse .* is open in another program.*\n$/,
    )
  })

  it('reads the copy also between the stages of a run, which has the warehouse closed then', async () => {
    const directory = await copiedThenChanged()
    const lock = await acquireLock(directory.root, { command: 'run', clock: realClock })
    const during = await query(directory, SQL, '--json')
    lock.release()
    expect([during.exitCode, during.stdout]).toEqual([0, JSON_OF(1)])
    expect(during.stderr).toContain(
      `  the data directory is in use by \`jobtide run\` (process ${process.pid} on `,
    )
    expect((await query(directory, SQL, '--json')).stdout).toBe(JSON_OF(2))
  })

  it('ends with 8 while the warehouse is written and there is no copy, or one that cannot be read', async () => {
    const none = dataDirectory(temporaryFolder())
    await hold(none)
    const refused = await query(none, 'select 1')
    expect([refused.exitCode, refused.stdout]).toEqual([8, ''])
    expect(refused.stderr).toMatch(/^jobtide: the warehouse .* is open in another program/)

    const directory = await copiedThenChanged()
    spoil(directory)
    await hold(directory)
    const spoilt = await query(directory, SQL)
    expect([spoilt.exitCode, spoilt.stdout]).toEqual([8, ''])
    expect(spoilt.stderr).toMatch(/is open in another .*; and its copy cannot be read: .*analyst/)
  })

  it('asks a copy of the same state without a word, so that the warehouse is never open for it', async () => {
    const directory = await copiedThenChanged()
    await makeAnalystCopy({ directory, clock: realClock })
    await hold(directory)
    const result = await query(directory, SQL, '--json')
    expect([result.exitCode, result.stdout, result.stderr]).toEqual([0, JSON_OF(2), ''])
  })

  it('asks the warehouse where a copy of the same state is damaged', async () => {
    const directory = await copiedThenChanged()
    await makeAnalystCopy({ directory, clock: realClock })
    spoil(directory)
    const result = await query(directory, SQL, '--json')
    expect([result.exitCode, result.stdout, result.stderr]).toEqual([0, JSON_OF(2), ''])
  })

  it('two at once have a folder of their own each for what does not fit into memory, gone afterwards', async () => {
    const directory = await copiedThenChanged()
    const temporary = temporaryFolder()
    const sql = `select current_setting('temp_directory') as folder`
    const results = await Promise.all(
      [1, 2].map(() =>
        runCli(['query', sql, '--json', '--data-dir', directory.root], {
          env: { TMPDIR: temporary },
        }),
      ),
    )
    const folders = results.flatMap(({ stdout }) => JSON.parse(stdout) as { folder: string }[])
    expect(new Set(folders.map(({ folder }) => folder)).size).toBe(2)
    for (const { folder } of folders) expect(folder).toContain(join(temporary, 'jobtide-query-'))
    expect(readdirSync(temporary)).toEqual([])
  })
})

/** Makes the copy unreadable, and leaves its size and time as they are. */
function spoil({ root }: DataDirectory): void {
  const path = join(root, 'analyst.duckdb')
  const { size, mtimeMs } = statSync(path)
  const head = Buffer.from(readFileSync(path)).fill(0, 0, 16_384)
  chmodSync(path, 0o644)
  truncateSync(path)
  writeFileSync(path, head)
  utimesSync(path, mtimeMs / SECOND, mtimeMs / SECOND)
  expect(statSync(path).size).toBe(size)
}
