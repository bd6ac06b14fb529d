/**
 * Who may read what commands write: in the data directory only its owner, except for the copy for analysts if a group
 * is set; in a separate snapshot folder all users. Starts the command line.
 */

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isWithin, makeFolderPrivate } from '../../src/support/file-modes.ts'
import { done, openSite } from '../helpers/run-cli.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** Permission bits of a folder and everything below it, as `mode path`. */
function modesBelow(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return [folder, ...names.map((name) => join(folder, name))].map(
    (path) => `${(statSync(path).mode & 0o777).toString(8)} ${path}`,
  )
}

/** Processes inherit it until the test ends. */
function setUmask(umask: number): void {
  const before = process.umask(umask)
  onTestFinished(() => void process.umask(before))
}

describe('with the widest umask', () => {
  it('others can read nothing in a data directory that was once open; a snapshot folder elsewhere follows the umask', async () => {
    setUmask(0o000)
    const site = await openSite({ companies: 2, events: 40 })
    // A pipeline file that every account may write is refused.
    chmodSync(site.pipeline, 0o644)
    mkdirSync(site.dataDir)
    chmodSync(site.dataDir, 0o777)
    const lake = join(site.folder, 'lakes', 'ours')
    done(await site.run(['run', site.pipeline, '--snapshot-to', lake]))
    // The other commands that write files.
    const restored = join(site.folder, 'restored')
    done(await site.run(['publish', '--pipeline', site.pipeline]))
    done(await site.run(['restore', lake, '--data-dir', restored]))
    const [{ person = '' } = {}] = await site.query<{ person?: string }>(
      'select min(profile_id) as person from job_change_events',
    )
    done(await site.run(['forget', person, '--yes', '--pipeline', site.pipeline]))
    const inside = [site.dataDir, restored].flatMap(modesBelow)
    expect(inside.length).toBeGreaterThan(16)
    expect(inside.filter((line) => !/^[1-7]00 /.test(line))).toEqual([])
    expect(inside).toContain(`700 ${site.dataDir}`)
    expect(inside).toContain(`400 ${join(site.dataDir, 'analyst.duckdb')}`)
    const outside = modesBelow(join(site.folder, 'lakes'))
    expect(outside.length).toBeGreaterThan(60)
    expect(outside.filter((line) => !/^(?:777|666) /.test(line))).toEqual([])
  }, 180_000)
})

describe('JOBTIDE_ANALYST_GROUP', () => {
  const isRoot = process.getuid?.() === 0
  // A group that no other file on this machine has, if possible.
  const gid = isRoot ? 54_321 : (process.getegid?.() ?? 0)
  const env = { JOBTIDE_ANALYST_GROUP: String(gid) }
  const nobody = 65_534
  /** Whether an account in the group, and one outside it, can run a program. */
  const can = (program: string, ...args: string[]) =>
    [gid, nobody].map((group) => {
      return spawnSync(program, args, { uid: nobody, gid: group, cwd: '/' }).status === 0
    })
  /** Files and folders with a bit for others than their owner, from the data directory on, as `mode name`. */
  const forOthers = (folder: string) =>
    modesBelow(folder)
      .filter((line) => !/^.00 /.test(line))
      .map((line) => line.replace(folder, ''))

  it('lets the group read only the copy for analysts and its macros, during and after the next run, until it is unset', async () => {
    // Modes for the group are set explicitly, whatever the umask.
    setUmask(0o077)
    const site = await openSite({ companies: 2, events: 40 })
    chmodSync(site.folder, 0o711)
    const copy = join(site.dataDir, 'analyst.duckdb')
    const opened = ['710 ', '640 /analyst.duckdb', '640 /as_known_on.sql']
    done(await site.run(['run', site.pipeline], { env }))
    expect(forOthers(site.dataDir)).toEqual(opened)
    expect([statSync(site.dataDir).gid, statSync(copy).gid]).toEqual([gid, gid])
    // Put there by hand, readable by everyone.
    const byHand = join(site.dataDir, 'by-hand')
    mkdirSync(byHand)
    const names = [join(byHand, 'names.csv'), join(site.dataDir, 'names.csv')]
    for (const path of names) writeFileSync(path, 'Ann')
    for (const path of names) chmodSync(path, 0o644)
    chmodSync(join(site.dataDir, 'jobtide.duckdb'), 0o644)
    done(await site.run(['load'], { env }))
    expect(statSync(site.dataDir).mode & 0o777).toBe(0o710)
    done(await site.run(['publish', '--pipeline', site.pipeline], { env }))
    expect(forOthers(site.dataDir)).toEqual([...opened, '644 /by-hand/names.csv'])
    if (isRoot) {
      expect(can('head', '-c9', copy)).toEqual([true, false])
      expect(can('ls', site.dataDir)).toEqual([false, false])
      expect(can('touch', copy)).toEqual([false, false])
      for (const name of ['jobtide.duckdb', 'names.csv', 'by-hand/names.csv', 'identity']) {
        expect(can('head', '-c9', join(site.dataDir, name)), name).toEqual([false, false])
      }
    }
    done(await site.run(['publish', '--pipeline', site.pipeline]))
    expect(statSync(site.dataDir).mode & 0o777).toBe(0o700)
    expect(statSync(copy).mode & 0o777).toBe(0o400)
  }, 120_000)

  it('is refused before anything is done if there is no such group', async () => {
    const site = await openSite({ companies: 1 })
    const unknown = { env: { JOBTIDE_ANALYST_GROUP: 'nobody-here' } }
    const { exitCode, stderr } = await site.run(['run', site.pipeline], unknown)
    expect([exitCode, existsSync(site.dataDir)]).toEqual([2, false])
    expect(stderr).toMatch(/the group nobody-here is not in \/etc\/group\n {2}→ Name a group/)
  })
})

describe('a data directory', () => {
  it('with a wider mode becomes private, and one with a narrower mode stays', () => {
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

  it('protects what is below it on the disk, but neither the target of a symbolic link nor a sibling', () => {
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
