/** The first commands of this version on a data directory that 0.11 left. Skipped where there is no /proc: README.md says why. */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { searchFolder } from '../../src/run/forget/search.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { done } from '../helpers/run-cli.ts'
import { IS_SOAK } from '../helpers/tier.ts'
import { ERASED, bytesOf, siteOf, type UpgradeSite } from './fixtures.ts'

vi.setConfig({ testTimeout: 240_000 })

const HAS_PROC = existsSync('/proc/self/cwd')
const OTHER = 'per_bb780d638add8f8b4cd4'
const RUN = ['run', 'test.yaml', '--no-publish']

/** The texts by which the erased person could be found; others also have the name "Ward". */
const NAMES = [ERASED, 'hannah-ward-6d004e', 'Hannah Ward']

const rows = (site: UpgradeSite, sql: string) =>
  withWarehouse({ path: join(site.dataDir, 'jobtide.duckdb'), mode: 'read' }, (open) =>
    open.number(sql),
  )
const eventsOf = (site: UpgradeSite, id: string) =>
  rows(site, `select count(*) from job_change_events where profile_id = '${id}'`)
describe.skipIf(!HAS_PROC).each([
  { erased: 'nobody-erased', events: 57, eventsOfErased: 1, later: 2 },
  { erased: 'one-erased', events: 56, eventsOfErased: 0, later: 0 },
] as const)(
  'a data directory of 0.11 with $erased',
  ({ erased, events, eventsOfErased, later }) => {
    it('answers read-only commands, and stays unchanged, byte for byte', async () => {
      const site = await siteOf('0.11.0', erased)
      const before = bytesOf(site.dataDir)
      expect(done(await site.call('status')).stdout).toContain(`${events} events`)
      const credits = JSON.parse(done(await site.call('credits', '--json')).stdout)
      expect(credits.total).toMatchObject({ credits: 30, unexpected_charges: 0 })
      done(await site.call('credits', '--by', 'run'))
      const plan = JSON.parse(done(await site.call('forget', OTHER, '--json')).stdout)
      expect(plan).toMatchObject({ is_done: false, not_here: [], rows: { 'main.people': 1 } })
      const digest = await site.call('digest')
      expect([digest.exitCode, digest.stdout]).toEqual([2, ''])
      expect(digest.stderr).toMatch(/jobtide.duckdb was built by another version/)
      expect(digest.stderr).toContain('`jobtide build`')
      expect(bytesOf(site.dataDir)).toEqual(before)
    })

    it.each(['replay', 'build'])('is upgraded to this version by %s', async (command) => {
      const site = await siteOf('0.11.0', erased)
      done(await site.call(command))
      expect(await rows(site, 'select count(*) from job_change_events')).toBe(events)
      expect(await eventsOf(site, ERASED)).toBe(eventsOfErased)
      expect(await rows(site, `select count(*) from people where profile_id = '${ERASED}'`)).toBe(
        eventsOfErased,
      )
      done(await site.call('digest'))
    })

    it('is continued by run, and no erased person comes back', async () => {
      const site = await siteOf('0.11.0', erased)
      expect(done(await site.call(...RUN)).stdout).toContain('2 events of 2 organisations')
      expect(await eventsOf(site, ERASED)).toBe(eventsOfErased + later)
      const markers = NAMES.map((text) => ({ text, is_unique: true }))
      const scratchFolder = join(site.folder, 'scratch')
      // Also in pages of the journal and in tables, unpacked.
      const { matches } = await searchFolder(site.dataDir, { markers, scratchFolder })
      expect(matches.length > 0).toBe(erased === 'nobody-erased')
      // The hint about a destination of 0.11.
      done(await site.call('publish', '--pipeline', 'test.yaml', '--snapshot-to', 'elsewhere'))
      done(await site.call('verify', 'elsewhere'))
      const published = join(site.folder, 'elsewhere', 'tables', 'people', '**', '*.parquet')
      const people = `from '${published}' where profile_id = '${ERASED}'`
      expect(await rows(site, `select count(*) ${people}`)).toBe(eventsOfErased)
    })

    it.skipIf(!IS_SOAK)(
      'forgets another person, also at its destination of 0.11, and in the list of 0.11',
      async () => {
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
        expect([await eventsOf(site, OTHER), await eventsOf(site, ERASED)]).toEqual([
          0,
          eventsOfErased,
        ])
      },
    )

    it('is published by the first publish, in one complete snapshot, and continued by a run', async () => {
      const site = await siteOf('0.11.0', erased)
      done(await site.call('publish', '--pipeline', 'test.yaml'))
      done(await site.call('verify', 'data/snapshots'))
      done(await site.call('run', 'test.yaml'))
      done(await site.call('verify', 'data/snapshots'))
      expect(await eventsOf(site, ERASED)).toBe(eventsOfErased + later)
    })
  },
)

it.skipIf(!HAS_PROC).each(['0.11.0', '0.12.0'] as const)(
  'the first run after %s drops only the macros that it stored',
  async (version) => {
    const site = await siteOf(version, 'nobody-erased')
    const stored = `select count(*) from duckdb_functions()
      where ends_with(function_name, '_as_known_on') or function_name in ('end_of_day', 'known_at_end_of')`
    expect(await rows(site, stored)).toBeGreaterThan(20)
    await withWarehouse({ path: join(site.dataDir, 'jobtide.duckdb'), mode: 'write' }, (open) =>
      open.run('create macro main.mine_as_known_on(day) as table select day'),
    )
    done(await site.call(...RUN))
    expect(await rows(site, stored)).toBe(1)
    const sql = `select count(*) from joiners_as_known_on('2030-01-01')`
    const { stdout } = done(await site.call('query', sql, '--format', 'csv'))
    const joiners = await rows(site, 'select count(*) from joiners')
    expect(stdout.trim().split('\n').at(-1)).toBe(String(joiners))
  },
)

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
    ['a list of a newer version', 2, /a newer Jobtide: its format is 6/, withFormat(list, 6)],
    ['a list of 0.10', 2, /an older Jobtide: its format is 3/, withFormat(list, 3)],
    [
      'an unfinished erasure of a newer version',
      2,
      /forget\.pending\.json was written by a newer Jobtide/,
      (dir) => writeFileSync(join(dir, 'forget.pending.json'), '{"format_version": 9}'),
    ],
    [
      'an unfinished erasure cut short',
      9,
      /forget\.pending\.json is damaged/,
      (dir) => writeFileSync(join(dir, 'forget.pending.json'), '{"format_ver'),
    ],
    ['a warehouse of a newer version', 2, /made by a newer Jobtide/, ofNewer],
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

async function ofNewer(dataDir: string): Promise<void> {
  await withWarehouse({ path: join(dataDir, 'jobtide.duckdb'), mode: 'write' }, (open) =>
    open.run(`insert into ops.schema_files values ('999999_newer.sql', '')`),
  )
}
