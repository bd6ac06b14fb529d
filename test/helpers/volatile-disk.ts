/**
 * A disk that keeps only synced data: {@link useVolatileDisk} puts it in place of `node:fs` for one test file.
 *
 * Below the folder given to `begin`, the content of a file is durable once the file was fsynced, and a new, removed or
 * renamed name once its folder was. Until then every process sees all of it, as in the page cache. `powerLoss` drops
 * what was not synced at random: sectors of content are as written, as before, or zero; changes of names are done or
 * undone, each as a whole, in any order. A failed fsync of a file is final: its bytes stay readable and count as
 * written, so that no later fsync writes them.
 *
 * `cutAt` ends the process in the middle of a call: from then on every call fails and changes nothing. Then
 * `powerLoss`, or `restart`, which loses nothing: the process was killed.
 *
 * Files that are not written through `node:fs`, such as those of DuckDB, stay unchanged. Nothing is really synced, so a
 * thousand crashes take seconds.
 */

import fs from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { callbackify } from 'node:util'
import type { Random } from '../../src/simulator/random.ts'
import { replaceBuiltins, systemError } from './faulty-disk.ts'

const real = { ...fs, promises: { ...fs.promises } }
/** The unit that a disk writes completely or not at all. */
const SECTOR = 512

/** The target of a name: a file by its inode, a folder, or nothing. */
type Place = number | 'folder' | null

interface StoredFile {
  /** The content that survives a power cut; null for a file that others write, which stays unchanged. */
  durable: Buffer | null
  /** Data of the last failed fsync, which the system treats as written. */
  givenUp: Buffer | null
}

/** Thrown by every call of a process that was killed or lost power. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded'
}

export class VolatileDisk {
  #root: string | null = null
  /** A link to every file, so that no inode is reused while a power cut can bring the file back. */
  #links = ''
  readonly #files = new Map<number, StoredFile>()
  /** Unsynced changes of names, oldest first, and the targets of these names before them. */
  #changes: Map<string, Place>[] = []
  readonly #before = new Map<string, Place>()
  readonly #openFolders = new Map<number, string>()
  readonly #open = new Set<number>()
  #isEnded = false
  #endsAt = Number.POSITIVE_INFINITY
  #failsAt = Number.POSITIVE_INFINITY
  /**
   * Called before each change, with the part of it that is done if the process ends in it; throws the error for the
   * call.
   */
  onStep: (partly?: () => void) => void = () => undefined
  /** The duration of an awaited fsync. */
  syncTakes: () => Promise<void> = () => Promise.resolve()
  /** Calls that change the disk, and those of them that sync, since `begin`. */
  calls = 0
  syncs = 0

  /** Puts `root`, an empty folder, on this disk. Earlier content is dropped. */
  begin(root: string): void {
    this.end()
    this.#root = resolve(root)
    this.#links = real.mkdtempSync(`${this.#root}-links-`)
  }

  /** Removes the disk; the files stay. */
  end(): void {
    if (this.#root === null) return
    this.restart()
    this.#root = null
    this.#settleNames()
    this.#files.clear()
    this.onStep = () => undefined
    this.syncTakes = () => Promise.resolve()
    this.calls = 0
    this.syncs = 0
    real.rmSync(this.#links, { recursive: true, force: true })
  }

  /** Ends the process at the `number`th change of the disk from now; a write is half done by then. */
  cutAt(number: number): void {
    this.#endsAt = this.calls + number
  }

  /** Ends the process now. */
  cut(): void {
    this.#isEnded = true
  }

  /** Lets the `number`th sync from now fail with EIO. */
  failSyncAt(number: number): void {
    this.#failsAt = this.syncs + number
  }

  /** Whether the process has ended. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Starts the next process, with everything that was written. */
  restart(): void {
    for (const file of this.#open) real.closeSync(file)
    this.#open.clear()
    this.#openFolders.clear()
    this.#isEnded = false
    this.#endsAt = Number.POSITIVE_INFINITY
    this.#failsAt = Number.POSITIVE_INFINITY
  }

  /** Starts the next process after a power cut: unsynced data is present, missing or partial. */
  powerLoss(random: Random): void {
    this.restart()
    const root = this.#root
    this.#root = null
    const share = fate(random)
    const names = new Map(this.#before)
    for (const change of this.#changes) {
      if (random() < share) for (const [path, place] of change) names.set(path, place)
    }
    // A folder comes before what is in it.
    const inOrder = [...names].toSorted(([a], [b]) => (a < b ? -1 : 1))
    for (const [path, place] of inOrder) this.#put(path, place)
    this.#settleNames()
    for (const [inode, file] of this.#files) {
      const link = join(this.#links, String(inode))
      if (file.durable !== null) {
        file.durable = survivors(file.durable, real.readFileSync(link), random)
        file.givenUp = null
        real.writeFileSync(link, file.durable)
      }
      if (real.statSync(link).nlink === 1) {
        real.rmSync(link)
        this.#files.delete(inode)
      }
    }
    this.#root = root
  }

  /**
   * Called before each change of the disk.
   * @param partly the part of it that is done if the process ends in it
   */
  step(partly?: () => void): void {
    if (this.#isEnded) throw new ProcessEnded()
    this.calls += 1
    this.onStep(partly)
    if (this.calls < this.#endsAt) return
    this.#isEnded = true
    partly?.()
    throw new ProcessEnded()
  }

  covers(path: unknown): path is string {
    if (this.#root === null || typeof path !== 'string') return false
    return `${resolve(path)}${sep}`.startsWith(this.#root + sep)
  }

  /** Whether an open file is on this disk. */
  holds(file: unknown): file is number {
    return this.#open.has(file as number)
  }

  opened(file: number, path: string): void {
    this.#open.add(file)
    if (real.fstatSync(file).isDirectory()) this.#openFolders.set(file, resolve(path))
  }

  closed(file: number): void {
    this.#open.delete(file)
    this.#openFolders.delete(file)
  }

  /** The targets of names before a call that may change them, for `changed` after the call. */
  look(paths: readonly string[]): Map<string, Place> {
    const inside = paths.filter((path) => this.covers(path)).map((path) => resolve(path))
    return new Map(inside.map((path) => [path, this.#placeOf(path, null)]))
  }

  changed(before: ReadonlyMap<string, Place>): void {
    const change = new Map<string, Place>()
    for (const [path, was] of before) {
      const is = this.#placeOf(path, Buffer.alloc(0))
      if (is === was) continue
      if (!this.#before.has(path)) this.#before.set(path, was)
      change.set(path, is)
    }
    if (change.size > 0) this.#changes.push(change)
  }

  sync(open: number): void {
    this.step()
    this.syncs += 1
    const fails = this.syncs === this.#failsAt
    const folder = this.#openFolders.get(open)
    const inode = real.fstatSync(open).ino
    const file = this.#files.get(inode)
    if (folder === undefined && file !== undefined && file.durable !== null) {
      const written = real.readFileSync(join(this.#links, String(inode)))
      if (fails) file.givenUp = written
      else file.durable = synced(file.durable, written, file.givenUp)
    }
    if (fails) throw systemError('EIO', 'fsync')
    if (folder !== undefined) this.#settleNames(folder)
  }

  /** Makes the names in a folder, or all names, durable. */
  #settleNames(folder?: string): void {
    const isIn = (path: string) => folder === undefined || dirname(path) === folder
    for (const names of [...this.#changes, this.#before]) {
      for (const path of names.keys()) if (isIn(path)) names.delete(path)
    }
    this.#changes = this.#changes.filter(({ size }) => size > 0)
  }

  #placeOf(path: string, durable: Buffer | null): Place {
    const found = real.lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return null
    if (found.isDirectory()) return 'folder'
    if (!this.#files.has(found.ino)) {
      real.linkSync(path, join(this.#links, String(found.ino)))
      this.#files.set(found.ino, { durable, givenUp: null })
    }
    return found.ino
  }

  #put(path: string, place: Place): void {
    if (this.#placeOf(path, null) === place) return
    real.rmSync(path, { recursive: true, force: true })
    // A removed folder takes its names along.
    if (place === null || !real.existsSync(dirname(path))) return
    if (place === 'folder') real.mkdirSync(path)
    else real.linkSync(join(this.#links, String(place)), path)
  }
}

/** The part of something that survives: nothing, all, or any part. */
function fate(random: Random): number {
  const kind = Math.floor(random() * 3)
  return kind === 2 ? random() : kind
}

function survivors(durable: Buffer, written: Buffer, random: Random): Buffer {
  if (durable.equals(written)) return durable
  const [share, grown] = [fate(random), fate(random)]
  const length = durable.length + Math.trunc((written.length - durable.length) * grown)
  const left = Buffer.alloc(length)
  durable.copy(left)
  for (let at = 0; at < length; at += SECTOR) {
    if (random() < share && at < written.length) written.copy(left, at, at, at + SECTOR)
  }
  return left
}

/**
 * The content on the disk after an fsync: everything except data that an earlier failed fsync lost and that was not
 * rewritten.
 */
function synced(durable: Buffer, written: Buffer, givenUp: Buffer | null): Buffer {
  if (givenUp === null) return written
  const now = Buffer.from(written)
  for (let at = 0; at < now.length; at += SECTOR) {
    const end = Math.min(at + SECTOR, now.length)
    if (!written.subarray(at, end).equals(givenUp.subarray(at, end))) continue
    now.fill(0, at, end)
    if (at < durable.length) durable.copy(now, at, at, end)
  }
  return now
}

/** The folders above a path, and the path. */
function waysTo(path: string): string[] {
  const above = dirname(path)
  return above === path ? [path] : [...waysTo(above), path]
}

/** A path and everything below it. */
function treeOf(path: string): string[] {
  if (real.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path]
  const below = real.readdirSync(path, { recursive: true }) as string[]
  return [path, ...below.map((name) => join(path, name))]
}

/** Puts a volatile disk in the place of `node:fs` for the tests of the calling file; it holds nothing until `begin`. */
export function useVolatileDisk(): VolatileDisk {
  const disk = new VolatileDisk()
  type Call<T> = (...args: never[]) => T
  type Write = (
    file: number,
    bytes: Buffer,
    at?: number,
    length?: number,
    position?: number,
  ) => number

  /** A call that may change the names that `names` finds in its arguments. */
  const naming = <C extends Call<unknown>>(call: C, names: (...args: string[]) => string[]) =>
    ((...args: Parameters<C>) => {
      const paths = names(...(args as string[]).map(String)).filter((path) => disk.covers(path))
      if (paths.length === 0) return call(...args)
      disk.step()
      const before = disk.look(paths)
      const result = call(...args)
      if (!(result instanceof Promise)) {
        disk.changed(before)
        return result
      }
      return result.then((value: unknown) => {
        disk.changed(before)
        return value
      })
    }) as unknown as C
  /** A call on an open file. */
  const onFile = <C extends Call<unknown>>(call: C, instead: (...args: Parameters<C>) => unknown) =>
    ((...args: Parameters<C>) =>
      disk.holds((args as unknown[])[0]) ? instead(...args) : call(...args)) as unknown as C

  const first = (path: string) => [path]
  const second = (_: string, path: string) => [path]
  const both = (from: string, to: string) => [from, to]
  const openNamed = naming(real.openSync as Call<number>, first) as typeof fs.openSync
  const openHandle = naming(real.promises.open as Call<unknown>, first) as typeof fs.promises.open
  const openSync: typeof fs.openSync = (path, ...rest) => {
    const isReading = rest[0] === undefined || rest[0] === 'r'
    const file = (isReading ? real.openSync : openNamed)(path, ...rest)
    if (disk.covers(path)) disk.opened(file, path)
    return file
  }
  const asyncSync = (call: typeof fs.fsync) => {
    const held = callbackify(async (file: number) => {
      await disk.syncTakes()
      disk.sync(file)
    })
    const instead = (file: number, done: fs.NoParamCallback) =>
      disk.holds(file) ? held(file, done) : call(file, done)
    return instead as typeof fs.fsync
  }
  const syncing = (call: typeof fs.fsyncSync) => onFile(call, (file) => disk.sync(file))

  replaceBuiltins(fs, {
    openSync,
    closeSync: (file) => {
      disk.closed(file)
      real.closeSync(file)
    },
    writeSync: onFile(
      real.writeSync as unknown as Write,
      (file, bytes, at = 0, length, position) => {
        disk.step(() => real.writeSync(file, bytes, at, (bytes.length - at) >> 1, position))
        return real.writeSync(file, bytes, at, length, position)
      },
    ) as unknown as typeof fs.writeSync,
    ftruncateSync: onFile(real.ftruncateSync, (...args) => {
      disk.step()
      real.ftruncateSync(...args)
    }),
    truncateSync: naming(real.truncateSync as Call<void>, first) as typeof fs.truncateSync,
    writeFileSync: naming(real.writeFileSync as Call<void>, first) as typeof fs.writeFileSync,
    copyFileSync: naming(real.copyFileSync as Call<void>, second) as typeof fs.copyFileSync,
    renameSync: naming(real.renameSync as Call<void>, both) as typeof fs.renameSync,
    linkSync: naming(real.linkSync as Call<void>, second) as typeof fs.linkSync,
    rmSync: naming(real.rmSync as Call<void>, treeOf) as typeof fs.rmSync,
    unlinkSync: naming(real.unlinkSync as Call<void>, first) as typeof fs.unlinkSync,
    rmdirSync: naming(real.rmdirSync as Call<void>, first) as typeof fs.rmdirSync,
    mkdirSync: naming(real.mkdirSync as Call<unknown>, waysTo) as typeof fs.mkdirSync,
    fsyncSync: syncing(real.fsyncSync),
    fdatasyncSync: syncing(real.fdatasyncSync),
    fsync: asyncSync(real.fsync),
    fdatasync: asyncSync(real.fdatasync),
  })
  replaceBuiltins(fs.promises, {
    open: async (path, ...rest) => {
      const handle = await openHandle(path, ...rest)
      if (!disk.covers(path)) return handle
      const sync = async () => disk.sync(handle.fd)
      return Object.assign(handle, { sync, datasync: sync })
    },
    writeFile: naming(
      real.promises.writeFile as Call<unknown>,
      first,
    ) as typeof fs.promises.writeFile,
    copyFile: naming(
      real.promises.copyFile as Call<unknown>,
      second,
    ) as typeof fs.promises.copyFile,
    rename: naming(real.promises.rename as Call<unknown>, both) as typeof fs.promises.rename,
    rm: naming(real.promises.rm as Call<unknown>, treeOf) as typeof fs.promises.rm,
    unlink: naming(real.promises.unlink as Call<unknown>, first) as typeof fs.promises.unlink,
  })
  return disk
}
