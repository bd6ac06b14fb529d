import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { restoreCommand } from '../../src/cli/restore-command.ts'
import { EXIT } from '../../src/support/errors.ts'
import { withWarehouse } from '../../src/warehouse/warehouse.ts'
import { START } from '../load/load-fixture.ts'
import { publishedLake } from '../publish/lake-fixtures.ts'
import { ledgerSite, type LedgerSite } from './ledger-fixture.ts'

function show(site: LedgerSite, url: string) {
  return site.show((context) => restoreCommand(context, url, { pipeline: 'nightly' }))
}

describe('restore', () => {
  it('makes the warehouse of the data directory and says what is not in it', async () => {
    const lake = await publishedLake()
    const site = ledgerSite(START)
    const { text, document, exitCode } = await show(site, lake.root)
    const { snapshot_id: id, created_at: at } = await lake.manifest()
    expect(exitCode).toBe(EXIT.done)
    expect(text.split('\n')).toEqual([
      `restored: ${site.warehouse} from snapshot ${id} of ${at}`,
      '2 tables, 45,002 rows: all of them the rows that were published',
      'Not in it: journal, ledger and coverage, and how often and when last an event',
      'was seen. Where the journal is left, `jobtide load` adds what it holds; `jobtide',
      'build` makes the tables again.',
    ])
    expect(document).toMatchObject({
      snapshot_id: id,
      warehouse: site.warehouse,
      rows: 45_002,
      tables: [
        { name: 'people', rows: 15_002 },
        { name: 'moves', rows: 30_000 },
      ],
      is_compared: true,
      not_restored: ['journal', 'ledger', 'coverage'],
    })
    await withWarehouse({ path: site.warehouse, mode: 'read' }, async (warehouse) => {
      expect(await warehouse.all('select cast(count(*) as integer) as people from people')).toEqual(
        [{ people: 15_002 }],
      )
    })
  })

  it('restores the snapshot before by its address', async () => {
    const lake = await publishedLake()
    const before = (await lake.manifest()).previous?.snapshot_id ?? ''
    const { document } = await show(ledgerSite(START), `${lake.root}/snapshots/${before}`)
    expect(document).toMatchObject({ snapshot_id: before, rows: 45_000 })
  })

  it('ends with 2 where there is a warehouse already, and gives its lock back', async () => {
    const lake = await publishedLake()
    const site = ledgerSite(START)
    await site.load()
    await expect(show(site, lake.root)).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: `there is a warehouse already: ${site.warehouse}`,
    })
    expect(existsSync(`${site.folder}/lock`)).toBe(false)
  })
})
