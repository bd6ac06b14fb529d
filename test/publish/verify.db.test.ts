/**
 * Every difference from the published snapshot, by accident or intent, is found and named. A restore checks the same,
 * and ignores what only lies next to the snapshot. A whole snapshot has no findings.
 */

import fc from 'fast-check'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { restoreCommand, verifyCommand } from '../../src/cli/proof-commands.ts'
import { collectGarbage, parseKeep } from '../../src/publish/retention.ts'
import {
  POINTER_KEY,
  objectsOf,
  snapshotKeys,
  type Manifest,
  type ManifestTable,
} from '../../src/publish/manifest.ts'
import { openStore } from '../../src/publish/store/open-store.ts'
import { verifySnapshot, type VerifyOptions } from '../../src/publish/verify.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT, messageOf } from '../../src/support/errors.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { newUlid } from '../../src/support/ulid.ts'
import { ledgerSite } from '../cli/ledger-fixture.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { rounds } from '../helpers/tier.ts'
import { START } from '../load/load-fixture.ts'
import { publish } from './fixtures.ts'
import {
  aNight,
  flipByte,
  forge,
  lakeTables,
  lakeWarehouse,
  publishedLake,
  replaceFile,
  type Lake,
} from './lake-fixtures.ts'

async function verify({ store }: Pick<Lake, 'store'>, options: Partial<VerifyOptions> = {}) {
  const scratchFolder = join(temporaryFolder(), 'scratch')
  return verifySnapshot({ store, snapshotId: null, scratchFolder, ...options })
}

function restore(url: string, site = ledgerSite(START)) {
  return site.show((context) => restoreCommand(context, url, { pipeline: 'nightly' }))
}

describe('a snapshot that is whole', () => {
  it('has no findings: 2 tables, 4 files, 45,002 rows; nor has the previous one', async () => {
    const lake = await publishedLake()
    const steps: string[] = []
    const onProgress: VerifyOptions['onProgress'] = ({ done, total }) =>
      steps.push(`${done}/${total}`)
    const { snapshot_id: snapshotId, previous } = await lake.manifest()
    const report = await verify(lake, { onProgress })
    expect(report).toMatchObject({ snapshotId, tables: 2, rows: 45_002, findings: [] })
    expect(steps).toEqual(['1/4', '2/4', '3/4', '4/4'])
    const before = previous?.snapshot_id ?? ''
    const report2 = await verify(lake, { snapshotId: before })
    expect(report2).toMatchObject({ snapshotId: before, rows: 45_000, findings: [] })
  })

  it('has none with keys of 400 bytes, whose bounds are cut, and NaN values', async () => {
    const [lake, warehouse] = [await publishedLake(), await lakeWarehouse()]
    await warehouse.run(`
      insert into people select repeat('ü', 200) || i, 1, null, 1, null from range(3) numbers(i);
      alter table people add column share double;
      update people set share = case age when 1 then 'nan'::double when 2 then '-inf'::double else 0.1 * age end;
      create or replace table moves as from moves limit 0`)
    await publish(warehouse, lake.store, { tables: lakeTables, acceptShrink: true })
    expect(await verify(lake)).toMatchObject({ rows: 15_003, findings: [] })
  })

  it('has none while 3 nights are published and their garbage is collected at the same time', async () => {
    const lake = await publishedLake()
    const { store } = lake
    const warehouse = await lakeWarehouse()
    await warehouse.run(aNight)
    let isOver = false
    const nights = async () => {
      for (let night = 1; night <= 3; night += 1) {
        await warehouse.run(
          `update people set age = age + 1 where hash(person_id, ${night}) % 1000 = 0`,
        )
        await publish(warehouse, store, { tables: lakeTables })
        await collectGarbage({ store, keep: parseKeep(2), olderThanMs: 0, logger: silentLogger })
      }
      isOver = true
    }
    const verified: unknown[] = []
    const verifications = async () => {
      while (!isOver) {
        const found = await verify(lake).catch((error: unknown) => {
          // Nothing is reported about a snapshot that is no longer kept.
          if (messageOf(error).includes('was deleted by garbage collection'))
            return { findings: [] }
          throw error
        })
        verified.push(found.findings)
      }
    }
    await Promise.all([nights(), verifications()])
    expect(verified.flat()).toEqual([])
    expect(verified.length).toBeGreaterThan(1)
  })

  it('is proved and restored where it was copied to; verify says from where its views read', async () => {
    const lake = await publishedLake()
    const copy = join(temporaryFolder(), 'copy')
    cpSync(lake.root, copy, { recursive: true })
    const { exitCode, text, document } = await ledgerSite(START).show((context) =>
      verifyCommand(context, copy, { pipeline: 'nightly' }),
    )
    expect([exitCode, document['copied_from']]).toEqual([EXIT.done, lake.root])
    expect(text.replaceAll('\n', ' ')).toContain(
      `It was copied here from ${lake.root}: its views.sql still reads the files there.`,
    )
    const site = ledgerSite(START)
    const restored = await restore(copy, site)
    expect(restored.document).toMatchObject({ rows: 45_002 })
    expect(existsSync(site.warehouse)).toBe(true)
  })
})

/** The objects of a lake to damage. */
async function partsOf(lake: Lake) {
  const [people, moves] = [await lake.table('people'), await lake.table('moves')]
  const { snapshot_id: id, previous } = await lake.manifest()
  const log = 'tables/people/_delta_log/'
  return {
    lake,
    people,
    moves,
    /** A folder outside the snapshot. */
    outside: temporaryFolder(),
    whole: people.files[0]?.key ?? '',
    manifest: snapshotKeys(id).manifest,
    before: snapshotKeys(previous?.snapshot_id ?? '').manifest,
    views: snapshotKeys(id).views,
    log,
    commit: `${log}${'1'.padStart(20, '0')}.json`,
  }
}

type Parts = Awaited<ReturnType<typeof partsOf>>

type Name = 'whole' | 'manifest' | 'before' | 'views' | 'log' | 'commit'
type Damage = (parts: Parts) => unknown

const pathOf = (parts: Parts, name: Name | 'pointer' | 'folder') =>
  parts.lake.path(
    name === 'pointer' ? POINTER_KEY : name === 'folder' ? 'tables/people' : parts[name],
  )

const removed =
  (name: Name | 'pointer'): Damage =>
  (parts) =>
    rmSync(pathOf(parts, name), { recursive: true })

/** Replaces text in an object. `OUT` stands for a folder outside the snapshot, `ROOT` for its own. */
const edited =
  (name: Name | 'pointer', from: RegExp | 'ROOT', to: string): Damage =>
  (parts) => {
    const text = readFileSync(pathOf(parts, name), 'utf8')
    const changed = text.replaceAll(from === 'ROOT' ? parts.lake.root : from, to)
    writeFileSync(pathOf(parts, name), changed.replaceAll('OUT', parts.outside))
  }

/** Moves the object of a key out of the snapshot, and leaves a link to it. */
const linkedOut =
  (name: Name | 'pointer' | 'folder'): Damage =>
  (parts) => {
    const away = join(parts.outside, 'away')
    renameSync(pathOf(parts, name), away)
    symlinkSync(away, pathOf(parts, name))
  }

/** Forges the first table of the manifest, or another part. */
const forged =
  (change: (people: ManifestTable, manifest: Manifest) => void): Damage =>
  (parts) =>
    forge(parts.lake, (manifest) => {
      const [people] = manifest.tables
      if (people !== undefined) change(people, manifest)
    })

/** Forges a value in the manifest. */
const set =
  (path: string, value: string | number): Damage =>
  (parts) =>
    forge(parts.lake, (manifest) => {
      const steps = path.split('.')
      const last = steps.pop() ?? ''
      let at = manifest as unknown as Record<string, unknown>
      for (const step of steps) at = at[step] as Record<string, unknown>
      at[last] = typeof value === 'string' ? value.replace('OUT', parts.outside) : value
    })

/** Replaces the rows of the last file of a table, and names the file in the manifest. */
const replaced =
  (table: 'people' | 'moves', select: string): Damage =>
  async ({ lake, [table]: { files } }) => {
    const last = `read_parquet('${lake.path(files.at(-1)?.key ?? '')}')`
    return replaceFile(lake, table, select.replace('FILE', last))
  }

const LINK = 'it is behind a symbolic link, which is not followed'
const HARM = `copy (select 1 as harm) to 'OUT/harm.csv'`

// The damage, and all findings of `verify`, as `<kind> <object>: <message>`.
const damages: readonly (readonly [string, Damage, ...(string | RegExp)[]])[] = [
  [
    'a bit of a data file is turned',
    ({ lake, whole }) => flipByte(lake, whole),
    /^sha256 whole: its bytes differ: their SHA-256 is [0-9a-f]{64}$/,
  ],
  ['a data file is gone', removed('whole'), 'missing whole: it is missing'],
  [
    'a data file lacks its last bytes',
    (parts) => truncateSync(pathOf(parts, 'whole'), 100),
    /^size whole: it has 100 bytes where \d+ belong: it was cut short$/,
  ],
  [
    'the manifest has 1 row more than the file',
    forged((people) => {
      for (const one of [people, people.files[0], people.partitions[0]]) if (one) one.rows += 1
    }),
    'rows whole: it has 15002 rows where 15003 belong',
    'delta log: it names other files or columns than the snapshot: remove it, and `jobtide publish` writes it again',
  ],
  [
    'the manifest was changed after the pointer moved',
    edited('manifest', /"checks": null/g, '"checks":  null'),
    /^manifest manifest: its SHA-256 is .*, but latest\.json says .*: it was changed after/,
  ],
  [
    'the pointer is gone',
    removed('pointer'),
    'pointer latest.json: it is missing, so readers find no snapshot',
  ],
  [
    'the pointer names a file elsewhere as the manifest',
    edited('pointer', /snapshots\/.*json/g, '../../../../../etc/hostname'),
    /^pointer latest\.json: .* the manifest that it names is not that of its snapshot/,
  ],
  [
    'other rows are in the place of a file, and the manifest says so',
    replaced('people', 'select * replace (age + 1 as age) from FILE order by person_id'),
    /^delta log: it names other files or columns/,
    /^current current\/people\/people\.parquet: it/,
  ],
  [
    'a column of a file has another type than the manifest says',
    replaced('people', 'select * replace (age::bigint as age) from FILE order by person_id'),
    /^columns tables.people.all.*: its columns are .*, age BIGINT 2, .* instead of .*, age INTEGER 2, /,
    /^delta log: it names other files or columns/,
    /^current current\/people\/people\.parquet: it/,
  ],
  [
    'a column of a file has another field id than the manifest says',
    set('tables.0.schema.0.field_id', 9),
    /^columns whole: its columns are person_id VARCHAR 1, .* instead of person_id VARCHAR 9, /,
  ],
  [
    'the views name a file less',
    edited('views', /^ {2}getvariable.*2019.*',\n/gm, ''),
    'views views: it does not match the manifest: it was changed',
  ],
  ['the views have a statement more', edited('views', /$/g, HARM), /^views views: /],
  [
    'a Delta log names a file less',
    edited('commit', /^\{"add".*\n/gm, ''),
    /^delta log: it names other files or columns/,
  ],
  ['a data file is a symbolic link', linkedOut('whole'), `missing whole: ${LINK}`],
  [
    'the folder of a table is a symbolic link',
    linkedOut('folder'),
    `missing whole: ${LINK}`,
    /^delta log: it cannot be read: .* has lost its version 0; /,
  ],
  [
    'the type of a column is SQL',
    set('tables.0.schema.1.type', `integer); ${HARM}; --`),
    /^columns whole: its columns are person_id VARCHAR 1, age INTEGER 2, .* instead of .*$/,
    /^delta log: it cannot be read: people\.age is a .*, which a Delta table cannot hold; /,
  ],
  [
    'the comment of a column is SQL',
    set('tables.0.schema.1.comment', `'; ${HARM}; --`),
    /^delta log: it names other files or columns/,
  ],
  [
    'a key leads out',
    set('tables.0.files.0.key', '../../../../etc/passwd'),
    /^manifest manifest: .* was not written by this Jobtide: /,
  ],
]

const casesOf = (of: typeof damages) =>
  of.map(([name, damage, ...expected]) => ({ name, damage, expected }))

/** Things next to a snapshot, which a restore ignores. */
const beside: typeof damages = [
  [
    'a Delta log is 1 snapshot behind',
    removed('commit'),
    'delta log: it shows snapshot 1, not 2; `jobtide publish` brings it up to date',
  ],
  ['a Delta log is gone', removed('log'), /^delta log: it shows snapshot 0, not 2; /],
  [
    'the manifest before was changed after the next snapshot was published',
    edited('before', /"checks": null/g, '"checks":  null'),
    /^manifest before: its SHA-256 is .*, but the snapshot after it, [0-9A-Z]{26}, says /,
  ],
]

/** All files below some folders, with their hashes. */
function contents(...folders: readonly string[]): string[] {
  return folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => `${path} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`)
    .toSorted()
}

/** Does the damage, and expects exactly these findings, and that the verification writes nothing. */
async function expectFindings(
  damage: Damage,
  expected: readonly (string | RegExp)[],
): Promise<void> {
  const parts = await partsOf(await publishedLake())
  const names = new Map(Object.entries(parts).map(([name, key]) => [key, name]))
  await damage(parts)
  const before = contents(parts.lake.root, parts.outside)
  const findings = (await verify(parts.lake)).findings.map(
    ({ kind, object, message }) => `${kind} ${names.get(object) ?? object}: ${message}`,
  )
  const fits = (text: string, one: string | RegExp) =>
    typeof one === 'string' ? text === one : one.test(text)
  const missing = expected.filter((one) => !findings.some((text) => fits(text, one)))
  const more = findings.filter((text) => !expected.some((one) => fits(text, one)))
  expect({ missing, more }, findings.join('\n')).toEqual({ missing: [], more: [] })
  expect(contents(parts.lake.root, parts.outside)).toEqual(before)
}

describe('a snapshot that is not as it was published', () => {
  it.each(casesOf([...damages, ...beside]))('$name', async ({ damage, expected }) => {
    await expectFindings(damage, expected)
  })

  const named = ['a bit of a data file is turned', 'the views have a statement more']
  const refused = [...named, 'a key leads out']
  it.each(casesOf(damages.filter(([name]) => refused.includes(name))))(
    '$name: not restored',
    async ({ damage }) => {
      const parts = await partsOf(await publishedLake())
      const { lake, outside } = parts
      await damage(parts)
      const before = contents(lake.root, outside)
      const site = ledgerSite(START)
      await expect(restore(lake.root, site)).rejects.toMatchObject({
        exitCode: EXIT.checkFailed,
        message: expect.stringMatching(/^the snapshot is damaged: /) as string,
        hint: expect.stringContaining('`jobtide verify`') as string,
        context: { findings: expect.arrayContaining([expect.anything()]) as unknown[] },
      })
      expect(readdirSync(site.folder)).toEqual([])
      expect(contents(lake.root, outside)).toEqual(before)
    },
  )

  it('with everything that may lie next to it, it is restored', async () => {
    const parts = await partsOf(await publishedLake())
    for (const [, damage] of beside) await damage(parts)
    expect((await restore(parts.lake.root)).document).toMatchObject({ rows: 45_002 })
  })

  it('without a pointer it is restored by its id; a missing one is exit 2, and creates nothing', async () => {
    const lake = await publishedLake()
    const { snapshot_id: id } = await lake.manifest()
    rmSync(lake.path(POINTER_KEY))
    const { document } = await restore(`${lake.root}/snapshots/${id}`)
    expect(document).toMatchObject({ rows: 45_002 })
    const site = ledgerSite(START)
    const restoring = restore(`${lake.root}/snapshots/${newUlid(START)}`, site)
    await expect(restoring).rejects.toMatchObject({ exitCode: EXIT.usage })
    expect(readdirSync(site.folder)).toEqual([])
  })

  it('is found damaged after a flip of any bit of any of its objects', async () => {
    const lake = await publishedLake()
    const { manifest, views, before } = await partsOf(lake)
    const data = objectsOf(await lake.manifest()).map(({ key }) => key)
    const bit = fc.record({
      object: fc.constantFrom(POINTER_KEY, manifest, views, before, ...data),
      place: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      mask: fc.constantFrom(1, 2, 4, 8, 16, 32, 64, 128),
    })
    await fc.assert(
      fc.asyncProperty(bit, async ({ object, place, mask }) => {
        const path = lake.path(object)
        const bytes = readFileSync(path)
        const at = Math.floor(place * bytes.length)
        writeFileSync(path, bytes.with(at, (bytes[at] ?? 0) ^ mask))
        const { findings } = await verify(lake)
        writeFileSync(path, bytes)
        expect(findings.length).toBeGreaterThan(0)
        if (object !== POINTER_KEY) expect(findings.map((one) => one.object)).toContain(object)
      }),
      { numRuns: rounds('JOBTIDE_BITS', 5, 50) },
    )
    expect((await verify(lake)).findings).toEqual([])
  })

  it('is not damaged if it is missing, or deleted by garbage collection while it is verified', async () => {
    const lake = await publishedLake()
    const { snapshot_id: id, tables } = await lake.manifest()
    const snapshotId = newUlid(realClock.now())
    await expect(verify(lake, { snapshotId })).rejects.toThrow(
      `there is no snapshot ${snapshotId} in ${lake.root}`,
    )
    const store = await openStore(temporaryFolder(), { clock: realClock })
    await expect(verify({ store })).rejects.toThrow('nothing was published to')
    const sweep = () => {
      const keys = [snapshotKeys(id).manifest, ...(tables[1]?.files ?? []).map(({ key }) => key)]
      for (const key of keys) rmSync(lake.path(key), { force: true })
    }
    await expect(verify(lake, { onProgress: sweep })).rejects.toThrow(
      `snapshot ${id} was deleted by garbage collection while it was verified`,
    )
  })
})
