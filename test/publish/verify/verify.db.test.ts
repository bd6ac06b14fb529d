/** Every way in which a snapshot can be other than it was published is found, and named; a whole one has no findings. */

import fc from 'fast-check'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { POINTER_KEY, objectsOf, snapshotKeys } from '../../../src/publish/manifest.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { collectGarbage } from '../../../src/publish/gc/gc.ts'
import { parseKeep } from '../../../src/publish/gc/retention.ts'
import { messageOf } from '../../../src/support/errors.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { newUlid } from '../../../src/support/ulid.ts'
import { DAY } from '../../../src/support/units.ts'
import { verifySnapshot, type VerifyOptions } from '../../../src/publish/verify/verify.ts'
import { realClock } from '../../../src/support/clock.ts'
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
    clock: realClock,
    ...options,
  })
}

async function findingsOf(lake: Lake, options: Partial<VerifyOptions> = {}) {
  return (await verify(lake, options)).findings
}

describe('a snapshot that is whole', () => {
  it('has no findings: 2 tables, 45,002 rows, deleted rows in 2 files', async () => {
    const lake = await publishedLake()
    const steps: string[] = []
    const report = await verify(lake, {
      onProgress: (step) => steps.push(`${step.done}/${step.total}`),
    })
    expect(report.findings).toEqual([])
    const manifest = await lake.manifest()
    expect(report).toMatchObject({ snapshotId: manifest.snapshot_id, tables: 2, rows: 45_002 })
    expect((await lake.table('people')).deletion_vector?.rows).toBe(23)
    expect((await lake.table('moves')).deletion_vector?.rows).toBe(10)
    expect(steps).toEqual(['1/6', '2/6', '3/6', '4/6', '5/6', '6/6'])
  })

  it('has none on S3, and none of its files stays here', async () => {
    const server = await startS3Server()
    onTestFinished(() => server.close())
    onTestFinished(() => void vi.unstubAllEnvs())
    signInTo(server)
    const destination = `s3://${server.bucket}/lake`
    const options = { clock: realClock, s3Endpoint: server.endpoint }
    const lake = await publishedLake(await openStore(destination, options))
    const scratchFolder = join(newFolder(), 'scratch')
    const here: number[] = []
    const report = await verify(lake, {
      scratchFolder,
      onProgress: () => here.push(readdirSync(join(scratchFolder, 'files')).length),
    })
    expect(report).toMatchObject({ rows: 45_002, findings: [] })
    expect(here).toEqual([0, 0, 0, 0, 0, 0])
    expect(existsSync(scratchFolder)).toBe(false)
  })

  it('has none with keys of 400 bytes, whose bounds are cut, and numbers that are none', async () => {
    const lake = await publishedLake()
    await lake.warehouse.run(`
      insert into people select repeat('ü', 200) || i, 1, null, 1, null from range(3) numbers(i);
      alter table people add column share double;
      update people set share = case age when 1 then 'nan'::double when 2 then '-inf'::double else 0.1 * age end;
      create or replace table moves as from moves limit 0`)
    await publish(lake.warehouse, lake.store, { tables: lakeTables, acceptShrink: true })
    const report = await verify(lake)
    expect(report).toMatchObject({ rows: 15_005, findings: [] })
  })

  it('has none either when it is the one before', async () => {
    const lake = await publishedLake()
    const snapshotId = (await lake.manifest()).previous?.snapshot_id ?? ''
    const report = await verify(lake, { snapshotId })
    expect(report).toMatchObject({ snapshotId, rows: 45_000, findings: [] })
  })
})

it('has no findings either while 6 nights are published and their garbage collected beside it', async () => {
  const lake = await publishedLake()
  const keep = parseKeep(2)
  let isOver = false
  const nights = async () => {
    for (let night = 1; night <= 6; night += 1) {
      await lake.warehouse.run(
        `update people set age = age + 1 where hash(person_id, ${night}) % 1000 = 0;
         update moves set title = 'T${night}' where hash(move_id, ${night}) % 3000 = 0`,
      )
      await publish(lake.warehouse, lake.store, { tables: lakeTables })
      await collectGarbage({ store: lake.store, keep, olderThanMs: 0, logger: silentLogger })
    }
    isOver = true
  }
  const verified: unknown[] = []
  const verifications = async () => {
    while (!isOver) {
      verified.push(
        await findingsOf(lake).catch((error: unknown) => {
          // Of a snapshot that is no longer kept, nothing is said.
          if (messageOf(error).includes('was deleted by garbage collection while it was verified'))
            return []
          throw error
        }),
      )
    }
  }
  await Promise.all([nights(), verifications()])
  expect(verified.flat()).toEqual([])
  expect(verified.length).toBeGreaterThan(1)
})

describe('a snapshot that is not', () => {
  it('is told apart by one bit that was turned in a data file', async () => {
    const lake = await publishedLake()
    const [file] = (await lake.table('moves')).files
    flipByte(lake, file?.key ?? '')
    expect(await findingsOf(lake)).toEqual([
      {
        kind: 'sha256',
        table: 'moves',
        object: file?.key,
        message: expect.stringMatching(/^its bytes are others: their SHA-256 is [0-9a-f]{64}$/),
      },
    ])
  })

  it('is told apart by any bit of any object that it consists of', async () => {
    const lake = await publishedLake()
    const manifest = await lake.manifest()
    const { manifest: key, views } = snapshotKeys(manifest.snapshot_id)
    const before = snapshotKeys(manifest.previous?.snapshot_id ?? '').manifest
    const objects = [POINTER_KEY, key, views, before, ...objectsOf(manifest).map((one) => one.key)]
    const bit = fc.record({
      object: fc.constantFrom(...objects),
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
      { numRuns: 40 },
    )
    expect(await findingsOf(lake)).toEqual([])
  })

  it('lacks a data file', async () => {
    const lake = await publishedLake()
    const [file] = (await lake.table('people')).files
    rmSync(lake.path(file?.key ?? ''))
    expect(await findingsOf(lake)).toEqual([
      { kind: 'missing', table: 'people', object: file?.key, message: 'it is not there' },
    ])
  })

  it('has a data file without its last 100 bytes', async () => {
    const lake = await publishedLake()
    const [file] = (await lake.table('people')).files
    const bytes = file?.bytes ?? 0
    truncateSync(lake.path(file?.key ?? ''), bytes - 100)
    const message = `it has ${bytes - 100} bytes where ${bytes} belong: it was cut short`
    expect(await findingsOf(lake)).toEqual([
      { kind: 'size', table: 'people', object: file?.key, message },
    ])
  })

  it('has 1 row more in its manifest than in its file', async () => {
    const lake = await publishedLake()
    await forge(lake, ({ tables: [people] }) => {
      const [file] = people?.files ?? []
      const [partition] = people?.partitions ?? []
      if (people === undefined || file === undefined || partition === undefined) return
      file.rows += 1
      people.rows += 1
      partition.rows += 1
    })
    const found = await findingsOf(lake)
    expect(found).toContainEqual(
      expect.objectContaining({ kind: 'rows', message: 'it has 15000 rows where 15001 belong' }),
    )
    expect(found).toContainEqual(
      expect.objectContaining({
        kind: 'rows',
        object: 'tables/people/all/',
        message: 'it has 15002 rows that count where 15003 belong',
      }),
    )
  })

  it('has a manifest that contradicts itself', async () => {
    const lake = await publishedLake()
    await forge(lake, ({ tables: [people] }) => {
      if (people !== undefined) people.rows += 1
    })
    expect(await findingsOf(lake)).toEqual([
      {
        kind: 'manifest',
        table: 'people',
        object: snapshotKeys((await lake.manifest()).snapshot_id).manifest,
        message: 'it says 15003 rows, and its parts add up to 15002',
      },
    ])
  })

  it('has a manifest that was changed after the pointer moved', async () => {
    const lake = await publishedLake()
    const { manifest: key } = snapshotKeys((await lake.manifest()).snapshot_id)
    const text = readFileSync(lake.path(key), 'utf8')
    writeFileSync(lake.path(key), text.replace('"checks": null', '"checks":  null'))
    const [finding, ...more] = await findingsOf(lake)
    expect(more).toEqual([])
    expect(finding).toMatchObject({
      kind: 'manifest',
      object: key,
      message: expect.stringContaining('and latest.json says'),
    })
  })

  it('has a manifest that was changed after the next snapshot was published', async () => {
    const lake = await publishedLake()
    const before = (await lake.manifest()).previous?.snapshot_id ?? ''
    const { manifest: key } = snapshotKeys(before)
    const text = readFileSync(lake.path(key), 'utf8')
    writeFileSync(lake.path(key), text.replace('"checks": null', '"checks":  null'))
    const [finding, ...more] = await findingsOf(lake, { snapshotId: before })
    expect(more).toEqual([])
    expect(finding).toMatchObject({
      kind: 'manifest',
      object: key,
      message: expect.stringContaining('and the snapshot after it'),
    })
  })

  it('has a manifest that is no JSON, and nothing else is said', async () => {
    const lake = await publishedLake()
    const { manifest: key } = snapshotKeys((await lake.manifest()).snapshot_id)
    writeFileSync(lake.path(key), 'lost')
    const report = await verify(lake)
    expect(report.snapshotId).toBeNull()
    expect(report.findings.map(({ kind, object }) => ({ kind, object }))).toEqual([
      { kind: 'manifest', object: key },
    ])
  })

  it('has no pointer any more', async () => {
    const lake = await publishedLake()
    rmSync(lake.path(POINTER_KEY))
    expect(await findingsOf(lake)).toEqual([
      {
        kind: 'pointer',
        table: null,
        object: POINTER_KEY,
        message: 'it is not there, so readers find none of the snapshots',
      },
    ])
  })

  it('has the list of deleted rows of the day before under its name', async () => {
    const lake = await publishedLake()
    const { deletion_vector: deleted } = await lake.table('people')
    const others = await lake.table('moves')
    copyFileSync(lake.path(others.deletion_vector?.key ?? ''), lake.path(deleted?.key ?? ''))
    const found = await findingsOf(lake)
    expect(found).toEqual([
      expect.objectContaining({
        kind: expect.stringMatching(/^(?:size|sha256)$/),
        table: 'people',
        object: deleted?.key,
      }),
    ])
  })

  it('lists other rows as deleted than those that were', async () => {
    const lake = await publishedLake()
    const { deletion_vector: deleted, files } = await lake.table('people')
    const path = join(newFolder(), 'deleted.parquet')
    await lake.warehouse.run(
      `copy (select file, position + 5 as position from read_parquet('${lake.path(deleted?.key ?? '')}') order by all) to '${path}'`,
    )
    const bytes = readFileSync(path)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const key = `tables/people/_deletion_vector/${sha256}.parquet`
    writeFileSync(lake.path(key), bytes)
    rmSync(lake.path(deleted?.key ?? ''))
    await forge(lake, ({ tables: [people] }) => {
      if (people?.deletion_vector === null || people === undefined) return
      people.bytes += bytes.length - people.deletion_vector.bytes
      people.deletion_vector = { ...people.deletion_vector, key, sha256, bytes: bytes.length }
    })
    const found = await findingsOf(lake)
    const pitted = files.find((file) => file.deletes > 0)
    expect(found).toContainEqual({
      kind: 'deleted',
      table: 'people',
      object: key,
      message: `it lists row 5 to 15004 of ${pitted?.key}, which has 15000 rows`,
    })
    expect(found.map(({ kind }) => kind)).toContain('delta')
  })

  it('has a key twice: 1 person in two files', async () => {
    const lake = await publishedLake()
    const small = lake.path((await lake.table('people')).files.at(-1)?.key ?? '')
    await replaceFile(
      lake,
      'people',
      `select case person_id when 'person_14' then 'person_000100' else person_id end as person_id, * exclude (person_id)
       from read_parquet('${small}') order by person_id`,
    )
    const found = await findingsOf(lake)
    expect(found.filter(({ kind }) => kind === 'key')).toEqual([
      {
        kind: 'key',
        table: 'people',
        object: 'tables/people/',
        message: '1 keys (person_id) stand in more than one row of all files',
      },
    ])
  })

  it('has 2 rows in the wrong order, or one of another year', async () => {
    const lake = await publishedLake()
    const small = lake.path((await lake.table('moves')).files.at(-1)?.key ?? '')
    await replaceFile(
      lake,
      'moves',
      `select move_id, moved_at + to_years(case when row_number() over (order by move_id) = 3 then 1 else 0 end) as moved_at, person_id, title
       from read_parquet('${small}') order by move_id desc`,
    )
    const kinds = (await findingsOf(lake)).map(({ kind }) => kind)
    expect(kinds).toEqual(expect.arrayContaining(['order', 'partition', 'fingerprint']))
  })

  it('has a column of another type, or one more', async () => {
    const lake = await publishedLake()
    const small = lake.path((await lake.table('people')).files.at(-1)?.key ?? '')
    await replaceFile(
      lake,
      'people',
      `select * replace (cast(age as bigint) as age) from read_parquet('${small}') order by person_id`,
    )
    const found = await findingsOf(lake)
    expect(found).toContainEqual(
      expect.objectContaining({ kind: 'columns', message: 'age is BIGINT where INTEGER belongs' }),
    )
  })

  it('has other nulls and bounds in its manifest than in its file', async () => {
    const lake = await publishedLake()
    await forge(lake, ({ tables }) => {
      const [file] = tables[1]?.files ?? []
      if (file?.nulls === null || file === undefined) return
      file.nulls['person_id'] = 1
      file.min['move_id'] = 'move_1'
      file.max['moved_at'] = '2019-12-30 00:00:00+00'
    })
    const found = await findingsOf(lake)
    const messages = found.filter(({ kind }) => kind === 'statistics').map((one) => one.message)
    expect(messages).toEqual([
      expect.stringMatching(/^person_id has \d{4} nulls where 1 belong$/),
      'the smallest move_id is not the one of the manifest',
      'the largest moved_at is not the one of the manifest',
    ])
  })

  it('has the field ids of two columns swapped', async () => {
    const lake = await publishedLake()
    await forge(lake, ({ tables: [people] }) => {
      const [, age, name] = people?.schema ?? []
      if (age === undefined || name === undefined) return
      ;[age.field_id, name.field_id] = [name.field_id, age.field_id]
    })
    const found = await findingsOf(lake)
    expect(found).toContainEqual(
      expect.objectContaining({
        kind: 'columns',
        message: 'age has the field id 2 where 3 belongs',
      }),
    )
  })

  it('has views that name a file less', async () => {
    const lake = await publishedLake()
    const { views } = snapshotKeys((await lake.manifest()).snapshot_id)
    const text = readFileSync(lake.path(views), 'utf8')
    writeFileSync(lake.path(views), text.replace(/^ {2}'.*',\n/m, ''))
    expect(await findingsOf(lake)).toEqual([
      expect.objectContaining({ kind: 'views', object: views }),
    ])
  })

  it('has a Delta log that is 1 snapshot behind, or gone, or with a file less', async () => {
    const lake = await publishedLake()
    const commits = (await lake.store.list('tables/people/_delta_log/')).map(({ key }) => key)
    expect(commits).toHaveLength(2)
    rmSync(lake.path(commits[1] ?? ''))
    const message =
      'it is stale: at snapshot number 1, not 2; `jobtide publish` brings it up to date'
    const object = 'tables/people/_delta_log/'
    expect(await findingsOf(lake)).toEqual([{ kind: 'delta', table: 'people', object, message }])

    await publish(lake.warehouse, lake.store, { tables: lakeTables })
    expect(await findingsOf(lake)).toEqual([])

    const text = readFileSync(lake.path(commits[1] ?? ''), 'utf8')
    const lines = text.trimEnd().split('\n')
    const [, small] = (await lake.table('people')).files
    const without = lines.filter(
      (line) => !line.includes(`"add":{"path":"${small?.key.slice('tables/people/'.length)}`),
    )
    expect(without).toHaveLength(lines.length - 1)
    writeFileSync(lake.path(commits[1] ?? ''), `${without.join('\n')}\n`)
    expect(await findingsOf(lake)).toEqual([
      { kind: 'delta', table: 'people', object, message: `it does not name ${small?.key}` },
    ])

    for (const key of commits) rmSync(lake.path(key))
    expect(await findingsOf(lake)).toEqual([
      expect.objectContaining({ kind: 'delta', table: 'people', object }),
    ])
  })

  it('lies beside a file that nothing refers to, unless a publisher at work may have put it there', async () => {
    const lake = await publishedLake()
    const key = `tables/people/all/${'0'.repeat(64)}.parquet`
    writeFileSync(lake.path(key), 'what is this')
    expect(await findingsOf(lake)).toEqual([])
    const twoDaysAgo = (realClock.now() - 2 * DAY) / 1_000
    utimesSync(lake.path(key), twoDaysAgo, twoDaysAgo)
    expect(await findingsOf(lake)).toEqual([
      {
        kind: 'extra',
        table: 'people',
        object: key,
        message: 'nothing refers to it; garbage collection after a publish deletes it',
      },
    ])
  })

  it('is deleted by garbage collection while it is verified: that is no damage', async () => {
    const lake = await publishedLake()
    const { snapshot_id: id, tables } = await lake.manifest()
    const collect = () => {
      const keys = [snapshotKeys(id).manifest, ...(tables[1]?.files ?? []).map(({ key }) => key)]
      for (const key of keys) rmSync(lake.path(key), { force: true })
    }
    await expect(verify(lake, { onProgress: collect })).rejects.toThrow(
      `snapshot ${id} was deleted by garbage collection while it was verified`,
    )
  })

  it('is not there at all', async () => {
    const lake = await publishedLake()
    const snapshotId = newUlid(realClock.now())
    await expect(verify(lake, { snapshotId })).rejects.toThrow(
      `there is no snapshot ${snapshotId} in ${lake.root}`,
    )
    const store = await openStore(newFolder(), { clock: realClock })
    await expect(verify(lake, { store })).rejects.toThrow('nothing was published to')
  })
})
