/**
 * Whether the Delta log of a table tells the engines that read it the same as the manifest: the same files, the same
 * deleted rows of each, the same columns.
 */

import { messageOf } from '../../support/errors.ts'
import { quoteText } from '../../warehouse/warehouse.ts'
import type { DeltaLogSource } from '../delta/local-file.ts'
import { logFolder } from '../delta/log-files.ts'
import { readDeltaLog, type DeltaLog } from '../delta/log.ts'
import { schemaString } from '../delta/schema.ts'
import type { ManifestTable } from '../manifest.ts'
import type { Finding } from './verify-findings.ts'
import { DELETED } from './verify-table.ts'

const MEND = '`jobtide publish` brings it up to date'

/** Verifies the log of a table of the snapshot that the pointer names; its deletion vector is in `DELETED` if it is known. */
export async function verifyDeltaLog(
  source: DeltaLogSource,
  table: ManifestTable,
  sequence: number,
  isVectorKnown: boolean,
): Promise<Finding[]> {
  const finding = (kind: 'delta' | 'stale', message: string): Finding => {
    return { kind, table: table.name, object: logFolder(table.name), message }
  }
  try {
    const log = await readDeltaLog(source, table.name)
    if (log === null) return [finding('stale', `there is no Delta log: ${MEND}`)]
    if (log.txnVersion === sequence) {
      const problems = await differences(source, table, isVectorKnown, log)
      return problems.map((problem) => finding('delta', problem))
    }
    const is = log.txnVersion < sequence ? 'stale' : 'ahead'
    const message = `it is ${is}: at snapshot number ${log.txnVersion}, not ${sequence}; ${MEND}`
    return [finding('stale', message)]
  } catch (error) {
    return [finding('stale', `it cannot be read: ${messageOf(error)}`)]
  }
}

async function differences(
  { warehouse }: DeltaLogSource,
  table: ManifestTable,
  isVectorKnown: boolean,
  log: DeltaLog,
): Promise<string[]> {
  const problems = log.schemaString === schemaString(table) ? [] : ['it has other columns']
  const unknown = new Map(log.files)
  for (const { key, bytes, rows, sha256 } of table.files) {
    const known = unknown.get(key)
    unknown.delete(key)
    if (known === undefined) problems.push(`it does not name ${key}`)
    else if (known.bytes !== bytes || (known.rows !== null && known.rows !== rows)) {
      problems.push(`it names ${key} with other bytes or rows`)
    } else if (isVectorKnown) {
      const deleted = await warehouse.all<{ position: bigint }>(
        `select position from ${DELETED} where file = ${quoteText(sha256)} order by position`,
      )
      const same = deleted.map(({ position }) => Number(position)).join()
      if (same !== (known.deletedPositions ?? []).join()) {
        problems.push(`other rows of ${key} are deleted in it`)
      }
    }
  }
  const more = [...unknown.keys()].map((key) => `it names ${key}, which is not in the snapshot`)
  return [...problems, ...more]
}
