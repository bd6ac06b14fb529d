/**
 * Every command on every data directory of an earlier version: it exits with 0, no erased person comes back, the ledger
 * and the events stay, and a run asks only for newer events. Skipped where there is no /proc: README.md says why.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { searchFolder } from '../../src/run/forget/search.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { done } from '../helpers/run-cli.ts'
import { ERASED, VERSIONS, bytesOf, siteOf, type Erased, type UpgradeSite } from './fixtures.ts'

vi.setConfig({ testTimeout: 240_000 })

const OTHER = 'per_bb780d638add8f8b4cd4'
const EVENTS_OF_OTHER = 3
const NAMES = [ERASED, 'hannah-ward-6d004e', 'Hannah Ward']
const COMMANDS = [
  'run test.yaml',
  'replay',
  'build',
  'load',
  'publish --pipeline test.yaml',
  `forget ${OTHER} --yes`,
  'verify',
  'status',
  'credits --json',
]
/** Commands that change no byte. */
const READS = ['verify', 'status', 'credits --json']
const ERASURES = [
  { erased: 'nobody-erased', events: 57, later: 2 },
  { erased: 'one-erased', events: 56, later: 0 },
] as const satisfies { erased: Erased; events: number; later: number }[]
const SITES = VERSIONS.flatMap((version) => ERASURES.map((one) => ({ version, ...one })))

interface Credits {
  readonly total: Record<'credits' | 'in_doubt' | 'requests' | 'pages', number>
}

async function ledgerOf(site: UpgradeSite): Promise<Credits['total']> {
  const { total } = JSON.parse(done(await site.call('credits', '--json')).stdout) as Credits
  const { credits, in_doubt, requests, pages } = total
  return { credits, in_doubt, requests, pages }
}

const events = (site: UpgradeSite, where = 'true') =>
  withWarehouse({ path: join(site.dataDir, 'jobtide.duckdb'), mode: 'read' }, (open) =>
    open.number(`select count(*) from job_change_events where ${where}`),
  )

/** The files that name a person. */
async function filesWith(site: UpgradeSite, texts: readonly string[]): Promise<readonly string[]> {
  const markers = texts.map((text) => ({ text, is_unique: true }))
  const scratchFolder = join(site.folder, 'scratch')
  return (await searchFolder(site.dataDir, { markers, scratchFolder })).matches
}

describe.skipIf(!existsSync('/proc/self/cwd')).each(SITES)(
  'a data directory of $version with $erased',
  ({ version, erased, events: before, later }) => {
    it.each(COMMANDS)('is accepted by `%s`', async (command) => {
      const site = await siteOf(version, erased)
      const bytes = bytesOf(site.dataDir)
      expect(await ledgerOf(site)).toEqual({ credits: 30, in_doubt: 0, requests: 3, pages: 3 })
      const { stdout } = done(await site.call(...command.split(' ')))
      // Tables of an earlier version do not count as the user's own.
      expect(stdout).not.toContain('of your own')

      const isRun = command.startsWith('run')
      const { requests, charged_pages: pages, credits, log } = site.simulator.account()
      expect({ requests, pages, credits }).toEqual(
        isRun ? { requests: 1, pages: 1, credits: 10 } : { requests: 0, pages: 0, credits: 0 },
      )
      // From the last night to this one, of both organisations.
      const asked = log.map(({ request, page }) => {
        const {
          organization_ids: ids = [],
          company_urls: urls = [],
          days_ago: days,
        } = request ?? {}
        return [[ids, urls].flat().length, days, page]
      })
      expect(asked).toEqual(isRun ? [[2, 9, 1]] : [])
      expect(await ledgerOf(site)).toEqual({
        credits: 30 + credits,
        in_doubt: 0,
        requests: 3 + requests,
        pages: 3 + pages,
      })

      const isForget = command.startsWith('forget')
      const left = before + (isRun ? later : 0) - (isForget ? EVENTS_OF_OTHER : 0)
      expect(await events(site)).toBe(left)
      if (READS.includes(command)) expect(bytesOf(site.dataDir)).toEqual(bytes)
      if (isForget) expect(await filesWith(site, [OTHER])).toEqual([])
      if (erased === 'one-erased') expect(await filesWith(site, NAMES)).toEqual([])
      else expect((await filesWith(site, NAMES)).length).toBeGreaterThan(0)
    })
  },
)

it.skipIf(!existsSync('/proc/self/cwd')).each(ERASURES)(
  'a backup that 0.14.0 made with $erased is restored for 0 credits, and a run continues with it',
  async ({ erased, events: before, later }) => {
    const site = await siteOf('0.14.0', erased)
    const there = ['--data-dir', '/proc/self/cwd/restored']
    done(await site.call('restore-journal', 'data/backup', ...there))
    const restored = { ...site, dataDir: join(site.folder, 'restored') }
    expect(await events(restored)).toBe(before)
    expect(site.simulator.account().requests).toBe(0)
    done(await site.call('run', 'test.yaml', '--no-publish', ...there))
    expect(await events(restored)).toBe(before + later)
    expect(site.simulator.account().charged_pages).toBe(1)
    if (erased === 'one-erased') expect(await filesWith(restored, NAMES)).toEqual([])
  },
)
