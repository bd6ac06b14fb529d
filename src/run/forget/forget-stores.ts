/** Forgetting where snapshots were published, and the proof of it there. */

import { existsSync } from 'node:fs'
import { findInStore, forgetInStore } from '../../publish/forget/forget.ts'
import type { Forgotten } from '../../publish/forget/forget-find.ts'
import type { SearchOptions, StoreFindings } from '../../publish/forget/forget-snapshots.ts'
import { thisWriter } from '../../publish/sweep/intent-writer.ts'
import { EXIT, JobtideError } from '../../support/errors.ts'
import { newUlid } from '../../support/ulid.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import { openTarget } from '../stages.ts'
import type { StoreCertificate } from './forget-certificate.ts'
import type { Pending } from './forget-pending.ts'
import { searchFolder, searchStore, type Proof } from './forget-proof.ts'
import type { Marker } from './forget-texts.ts'
import { passingFolder, tell, type ForgetTarget, type ForgetWorld } from './forget-world.ts'

/** What was found in one destination; null where there is no such folder. */
export interface TargetFindings {
  readonly destination: string
  /** Why it could not be looked at; null where it was. */
  readonly problem: string | null
  readonly findings: StoreFindings | null
}

/** The destinations that snapshots of this warehouse were published to. */
export async function knownDestinations(warehouse: Warehouse): Promise<string[]> {
  const rows = await warehouse.all<{ destination: string }>(
    'select distinct destination from ops.snapshots order by 1',
  )
  return rows.map(({ destination }) => destination)
}

/** Looks through one destination; changes nothing. */
export async function findInTarget(
  world: ForgetWorld,
  target: ForgetTarget,
  profileIds: readonly string[],
  markers: readonly Marker[],
): Promise<TargetFindings> {
  const { found: findings, ...where } = await inTarget(
    world,
    target,
    forgottenOf(profileIds, markers),
    findInStore,
  )
  return { ...where, findings }
}

/**
 * Forgets in one destination. One that fails does not keep people in the others: that is its `problem`.
 * @param pending its last attempt is this one
 */
export async function forgetInTarget(
  world: ForgetWorld,
  target: ForgetTarget,
  { profile_ids: profileIds, attempts }: Pick<Pending, 'profile_ids' | 'attempts'>,
  markers: readonly Marker[],
): Promise<StoreCertificate> {
  const { found: report, ...where } = await inTarget(
    world,
    target,
    forgottenOf(profileIds, markers),
    (search) =>
      forgetInStore({
        ...search,
        snapshotId: attempts.at(-1) ?? newUlid(world.clock.now()),
        earlier: attempts.slice(0, -1),
        writer: thisWriter(),
      }),
  )
  return { ...where, report }
}

/** Searches one destination; null where there is nothing, or where it was searched with the data directory. */
export async function searchTarget(
  world: ForgetWorld,
  target: ForgetTarget,
  markers: readonly Marker[],
  onFile: (done: number, total: number) => void,
): Promise<Proof | null> {
  const { directory, clock, stop } = world
  const options = { markers, scratchFolder: passingFolder(directory), clock, signal: stop, onFile }
  if (target.to.startsWith('s3://')) return searchStore(await openTarget(target, world), options)
  if (isGone(target.to) || target.to.startsWith(`${directory.root}/`)) return null
  return searchFolder(target.to, options)
}

function isGone(destination: string): boolean {
  return !destination.startsWith('s3://') && !existsSync(destination)
}

function forgottenOf(profileIds: readonly string[], markers: readonly Marker[]): Forgotten {
  return {
    profileIds,
    texts: markers.filter(({ isUnique }) => isUnique).map(({ text }) => text),
  }
}

interface InTarget<T> {
  readonly destination: string
  readonly problem: string | null
  readonly found: T | null
}

/** Works in one destination with an engine of its own. */
async function inTarget<T>(
  world: ForgetWorld,
  target: ForgetTarget,
  forgotten: Forgotten,
  work: (search: SearchOptions) => Promise<T>,
): Promise<InTarget<T>> {
  const { directory, clock, logger, stop } = world
  const destination = target.to
  if (isGone(destination)) return { destination, problem: null, found: null }
  tell(world, { step: 'store', destination })
  return withWarehouse({ path: ':memory:', mode: 'write' }, async (engine) => {
    const found = await work({
      store: await openTarget(target, world),
      forgotten,
      warehouse: engine,
      scratchFolder: passingFolder(directory),
      clock,
      logger,
      signal: stop,
      onFile: (done, total) => tell(world, { step: 'store', destination, done, total }),
    })
    return { destination, problem: null, found }
  }).catch((error: unknown) => ({ destination, problem: problemOf(world, error), found: null }))
}

function problemOf({ stop }: ForgetWorld, error: unknown): string {
  stop.throwIfAborted()
  // A defect is to be seen, not to be told in passing.
  if (error instanceof JobtideError && error.exitCode !== EXIT.defect) return error.message
  throw error
}
