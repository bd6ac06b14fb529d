/**
 * Every command on every data directory of an earlier version: it ends with 0, nobody erased comes back, the ledger stays. Skipped
 * where there is no /proc: README.md says why.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { searchFolder } from '../../src/run/forget/search.ts'
import { done } from '../helpers/run-cli.ts'
import { ERASED, siteOf, type Erased, type UpgradeSite, type Version } from './fixtures.ts'

vi.setConfig({ testTimeout: 240_000 })

const OTHER = 'per_bb780d638add8f8b4cd4'
const PUBLISH = ['publish', '--pipeline', 'test.yaml']
const COMMANDS = [
  ['run', 'test.yaml'],
  ['replay'],
  ['build'],
  ['load'],
  PUBLISH,
  ['forget', OTHER, '--yes'],
  ['verify'],
  ['status'],
  ['credits', '--json'],
]
const NAMES = [ERASED, 'hannah-ward-6d004e', 'Hannah Ward']
const SITES = (['0.11.0', '0.12.0'] as const).flatMap((version) =>
  (['nobody-erased', 'one-erased'] as const).map((erased): [Version, Erased] => [version, erased]),
)

interface Credits {
  readonly total: { readonly credits: number; readonly requests: number }
}

const ledgerOf = async (site: UpgradeSite) =>
  (JSON.parse(done(await site.call('credits', '--json')).stdout) as Credits).total.credits

describe.skipIf(!existsSync('/proc/self/cwd')).each(SITES)(
  'a data directory of %s with %s',
  (version, erased) => {
    it.each(COMMANDS.map((command) => [command.join(' '), command] as const))(
      'is taken by `%s`',
      async (_, command) => {
        const site = await siteOf(version, erased)
        const credits = await ledgerOf(site)
        const { requests } = site.simulator.account()
        done(await site.call(...command))
        const bought = site.simulator.account().credits
        expect(site.simulator.account().requests > requests).toBe(command[0] === 'run')
        expect(await ledgerOf(site)).toBe(credits + bought)
        if (erased === 'one-erased') {
          const markers = NAMES.map((text) => ({ text, is_unique: true }))
          const scratchFolder = join(site.folder, 'scratch')
          const { matches } = await searchFolder(site.dataDir, { markers, scratchFolder })
          expect(matches).toEqual([])
        }
      },
    )
  },
)
