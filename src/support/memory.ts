/**
 * Finds how much memory this process may use: the configured limit, else the limit of the machine and its control groups. A
 * container that uses more is killed. src/warehouse/engine-settings.ts decides the engine's share.
 */

import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | null = null

/**
 * Collects JavaScript's garbage, which the runtime otherwise lets grow regardless of the limit: by 100 MB after a delivery of
 * 12 MB. Takes some 20 ms.
 */
export function collectGarbage(): void {
  if (collect === null) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}

let told: number | null = null

/** Sets what {@link memoryOfProcess} says. @param bytes null: what machine and control groups say */
export function limitMemory(bytes: number | null): void {
  told = bytes
}

/** The memory that this process may take in all, in bytes: the engine, Node itself, and what lies in between. */
export function memoryOfProcess(): number {
  return told ?? Math.min(totalmem(), cgroupMemory('/'))
}

/**
 * The least limit on the way from this process's control group up to the root, in bytes, of version 1 and 2; Infinity where
 * there is none. The groups outside of a container cannot be seen from inside; its own is the root there.
 * @param root where `proc` and `sys` are
 */
export function cgroupMemory(root: string): number {
  const groups = (read(join(root, 'proc/self/cgroup')) ?? '').split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (path === undefined) return []
    if (controllers === '') return limitsUpFrom(join(root, 'sys/fs/cgroup'), path, 'memory.max')
    return controllers?.split(',').includes('memory') === true
      ? limitsUpFrom(join(root, 'sys/fs/cgroup/memory'), path, 'memory.limit_in_bytes')
      : []
  })
  return Math.min(...groups)
}

function limitsUpFrom(mount: string, path: string, file: string): number[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '..')
  return [...names, ''].flatMap((_, depth) => {
    const text = read(join(mount, ...names.slice(0, depth), file))?.trim() ?? ''
    // `max` is none; version 1 writes a number beyond all memory for it.
    return /^[1-9]\d*$/.test(text) ? [Number(text)] : []
  })
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
