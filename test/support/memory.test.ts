import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cgroupMemory, limitMemory, memoryOfProcess } from '../../src/support/memory.ts'
import { MIB } from '../../src/support/units.ts'
import { engineSettings } from '../../src/warehouse/engine-settings.ts'
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
function engineIn(mebibytes: number, path = ':memory:') {
  onTestFinished(() => limitMemory(null))
  limitMemory(mebibytes * MIB)
  const { memory_limit: limit = '', threads } = engineSettings({ path, mode: 'write' })
  return { limit: Number.parseInt(limit, 10), threads: Number(threads) }
}

describe('the engine’s share of the memory', () => {
  it('is half of what the process may take, over a file of 1 KB and over one of 100 GiB', () => {
    const path = join(temporaryFolder(), 'warehouse.duckdb')
    for (const bytes of [1_024, 100 * 1_024 * MIB]) {
      writeFileSync(path, '')
      truncateSync(path, bytes)
      expect([engineIn(2_000, path).limit, engineIn(64_000, path).limit]).toEqual([1_000, 32_000])
    }
  })

  it('leaves 224 MiB for the rest, has fewer threads where it is small, and 4 at most', () => {
    expect(engineIn(256)).toEqual({ limit: 64, threads: 1 })
    expect(engineIn(300)).toEqual({ limit: 76, threads: 1 })
    expect(engineIn(400)).toEqual({ limit: 176, threads: 1 })
    expect([1, 2]).toContain(engineIn(500).threads)
    expect([1, 2, 3, 4]).toContain(engineIn(64_000).threads)
  })
})
