/** Whether the Delta log of a table tells the engines that read it the same as the manifest. */

import { StorageError, messageOf } from '../../support/errors.ts'
import { planCommit } from '../delta/commit-plan.ts'
import { readDeletionVectors } from '../delta/inline-vector.ts'
import type { DeltaLogSource } from '../delta/local-file.ts'
import { logFolder, tableFolder } from '../delta/log-files.ts'
import { readStoredLog, sequenceOf, type LogState } from '../delta/log.ts'
import type { Manifest, ManifestTable } from '../manifest.ts'
import type { Report } from './verify-findings.ts'

const MEND = '`jobtide publish` brings it up to date'

/** Verifies the log of a table of the snapshot that the pointer names, whose objects are proved. */
export async function verifyDeltaLog(
  source: DeltaLogSource,
  manifest: Manifest,
  table: ManifestTable,
  report: Report,
): Promise<void> {
  const { sequence } = manifest
  const stale = (message: string) => report('stale', logFolder(table.name), message)
  try {
    const { state, damaged } = await readStoredLog(source, table.name)
    for (const key of damaged) stale(`${key} cannot be read: ${MEND}`)
    const at = sequenceOf(state)
    if (state.version < 0) return stale(`there is no Delta log: ${MEND}`)
    if (at !== sequence) {
      const is = at < sequence ? 'stale' : 'ahead'
      return stale(`it is ${is}: at snapshot number ${at}, not ${sequence}; ${MEND}`)
    }
    const vectors = await readDeletionVectors(source, table)
    const plan = planCommit({ state, manifest, table, vectors }) ?? []
    const keyOf = (path: string) => tableFolder(table.name) + path
    const messages = plan.flatMap(({ metaData, protocol, add, remove }) => {
      if (metaData ?? protocol) return 'it has other columns'
      if (add) return `it does not name ${keyOf(add.path)} with the rows of the snapshot`
      return remove ? `it names ${keyOf(remove.path)}, or other rows of it` : []
    })
    for (const message of [...messages, ...wrongSizes(state, table)]) {
      report('delta', logFolder(table.name), message)
    }
  } catch (error) {
    // A disk or memory that is full says nothing of the log.
    if (error instanceof StorageError) throw error
    stale(`it cannot be read: ${messageOf(error)}`)
  }
}

function wrongSizes({ files }: LogState, table: ManifestTable): string[] {
  return table.files
    .filter(({ key, bytes, rows }) => {
      const known = files.get(key.slice(tableFolder(table.name).length))
      if (known === undefined) return false
      const { numRecords = rows } = JSON.parse(known.stats ?? '{}') as { numRecords?: unknown }
      return known.size !== bytes || numRecords !== rows
    })
    .map(({ key }) => `it names ${key} with other bytes or rows`)
}
