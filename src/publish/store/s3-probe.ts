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

/** A condition of a write. */
export type Condition = { readonly absent: true } | { readonly etag: string }

/** Writes to the scratch object. */
export interface ProbeTarget {
  /** Writes under a condition; the new ETag as sent, or null when the condition did not hold. */
  write(bytes: Uint8Array, condition: Condition): Promise<string | null>
  /** The ETag of the scratch object as sent; null when there is none. */
  etag(): Promise<string | null>
}

/** Spells an ETag in a style. */
export function spellEtag(etag: string, style: EtagStyle): string {
  const bare = etag.replaceAll('"', '')
  return style === 'bare' ? bare : `"${bare}"`
}

// The scratch object has one fixed key, so two publishers that start together disturb each other's probe. A server that
// ignores conditions fails every time; a disturbed probe does not. The pauses differ, so that they do not meet again.
const ATTEMPTS = 5
const PAUSE_MS = SECOND / 4

/**
 * Probes on a scratch object, which may exist already and remains afterwards.
 * @throws PublishError when the server does not honour `If-None-Match: *` and `If-Match`
 */
export async function probeConditionalWrites(
  target: ProbeTarget,
  destination: string,
  clock: Clock,
): Promise<EtagStyle> {
  let found = await probeOnce(target)
  for (let attempt = 1; attempt < ATTEMPTS && 'fault' in found; attempt += 1) {
    await clock.sleep(PAUSE_MS * attempt + randomInt(PAUSE_MS))
    found = await probeOnce(target)
  }
  if ('style' in found) return found.style
  throw new PublishError(
    `${destination} does not honour conditional writes: ${found.fault}; without them two publishers would overwrite each other`,
    {
      hint: 'Publish to a folder, or to a server that supports If-None-Match and If-Match on PutObject.',
    },
  )
}

async function probeOnce(target: ProbeTarget): Promise<{ style: EtagStyle } | { fault: string }> {
  // Every write differs, so that every write has an ETag of its own.
  const write = (condition: Condition) =>
    target.write(Buffer.from(`conditional write probe ${randomUUID()}\n`), condition)

  const first = (await write({ absent: true })) ?? (await target.etag())
  if (first === null) return { fault: 'a new object was refused as if it existed' }
  if ((await write({ absent: true })) !== null) {
    return { fault: 'it overwrote an object in spite of If-None-Match' }
  }
  for (const style of ['quoted', 'bare'] as const) {
    const second = await write({ etag: spellEtag(first, style) })
    if (second === null) continue
    const stale = await write({ etag: spellEtag(first, style) })
    return stale === null ? { style } : { fault: 'it overwrote an object in spite of If-Match' }
  }
  return { fault: 'it refused If-Match with the right ETag' }
}
