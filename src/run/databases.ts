/** Loads tables into databases after a publish or by `export`, and remembers them for an erasure. */

import { join } from 'node:path'
import { z } from 'zod'
import { computedModels } from '../model/computed-models.ts'
import { ownTables } from '../model/build-state.ts'
import { loadIntoPostgres, postgresTables } from '../publish/postgres.ts'
import { namesIn, readJson, writeJson } from '../support/atomic-file.ts'
import { ConfigError, expectedError, type JobtideError } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import { stableJson } from '../support/json.ts'
import { postgresAddress } from '../support/postgres-address.ts'
import { loadedTables, readModelFiles } from '../warehouse/catalog.ts'
import { tablesToExport } from '../warehouse/export-tables.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { StoreFindings } from './forget/pending.ts'
import type { DatabaseTarget } from './job.ts'
import type { RunWorld } from './stages.ts'

export const DEFAULT_SCHEMA = 'jobtide'

/**
 * Loads what has changed since the last load.
 * @param names of tables for analysts; null: all
 * @throws JobtideError when nothing was loaded
 */
export async function loadDatabase(
  warehouse: Warehouse,
  { to, schema }: Pick<DatabaseTarget, 'to' | 'schema'>,
  names: readonly string[] | null,
  world: RunWorld,
) {
  const { directory, clock, version, environment = {}, stop, onProgress } = world
  const address = postgresAddress(to, environment)
  const tables = await tablesToExport(warehouse, names)
  // Recorded before anything is loaded, because an erasure must look wherever people may be.
  remember(directory.root, { to, at: address.shown, schema })
  const own = await ownTables(warehouse)
  const models = [...loadedTables, ...computedModels, ...readModelFiles(), ...own]
  const loaded = await loadIntoPostgres({
    warehouse,
    address,
    schema,
    tables,
    keys: new Map(models.map(({ name, key }) => [name, key])),
    version,
    clock,
    scratchFolder: `${directory.scratch}.export-${process.pid}`,
    signal: stop,
    onProgress: (step) => onProgress({ stage: 'export', ...step }),
  })
  return {
    /** Without user and password. */
    database: address.shown,
    schema,
    tables: loaded,
  }
}

export interface DatabaseOutcome extends Awaited<ReturnType<typeof loadDatabase>> {
  /** Why nothing was loaded there; null where it was. */
  readonly problem: JobtideError | null
}

/** Like {@link loadDatabase} for each; a failure does not stop the others, because the snapshot is already published. */
export async function loadDatabases(
  warehouse: Warehouse,
  targets: readonly DatabaseTarget[],
  world: RunWorld,
): Promise<DatabaseOutcome[]> {
  const outcomes: DatabaseOutcome[] = []
  for (const target of targets) {
    try {
      const report = await loadDatabase(warehouse, target, target.tables ?? null, world)
      const changed = report.tables.filter(({ rowsChanged }) => rowsChanged !== null)
      world.logger.info({ at: report.database, tables: changed.length }, 'database_loaded')
      outcomes.push({ ...report, problem: null })
    } catch (error) {
      world.stop.throwIfAborted()
      const problem = expectedError(error)
      world.logger.warn({ reason: problem.message }, 'database_not_loaded')
      outcomes.push({ database: target.to, schema: target.schema, tables: [], problem })
    }
  }
  return outcomes
}

/** Why the first database that missed something did. */
export function problemIn(databases: readonly DatabaseOutcome[]): JobtideError | null {
  return databases.find(({ problem }) => problem !== null)?.problem ?? null
}

const memorySchema = z.object({ to: z.string(), at: z.string(), schema: z.string() })
type Memory = z.infer<typeof memorySchema>

const folderIn = (root: string) => join(root, 'databases')

// A file each: an export takes no lock.
function remember(root: string, memory: Memory): void {
  const name = sha256Hex(`${memory.at}\n${memory.schema}`).slice(0, 16)
  const path = join(folderIn(root), `${name}.json`)
  if (stableJson(readJson(path)) !== stableJson(memory)) writeJson(path, memory)
}

/** The databases that this data directory loaded, as an erasure names them; opens none of them. */
export function databasesToErase(root: string) {
  const folder = folderIn(root)
  return namesIn(folder, /\.json$/).map((name) => {
    const path = join(folder, name)
    const memory = memorySchema.safeParse(readJson(path)).data ?? null
    const found: StoreFindings = {
      destination: memory === null ? path : `${memory.at} (schema ${memory.schema})`,
      problem:
        memory === null
          ? 'damaged: which database was loaded is not known; remove it, and export there again'
          : null,
      snapshots: [],
      tables: [],
    }
    return { path, memory, found }
  })
}

/**
 * Loads our tables again wherever this data directory loaded some, from a warehouse without the erased rows. One that fails is a
 * `problem`, and does not keep people in the others.
 */
export async function eraseInDatabases(warehouse: Warehouse, world: RunWorld) {
  const findings: StoreFindings[] = []
  for (const { path, memory, found } of databasesToErase(world.directory.root)) {
    let erased = {}
    try {
      if (memory !== null) erased = await eraseInDatabase(warehouse, memory, world)
    } catch (error) {
      world.stop.throwIfAborted()
      const { message } = expectedError(error)
      erased = { problem: `${message}; where it is gone for good, remove ${path}` }
    }
    findings.push({ ...found, ...erased })
  }
  return findings
}

async function eraseInDatabase(
  warehouse: Warehouse,
  { to, at, schema }: Memory,
  world: RunWorld,
): Promise<Pick<StoreFindings, 'problem' | 'tables'>> {
  const address = postgresAddress(to, world.environment ?? {})
  if (address.shown !== at) throw new ConfigError(`${to} leads to ${address.shown} now`)
  const there = await postgresTables(address, schema, world.stop)
  const made = new Set((await tablesToExport(warehouse, null)).map(({ name }) => name))
  const tables = there.filter((name) => made.has(name))
  const { tables: loaded } = await loadDatabase(warehouse, { to, schema }, tables, world)
  const changed = loaded.filter(({ rowsChanged }) => (rowsChanged ?? 0) > 0)
  const left = there.filter((name) => !made.has(name)).join(', ')
  const problem = left && `nothing makes ${left} any longer: drop what is named there`
  return { problem: problem || null, tables: changed.map(({ name }) => name) }
}
