/** Data directories of earlier versions; README.md says how they were made. */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, constants } from 'node:zlib'
import { onTestFinished, vi } from 'vitest'
import { readEventsFile } from '../../src/simulator/events.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { realClock } from '../../src/support/clock.ts'
import { KEY, callCli, startCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

// A test may open several sites, and each sets the clock.
const { now: machineNow } = Date
const file = (name: string) => join(import.meta.dirname, name)

/** The person erased in `one-erased`. */
export const ERASED = readFileSync(file('erased.txt'), 'utf8').trim()

/** The releases from which an upgrade must work. */
export const VERSIONS = [
  '0.11.0',
  '0.12.0',
  '0.14.0',
  '0.15.0',
  '0.16.0',
  '0.17.0',
  '0.18.0',
  '0.19.0',
  '0.20.0',
  '0.21.0',
  '0.22.0',
  '0.23.0',
] as const
export type Version = (typeof VERSIONS)[number]
export type Erased = 'nobody-erased' | 'one-erased'

function archiveOf(version: Version): Buffer {
  const params = { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: 1 }
  return brotliDecompressSync(readFileSync(file(`${version}.tar.br`)), { params })
}

/** A site with a data directory of an earlier version, on the day of the upgrade. */
export async function siteOf(
  version: Version,
  erased: Erased,
  now = '2026-12-03T02:15:00Z',
  around = temporaryFolder(),
) {
  execFileSync('tar', ['-xf', '-', `${erased}/data`], { cwd: around, input: archiveOf(version) })
  const folder = join(around, erased)
  for (const name of ['organizations.csv', 'test.yaml'])
    copyFileSync(file(name), join(folder, name))
  const aheadMs = Date.parse(now) - machineNow()
  const time = vi.spyOn(Date, 'now').mockImplementation(() => machineNow.call(Date) + aheadMs)
  onTestFinished(() => time.mockRestore())
  const source = readEventsFile(file('events.ndjson.gz'))
  const simulator = await startSimulator({ source, clock: realClock, apiKeys: [KEY] })
  onTestFinished(() => simulator.close())
  const env = {
    JOBTIDE_BASE_URL: simulator.url,
    JOBTIDE_API_KEY: KEY,
    JOBTIDE_DATA_DIR: '/proc/self/cwd/data',
  }
  const call = (...args: readonly string[]) => callCli(args, { cwd: folder, env })
  /** In its own process, on the clock of the machine. */
  const start = (...args: readonly string[]) => startCli(args, { cwd: folder, env })
  return { folder, dataDir: join(folder, 'data'), simulator, call, start }
}

export type UpgradeSite = Awaited<ReturnType<typeof siteOf>>

/** SHA-256 by path of all files in a data directory, except locks and metrics. */
export function bytesOf(dataDir: string): Record<string, string> {
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/^(?:locks\/|metrics\.prom$)/.test(path.slice(dataDir.length + 1)))
  return Object.fromEntries(
    files
      .toSorted()
      .map((path) => [
        path.slice(dataDir.length + 1),
        createHash('sha256').update(readFileSync(path)).digest('hex'),
      ]),
  )
}
