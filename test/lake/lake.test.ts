/**
 * Other engines read published snapshots, from a folder and from S3. Skipped unless JOBTIDE_LAKE_PYTHON names a Python that
 * has them; see README.md in this folder. The S3 server is a real one, which JOBTIDE_TEST_S3_ENDPOINT and the variables next
 * to it name, as for the shared suite of object stores.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openStore } from '../../src/publish/store/open-store.ts'
import { readCurrent } from '../../src/publish/manifest.ts'
import { realClock } from '../../src/support/clock.ts'
import { MINUTE } from '../../src/support/units.ts'
import { realBucket, realServer, type S3Target } from '../helpers/s3-client.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { rounds } from '../helpers/tier.ts'
import { publishMadeNights, publishNightsInAFolder, publishRealNights } from './nights.ts'

const PYTHON = process.env['JOBTIDE_LAKE_PYTHON']
const NO_S3 = realServer('ENDPOINT') === ''
/** A folder to keep after the test; default: a temporary one. */
const KEEP = process.env['JOBTIDE_LAKE_FOLDER']
/** The engines, separated by spaces. */
const NAMED = (
  process.env['JOBTIDE_LAKE_ENGINES'] ??
  'delta-rs polars clickhouse duckdb spark pandas-files pyarrow-files polars-files duckdb-files spark-files'
).split(' ')
/** All but those that read `current/`, which they do in a folder only. */
const ENGINES = NAMED.filter((name) => !name.endsWith('-files'))
/** The engines that read the Delta log, because made-up tables have no views.sql. */
const ENGINES_OF_LOG = ENGINES.filter((name) => name !== 'duckdb')
const NIGHTS = rounds('JOBTIDE_LAKE_NIGHTS', 3, 30)
const TIMEOUT_MS = 30 * MINUTE

/** The results of the engines for all tables: each line ends with `equal`, or with the difference. */
async function readWith(args: readonly string[]): Promise<string[]> {
  const script = join(import.meta.dirname, 'read_with.py')
  const child = spawn(PYTHON ?? '', [script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill())
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
    process.stdout.write(text)
  })
  const [exitCode] = (await once(child, 'close')) as [number | null]
  const lines = printed.trim().split('\n')
  expect(lines.filter((line) => !line.endsWith(' equal'))).toEqual([])
  expect(exitCode).toBe(0)
  return lines
}

/** An empty bucket; its credentials are in the environment. */
async function emptyBucket(): Promise<S3Target> {
  const target = await realBucket()
  for (const [name, value] of Object.entries(accountOf(target))) vi.stubEnv(name, value)
  return target
}

function accountOf(target: S3Target): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: target.accessKeyId,
    AWS_SECRET_ACCESS_KEY: target.secretAccessKey,
    AWS_REGION: target.region,
    AWS_EC2_METADATA_DISABLED: 'true',
  }
}

describe.skipIf(PYTHON === undefined)('other engines', { timeout: TIMEOUT_MS }, () => {
  afterEach(() => vi.unstubAllEnvs())

  it.skipIf(ENGINES_OF_LOG.length === 0)(
    'read 26 versions of 2 tables with rewritten files, checkpoints and a new column from a folder',
    async () => {
      const folder = KEEP ?? temporaryFolder()
      await publishMadeNights(await openStore(folder, { clock: realClock }))
      const lines = await readWith([folder, ...ENGINES_OF_LOG])
      expect(lines.join('\n')).toMatch(/ calm .*\n.* busy /s)
    },
  )

  it(`read every table of ${NIGHTS} nights with late events and corrections from a folder, row for row as in the warehouse`, async () => {
    const site = await publishNightsInAFolder(NIGHTS)
    const folder = join(site.dataDir, 'snapshots')
    const store = await openStore(folder, { clock: realClock, access: 'read' })
    const tables = (await readCurrent(store))?.manifest.tables ?? []
    expect(tables.length).toBeGreaterThan(40)
    const warehouse = ['--warehouse', join(site.dataDir, 'jobtide.duckdb')]
    const lines = await readWith([folder, ...NAMED, ...warehouse])
    expect(lines).toHaveLength(tables.length * (NAMED.length + 1))
  })

  it.skipIf(NO_S3 || ENGINES_OF_LOG.length === 0)('read the same 2 tables from S3', async () => {
    const { bucket, endpoint } = await emptyBucket()
    const address = `s3://${bucket}/some/prefix`
    await publishMadeNights(await openStore(address, { clock: realClock, s3Endpoint: endpoint }))
    const lines = await readWith([address, ...ENGINES_OF_LOG, '--endpoint', endpoint])
    expect(lines.join('\n')).toMatch(/ calm .*\n.* busy /s)
  })

  it.skipIf(NO_S3)(
    'read every table of two nights of 150 organisations from S3, row for row as in the warehouse',
    async () => {
      const target = await emptyBucket()
      const { bucket, endpoint } = target
      const address = `s3://${bucket}/people`
      const env = { ...accountOf(target), JOBTIDE_S3_ENDPOINT: endpoint }
      const site = await publishRealNights(address, env)
      const store = await openStore(address, {
        clock: realClock,
        s3Endpoint: endpoint,
        access: 'read',
      })
      const tables = (await readCurrent(store))?.manifest.tables ?? []
      const warehouse = join(site.dataDir, 'jobtide.duckdb')
      const options = ['--endpoint', endpoint, '--warehouse', warehouse]
      const lines = await readWith([address, ...ENGINES, ...options])
      for (const { name } of tables) expect(lines.join('\n')).toContain(` ${name} `)
    },
  )
})
