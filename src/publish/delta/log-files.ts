/** The names in a `_delta_log` folder, and which of them may go. Pure. */

import { DAY } from '../../support/units.ts'
import type { StoredObject } from '../store/object-store.ts'

/** What is kept of a log, the default of `delta.logRetentionDuration`. */
const LOG_RETENTION_DAYS = 30
const VERSION_DIGITS = 20
const COMMIT = /\/(\d{20})\.json$/
const CHECKPOINT = /\/(\d{20})\.checkpoint\.parquet$/
const OF_A_VERSION = /\/(\d{20})\.[^/]*$/

/** The folder of a table's data files, to which the paths of its log are relative; ends in a slash. */
export function tableFolder(table: string): string {
  return `tables/${table}/`
}

export function logFolder(table: string): string {
  return `${tableFolder(table)}_delta_log/`
}

export function commitKey(table: string, version: number): string {
  return `${logFolder(table)}${padded(version)}.json`
}

export function checkpointKey(table: string, version: number): string {
  return `${logFolder(table)}${padded(version)}.checkpoint.parquet`
}

export function lastCheckpointKey(table: string): string {
  return `${logFolder(table)}_last_checkpoint`
}

function padded(version: number): string {
  return String(version).padStart(VERSION_DIGITS, '0')
}

/** The versions that a log has commits and checkpoints of, each ascending; keys of other kinds are passed over. */
export function versionsOf(keys: readonly string[]): { commits: number[]; checkpoints: number[] } {
  return { commits: matching(keys, COMMIT), checkpoints: matching(keys, CHECKPOINT) }
}

function matching(keys: readonly string[], name: RegExp): number[] {
  const versions = keys.flatMap((key) => name.exec(key)?.[1] ?? []).map(Number)
  return versions.toSorted((a, b) => a - b)
}

/**
 * The keys of a table's log that may be deleted, as the protocol's "Metadata Cleanup" has it: what came before the newest
 * checkpoint that was itself reached before midnight UTC, 30 days ago. So every version of the last 30 days can be read.
 */
export function expiredLogFiles(objects: readonly StoredObject[], now: number): string[] {
  const cutOff = (Math.floor(now / DAY) - LOG_RETENTION_DAYS) * DAY
  const old = objects.filter(({ modifiedAt }) => modifiedAt <= cutOff).map(({ key }) => key)
  const lastCommit = versionsOf(old).commits.at(-1)
  if (lastCommit === undefined) return []
  const keys = objects.map(({ key }) => key)
  const checkpoint = versionsOf(keys).checkpoints.findLast((version) => version <= lastCommit)
  return checkpoint === undefined ? [] : logFilesBefore(keys, checkpoint)
}

/** The keys of commits and checkpoints of versions before `version`, and of what other engines keep beside them. */
export function logFilesBefore(keys: readonly string[], version: number): string[] {
  return keys.filter((key) => Number(OF_A_VERSION.exec(key)?.[1] ?? version) < version)
}
