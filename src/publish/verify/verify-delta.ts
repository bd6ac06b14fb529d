/**
 * Whether the Delta log of a table tells the engines that read it the same as the manifest tells everybody else: the same
 * files, the same deleted rows of each, the same columns.
 */

import { messageOf } from '../../support/errors.ts'
import { quoteText, type Warehouse } from '../../warehouse/warehouse.ts'
import { logFolder } from '../delta/log-files.ts'
import { readDeltaLog, type DeltaFile, type DeltaLog } from '../delta/log.ts'
import type { DeltaLogSource } from '../delta/local-file.ts'
import { schemaString } from '../delta/schema.ts'
import type { ManifestFile, ManifestTable } from '../manifest.ts'
import { DELETED } from './verify-file.ts'
import type { Report } from './verify-findings.ts'

const MEND = '`jobtide publish` brings it up to date'

/** Which log is verified, and against what. */
export interface DeltaVerification {
  readonly table: ManifestTable
  /** Number of the snapshot that the pointer names. */
  readonly sequence: number
  /** Whether `DELETED` holds the table's deleted rows. */
  readonly isListKnown: boolean
  /** False takes no offence at a log that is missing, unreadable or that of another snapshot. */
  readonly isNeeded: boolean
}

/** Verifies the log of a table of the snapshot that the pointer names. */
export async function verifyDeltaLog(
  source: DeltaLogSource,
  { table, sequence, isListKnown, isNeeded }: DeltaVerification,
  report: Report,
): Promise<void> {
  const wrong = (message: string) =>
    report({ kind: 'delta', table: table.name, object: logFolder(table.name), message })
  try {
    const log = await readDeltaLog(source, table.name)
    if (!isNeeded && log?.txnVersion !== sequence) return
    if (log === null) wrong(`there is no Delta log: ${MEND}`)
    else if (log.txnVersion !== sequence) {
      const is = log.txnVersion < sequence ? 'stale' : 'ahead'
      wrong(`it is ${is}: at snapshot number ${log.txnVersion}, not ${sequence}; ${MEND}`)
    } else {
      for (const message of await differences(source.warehouse, table, log, isListKnown))
        wrong(message)
    }
  } catch (error) {
    if (!isNeeded) return
    wrong(`it cannot be read: ${messageOf(error)}`)
  }
}

async function differences(
  warehouse: Warehouse,
  table: ManifestTable,
  log: DeltaLog,
  isListKnown: boolean,
): Promise<string[]> {
  const problems: string[] = []
  if (log.schemaString !== schemaString(table)) problems.push('it has other columns')
  const unknown = new Map(log.files)
  for (const file of table.files) {
    const known = unknown.get(file.key)
    unknown.delete(file.key)
    if (known === undefined) problems.push(`it does not name ${file.key}`)
    else if (known.bytes !== file.bytes || (known.rows !== null && known.rows !== file.rows)) {
      problems.push(`it names ${file.key} with other bytes or rows`)
    } else if (isListKnown && !(await hasSameDeletedRows(warehouse, file, known))) {
      problems.push(`other rows of ${file.key} are deleted in it`)
    }
  }
  return [
    ...problems,
    ...[...unknown.keys()].map((key) => `it names ${key}, which is not in the snapshot`),
  ]
}

async function hasSameDeletedRows(
  warehouse: Warehouse,
  { sha256 }: ManifestFile,
  { deletedPositions }: DeltaFile,
): Promise<boolean> {
  const rows = await warehouse.all<{ position: bigint }>(
    `select position from ${DELETED} where file = ${quoteText(sha256)} order by position`,
  )
  const known = deletedPositions ?? []
  return (
    known.length === rows.length && rows.every(({ position }, at) => Number(position) === known[at])
  )
}
