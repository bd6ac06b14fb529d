/** Refuses an erasure if this version, or this copy, cannot erase from a destination or backup. */

import type { Journal } from '../../journal/journal.ts'
import { readCurrent } from '../../publish/read-snapshot.ts'
import type { ObjectStore } from '../../publish/store/object-store.ts'
import { openStore } from '../../publish/store/open-store.ts'
import { EXIT, JobtideError } from '../../support/errors.ts'
import { lookBefore } from '../../warehouse/warehouse.ts'
import { refuseNewerBackups } from '../backup/erase-backups.ts'
import { knownDestinations } from './snapshots.ts'
import type { ErasureWorld } from './world.ts'

/**
 * Looks at every place before anything is changed: otherwise half an erasure would be left, which this version cannot finish.
 * A place that is out of reach or damaged does not keep people in the others.
 * @throws JobtideError for a place of a newer version, or a backup that knows more than the journal here
 */
export async function refuseNewerPlaces(world: ErasureWorld, journal: Journal): Promise<void> {
  const { directory, clock, s3Endpoint } = world
  const known = (await lookBefore(directory.warehouse, (open) => knownDestinations(open))) ?? []
  const targets = world.targets(known)
  for (const { to, s3 } of targets) {
    await lookAt(() => openStore(to, { clock, s3, s3Endpoint, access: 'read' }), readCurrent)
  }
  await refuseNewerBackups(world, journal, targets)
}

async function lookAt(
  open: () => Promise<ObjectStore>,
  read: (store: ObjectStore) => Promise<unknown>,
): Promise<void> {
  const store = await open().catch(unless(() => false))
  if (store !== null) await read(store).catch(unless(({ exitCode }) => exitCode === EXIT.usage))
}

/** Makes nothing of a failure that Jobtide expects, unless it `matters`. */
function unless(matters: (error: JobtideError) => boolean) {
  return (error: unknown): null => {
    if (!(error instanceof JobtideError) || matters(error)) throw error
    return null
  }
}
