/** Who may read what a run writes: its owner alone in the data directory, all users in a snapshot folder of its own. Starts the command line. */

import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isWithin, makeFolderPrivate } from '../../src/support/file-modes.ts'
import { done, openSite } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** Permission bits of a folder and all below it, as `mode path`. */
function modesBelow(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return [folder, ...names.map((name) => join(folder, name))].map(
    (path) => `${(statSync(path).mode & 0o777).toString(8)} ${path}`,
  )
}

describe('a run with umask 0', () => {
  it('leaves nothing in a wide data directory that others can read; a snapshot folder elsewhere is as the umask says', async () => {
    // What a command is started with inherits it.
    const before = process.umask(0)
    onTestFinished(() => void process.umask(before))
    const site = await openSite({ companies: 2, events: 40 })
    mkdirSync(site.dataDir)
    chmodSync(site.dataDir, 0o777)
    const lake = join(site.folder, 'lakes', 'ours')
    const elsewhere = ['publish', '--pipeline', site.pipeline, '--snapshot-to', lake]
    for (const args of [['run', site.pipeline], elsewhere]) done(await site.run(args))
    const inside = modesBelow(site.dataDir)
    expect(inside.length).toBeGreaterThan(60)
    expect(inside.filter((line) => !/^[1-7]00 /.test(line))).toEqual([])
    expect(inside).toContain(`700 ${site.dataDir}`)
    expect(inside).toContain(`400 ${join(site.dataDir, 'analyst.duckdb')}`)
    const outside = modesBelow(join(site.folder, 'lakes'))
    expect(outside.length).toBeGreaterThan(60)
    expect(outside.filter((line) => !/^(?:777|666) /.test(line))).toEqual([])
  }, 180_000)
})

describe('a data directory', () => {
  it('that is wider is made private, and one that is narrower stays so', () => {
    const folder = temporaryFolder()
    for (const [before, after] of [
      [0o755, 0o700],
      [0o2770, 0o700],
      [0o500, 0o500],
    ] as const) {
      chmodSync(folder, before)
      makeFolderPrivate(folder)
      expect(statSync(folder).mode & 0o777).toBe(after)
    }
    chmodSync(folder, 0o700)
  })

  it('holds what is below it on the disk: not what a symbolic link leads to, and not a neighbour', () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'data'))
    mkdirSync(join(folder, 'share'))
    symlinkSync(join(folder, 'share'), join(folder, 'data', 'link'))
    const isInData = (...path: string[]) => isWithin(join(folder, 'data'), join(folder, ...path))
    expect([isInData('data'), isInData('data', 'snapshots', 'x')]).toEqual([true, true])
    expect([isInData('data', 'link', 'x'), isInData('data2'), isInData('..data')]).toEqual([
      false,
      false,
      false,
    ])
  })
})
