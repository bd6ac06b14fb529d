/** Limits DuckDB's share of the machine, and chooses its folder for temporary files. */

import { randomUUID } from 'node:crypto'
import { accessSync, constants, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { memoryOfProcess } from '../support/memory.ts'
import { GIB, MIB } from '../support/units.ts'

export interface WarehouseOptions {
  /** The database file, or `:memory:`. */
  readonly path: string
  /** `write` creates the file and brings its schema up to date; `read` needs an existing file and changes nothing. */
  readonly mode: 'read' | 'write'
  /** DuckDB's memory limit such as `1GB`; default: {@link shareOfEngine}. */
  readonly memoryLimit?: string
  /** The folder for data that does not fit into memory; default: {@link spillFolderOf} the file. */
  readonly spillFolder?: string
  /** Threads, 1 or more; default: one for each core, at most 4, and no more than there is memory for. */
  readonly threads?: number
}

// The oldest version that can read new files: DuckDB 1.3, of May 2025. By default the engine writes files for 1.0, without the
// text compression of 1.3: 29.5 million rows took 37 s to write instead of 26 s, and a sixth longer to read.
const STORAGE_VERSION = 'v1.3.0'

const FREED_AT_MOST = '4MiB'

/** The settings that open the engine. */
export function engineSettings(options: WarehouseOptions): Record<string, string> {
  return {
    // Extensions would be downloaded at run time; Jobtide needs none beyond those built in.
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    storage_compatibility_version: STORAGE_VERSION,
    // Freed memory returns to the system at once; by default the engine keeps up to 512 MiB, whatever its limit.
    allocator_flush_threshold: FREED_AT_MOST,
    allocator_bulk_deallocation_flush_threshold: FREED_AT_MOST,
    ...(options.mode === 'read' ? { access_mode: 'READ_ONLY' } : {}),
    temp_directory: spillFolderOf(options),
    memory_limit: options.memoryLimit ?? `${Math.floor(shareOfEngine() / MIB)}MiB`,
    threads: String(options.threads ?? mostThreads()),
  }
}

const OF_THIS_PROCESS = randomUUID()

/**
 * Next to the database file and as private; the next writer removes what killed processes left. By default all
 * processes that read a file share one folder, and damage each other's files.
 */
export function spillFolderOf({
  path,
  spillFolder,
}: Pick<WarehouseOptions, 'path' | 'spillFolder'>): string {
  const elsewhere = join(tmpdir(), `jobtide-${OF_THIS_PROCESS}`)
  if (spillFolder !== undefined || path === ':memory:') return spillFolder ?? elsewhere
  try {
    accessSync(dirname(path), constants.W_OK)
    return `${path}.tmp.${OF_THIS_PROCESS}`
  } catch {
    return elsewhere
  }
}

export function removeSpillFolder(options: WarehouseOptions): void {
  rmSync(spillFolderOf(options), { recursive: true, force: true })
}

const LARGEST_SPILLED = 16 * GIB
let toldLimit: number | null = null

/** Sets how much the engine may spill. @param bytes null: half of the free disk space, at most 16 GiB */
export function limitSpilled(bytes: number | null): void {
  toldLimit = bytes
}

/** How much the engine may spill, in its own format. Separate from the settings, which must be the same each time. */
export function spillLimitFor(options: WarehouseOptions): string {
  const { bavail, bsize } = statfsSync(dirname(spillFolderOf(options)))
  const bytes = toldLimit ?? Math.min((bavail * bsize) / 2, LARGEST_SPILLED)
  return `${Math.round(bytes / MIB)}MiB`
}

// Every thread holds its own buffers: with two threads, 390,000 and 590,000 events needed more than 96 MiB a thread,
// but no more than 104. So a machine with many cores gives a nightly job four threads.
const SMALLEST_LIMIT_PER_THREAD = 104 * MIB
const MOST_THREADS = 4

// For Node, the journal's pages and what the engine does not count. Without a limit, a run over 52,608 events was
// killed in 300 MB, but not in 400 MB.
const OUTSIDE_ENGINE = 224 * MIB
const SMALLEST_SHARE = 64 * MIB
// At half, a run of 131,811 events of 39,163 organisations took 738 to 827 of 800 MB.
const LARGEST_PART = 0.45

/** A ceiling in bytes: 45 % of what the process may take, or less if that leaves too little for the rest. */
function shareOfEngine(): number {
  const memory = memoryOfProcess()
  return Math.max(SMALLEST_SHARE, Math.min(memory * LARGEST_PART, memory - OUTSIDE_ENGINE))
}

function mostThreads(): number {
  const fed = Math.floor(shareOfEngine() / SMALLEST_LIMIT_PER_THREAD)
  return Math.max(1, Math.min(availableParallelism(), MOST_THREADS, fed))
}
