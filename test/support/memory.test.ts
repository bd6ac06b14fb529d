import { mkdirSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cgroupMemory, limitMemory, memoryOfProcess } from '../../src/support/memory.ts'
import { MIB } from '../../src/support/units.ts'
import { engineSettings, memoryLimitNow } from '../../src/warehouse/engine-settings.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** A root folder with these files. */
function rootWith(files: Readonly<Record<string, string>>): string {
  const root = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), `${text}\n`)
  }
  return root
}

describe('the limit of the control groups', () => {
  it('of version 2 is the smallest from the process’s own group up to the root', () => {
    const own = { 'proc/self/cgroup': '0::/jobs.batch/nightly.service/worker' }
    const middle = { 'sys/fs/cgroup/jobs.batch/nightly.service/memory.max': '500000000' }
    const outer = { 'sys/fs/cgroup/jobs.batch/memory.max': '400000000' }
    const inner = { 'sys/fs/cgroup/jobs.batch/nightly.service/worker/memory.max': 'max' }
    expect(cgroupMemory(rootWith({ ...own, ...middle, ...outer, ...inner }))).toBe(4e8)
    expect(cgroupMemory(rootWith({ ...own, ...middle, ...inner }))).toBe(5e8)
    expect(cgroupMemory(rootWith({ ...own, ...inner }))).toBe(Number.POSITIVE_INFINITY)
  })

  it('in a container is that of the root, of version 2 and of version 1', () => {
    const container2 = { 'proc/self/cgroup': '0::/', 'sys/fs/cgroup/memory.max': '268435456' }
    expect(cgroupMemory(rootWith(container2))).toBe(256 * MIB)
    const container1 = {
      'proc/self/cgroup': '12:pids:/docker/abc\n4:cpu,memory:/docker/abc\n0::/',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '314572800',
    }
    expect(cgroupMemory(rootWith(container1))).toBe(300 * MIB)
  })

  it('is none where there are no control groups, or nothing that can be read', () => {
    expect(cgroupMemory(rootWith({}))).toBe(Number.POSITIVE_INFINITY)
    expect(cgroupMemory(rootWith({ 'proc/self/cgroup': 'what is this' }))).toBe(
      Number.POSITIVE_INFINITY,
    )
    expect(memoryOfProcess()).toBeLessThanOrEqual(totalmem())
  })
})

/** Megabytes (MiB) and threads of an engine in a process that may take so many MiB. */
function engineIn(mebibytes: number) {
  onTestFinished(() => limitMemory(null))
  limitMemory(mebibytes * MIB)
  const choices = { path: ':memory:', mode: 'write' } as const
  const { memory_limit: limit = '', threads } = engineSettings(choices)
  return {
    limit: Number.parseInt(limit, 10),
    models: Number.parseInt(memoryLimitNow(choices, 'models'), 10),
    threads: Number(threads),
  }
}

describe('the engine’s share of the memory', () => {
  it('is all of it while a new file is filled from a snapshot, and follows the limit of the process', () => {
    onTestFinished(() => limitMemory(null))
    const path = join(temporaryFolder(), 'new.duckdb')
    const limitIn = (mebibytes: number, isFilled: boolean) => {
      limitMemory(mebibytes * MIB)
      return engineSettings({ path, mode: 'write', isFilled, threads: 2 })['memory_limit']
    }
    expect([limitIn(64_000, false), limitIn(64_000, true)]).toEqual(['160MiB', '1536MiB'])
    expect(limitIn(512, true)).toBe('256MiB')
  })

  it('leaves 224 MiB for the rest, is half of what is there at most, and has fewer threads where it is small', () => {
    expect(engineIn(256)).toEqual({ limit: 64, models: 64, threads: 1 })
    expect(engineIn(300)).toEqual({ limit: 76, models: 76, threads: 1 })
    expect(engineIn(400)).toMatchObject({ limit: 176, models: 176 })
    expect(engineIn(400).threads).toBeLessThanOrEqual(3)
    expect(engineIn(2_000)).toMatchObject({ limit: 1_000, models: 1_000 })
    const { limit, models, threads } = engineIn(64_000)
    expect([limit, models]).toEqual([1_536, 2_304])
    expect([1, 2, 3, 4]).toContain(threads)
  })
})
