import { readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { verifyCommand } from '../../src/cli/verify-command.ts'
import { EXIT } from '../../src/support/errors.ts'
import { START } from '../load/load-fixture.ts'
import { newFolder } from '../publish/fixtures.ts'
import { publishedLake } from '../publish/lake-fixtures.ts'
import { ledgerSite, sendRequest } from './ledger-fixture.ts'

function show(url: string, site = ledgerSite(START)) {
  const options = { pipeline: 'nightly' }
  return site.show((context) => verifyCommand(context, url, options))
}

describe('verify', () => {
  it('ends with 0 and says how much was proved', async () => {
    const lake = await publishedLake()
    const { text, document, exitCode } = await show(lake.root)
    const { snapshot_id: id } = await lake.manifest()
    expect(exitCode).toBe(EXIT.done)
    expect(text).toMatch(
      new RegExp(
        `^snapshot ${id} at ${lake.root} is proved\n2 tables, 8 files, 45,002 rows, [0-9.]+ MB: every byte and row is as published$`,
      ),
    )
    expect(document).toMatchObject({
      snapshot_id: id,
      destination: lake.root,
      is_proved: true,
      tables: 2,
      files: 8,
      rows: 45_002,
      findings: [],
    })
  })

  it('ends with 6 and lists each finding with the whole key', async () => {
    const lake = await publishedLake()
    const { snapshot_id: id } = await lake.manifest()
    const key = (await lake.table('people')).files.at(-1)?.key ?? ''
    rmSync(lake.path(key))
    writeFileSync(lake.path('tables/moves/notes.txt'), 'mine')
    const { text, document, exitCode } = await show(`${lake.root}/snapshots/${id}`)
    expect(exitCode).toBe(EXIT.checkFailed)
    expect(text.split('\n')).toEqual([
      `snapshot ${id} at ${lake.root}: 2 findings`,
      '',
      'missing  people',
      `  ${key}`,
      '  it is not there',
      '',
      'extra  moves',
      '  tables/moves/notes.txt',
      '  nothing refers to it, and it is not named as Jobtide names files: remove it',
      '',
      'Nothing was changed here. Restore the objects from a backup, or use another',
      'snapshot: `jobtide snapshots` lists them.',
    ])
    expect(document).toMatchObject({
      is_proved: false,
      findings: [
        { kind: 'missing', table: 'people', object: key, message: 'it is not there' },
        { kind: 'extra', table: 'moves', object: 'tables/moves/notes.txt' },
      ],
    })
  })

  it('says of a file behind a symbolic link that it is not followed', async () => {
    const lake = await publishedLake()
    const key = (await lake.table('people')).files.at(-1)?.key ?? ''
    const away = join(newFolder(), 'away.parquet')
    renameSync(lake.path(key), away)
    symlinkSync(away, lake.path(key))
    const { exitCode, document } = await show(lake.root)
    expect(exitCode).toBe(EXIT.checkFailed)
    expect(document['findings']).toContainEqual({
      kind: 'missing',
      table: 'people',
      object: key,
      message: 'it lies behind a symbolic link, which is not followed',
    })
  })

  it('says that the snapshot is whole where only something beside it is wrong', async () => {
    const lake = await publishedLake()
    writeFileSync(lake.path('tables/moves/notes.txt'), 'mine')
    const { text, exitCode } = await show(lake.root)
    expect(exitCode).toBe(EXIT.checkFailed)
    expect(text).toContain('The snapshot itself is whole: what is wrong stands beside it.')
  })

  it('proves the snapshot although the journal here has a loss: 9, and 6 where the snapshot has findings', async () => {
    const lake = await publishedLake()
    const site = ledgerSite(START)
    await site.journal((writer) => sendRequest(writer, START))
    const [segment = ''] = readdirSync(join(site.folder, 'journal')).filter(
      (name) => name !== 'identity',
    )
    rmSync(join(site.folder, 'journal', segment))
    const lost = await show(lake.root, site)
    expect(lost.exitCode).toBe(EXIT.storage)
    expect(lost.text).toMatch(/^snapshot .* is proved\n2 tables, 8 files, .* as published$/)
    expect(lost.document).toMatchObject({
      is_proved: false,
      findings: [],
      rows: 45_002,
      journal: null,
      error: { exit_code: 9, message: expect.stringContaining(`${segment} is gone`) as unknown },
    })
    writeFileSync(lake.path('tables/moves/notes.txt'), 'mine')
    const both = await show(lake.root, site)
    expect(both.exitCode).toBe(EXIT.checkFailed)
    expect(both.document).toMatchObject({ error: { exit_code: 9 }, findings: [{ kind: 'extra' }] })
  })

  it('ends with 7 where nothing was published, and makes no folder', async () => {
    const root = `${newFolder()}/nothing`
    await expect(show(root)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: `there is no folder ${root}`,
    })
    const empty = newFolder()
    await expect(show(empty)).rejects.toThrow(`nothing was published to ${empty}`)
  })
})
