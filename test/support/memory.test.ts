import { truncateSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { limitMemory, memoryOfProcess } from '../../src/support/memory.ts'
import { MIB } from '../../src/support/units.ts'
import { engineSettings } from '../../src/warehouse/engine-settings.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

it('is at most that of the machine and at most the configured one', () => {
  expect(memoryOfProcess()).toBeLessThanOrEqual(totalmem())
  vi.spyOn(process, 'constrainedMemory').mockReturnValue(256 * MIB)
  expect(memoryOfProcess()).toBe(256 * MIB)
  vi.restoreAllMocks()
})

/** The memory (MiB) and threads of an engine in a process with this limit (MiB). */
function engineIn(mebibytes: number, path = ':memory:') {
  onTestFinished(() => limitMemory(null))
  limitMemory(mebibytes * MIB)
  const { memory_limit: limit = '', threads } = engineSettings({ path, mode: 'write' })
  return { limit: Number.parseInt(limit, 10), threads: Number(threads) }
}

describe('the engine’s share of the memory', () => {
  it('is 45 % of the process’s limit, over a file of 1 KB and over one of 100 GiB', () => {
    const path = join(temporaryFolder(), 'warehouse.duckdb')
    for (const bytes of [1_024, 100 * 1_024 * MIB]) {
      writeFileSync(path, '')
      truncateSync(path, bytes)
      expect([engineIn(2_000, path).limit, engineIn(64_000, path).limit]).toEqual([900, 28_800])
    }
  })

  it('leaves 224 MiB for the rest, and has fewer threads if it is small, at most 4', () => {
    expect(engineIn(256)).toEqual({ limit: 64, threads: 1 })
    expect(engineIn(300)).toEqual({ limit: 76, threads: 1 })
    expect(engineIn(400)).toEqual({ limit: 176, threads: 1 })
    expect([1, 2]).toContain(engineIn(500).threads)
    expect([1, 2, 3, 4]).toContain(engineIn(64_000).threads)
  })
})
