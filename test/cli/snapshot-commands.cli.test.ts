/** `snapshots`, `verify` and `restore`: what they report about published snapshots. */

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { restoreCommand, verifyCommand } from '../../src/cli/proof-commands.ts'
import { snapshotsCommand } from '../../src/cli/proof-commands.ts'
import { POINTER_KEY, type Manifest } from '../../src/publish/manifest.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT } from '../../src/support/errors.ts'
import { DAY } from '../../src/support/units.ts'
import { START, idOf, manifestOf, publishManifest } from '../publish/gc/gc-world.ts'
import { publishedLake } from '../publish/lake-fixtures.ts'
import { CLI, callCli } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { ledgerSite, sendRequest } from './ledger-fixture.ts'

const pipeline = 'nightly'

describe('snapshots', () => {
  /** A data directory that publishes to its folder `snapshots`, and what the command prints there. */
  function aSite(lines: readonly string[] = ['snapshot: {to: snapshots}']) {
    const site = ledgerSite(START)
    const named = site.pipeline('nightly', ['org_1'], lines)
    const folder = join(site.folder, 'snapshots')
    const show = () =>
      site.show((context) => snapshotsCommand(context, undefined, { pipeline: named }))
    return { site, named, folder, store: openFolderStore(folder, realClock), show }
  }

  const asked = { id: idOf(1), createdAt: START - DAY, contents: ['aaaa', 'bb'] }
  const first: Manifest = { ...manifestOf(asked), checks: null, new_bytes: 6 }
  const later = { id: idOf(2), createdAt: START, contents: ['aaaa', 'ccc'], after: first }
  const base = manifestOf({ ...asked, ...later })
  const second: Manifest = {
    ...base,
    new_bytes: 1_234_567,
    checks: { build_id: '01JTESTBUILD00000000000000', passed: 84, checked_at: base.created_at },
    coverage: { ...base.coverage, organizations: 1_200 },
  }

  it('lists the newest first, marks what readers see, and counts shared files once', async () => {
    const { folder, store, show } = aSite()
    await publishManifest(store, first, null)
    await publishManifest(store, second, first)
    const { text, document, exitCode } = await show()
    expect(exitCode).toBe(0)
    expect(text.split('\n')).toEqual([
      `${folder}: 2 snapshots, 9 B together`,
      '',
      '  snapshot                    created (UTC)     rows  bytes     new',
      '→ 01JD0000000000000000000002  2026-11-20 02:15     2    7 B  1.2 MB',
      '  01JD0000000000000000000001  2026-11-19 02:15     2    6 B     6 B',
      '',
      '→ what readers see; the address of another: DESTINATION/snapshots/SNAPSHOT',
    ])
    expect(document).toMatchObject({
      destination: folder,
      current: idOf(2),
      bytes: 9,
      snapshots: [
        {
          snapshot_id: idOf(2),
          url: `${folder}/snapshots/${idOf(2)}`,
          is_current: true,
          sequence: 2,
          created_at: '2026-11-20T02:15:00.000Z',
          tables: 1,
          files: 2,
          new_bytes: 1_234_567,
          checks: { passed: 84 },
          coverage: { organizations: 1_200 },
        },
        { snapshot_id: idOf(1), is_current: false, checks: null, bytes: 6 },
      ],
    })
  })

  it('says that nothing was published yet, that the pointer was removed, and what to do without a destination', async () => {
    const { site, folder, store, show } = aSite()
    const { text, document } = await show()
    expect(text).toBe(`nothing was published to ${folder} yet`)
    expect(document).toMatchObject({ destination: folder, current: null, bytes: 0, snapshots: [] })
    await expect(openFolderStore(site.folder, realClock).list('snapshots')).resolves.toEqual([])

    await publishManifest(store, first, null)
    await store.remove([POINTER_KEY])
    const removed = await show()
    expect(removed.text).toMatch(/readers see none of them: there is no latest\.json$/)
    expect(removed.document).toMatchObject({ current: null, snapshots: [{ is_current: false }] })

    const nowhere = aSite([])
    await expect(nowhere.show()).rejects.toMatchObject({
      exitCode: 2,
      message: `pipeline ${nowhere.named} has no snapshot destination`,
      hint: expect.stringContaining('or name a destination: a folder or s3://bucket/prefix'),
    })
  })
})

describe('a place to read', () => {
  it.each([
    ['a missing folder', 'none', 'there is no folder '],
    ['a file', 'file', ' is not a folder'],
    ['a place below a file', 'file/below', 'there is no folder '],
    ['another address', 'gs://bucket/prefix', 'gs://bucket/prefix'],
    ['no address', 's3:', 's3:'],
    ['no bucket', 's3://', 's3:// is not an S3 address'],
    ['an empty folder', 'empty', 'was published to '],
    ['a snapshot of one', `empty/snapshots/${idOf(1)}`, 'was published to '],
  ])('%s is refused with exit 2 by every command that reads one', async (_, place, says) => {
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, 'file'), '')
    mkdirSync(join(cwd, 'empty'))
    const isEmpty = place.startsWith('empty')
    const commands = ['verify', 'restore', ...(isEmpty ? [] : ['snapshots', 'restore-journal'])]
    for (const command of commands) {
      const { exitCode, stderr } = await callCli([command, place], { cwd })
      expect([exitCode, stderr], command).toEqual([2, expect.stringContaining(says)])
      expect(existsSync(join(cwd, 'data', 'jobtide.duckdb'))).toBe(false)
    }
  })
})

describe.skipIf(process.getuid?.() !== 0)(
  'a data directory of another account (skipped unless root)',
  () => {
    it.each(['models', 'snapshots', 'query', 'credits'])(
      'ends %s with exit 9, and is not shown as empty',
      (command) => {
        const cwd = temporaryFolder()
        chmodSync(cwd, 0o755)
        mkdirSync(join(cwd, 'data', 'snapshots'), { recursive: true })
        writeFileSync(join(cwd, 'data', 'jobtide.duckdb'), '')
        chmodSync(join(cwd, 'data'), 0o700)
        const given = command === 'query' ? [command, 'select 1'] : [command]
        const how = {
          cwd,
          uid: 65_534,
          encoding: 'utf8' as const,
          env: { PATH: process.env['PATH'] },
        }
        const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...given], how)
        expect([status, stdout, stderr]).toEqual([
          EXIT.storage,
          '',
          expect.stringContaining('permission denied (EACCES)'),
        ])
      },
    )
  },
)

describe('verify', () => {
  const verify = (url: string, site = ledgerSite(START)) =>
    site.show((context) => verifyCommand(context, url, { pipeline }))

  it('exits with 0 and says how much was proved, or with 6 and the full key of each finding', async () => {
    const lake = await publishedLake()
    const { snapshot_id: id } = await lake.manifest()
    const good = await verify(lake.root)
    expect(good.exitCode).toBe(EXIT.done)
    expect(good.text).toMatch(
      new RegExp(
        `^snapshot ${id} at ${lake.root} is proved\n2 tables, 4 files, 45,002 rows, [0-9.]+ MB: every byte and row is as published$`,
      ),
    )
    const counts = { tables: 2, files: 4, rows: 45_002, findings: [] }
    const expected = { snapshot_id: id, destination: lake.root, is_proved: true, ...counts }
    expect(good.document).toMatchObject(expected)

    writeFileSync(lake.path('current/moves/mine.parquet'), 'mine')
    const beside = await verify(lake.root)
    expect(beside.exitCode).toBe(EXIT.checkFailed)
    expect(beside.text).toContain('The snapshot itself is whole: the fault is outside it.')

    const key = (await lake.table('people')).files.at(-1)?.key ?? ''
    rmSync(lake.path(key))
    const { text, document, exitCode } = await verify(`${lake.root}/snapshots/${id}`)
    expect(exitCode).toBe(EXIT.checkFailed)
    expect(text.split('\n')).toEqual([
      `snapshot ${id} at ${lake.root}: 2 findings`,
      '',
      'missing  people',
      `  ${key}`,
      '  it is missing',
      '',
      'current  moves',
      '  current/moves/mine.parquet',
      '  no table of the snapshot has it; `jobtide publish` brings it up to date',
      '',
      'Nothing was changed here. Restore the objects from a backup, or use another',
      'snapshot: `jobtide snapshots` lists them.',
    ])
    expect(document).toMatchObject({
      is_proved: false,
      findings: [
        { kind: 'missing', table: 'people', object: key, message: 'it is missing' },
        { kind: 'current', table: 'moves', object: 'current/moves/mine.parquet' },
      ],
    })
  })

  it('proves the snapshot even if the journal has a loss: exit 9, or 6 if the snapshot has findings', async () => {
    const lake = await publishedLake()
    const site = ledgerSite(START)
    await site.journal((writer) => sendRequest(writer, START))
    const journal = join(site.folder, 'journal')
    const [segment = ''] = readdirSync(journal).filter((name) => name !== 'identity')
    rmSync(join(journal, segment))
    const lost = await verify(lake.root, site)
    expect(lost.exitCode).toBe(EXIT.storage)
    expect(lost.text).toMatch(/^snapshot .* is proved\n2 tables, 4 files, .* as published$/)
    expect(lost.document).toMatchObject({
      is_proved: false,
      findings: [],
      rows: 45_002,
      journal: null,
      error: { exit_code: 9, message: expect.stringContaining(`${segment} is gone`) as unknown },
    })
    writeFileSync(lake.path('current/moves/mine.parquet'), 'mine')
    const both = await verify(lake.root, site)
    expect(both.exitCode).toBe(EXIT.checkFailed)
    expect(both.document).toMatchObject({
      error: { exit_code: 9 },
      findings: [{ kind: 'current' }],
    })
  })
})

describe('restore', () => {
  it('creates the warehouse of the data directory, says what is missing in it, and never replaces one', async () => {
    const lake = await publishedLake()
    const restore = (site: ReturnType<typeof ledgerSite>, url: string) =>
      site.show((context) => restoreCommand(context, url, { pipeline }))
    const site = ledgerSite(START)
    const { text, document, exitCode } = await restore(site, lake.root)
    const { snapshot_id: id, created_at: at } = await lake.manifest()
    expect(exitCode).toBe(EXIT.done)
    expect(text.split('\n')).toEqual([
      `restored: ${site.warehouse} from snapshot ${id} of ${at}`,
      '2 tables, 45,002 rows: all of them the rows that were published',
      'It has no journal, ledger or coverage, and does not know how often and when an',
      'event was last seen. If you still have the journal, `jobtide load` adds what it',
      'holds. `jobtide build` makes the tables again.',
    ])
    expect(document).toMatchObject({
      snapshot_id: id,
      warehouse: site.warehouse,
      rows: 45_002,
      tables: [
        { name: 'people', rows: 15_002 },
        { name: 'moves', rows: 30_000 },
      ],
      not_restored: ['journal', 'ledger', 'coverage'],
    })

    await expect(restore(site, lake.root)).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: `there is a warehouse already: ${site.warehouse}`,
    })
    expect(existsSync(`${site.folder}/lock`)).toBe(false)
  })

  it.each(['', '/data', '/snapshots/mine/data'])(
    'refuses a data directory at <destination>%s, and writes nothing there',
    async (below) => {
      const lake = await publishedLake()
      const names = readdirSync(lake.root, { recursive: true })
      const dataDir = `${lake.root}${below}`
      const args = ['restore', lake.root, '--data-dir', dataDir]
      const { exitCode, stderr } = await callCli(args)
      expect(exitCode, stderr).toBe(EXIT.usage)
      expect(stderr).toContain(`the data directory ${dataDir} lies in the destination ${lake.root}`)
      expect(readdirSync(lake.root, { recursive: true })).toEqual(names)
    },
  )
})
