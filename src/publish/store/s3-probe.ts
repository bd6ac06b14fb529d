/**
 * Finds out whether a server honours conditional writes, which the pointer depends on: many S3-compatible servers accept
 * the headers and ignore them, and then two publishers would overwrite each other in silence. Also finds out how the
 * server wants an ETag: quoted, as S3 gives it, or bare, as older Ceph does.
 */

import { randomInt, randomUUID } from 'node:crypto'
import type { Clock } from '../../support/clock.ts'
import { SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'

/** How `If-Match` must spell an ETag. */
export type EtagStyle = 'quoted' | 'bare'

export type Condition = { readonly IfNoneMatch: '*' } | { readonly IfMatch: string }

/** Writes the scratch object under a condition; the new ETag as sent, or null when the condition did not hold. */
export type WriteIf = (bytes: Uint8Array, condition: Condition) => Promise<string | null>

export function ifMatch(etag: string, style: EtagStyle): Condition {
  const bare = etag.replaceAll('"', '')
  return { IfMatch: style === 'bare' ? bare : `"${bare}"` }
}

// The scratch object has one fixed key, so two publishers that start together disturb each other's probe. A server that
// ignores conditions fails every time; a disturbed probe does not. The pauses differ, so that they do not meet again.
const ATTEMPTS = 5
const PAUSE_MS = SECOND / 4

/**
 * Probes on a scratch object, which may exist already and remains afterwards.
 * @param etag of the scratch object as sent; null when there is none
 * @throws PublishError when the server does not honour `If-None-Match: *` and `If-Match`
 */
export async function probeConditionalWrites(
  writeIf: WriteIf,
  etag: () => Promise<string | null>,
  destination: string,
  clock: Clock,
): Promise<EtagStyle> {
  for (let attempt = 1; ; attempt += 1) {
    const found = await probeOnce(writeIf, etag)
    if ('style' in found) return found.style
    if (attempt === ATTEMPTS) {
      const what = `${destination} does not honour conditional writes: ${found.fault}`
      throw new PublishError(`${what}; without them two publishers would overwrite each other`, {
        hint: 'Publish to a folder, or to a server that supports If-None-Match and If-Match on PutObject.',
      })
    }
    await clock.sleep(PAUSE_MS * attempt + randomInt(PAUSE_MS))
  }
}

async function probeOnce(
  writeIf: WriteIf,
  etag: () => Promise<string | null>,
): Promise<{ style: EtagStyle } | { fault: string }> {
  // Every write differs, so that every write has an ETag of its own.
  const write = (condition: Condition) =>
    writeIf(Buffer.from(`conditional write probe ${randomUUID()}\n`), condition)

  const first = (await write({ IfNoneMatch: '*' })) ?? (await etag())
  if (first === null) return { fault: 'a new object was refused as if it existed' }
  if ((await write({ IfNoneMatch: '*' })) !== null) {
    return { fault: 'it overwrote an object in spite of If-None-Match' }
  }
  for (const style of ['quoted', 'bare'] as const) {
    if ((await write(ifMatch(first, style))) === null) continue
    const stale = await write(ifMatch(first, style))
    return stale === null ? { style } : { fault: 'it overwrote an object in spite of If-Match' }
  }
  return { fault: 'it refused If-Match with the right ETag' }
}
