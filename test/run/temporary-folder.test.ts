import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chownSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { removeLeftFolders, withTemporaryFolder } from '../../src/run/temporary-folder.ts'
import { isProcessLockHeld, tryProcessLock } from '../../src/warehouse/process-lock.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

describe('temporary folders', () => {
  it('of killed processes are removed, those in use and those of other programs are not', async () => {
    const place = temporaryFolder()
    vi.stubEnv('TMPDIR', place)
    onTestFinished(() => void vi.unstubAllEnvs())
    const left = `jobtide-verify-${randomUUID()}`
    for (const name of [left, 'jobtide-verify-mine', 'other']) {
      mkdirSync(join(place, name))
      writeFileSync(join(place, name, 'people.parquet'), 'Ada')
    }
    await withTemporaryFolder('diff', async (folder) => {
      mkdirSync(folder)
      writeFileSync(join(folder, 'people.parquet'), 'Ada')
      await removeLeftFolders()
      expect(readdirSync(place).toSorted()).toEqual([
        basename(folder),
        `${basename(folder)}.lock`,
        'jobtide-verify-mine',
        'other',
      ])
    })
    expect(readdirSync(place).toSorted()).toEqual(['jobtide-verify-mine', 'other'])
  })

  it.each<[string, (lock: string) => void]>([
    ['a folder', (lock) => mkdirSync(lock)],
    ['a pipe that nobody writes', (lock) => execFileSync('mkfifo', [lock])],
    ['a link', (lock) => symlinkSync('/nowhere/lock', lock)],
    ['a file of another account', (lock) => writeFileSync(lock, '', { mode: 0o600 })],
  ])('with %s in place of the lock are left alone', async (what, put) => {
    const place = temporaryFolder()
    const left = join(place, `jobtide-verify-${randomUUID()}`)
    mkdirSync(left)
    put(`${left}.lock`)
    if (what.endsWith('account')) {
      // Only root may give files away.
      if (process.getuid?.() !== 0) return
      chownSync(`${left}.lock`, 65_534, 65_534)
    }
    vi.stubEnv('TMPDIR', place)
    onTestFinished(() => void vi.unstubAllEnvs())
    await removeLeftFolders()
    expect(readdirSync(place)).toEqual([basename(left), `${basename(left)}.lock`])
  })

  it('are not searched for if there is no place for them', async () => {
    vi.stubEnv('TMPDIR', '/nowhere')
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(removeLeftFolders()).resolves.toBeUndefined()
  })

  it('are not in use if their process removes its lock while another one checks it', async () => {
    const path = join(temporaryFolder(), 'lock')
    const lock = await tryProcessLock(path)
    lock?.release()
    const isHeld = isProcessLockHeld(path)
    rmSync(path)
    expect(await isHeld).toBe(false)
  })
})
