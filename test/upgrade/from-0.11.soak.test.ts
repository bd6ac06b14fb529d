/** The first commands of this version on a data directory that 0.11 left. Skipped where there is no /proc: README.md says why. */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { done } from '../helpers/run-cli.ts'
import { ERASED, bytesOf, siteOf, type UpgradeSite } from './fixtures.ts'

vi.setConfig({ testTimeout: 240_000 })

const HAS_PROC = existsSync('/proc/self/cwd')
const OTHER = 'per_bb780d638add8f8b4cd4'
const RUN = ['run', 'test.yaml', '--no-publish']

const rows = (site: UpgradeSite, sql: string) =>
  withWarehouse({ path: join(site.dataDir, 'jobtide.duckdb'), mode: 'read' }, (open) =>
    open.number(sql),
  )
const eventsOf = (site: UpgradeSite, id: string) =>
  rows(site, `select count(*) from job_change_events where profile_id = '${id}'`)

describe.skipIf(!HAS_PROC).each([
  { erased: 'nobody-erased', eventsOfErased: 1, later: 2 },
  { erased: 'one-erased', eventsOfErased: 0, later: 0 },
] as const)('a data directory of 0.11 with $erased', ({ erased, eventsOfErased, later }) => {
  it('plans an erasure, refuses a digest, and stays unchanged, byte for byte', async () => {
    const site = await siteOf('0.11.0', erased)
    const before = bytesOf(site.dataDir)
    const plan = JSON.parse(done(await site.call('forget', OTHER, '--json')).stdout)
    expect(plan).toMatchObject({ is_done: false, not_here: [], rows: { 'main.people': 1 } })
    const digest = await site.call('digest')
    expect([digest.exitCode, digest.stdout]).toEqual([2, ''])
    expect(digest.stderr).toMatch(/jobtide.duckdb was built by another version/)
    expect(digest.stderr).toContain('`jobtide build`')
    expect(bytesOf(site.dataDir)).toEqual(before)
  })

  it('forgets another person, also at its destination of 0.11, and in the list of 0.11', async () => {
    const site = await siteOf('0.11.0', erased)
    const { people, list } = JSON.parse(
      done(await site.call('forget', OTHER, '--yes', '--json')).stdout,
    )
    expect(people).toHaveLength(1)
    expect(await eventsOf(site, OTHER)).toBe(0)
    // The list of 0.11 lives on in the new one.
    const written = JSON.parse(readFileSync(join(site.dataDir, 'suppressed.json'), 'utf8'))
    const generation = erased === 'one-erased' ? 2 : 1
    expect(list).toEqual({ generation, mac: written.mac })
    expect([written.format_version, written.earlier.length]).toEqual([5, generation - 1])
    done(await site.call('verify', 'data/snapshots'))
    const published = join(site.dataDir, 'snapshots', '**', '*.parquet')
    const files = `from read_parquet('${published}', union_by_name = true)`
    expect(await rows(site, `select count(*) ${files} where profile_id = '${OTHER}'`)).toBe(0)
    done(await site.call('replay'))
    expect([await eventsOf(site, OTHER), await eventsOf(site, ERASED)]).toEqual([0, eventsOfErased])
  })

  it('is published by the first publish, in one complete snapshot, and continued by a run', async () => {
    const site = await siteOf('0.11.0', erased)
    done(await site.call('publish', '--pipeline', 'test.yaml'))
    done(await site.call('verify', 'data/snapshots'))
    done(await site.call('run', 'test.yaml'))
    done(await site.call('verify', 'data/snapshots'))
    expect(await eventsOf(site, ERASED)).toBe(eventsOfErased + later)
  })
})

describe.skipIf(!HAS_PROC)('a data directory that this version cannot read', () => {
  const list = 'suppressed.json'
  it.each<[string, number, RegExp, (dataDir: string) => Promise<void> | void]>([
    ['a list cut short', 9, /suppressed\.json is damaged/, cut(list)],
    [
      'a list with another number',
      9,
      /does not fit its MAC/,
      change(list, '"generation": 1', '"generation": 2'),
    ],
    [
      'no list',
      9,
      /suppressed\.json is missing, and the journal/,
      (dir) => rmSync(join(dir, list)),
    ],
    ['a list of 0.10', 2, /an older Jobtide: its format is 3/, withFormat(list, 3)],
    [
      'an unfinished erasure cut short',
      9,
      /forget\.pending\.json is damaged/,
      (dir) => writeFileSync(join(dir, 'forget.pending.json'), '{"format_ver'),
    ],
  ])(
    '%s is refused with %i, and the directory stays unchanged',
    async (_, code, sentence, spoil) => {
      const site = await siteOf('0.11.0', 'one-erased')
      await spoil(site.dataDir)
      const before = bytesOf(site.dataDir)
      const publish = ['publish', '--pipeline', 'test.yaml']
      const commands = [RUN, ['load'], ['build'], publish, FORGET, ['replay']]
      for (const command of commands) {
        const refused = await site.call(...command)
        expect(refused.exitCode, `${command[0]}: ${refused.stderr}`).toBe(code)
        expect(refused.stderr).toMatch(sentence)
        // One sentence and what to do.
        expect(refused.stderr.trim().split('\n')).toHaveLength(2)
        expect(bytesOf(site.dataDir)).toEqual(before)
      }
      expect(site.simulator.account().requests).toBe(0)
    },
  )
})

const FORGET = ['forget', OTHER, '--yes']

function change(name: string, from: string | RegExp, to: string) {
  return (dataDir: string): void => {
    const path = join(dataDir, name)
    const text = readFileSync(path, 'utf8')
    expect(text).toMatch(from)
    writeFileSync(path, text.replace(from, to))
  }
}

function cut(name: string) {
  return change(name, /"people[^]*/, '')
}

function withFormat(name: string, format: number) {
  return change(name, /"format_version": 4/, `"format_version": ${format}`)
}
