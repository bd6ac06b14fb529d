/** Who wrote an intent, so that others on the same machine can tell whether that process still runs. */

import { readlinkSync } from 'node:fs'
import { z } from 'zod'
import { jsonOrNull } from '../../support/json.ts'
import { isSurelyGone, thisProcess, type ProcessIdentity } from '../../support/lock-file.ts'

/** A process that publishes. */
export interface IntentWriter extends ProcessIdentity {
  /** Numbers of processes mean something within it only: two containers of one name have each their own. */
  readonly pid_namespace: string
}

const UNKNOWN = 'unknown'

const writerSchema = z.object({
  pid: z.int().positive(),
  host: z.string(),
  boot_id: z.string(),
  started: z.string(),
  pid_namespace: z.string(),
})

/** This process, as it signs its intents. */
export function thisWriter(): IntentWriter {
  return { ...thisProcess(), pid_namespace: pidNamespace() }
}

/** Whether anything can be known here of other processes. */
export function canTellWriters(): boolean {
  return !Object.values(thisWriter()).includes(UNKNOWN)
}

/**
 * Whether the process that wrote an intent is certainly gone. Where that cannot be known (another machine or container,
 * the time before a restart, a system that does not say, an intent of Jobtide 0.4) it counts as running.
 */
export function isWriterGone(intent: Uint8Array): boolean {
  const { data: writer } = writerSchema.safeParse(jsonOrNull(Buffer.from(intent).toString()))
  if (writer === undefined || Object.values(writer).includes(UNKNOWN)) return false
  const { boot_id: bootId, pid_namespace: namespace } = thisWriter()
  // isSurelyGone takes another boot for a restart; of a store it may as well be another machine of the same name.
  if (writer.boot_id !== bootId || writer.pid_namespace !== namespace) return false
  return isSurelyGone(writer)
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return UNKNOWN
  }
}
