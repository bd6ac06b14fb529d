import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { snapshotsCommand } from '../../src/cli/snapshots-command.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import { POINTER_KEY, type Manifest } from '../../src/publish/manifest.ts'
import { realClock } from '../../src/support/clock.ts'
import { DAY } from '../../src/support/units.ts'
import { START, idOf, manifestOf, publishManifest, putSnapshot } from '../publish/gc/gc-world.ts'
import { ledgerSite, type LedgerSite } from './ledger-fixture.ts'

const show = (site: LedgerSite, pipeline: string, destination?: string) =>
  site.show((context) => snapshotsCommand(context, destination, { pipeline }))

/** A data directory whose pipeline publishes to `snapshots` in it. */
function aSite(lines: readonly string[] = ['snapshot: {to: snapshots}']) {
  const site = ledgerSite(START)
  const pipeline = site.pipeline('nightly', ['org_1'], lines)
  const folder = join(site.folder, 'snapshots')
  return { site, pipeline, folder }
}

/** Publishes `manifest` to a folder. */
async function publishTo(folder: string, manifest: Manifest, after: Manifest | null = null) {
  await publishManifest(openFolderStore(folder, realClock), manifest, after)
}

const asked = { id: idOf(1), createdAt: START - DAY, contents: ['aaaa', 'bb'] }
const first: Manifest = { ...manifestOf(asked), checks: null, new_bytes: 6 }
const second: Manifest = {
  ...manifestOf({
    ...asked,
    id: idOf(2),
    createdAt: START,
    contents: ['aaaa', 'ccc'],
    after: first,
  }),
  new_bytes: 1_234_567,
}

describe('snapshots', () => {
  it('lists the newest first, marks what readers see, and counts shared files once', async () => {
    const { site, pipeline, folder } = aSite()
    await publishTo(folder, first)
    await publishTo(folder, second, first)
    const { text, document, exitCode } = await show(site, pipeline)
    expect(exitCode).toBe(0)
    expect(text.split('\n')).toEqual([
      `${folder}: 2 snapshots, 9 B together`,
      '',
      '  snapshot                    created (UTC)     rows  bytes     new',
      '→ 01JD0000000000000000000002  2026-11-20 02:15     2    7 B  1.2 MB',
      '  01JD0000000000000000000001  2026-11-19 02:15     2    6 B     6 B',
      '',
      '  snapshot                    files  checks  organisations  covered to (UTC)',
      '→ 01JD0000000000000000000002      2      84          1,200  2026-11-20 02:15',
      '  01JD0000000000000000000001      2       -          1,200  2026-11-19 02:15',
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
          rows: 2,
          files: 2,
          bytes: 7,
          new_bytes: 1_234_567,
          checks: { passed: 84 },
          coverage: { organizations: 1_200 },
        },
        { snapshot_id: idOf(1), is_current: false, checks: null, bytes: 6 },
      ],
    })
  })

  it('takes the destination that is named, and leaves out what the pointer never named', async () => {
    const { site, pipeline } = aSite([])
    const folder = join(site.folder, 'elsewhere')
    await publishTo(folder, first)
    const loser = manifestOf({ ...asked, id: idOf(3), after: first })
    await putSnapshot(openFolderStore(folder, realClock), loser, first)
    const { document } = await show(site, pipeline, folder)
    expect(document).toMatchObject({ current: idOf(1), snapshots: [{ snapshot_id: idOf(1) }] })
    expect(document['snapshots']).toHaveLength(1)
  })

  it('says that nothing was published yet, and makes no folder for it', async () => {
    const { site, pipeline, folder } = aSite()
    const { text, document } = await show(site, pipeline)
    expect(text).toBe(`nothing was published to ${folder} yet`)
    expect(document).toEqual({ destination: folder, current: null, bytes: 0, snapshots: [] })
    expect((await show(site, pipeline)).exitCode).toBe(0)
    await expect(openFolderStore(site.folder, realClock).list('snapshots')).resolves.toEqual([])
  })

  it('says that readers see none of them where the pointer was removed', async () => {
    const { site, pipeline, folder } = aSite()
    await publishTo(folder, first)
    await openFolderStore(folder, realClock).remove([POINTER_KEY])
    const { text, document } = await show(site, pipeline)
    expect(text).toMatch(/none of them is what readers see: there is no latest\.json$/)
    expect(document).toMatchObject({ current: null, snapshots: [{ is_current: false }] })
  })

  it('says what to do where the pipeline has no destination', async () => {
    const { site, pipeline } = aSite([])
    await expect(show(site, pipeline)).rejects.toMatchObject({
      exitCode: 2,
      message: `pipeline ${pipeline} has no snapshot destination`,
      hint: 'Name a folder or an s3:// address: jobtide snapshots DESTINATION.',
    })
  })
})
