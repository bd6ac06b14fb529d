/** Snapshots that somebody made to do harm: `verify` and `restore` refuse each alike, and nothing comes of it. */

import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { restoreCommand } from '../../../src/cli/proof-commands.ts'
import { verifyCommand } from '../../../src/cli/proof-commands.ts'
import { POINTER_KEY, formatJson, pointerTo, snapshotKeys } from '../../../src/publish/manifest.ts'
import { publishSnapshot } from '../../../src/publish/publish.ts'
import { readCurrent } from '../../../src/publish/read-snapshot.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { placeOfViews, viewsSql } from '../../../src/publish/views.ts'
import { realClock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { newUlid } from '../../../src/support/ulid.ts'
import { openWarehouse } from '../../../src/warehouse/warehouse.ts'
import { ledgerSite } from '../../cli/ledger-fixture.ts'
import { START } from '../../load/load-fixture.ts'
import { newFolder, oneJournal } from '../fixtures.ts'
import { lakeTables } from '../lake-fixtures.ts'

/** A snapshot after another one, published once for all cases. */
let good: string

beforeAll(async () => {
  good = mkdtempSync(join(tmpdir(), 'jobtide-hostile-'))
  const warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
  await warehouse.run(`
    create table people as select 'person_' || i as person_id, cast(i as integer) as age from range(9) numbers(i);
    comment on column people.age is 'In years.';
    create table moves as select 'move_' || i as move_id, timestamptz '2019-06-01 00:00:00+00' as moved_at from range(9) numbers(i)`)
  const store = await openStore(good, { clock: realClock })
  const publish = () =>
    publishSnapshot({
      warehouse,
      store,
      tables: lakeTables,
      scratchFolder: join(good, '.scratch'),
      cacheFolder: join(good, '.cache'),
      clock: realClock,
      snapshotId: newUlid(realClock.now()),
      runId: null,
      ...oneJournal,
      version: '0.1.0',
      logger: silentLogger,
    })
  await publish()
  await warehouse.run('update people set age = age + 1')
  await publish()
  warehouse.close()
})

afterAll(() => rmSync(good, { recursive: true, force: true }))

/** A copy of the good snapshot, in a folder of another name. */
async function aCopy() {
  const folder = newFolder()
  const root = join(folder, 'copied')
  const outside = join(folder, 'outside')
  cpSync(good, root, { recursive: true })
  mkdirSync(outside)
  const current = await readCurrent(await openStore(root, { clock: realClock, access: 'read' }))
  if (current === null) throw new Error('nothing was published')
  return { root, outside, manifest: current.manifest }
}

type Copy = Awaited<ReturnType<typeof aCopy>>

/** Makes views and pointer fit the manifest, as somebody would who wants to be believed. */
function believe({ root, manifest }: Copy, id: string): void {
  const keys = snapshotKeys(id)
  const text = formatJson(manifest)
  const put = (key: string, content: string) => {
    rmSync(join(root, key), { force: true })
    writeFileSync(join(root, key), content)
  }
  put(keys.manifest, text)
  put(
    keys.views,
    viewsSql(manifest, (key) => `${root}/${key}`),
  )
  put(POINTER_KEY, formatJson(pointerTo(id, text)))
}

const people = ({ manifest }: Copy) => manifest.tables[0]!
const aFile = (copy: Copy) => people(copy).files[0]!

/** Moves what lies under a key out of the snapshot, and leaves a link to it. */
function linkOut({ root, outside }: Copy, key: string): void {
  const away = join(outside, key.replaceAll('/', '-'))
  renameSync(join(root, key), away)
  symlinkSync(away, join(root, key))
}

const named = (name: string) => (copy: Copy) => {
  people(copy).name = name
}

/** A name with keys and files that fit it. */
const movedTo = (name: string) => (copy: Copy) => {
  const table = people(copy)
  renameSync(join(copy.root, 'tables/people'), join(copy.root, 'tables', name))
  table.name = name
  const files = [...table.files, ...(table.deletion_vector === null ? [] : [table.deletion_vector])]
  for (const file of files) file.key = file.key.replace('tables/people/', `tables/${name}/`)
}

const keyed = (key: string) => (copy: Copy) => {
  aFile(copy).key = key
}

const HARM = (outside: string) => `copy (select 1 as harm) to '${outside}/harm.csv'`

const forgeries: readonly [string, (copy: Copy) => void][] = [
  ['traversal', keyed('../../../../etc/passwd')],
  ['absolute', keyed('/etc/passwd')],
  ['dotkey', keyed('tables/x/./../../../evil')],
  ['sqlname', (copy) => named(`x"; ${HARM(copy.outside)}; --`)(copy)],
  [
    'sqltype',
    (copy) => {
      people(copy).schema[1]!.type = `integer); ${HARM(copy.outside)}; --`
    },
  ],
  [
    'sqlcol',
    (copy) => {
      const name = `a" , (select content from read_text('/etc/passwd')) as "b`
      people(copy).schema[0]!.name = name
      people(copy).key[0] = name
    },
  ],
  [
    'sqlcomment',
    (copy) => {
      people(copy).schema[1]!.comment = `'; ${HARM(copy.outside)}; --`
    },
  ],
  [
    'sql in the time of the snapshot',
    (copy) => {
      copy.manifest.created_at = `2026-11-22T21:00:00.000Z\n${HARM(copy.outside)}; --`
    },
  ],
  ['opstable', named('schema_files')],
  ['proto', named('__proto__')],
  ['proto, with keys that fit', movedTo('__proto__')],
  ['ansi', named('\u001B[2Jred')],
  [
    'hugerows',
    (copy) => {
      people(copy).rows = Number.MAX_SAFE_INTEGER
    },
  ],
  [
    'a table without a file',
    (copy) => {
      Object.assign(people(copy), {
        files: [],
        deletion_vector: null,
        rows: 0,
        bytes: 0,
        partitions: [],
      })
    },
  ],
  [
    'an id that leads out',
    (copy) => {
      copy.manifest.snapshot_id = '../../../outside'
    },
  ],
]

const damages: readonly [string, (copy: Copy, id: string) => void][] = [
  ...forgeries.map(([name, change]): [string, (copy: Copy, id: string) => void] => [
    name,
    (copy, id) => {
      change(copy)
      believe(copy, id)
    },
  ]),
  ['symlink: a data file', (copy) => linkOut(copy, aFile(copy).key)],
  ['symlink: the folder of a table', (copy) => linkOut(copy, 'tables/people')],
  ['symlink: the manifest', (copy, id) => linkOut(copy, snapshotKeys(id).manifest)],
  ['symlink: the pointer', (copy) => linkOut(copy, POINTER_KEY)],
  ['symlink: views.sql', (copy, id) => linkOut(copy, snapshotKeys(id).views)],
  [
    'views: a statement more',
    ({ root, outside }, id) => appendFileSync(join(root, snapshotKeys(id).views), HARM(outside)),
  ],
  [
    'views: from somebody’s server',
    ({ root, manifest }, id) =>
      writeFileSync(
        join(root, snapshotKeys(id).views),
        viewsSql(manifest, (key) => `https://example.com/${key}`),
      ),
  ],
  [
    'ptr',
    ({ root }, id) => {
      const pointer = JSON.parse(readFileSync(join(root, POINTER_KEY), 'utf8')) as object
      const text = JSON.stringify({ ...pointer, manifest_key: '../../../../../etc/hostname' })
      writeFileSync(join(root, POINTER_KEY), text)
      expect(text).toContain(id)
    },
  ],
]

function verify(url: string) {
  return ledgerSite(START).show((context) => verifyCommand(context, url, { pipeline: 'nightly' }))
}

/** Everything below a folder, with the hash of each file. */
function contents(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => `${path} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`)
    .toSorted()
}

describe('a hostile snapshot', () => {
  it.each(damages)(
    '%s: verify ends with 6 and restore with 6, and nothing is written',
    async (_, damage) => {
      const copy = await aCopy()
      damage(copy, copy.manifest.snapshot_id)
      const before = contents(dirname(copy.root))
      const verified = await verify(copy.root)
      expect(verified.exitCode).toBe(EXIT.checkFailed)
      const site = ledgerSite(START)
      const restoring = site.show((context) =>
        restoreCommand(context, copy.root, { pipeline: 'nightly' }),
      )
      await expect(restoring).rejects.toMatchObject({
        exitCode: EXIT.checkFailed,
        message: expect.stringMatching(/^the snapshot is damaged: /) as string,
        hint: expect.stringContaining('`jobtide verify`') as string,
        context: { findings: expect.arrayContaining([expect.anything()]) as unknown[] },
      })
      expect(readdirSync(site.folder)).toEqual([])
      expect(contents(dirname(copy.root))).toEqual(before)
    },
  )
})

describe('a snapshot that was copied elsewhere', () => {
  it('is proved and restored as a genuine one; verify says where its views read', async () => {
    const { root } = await aCopy()
    const { exitCode, text, document } = await verify(root)
    expect([exitCode, document['copied_from']]).toEqual([EXIT.done, good])
    expect(text.replaceAll('\n', ' ')).toContain(
      `It was copied here from ${good}: its views.sql goes on reading the files there.`,
    )
    const site = ledgerSite(START)
    const restored = await site.show((context) =>
      restoreCommand(context, root, { pipeline: 'nightly' }),
    )
    expect(restored.document).toMatchObject({ rows: 18, is_compared: true })
    expect(existsSync(site.warehouse)).toBe(true)
  })

  it.each(['/srv/it’s "his"', "/srv/it's", 's3://bucket/pre'])(
    'from %s is known by its views',
    async (place) => {
      const { manifest } = await aCopy()
      const text = viewsSql(manifest, (key) => `${place}/${key}`)
      expect(placeOfViews(text, manifest)).toBe(place)
      expect(placeOfViews(text.replace(place.slice(0, 5), '/srw/'), manifest)).toBeNull()
    },
  )
})

describe('a snapshot beside which something is wrong', () => {
  it('is restored: a file too many, a Delta log that is behind or gone, another manifest that is damaged, no pointer', async () => {
    const { root, manifest } = await aCopy()
    const commits = readdirSync(join(root, 'tables/people/_delta_log'))
    expect(commits).toHaveLength(2)
    rmSync(join(root, 'tables/people/_delta_log', commits[1]!))
    rmSync(join(root, 'tables/moves/_delta_log'), { recursive: true })
    writeFileSync(join(root, `tables/people/all/${'0'.repeat(64)}.parquet`), 'half a file')
    writeFileSync(join(root, snapshotKeys(manifest.previous?.snapshot_id ?? '').manifest), 'lost')
    expect((await verify(root)).exitCode).toBe(EXIT.checkFailed)
    const restore = (url: string) =>
      ledgerSite(START).show((context) => restoreCommand(context, url, { pipeline: 'nightly' }))
    expect((await restore(root)).document).toMatchObject({ rows: 18 })
    rmSync(join(root, POINTER_KEY))
    await expect(restore(root)).rejects.toMatchObject({ exitCode: EXIT.checkFailed })
    const url = `${root}/snapshots/${manifest.snapshot_id}`
    expect((await restore(url)).document).toMatchObject({ rows: 18 })
  })

  it('is not there: 7, and no data directory is made', async () => {
    const { root } = await aCopy()
    const url = `${root}/snapshots/${newUlid(START)}`
    const site = ledgerSite(START)
    const restoring = site.show((context) => restoreCommand(context, url, { pipeline: 'nightly' }))
    await expect(restoring).rejects.toMatchObject({ exitCode: EXIT.publishFailed })
    expect(readdirSync(site.folder)).toEqual([])
  })
})
