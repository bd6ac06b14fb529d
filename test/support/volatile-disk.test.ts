/** The disk behind the tests of power cuts: what it must keep, and what it may lose. */

import fs from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { seededRandom } from '../../src/simulator/random.ts'
import { writeFileAtomic } from '../../src/support/atomic-file.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { ProcessEnded, useVolatileDisk } from '../helpers/volatile-disk.ts'

const disk = useVolatileDisk()

function aDisk(): string {
  const root = temporaryFolder()
  disk.begin(root)
  return root
}

/** Counts the contents of a file after each of 40 power cuts right after `work`. */
async function after(work: (root: string) => void | Promise<void>, name = 'a') {
  const counts: Record<string, number> = {}
  for (let seed = 0; seed < 40; seed += 1) {
    const root = aDisk()
    await work(root)
    disk.powerLoss(seededRandom(seed))
    const path = join(root, name)
    const found = fs.existsSync(path) ? fs.readFileSync(path, 'latin1') : 'nothing'
    const kind = found.replaceAll(/(.)\1*/gs, '$1').replaceAll('\0', '0')
    counts[kind] = (counts[kind] ?? 0) + 1
    disk.end()
  }
  return counts
}

/** Writes a file and syncs it, but not its folder. */
function write(path: string, flags: string, text: string, isSynced = true): void {
  const file = fs.openSync(path, flags)
  fs.writeSync(file, Buffer.from(text))
  if (isSynced) fs.fdatasyncSync(file)
  fs.closeSync(file)
}

function syncFolder(path: string): void {
  const folder = fs.openSync(path, 'r')
  fs.fsyncSync(folder)
  fs.closeSync(folder)
}

it('keeps a file synced with its folder, and may lose a name without the sync', async () => {
  const put = (root: string) => write(join(root, 'a'), 'wx', 'x')
  const synced = (root: string) => {
    put(root)
    syncFolder(root)
  }
  expect(await after(synced)).toEqual({ x: 40 })
  expect(Object.keys(await after(put)).toSorted()).toEqual(['nothing', 'x'])
})

it('keeps all, none, the beginning or single sectors of unsynced data, and all synced data', async () => {
  const found = await after((root) => {
    write(join(root, 'a'), 'wx', 'x')
    syncFolder(root)
    write(join(root, 'a'), 'a', 'y'.repeat(2_000), false)
  })
  expect(Object.keys(found)).toEqual(expect.arrayContaining(['x', 'xy', 'x0']))
  expect(Object.keys(found).some((kind) => kind.startsWith('x0y'))).toBe(true)
  expect(Object.keys(found).every((kind) => kind.startsWith('x'))).toBe(true)
})

it('undoes a rename and a removal without a sync of the folder, also of node:fs/promises', async () => {
  const replaced = await after(async (root) => {
    writeFileAtomic(join(root, 'a'), 'x')
    const handle = await open(join(root, 'b'), 'wx')
    await handle.writeFile('y')
    await handle.sync()
    await handle.close()
    await rename(join(root, 'b'), join(root, 'a'))
  })
  expect(Object.keys(replaced).toSorted()).toEqual(['x', 'y'])
  const removed = await after(
    (root) => {
      writeFileAtomic(join(root, 'f', 'a'), 'x')
      syncFolder(root)
      fs.rmSync(join(root, 'f'), { recursive: true })
    },
    join('f', 'a'),
  )
  expect(Object.keys(removed).toSorted()).toEqual(['nothing', 'x'])
})

it('treats data of a failed fsync as written: the next fsync does not write it either', async () => {
  const found = await after((root) => {
    write(join(root, 'a'), 'wx', 'x'.repeat(512))
    syncFolder(root)
    disk.failSyncAt(1)
    expect(() => write(join(root, 'a'), 'a', 'y'.repeat(512))).toThrow('EIO')
    expect(fs.readFileSync(join(root, 'a'), 'latin1')).toContain('y')
    write(join(root, 'a'), 'a', 'z'.repeat(512))
  })
  expect(found).toMatchObject({ x0z: expect.any(Number) as number })
  expect(Object.keys(found).every((kind) => kind.endsWith('z'))).toBe(true)
})

it('ends a process at a call, in the middle of a write; a restart loses nothing that was written', () => {
  const root = aDisk()
  disk.cutAt(2)
  expect(() => write(join(root, 'a'), 'wx', 'xxxx')).toThrow(ProcessEnded)
  expect(() => fs.rmSync(join(root, 'a'))).toThrow(ProcessEnded)
  expect(disk.isEnded).toBe(true)
  disk.restart()
  expect(fs.readFileSync(join(root, 'a'), 'latin1')).toBe('xx')
  write(join(root, 'b'), 'wx', 'y')
  disk.end()
})
