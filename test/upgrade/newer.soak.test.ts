/**
 * Data of a newer version: one sentence with both versions, exit 2, and nothing is changed. Skipped where there is no
 * /proc: README.md says why.
 */

import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { openInbox } from '../../src/inbox/inbox.ts'
import { encodeFrame } from '../../src/journal/frame.ts'
import type { JournalRecord } from '../../src/journal/records.ts'
import { appendSeal } from '../../src/journal/seals.ts'
import { realClock } from '../../src/support/clock.ts'
import { sha256Hex } from '../../src/support/hash.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { bytesOf, siteOf, type UpgradeSite } from './fixtures.ts'

vi.setConfig({ testTimeout: 240_000 })

const HAS_PROC = existsSync('/proc/self/cwd')
const RUN = 'run test.yaml'
const PUBLISH = 'publish --pipeline test.yaml'
const FORGET = 'forget per_bb780d638add8f8b4cd4 --yes'
const WRITE_WAREHOUSE = [RUN, 'load', 'build', PUBLISH, FORGET]
const WRITE_ALL = [...WRITE_WAREHOUSE, 'replay']
const ALL = [...WRITE_ALL, 'replay --accept-loss', 'extract test.yaml', 'verify', 'status']
const NEWER_SEGMENT = 'J3 2 0 0 0123abcd\n{}\n'
/** In this format, with a record that this version does not know. */
const segmentWithNewRecord = () => {
  const first = { kind: 'paused', run_id: null, at: 1, not_before: 1, reason: '' } as const
  const start = encodeFrame(first, undefined, 0, '99.1.0')
  const future = { kind: 'something_new', at: 2 } as unknown as JournalRecord
  return Buffer.concat([start, encodeFrame(future, undefined, start.length)])
}
const OF_NEW_RECORD =
  /was written by Jobtide 99\.1\.0, and this is \d+\.\d+\.\d+, which does not know the kind "something_new" of the record/

type Spoil = (dataDir: string) => Promise<void> | void

it.skipIf(!HAS_PROC).each<[string, readonly string[], RegExp, Spoil]>([
  [
    'a journal segment',
    [...ALL.filter((command) => command !== 'verify'), 'credits'],
    /its format at byte 0 is 3, and this one reads 2/,
    (dir) => writeFileSync(join(dir, 'journal', segmentAfter(dir)), NEWER_SEGMENT),
  ],
  [
    'a sealed journal segment',
    ALL,
    /its format at byte 0 is 3, and this one reads 2/,
    (dir) => {
      const segment = segmentAfter(dir)
      writeFileSync(join(dir, 'journal', segment), NEWER_SEGMENT)
      const { length: bytes } = NEWER_SEGMENT
      appendSeal(join(dir, 'journal'), { segment, bytes, sha256: sha256Hex(NEWER_SEGMENT) })
    },
  ],
  [
    'a record of an unknown kind',
    [...ALL.filter((command) => command !== 'verify'), 'credits'],
    OF_NEW_RECORD,
    (dir) => writeFileSync(join(dir, 'journal', segmentAfter(dir)), segmentWithNewRecord()),
  ],
  [
    'a record of an unknown kind in a sealed segment, with a delivery in the inbox,',
    [...ALL.filter((command) => command !== 'verify'), 'credits', 'plan test.yaml'],
    OF_NEW_RECORD,
    async (dir) => {
      const records = segmentWithNewRecord()
      const seal = { kind: 'seal', at: 3, records: 2, sha256: sha256Hex(records) } as const
      const whole = Buffer.concat([records, encodeFrame(seal, undefined, records.length)])
      const segment = segmentAfter(dir)
      writeFileSync(join(dir, 'journal', segment), whole)
      const { length: bytes } = whole
      appendSeal(join(dir, 'journal'), { segment, bytes, sha256: sha256Hex(whole), held: [] })
      await openInbox(join(dir, 'inbox'), realClock).keep('{}')
    },
  ],
  [
    'the list of seals',
    ALL,
    /journal\.seals was written by a newer Jobtide: its format is 2, and this one reads 1/,
    (dir) => change(join(dir, 'journal.seals'), 'jobtide seals 1', 'jobtide seals 2'),
  ],
  [
    'the list of erased people',
    WRITE_ALL,
    /suppressed\.json was written by a newer Jobtide: its format is 6, and this one reads 4 and 5/,
    (dir) => change(join(dir, 'suppressed.json'), '"format_version": 5', '"format_version": 6'),
  ],
  [
    'an unfinished erasure',
    WRITE_ALL,
    /forget\.pending\.json was written by a newer Jobtide: its format is 9, and this one reads 3/,
    (dir) => writeFileSync(join(dir, 'forget.pending.json'), '{"format_version": 9}'),
  ],
  [
    'the list of backups',
    [...WRITE_ALL, 'verify', 'status'],
    /journal\.backup\.json was written by a newer Jobtide: its format is 2, and this one reads 1/,
    (dir) => change(join(dir, 'journal.backup.json'), '"format_version": 1', '"format_version": 2'),
  ],
  [
    'a backup of the journal',
    [RUN, 'extract test.yaml', FORGET, 'verify'],
    /backup\.json was written by a newer Jobtide: its format is 2, and this one reads 1/,
    (dir) =>
      change(join(dir, 'backup', 'backup.json'), '"format_version": 1', '"format_version": 2'),
  ],
  [
    'the schema of the warehouse',
    WRITE_ALL,
    /a newer Jobtide: its schema has 999999_newer\.sql, and this one ends with \d{6}_\w+\.sql/,
    (dir) =>
      withWarehouse({ path: join(dir, 'jobtide.duckdb'), mode: 'write' }, (open) =>
        open.run(`insert into ops.schema_files values ('999999_newer.sql', '')`),
      ),
  ],
  [
    'the file of the warehouse',
    [...WRITE_ALL, 'models'],
    /a newer Jobtide: its format is 200, and this one reads up to \d+/,
    ofNewerEngine,
  ],
  [
    'the manifest at the destination',
    [
      RUN,
      PUBLISH,
      FORGET,
      'verify data/snapshots',
      'restore data/snapshots --data-dir elsewhere',
      'snapshots data/snapshots',
    ],
    /manifest\.json was written by a newer Jobtide: its format is 6, and this one reads up to 5/,
    withNewerManifest,
  ],
  [
    'the pointer at the destination',
    [
      RUN,
      PUBLISH,
      FORGET,
      'verify data/snapshots',
      'restore data/snapshots --data-dir elsewhere',
      'snapshots data/snapshots',
    ],
    /latest\.json was written by a newer Jobtide: its format is 6, and this one reads up to 5/,
    (dir) => change(join(dir, 'snapshots', 'latest.json'), /^\{/, '{"format_version": 6,'),
  ],
])(
  '%s is refused with 2, and the directory stays unchanged',
  async (_, commands, sentence, spoil) => {
    const site = await siteOf('0.14.0', 'one-erased')
    change(join(site.folder, 'test.yaml'), /$/, 'journal: { backup: backup }\n')
    await spoil(site.dataDir)
    await expectRefused(site, commands, 2, sentence)
  },
)

it.skipIf(!HAS_PROC).each<[string, number, RegExp, Spoil]>([
  ['of a newer version', 2, /a newer Jobtide: its format is 6/, withNewerManifest],
  [
    'that is damaged',
    7,
    /latest\.json was not written by this Jobtide/,
    (dir) => writeFileSync(join(dir, 'snapshots', 'latest.json'), 'no JSON'),
  ],
])(
  'a destination %s is refused with %i before a warehouse of 0.11 is rebuilt: that version still works',
  async (_, code, sentence, spoil) => {
    const site = await siteOf('0.11.0', 'one-erased')
    await spoil(site.dataDir)
    await expectRefused(site, [RUN, PUBLISH], code, sentence)
  },
)

it.skipIf(!HAS_PROC).each<[string, RegExp, Spoil]>([
  [
    'a segment',
    /its format at byte 0 is 3, and this one reads 2/,
    (place) => {
      const list = JSON.parse(readFileSync(join(place, 'backup.json'), 'utf8'))
      const [first] = list.segments
      Object.assign(first, { bytes: NEWER_SEGMENT.length, sha256: sha256Hex(NEWER_SEGMENT) })
      const name = `${first.segment.replace('.journal', '')}-${first.sha256}.journal`
      writeFileSync(join(place, 'segments', name), NEWER_SEGMENT)
      writeFileSync(join(place, 'backup.json'), JSON.stringify(list))
    },
  ],
  [
    'a list of erased people',
    /suppressed\.json was written by a newer Jobtide: its format is 6/,
    (place) =>
      change(
        join(place, 'backup.json'),
        String.raw`\"format_version\": 5`,
        String.raw`\"format_version\": 6`,
      ),
  ],
  [
    'a list of seals',
    /journal\.restoring\.seals was written by a newer Jobtide: its format is 2/,
    (place) => change(join(place, 'backup.json'), 'jobtide seals 1', 'jobtide seals 2'),
  ],
])(
  'a backup with %s of a newer version is not restored: exit 2, and there is no journal',
  async (_, sentence, spoil) => {
    const site = await siteOf('0.14.0', 'one-erased')
    await spoil(join(site.dataDir, 'backup'))
    const there = join(site.folder, 'restored')
    const refused = await site.call('restore-journal', 'data/backup', '--data-dir', there)
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringMatching(sentence)])
    const left = ['journal', 'journal.seals', 'suppressed.json', 'jobtide.duckdb']
    expect(left.filter((name) => existsSync(join(there, name)))).toEqual([])
    // Nor if a segment of the existing journal is to be restored.
    rmSync(join(site.dataDir, 'journal', firstSegment(site.dataDir)))
    const before = bytesOf(site.dataDir)
    const mending = await site.call('restore-journal', 'data/backup')
    expect([mending.exitCode, mending.stderr]).toEqual([2, expect.stringMatching(sentence)])
    const after = Object.keys(bytesOf(site.dataDir))
    expect(after.filter((name) => !name.includes('journal.restoring'))).toEqual(Object.keys(before))
  },
)

async function expectRefused(
  site: UpgradeSite,
  commands: readonly string[],
  code: number,
  sentence: RegExp,
): Promise<void> {
  const before = bytesOf(site.dataDir)
  for (const command of commands) {
    const refused = await site.call(...command.split(' '))
    expect([command, refused.exitCode], refused.stderr).toEqual([command, code])
    expect(refused.stderr, command).toMatch(sentence)
    // One sentence and what to do.
    expect(refused.stderr.trim().split('\n'), command).toHaveLength(2)
    expect(bytesOf(site.dataDir), command).toEqual(before)
  }
  expect(site.simulator.account().requests).toBe(0)
}

function change(path: string, from: string | RegExp, to: string): void {
  const text = readFileSync(path, 'utf8')
  const changed = text.replace(from, to)
  expect(changed).not.toBe(text)
  writeFileSync(path, changed)
}

const firstSegment = (dataDir: string) =>
  readdirSync(join(dataDir, 'journal')).find((name) => name.endsWith('.journal')) ?? ''

/** A name for a segment that is newer than those of the fixture. */
function segmentAfter(dataDir: string): string {
  const name = `01M88ZZZZZZZZZZZZZZZZZZZZZ.journal`
  expect(
    readdirSync(join(dataDir, 'journal')).every(
      (other) => other === 'history.checkpoint' || other === 'identity' || other < name,
    ),
  ).toBe(true)
  return name
}

function withNewerManifest(dataDir: string): void {
  const destination = join(dataDir, 'snapshots')
  const pointer = JSON.parse(readFileSync(join(destination, 'latest.json'), 'utf8'))
  const path = join(destination, pointer.manifest_key)
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  const text = JSON.stringify({ ...manifest, format_version: 6 })
  writeFileSync(path, text)
  const changed = { ...pointer, manifest_sha256: sha256Hex(text) }
  writeFileSync(join(destination, 'latest.json'), JSON.stringify(changed))
}

/** As a later DuckDB writes it: its first block names format 200, and fits its checksum. */
function ofNewerEngine(dataDir: string): void {
  const path = join(dataDir, 'jobtide.duckdb')
  const file = readFileSync(path)
  const hash = (word: bigint) => BigInt.asUintN(64, word * 0xbf58476d1ce4e5b9n)
  const before = file.readBigUInt64LE(8)
  file.writeUInt32LE(200, 12)
  const checksum = file.readBigUInt64LE(0) ^ hash(before) ^ hash(file.readBigUInt64LE(8))
  file.writeBigUInt64LE(checksum, 0)
  writeFileSync(path, file)
}
