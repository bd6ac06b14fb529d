/**
 * A disk that fails below one folder, for tests that mock `node:fs` and `node:fs/promises` with this: the real file system,
 * unless the call is one of those that shall fail. What fails in the middle of writing leaves half.
 */

import type * as Fs from 'node:fs'
import type * as FsPromises from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { vi } from 'vitest'
import { systemError } from '../../helpers/faulty-disk.ts'

const WRITING = ['mkdirSync', 'linkSync', 'renameSync', 'writeFileSync', 'fsyncSync'] as const
const OTHERS = ['readFileSync', 'readdirSync', 'statSync', 'rmSync', 'rmdirSync'] as const

/** Which calls fail. */
export interface DiskFault {
  /** Full: only what writes fails. Otherwise anything does. */
  readonly code: 'ENOSPC' | 'EIO'
  /** Only calls of this name. Default: all. */
  readonly only?: string | undefined
  /** The first call that fails, from 1, among those that can. */
  readonly nth: number
  /** How many calls fail. */
  readonly times: number
}

/** What the disk does. */
export const disk = {
  /** Calls whose first or second argument is below this folder count. */
  folder: '/nowhere',
  fault: null as DiskFault | null,
  /** Calls that could have failed, and those that did, since the last breakDown(). */
  calls: 0,
  struck: 0,
  /** Lets calls below `folder` fail; null: none. */
  breakDown(folder: string, fault: DiskFault | null): void {
    Object.assign(disk, { folder, fault, calls: 0, struck: 0 })
  },
}

const handles = new Set<number>()

function isOurs(values: readonly unknown[]): boolean {
  return values
    .slice(0, 2)
    .some(
      (value) =>
        (typeof value === 'string' && value.startsWith(disk.folder)) ||
        (typeof value === 'number' && handles.has(value)),
    )
}

/** The error that this call ends with, or null. */
function strike(name: string, writes: boolean): Error | null {
  const { fault } = disk
  if (fault === null || (fault.code === 'ENOSPC' && !writes)) return null
  if (fault.only !== undefined && fault.only !== name) return null
  disk.calls += 1
  if (disk.calls < fault.nth || disk.calls >= fault.nth + fault.times) return null
  disk.struck += 1
  return systemError(fault.code, name)
}

/** `node:fs` on that disk. */
export async function fallibleFs(): Promise<typeof Fs> {
  const real = await vi.importActual<typeof Fs>('node:fs')
  const fallible: Record<string, unknown> = { ...real }
  for (const name of [...WRITING, ...OTHERS]) {
    const writes = WRITING.some((one) => one === name)
    fallible[name] = (...values: unknown[]): unknown => {
      const error = isOurs(values) ? strike(name, writes) : null
      if (error !== null) throw error
      return Reflect.apply(real[name], real, values) as unknown
    }
  }
  fallible['openSync'] = (...values: Parameters<typeof real.openSync>) => {
    const handle = real.openSync(...values)
    if (isOurs(values)) handles.add(handle)
    return handle
  }
  fallible['closeSync'] = (handle: number) => {
    handles.delete(handle)
    real.closeSync(handle)
  }
  return { ...fallible, default: fallible } as unknown as typeof Fs
}

/** `node:fs/promises` on that disk. */
export async function fallibleFsPromises(): Promise<typeof FsPromises> {
  const real = await vi.importActual<typeof FsPromises>('node:fs/promises')
  const copyFile: typeof real.copyFile = async (from, to, mode) => {
    const error = isOurs([from, to]) ? strike('copyFile', true) : null
    if (error === null) return real.copyFile(from, to, mode)
    const bytes = await real.readFile(from)
    await real.writeFile(to, bytes.subarray(0, bytes.length >> 1))
    throw error
  }
  const open: typeof real.open = async (path, flags, mode) => {
    const error = isOurs([path]) ? strike('open', flags !== 'r') : null
    if (error !== null) throw error
    const handle = await real.open(path, flags, mode)
    return isOurs([path]) ? fallibleHandle(handle) : handle
  }
  const fallible = { ...real, copyFile, open }
  return { ...fallible, default: fallible } as unknown as typeof FsPromises
}

function fallibleHandle(handle: FileHandle): FileHandle {
  return new Proxy(handle, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name !== 'writeFile' && name !== 'sync') return member.bind(target) as unknown
      return async (...values: unknown[]) => {
        const error = strike(name, true)
        if (error === null) return Reflect.apply(member, target, values) as unknown
        if (values[0] instanceof Uint8Array) {
          await target.writeFile(values[0].subarray(0, values[0].length >> 1))
        }
        throw error
      }
    },
  })
}
