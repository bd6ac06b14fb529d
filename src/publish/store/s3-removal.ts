/** Removing many objects of a bucket so that all are gone, or the error says which is not. */

import type { Clock } from '../../support/clock.ts'
import { SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import type { BucketConnection } from './s3-client.ts'
import {
  abortUpload,
  listUploads,
  listVersions,
  REMOVE_AT_ONCE,
  removeObjects,
  type ObjectName,
} from './s3-upkeep.ts'

// A removal of many answers 200 also where single keys failed; the SDK does not ask again for those.
const ATTEMPTS = 4
const PAUSE_MS = SECOND / 4

// Reasons not to remove a key that pass by themselves.
const PASSING = new Set(['InternalError', 'SlowDown', 'ServiceUnavailable', 'OperationAborted'])

/**
 * Removes any number of objects or versions; what is not there counts as removed.
 * @throws PublishError when one of them is still there, naming it
 */
export async function removeAll(
  connection: BucketConnection,
  names: readonly ObjectName[],
  clock: Clock,
): Promise<void> {
  for (let at = 0; at < names.length; at += REMOVE_AT_ONCE) {
    await removeBatch(connection, names.slice(at, at + REMOVE_AT_ONCE), clock)
  }
}

async function removeBatch(
  connection: BucketConnection,
  names: readonly ObjectName[],
  clock: Clock,
): Promise<void> {
  let left = names
  for (let attempt = 1; ; attempt += 1) {
    const failures = await removeObjects(connection, left)
    const [first] = failures
    if (first === undefined) return
    if (attempt === ATTEMPTS || failures.every(({ code }) => !PASSING.has(code))) {
      const others = failures.length === 1 ? '' : ` and ${failures.length - 1} others`
      throw new PublishError(
        `${connection.url}/${first.key}${others} could not be removed (${first.code})`,
        { hint: removalHint(first.code), context: { failures: failures.slice(0, 100) } },
      )
    }
    // The names as asked, never as answered: a version whose id an answer leaves out would be asked for as the object.
    left = left.filter(({ key, versionId }) =>
      failures.some(
        (failure) => failure.key === key && (failure.versionId ?? versionId) === versionId,
      ),
    )
    await clock.sleep(PAUSE_MS * attempt)
  }
}

function removalHint(code: string): string {
  return code === 'AccessDenied'
    ? 'The credentials need s3:DeleteObject and s3:DeleteObjectVersion there, and no lock may lie on the object.'
    : 'Try again later.'
}

/** Removes every version that is not the latest, and every marker of a removed object; returns how many. */
export async function removeOldVersions(
  connection: BucketConnection,
  clock: Clock,
): Promise<number> {
  const versions = await listVersions(connection)
  const old = versions.filter(({ isLatest, isMarker }) => !isLatest && !isMarker)
  const markers = versions.filter(({ isMarker }) => isMarker)
  // Markers go last and by themselves: without its marker a removed object would be there again.
  await removeAll(connection, old, clock)
  await removeAll(connection, markers, clock)
  return old.length + markers.length
}

/** Aborts uploads that were begun before (milliseconds since 1970 UTC); returns how many. */
export async function abortUploads(
  connection: BucketConnection,
  begunBefore: number,
): Promise<number> {
  let aborted = 0
  for (const upload of await listUploads(connection)) {
    if (upload.begunAt >= begunBefore) continue
    if (await abortUpload(connection, upload)) aborted += 1
  }
  return aborted
}
