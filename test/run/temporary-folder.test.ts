import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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

  it('whose process removes its lock while another one looks at it are not in use', async () => {
    const path = join(temporaryFolder(), 'lock')
    const lock = await tryProcessLock(path)
    lock?.release()
    const isHeld = isProcessLockHeld(path)
    rmSync(path)
    expect(await isHeld).toBe(false)
  })
})
