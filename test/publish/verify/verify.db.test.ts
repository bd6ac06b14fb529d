/** Every way in which a snapshot can be other than it was published is found, and named; a whole one has no findings. */

import fc from 'fast-check'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  POINTER_KEY,
  objectsOf,
  snapshotKeys,
  type Manifest,
  type ManifestTable,
} from '../../../src/publish/manifest.ts'
import { collectGarbage } from '../../../src/publish/gc/gc.ts'
import { parseKeep } from '../../../src/publish/gc/retention.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { verifySnapshot, type VerifyOptions } from '../../../src/publish/verify/verify.ts'
import { realClock } from '../../../src/support/clock.ts'
import { messageOf } from '../../../src/support/errors.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { newUlid } from '../../../src/support/ulid.ts'
import { DAY } from '../../../src/support/units.ts'
import { signInTo } from '../../helpers/s3-credentials.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import { newFolder, publish } from '../fixtures.ts'
import {
  flipByte,
  forge,
  lakeTables,
  publishedLake,
  replaceFile,
  type Lake,
} from '../lake-fixtures.ts'

async function verify(lake: Lake, options: Partial<VerifyOptions> = {}) {
  return verifySnapshot({
    store: lake.store,
    snapshotId: null,
    scratchFolder: join(newFolder(), 'scratch'),
    ...options,
  })
}

const findingsOf = async (lake: Lake) => (await verify(lake)).findings

describe('a snapshot that is whole', () => {
  it('has no findings: 2 tables, 45,002 rows, 33 deleted rows in 2 files; nor has the one before', async () => {
    const lake = await publishedLake()
    const steps: string[] = []
    const onProgress: VerifyOptions['onProgress'] = ({ done, total }) =>
      steps.push(`${done}/${total}`)
    const { snapshot_id: snapshotId, previous, tables } = await lake.manifest()
    expect(tables.map((table) => table.deletion_vector?.rows)).toEqual([23, 10])
    const report = await verify(lake, { onProgress })
    expect(report).toMatchObject({ snapshotId, tables: 2, rows: 45_002, findings: [] })
    expect(steps).toEqual(['1/6', '2/6', '3/6', '4/6', '5/6', '6/6'])
    const before = previous?.snapshot_id ?? ''
    const report2 = await verify(lake, { snapshotId: before })
    expect(report2).toMatchObject({ snapshotId: before, rows: 45_000, findings: [] })
  })

  it('has none on S3, and none of its files stays here', async () => {
    const server = await startS3Server()
    onTestFinished(() => server.close())
    onTestFinished(() => void vi.unstubAllEnvs())
    signInTo(server)
    const options = { clock: realClock, s3Endpoint: server.endpoint }
    const lake = await publishedLake(await openStore(`s3://${server.bucket}/lake`, options))
    const scratchFolder = join(newFolder(), 'scratch')
    const here: number[] = []
    const onProgress = () => here.push(readdirSync(join(scratchFolder, 'files')).length)
    const report = await verify(lake, { scratchFolder, onProgress })
    expect(report).toMatchObject({ rows: 45_002, findings: [] })
    expect(here).toEqual([0, 0, 0, 0, 0, 0])
  })

  it('has none with keys of 400 bytes, whose bounds are cut, and numbers that are none', async () => {
    const lake = await publishedLake()
    await lake.warehouse.run(`
      insert into people select repeat('ü', 200) || i, 1, null, 1, null from range(3) numbers(i);
      alter table people add column share double;
      update people set share = case age when 1 then 'nan'::double when 2 then '-inf'::double else 0.1 * age end;
      create or replace table moves as from moves limit 0`)
    await publish(lake.warehouse, lake.store, { tables: lakeTables, acceptShrink: true })
    expect(await verify(lake)).toMatchObject({ rows: 15_005, findings: [] })
  })
})

/** The objects of a lake that damages are done to. */
async function partsOf(lake: Lake) {
  const [people, moves] = [await lake.table('people'), await lake.table('moves')]
  const { snapshot_id: id, previous } = await lake.manifest()
  return {
    lake,
    people,
    moves,
    whole: people.files[0]?.key ?? '',
    small: people.files[1]?.key ?? '',
    vector: people.deletion_vector?.key ?? '',
    manifest: snapshotKeys(id).manifest,
    before: snapshotKeys(previous?.snapshot_id ?? '').manifest,
    views: snapshotKeys(id).views,
    log: 'tables/people/_delta_log/',
  }
}

type Parts = Awaited<ReturnType<typeof partsOf>>

const edit = ({ lake }: Parts, key: string, from: string | RegExp, to: string) => {
  const text = readFileSync(lake.path(key), 'utf8')
  writeFileSync(lake.path(key), text.replace(from, to))
}

/** Changes the first table of the manifest, or `moves`, as somebody would who wants to be believed. */
const forged = (change: (people: ManifestTable, moves: ManifestTable) => void) => (parts: Parts) =>
  forge(parts.lake, ({ tables: [people, moves] }: Manifest) => {
    if (people !== undefined && moves !== undefined) change(people, moves)
  })

/** Puts other rows in the place of the last file of a table, and names them in the manifest. */
const replaced = (table: 'people' | 'moves', select: string) => async (parts: Parts) => {
  const last = parts.lake.path(parts[table].files.at(-1)?.key ?? '')
  return replaceFile(parts.lake, table, select.replace('FILE', `read_parquet('${last}')`))
}

async function putOtherVector({ lake, vector }: Parts): Promise<void> {
  const path = join(newFolder(), 'vector.parquet')
  await lake.warehouse.run(
    `copy (select file, position + 5 as position from read_parquet('${lake.path(vector)}') order by all) to '${path}'`,
  )
  const bytes = readFileSync(path)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const key = vector.replace(/[^/]+$/, `${sha256}.parquet`)
  writeFileSync(lake.path(key), bytes)
  rmSync(lake.path(vector))
  await forged((people) => {
    const old = people.deletion_vector
    if (old === null) return
    people.bytes += bytes.length - old.bytes
    people.deletion_vector = { ...old, key, sha256, bytes: bytes.length }
  })({ lake } as Parts)
}

type Expected = readonly [kind: string, object: string, message: string | RegExp]

// Each damage, and the findings that must be among those of `verify`; `only` where there must be no others.
const damages: readonly [
  name: string,
  damage: (parts: Parts) => unknown,
  expected: readonly Expected[],
  only?: 'only',
][] = [
  [
    'a bit of a data file is turned',
    ({ lake, whole }) => flipByte(lake, whole),
    [['sha256', 'whole', /^its bytes are others: their SHA-256 is [0-9a-f]{64}$/]],
    'only',
  ],
  [
    'a data file is gone',
    ({ lake, small }) => rmSync(lake.path(small)),
    [['missing', 'small', 'it is not there']],
    'only',
  ],
  [
    'a data file lacks its last 100 bytes',
    ({ lake, small }) => truncateSync(lake.path(small), 100),
    [['size', 'small', /^it has 100 bytes where \d+ belong: it was cut short$/]],
    'only',
  ],
  [
    'the manifest has 1 row more than the file',
    forged((people) => {
      for (const one of [people, people.files[0], people.partitions[0]]) if (one) one.rows += 1
    }),
    [
      ['rows', 'whole', 'it has 15000 rows where 15001 belong'],
      ['rows', 'tables/people/all/', 'it has 15002 rows that count where 15003 belong'],
    ],
  ],
  [
    'the manifest contradicts itself',
    forged((people) => {
      people.rows += 1
    }),
    [['manifest', 'manifest', 'it says 15003 rows, and its parts add up to 15002']],
    'only',
  ],
  [
    'the manifest was changed after the pointer moved',
    (parts) => edit(parts, parts.manifest, '"checks": null', '"checks":  null'),
    [['manifest', 'manifest', /and latest\.json says/]],
    'only',
  ],
  [
    'the manifest before was changed after the next snapshot was published',
    (parts) => edit(parts, parts.before, '"checks": null', '"checks":  null'),
    [['manifest', 'before', /and the snapshot after it/]],
    'only',
  ],
  [
    'the manifest is no JSON: nothing else is said',
    ({ lake, manifest }) => writeFileSync(lake.path(manifest), 'lost'),
    [['manifest', 'manifest', /it is not JSON/]],
    'only',
  ],
  [
    'the pointer is gone',
    ({ lake }) => rmSync(lake.path(POINTER_KEY)),
    [['pointer', POINTER_KEY, 'it is not there, so readers find none of the snapshots']],
    'only',
  ],
  [
    'another deletion vector stands under the name of the right one',
    ({ lake, vector, moves }) =>
      copyFileSync(lake.path(moves.deletion_vector?.key ?? ''), lake.path(vector)),
    [[/^(?:size|sha256)$/.source, 'vector', /./]],
    'only',
  ],
  [
    'the deletion vector names other rows',
    putOtherVector,
    [
      ['rows', 'whole', /^\d+ of its rows count where 14977 should$/],
      ['stale', 'log', /does not name 23 rows of /],
    ],
  ],
  [
    'a key stands in two files',
    replaced(
      'people',
      `select case person_id when 'person_14' then 'person_000100' else person_id end as person_id, * exclude (person_id) from FILE order by person_id`,
    ),
    [['key', 'tables/people/', '1 keys (person_id) stand in more than one row']],
  ],
  [
    'rows stand in the wrong order, and one of another year',
    replaced(
      'moves',
      `select move_id, moved_at + to_years(case when row_number() over (order by move_id) = 3 then 1 else 0 end) as moved_at, person_id, title from FILE order by move_id desc`,
    ),
    [
      ['order', 'tables/moves/moved_year=2021/', /rows come after a larger key$/],
      ['partition', 'tables/moves/moved_year=2021/', /^1 rows do not belong to moved_year=2021$/],
      [
        'fingerprint',
        'tables/moves/moved_year=2021/',
        'its rows are not those that were published',
      ],
    ],
  ],
  [
    'a column has another type',
    replaced(
      'people',
      'select * replace (cast(age as bigint) as age) from FILE order by person_id',
    ),
    [['columns', 'tables/people/all/', 'age is BIGINT where INTEGER belongs']],
  ],
  [
    'a column is there that the manifest does not know',
    replaced('people', 'select *, 1 as more from FILE order by person_id'),
    [['columns', 'tables/people/all/', /^its columns are .*, more where .* belong$/]],
  ],
  [
    'the field ids of two columns are swapped',
    forged(({ schema: [, age, name] }) => {
      if (age && name) [age.field_id, name.field_id] = [name.field_id, age.field_id]
    }),
    [['columns', 'whole', 'age has the field id 2 where 3 belongs']],
  ],
  [
    'nulls and bounds in the manifest are others than in the file',
    forged((_, { files: [file] }) => {
      if (file === undefined) return
      file.nulls['person_id'] = 1
      file.min['move_id'] = 'move_1'
      file.max['moved_at'] = '2019-12-30 00:00:00+00'
    }),
    [
      ['statistics', 'tables/moves/moved_year=2019/', /^person_id has \d{4} nulls where 1 belong$/],
      ['statistics', 'tables/moves/moved_year=2019/', /^the smallest move_id is not the one/],
      ['statistics', 'tables/moves/moved_year=2019/', /^the largest moved_at is not the one/],
    ],
  ],
  [
    'the views name a file less',
    (parts) => edit(parts, parts.views, /^ {2}'.*',\n/m, ''),
    [['views', 'views', 'it is not the one that belongs to the manifest: it was changed']],
    'only',
  ],
  [
    'a Delta log is 1 snapshot behind',
    ({ lake, log }) => rmSync(lake.path(`${log}${'1'.padStart(20, '0')}.json`)),
    [
      [
        'stale',
        'log',
        'it is stale: at snapshot number 1, not 2; `jobtide publish` brings it up to date',
      ],
    ],
    'only',
  ],
  [
    'a Delta log is gone',
    ({ lake, log }) => rmSync(lake.path(log), { recursive: true }),
    [['stale', 'log', /^there is no Delta log/]],
    'only',
  ],
  [
    'a Delta log names a file less',
    (parts) =>
      edit(
        parts,
        `${parts.log}${'1'.padStart(20, '0')}.json`,
        /^\{"add":\{"path":"(?!.*deletionVector).*\n/m,
        '',
      ),
    [['delta', 'log', /^it does not name tables\/people\/all\//]],
    'only',
  ],
  [
    'a file of a failed publish lies about for two days; one of today is nobody’s concern yet',
    ({ lake }) => {
      const twoDaysAgo = (realClock.now() - 2 * DAY) / 1_000
      for (const [name, at] of [
        ['0', twoDaysAgo] as const,
        ['1', realClock.now() / 1_000] as const,
      ]) {
        const path = lake.path(`tables/people/all/${name.repeat(64)}.parquet`)
        writeFileSync(path, 'what is this')
        utimesSync(path, at, at)
      }
    },
    [['extra', 'tables/people/all/000', /garbage collection after a publish deletes it$/]],
    'only',
  ],
  [
    'a file lies about that Jobtide does not name so',
    ({ lake }) => writeFileSync(lake.path('tables/moves/notes.txt'), 'mine'),
    [['extra', 'tables/moves/notes.txt', /^nothing refers to it, and it is not named as/]],
    'only',
  ],
]

it('has no findings either while 6 nights are published and their garbage is collected beside it', async () => {
  const lake = await publishedLake()
  const { store, warehouse } = lake
  let isOver = false
  const nights = async () => {
    for (let night = 1; night <= 6; night += 1) {
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
      const found = await findingsOf(lake).catch((error: unknown) => {
        // Of a snapshot that is no longer kept, nothing is said.
        if (messageOf(error).includes('was deleted by garbage collection')) return []
        throw error
      })
      verified.push(found)
    }
  }
  await Promise.all([nights(), verifications()])
  expect(verified.flat()).toEqual([])
  expect(verified.length).toBeGreaterThan(1)
})

describe('a snapshot that is not whole', () => {
  it.each(damages)('%s', async (_, damage, expected, only) => {
    const lake = await publishedLake()
    const parts = await partsOf(lake)
    await damage(parts)
    const found = await findingsOf(lake)
    for (const [kind, object, message] of expected) {
      const named: unknown = Object.hasOwn(parts, object) ? parts[object as keyof Parts] : object
      const isSaid = found.some(
        (finding) =>
          new RegExp(`^(?:${kind})$`).test(finding.kind) &&
          finding.object.startsWith(String(named)) &&
          (typeof message === 'string'
            ? finding.message === message
            : message.test(finding.message)),
      )
      expect(
        isSaid,
        `${kind} ${String(named)}: ${message} in ${JSON.stringify(found, null, 1)}`,
      ).toBe(true)
    }
    if (only) expect(found).toHaveLength(expected.length)
  })

  it('is told apart by any bit of any object that it consists of', async () => {
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
        const found = await findingsOf(lake)
        writeFileSync(path, bytes)
        expect(found.length).toBeGreaterThan(0)
        if (object !== POINTER_KEY) expect(found.map((one) => one.object)).toContain(object)
      }),
      { numRuns: 20 },
    )
    expect(await findingsOf(lake)).toEqual([])
  })

  it('is deleted by garbage collection while it is verified: that is no damage; or is not there at all', async () => {
    const lake = await publishedLake()
    const { snapshot_id: id, tables } = await lake.manifest()
    const snapshotId = newUlid(realClock.now())
    await expect(verify(lake, { snapshotId })).rejects.toThrow(
      `there is no snapshot ${snapshotId} in ${lake.root}`,
    )
    const store = await openStore(newFolder(), { clock: realClock })
    await expect(verify(lake, { store })).rejects.toThrow('nothing was published to')
    const sweep = () => {
      const keys = [snapshotKeys(id).manifest, ...(tables[1]?.files ?? []).map(({ key }) => key)]
      for (const key of keys) rmSync(lake.path(key), { force: true })
    }
    await expect(verify(lake, { onProgress: sweep })).rejects.toThrow(
      `snapshot ${id} was deleted by garbage collection while it was verified`,
    )
  })
})
