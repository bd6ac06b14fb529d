/** Forgetting where snapshots were published, and the proof of it there. */

import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { findInStore, forgetInStore } from '../../publish/forget/forget.ts'
import type { Forgotten } from '../../publish/forget/forget-find.ts'
import type { StoreFindings } from '../../publish/forget/forget-snapshots.ts'
import { EXIT, JobtideError } from '../../support/errors.ts'
import { newUlid } from '../../support/ulid.ts'
import { openWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import type { StoreCertificate } from './forget-certificate.ts'
import type { Pending } from './forget-pending.ts'
import { searchFolder, searchStore, type Proof } from './forget-proof.ts'
import type { Marker } from './forget-texts.ts'
import { passingFolder, tell, type ForgetTarget, type ForgetWorld } from './forget-world.ts'
import { openTarget } from '../stages.ts'

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
  const { directory, clock, logger, stop } = world
  const destination = target.to
  const nothing = { destination, findings: null }
  if (isGone(destination)) return { ...nothing, problem: null }
  return withEngine(world, target, async (engine) => {
    const findings = await findInStore({
      store: await openTarget(target, world),
      forgotten: forgottenOf(profileIds, markers),
      warehouse: engine,
      scratchFolder: passingFolder(directory),
      clock,
      logger,
      signal: stop,
      onFile: (done, total) => tell(world, { step: 'store', destination, done, total }),
    })
    return { destination, problem: null, findings }
  }).catch((error: unknown) => ({ ...nothing, problem: problemOf(world, error) }))
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
  const { directory, clock, logger, stop } = world
  const destination = target.to
  const nothing = { destination, report: null }
  if (isGone(destination)) return { ...nothing, problem: null }
  return withEngine(world, target, async (engine) => {
    const report = await forgetInStore({
      store: await openTarget(target, world),
      forgotten: forgottenOf(profileIds, markers),
      warehouse: engine,
      scratchFolder: passingFolder(directory),
      snapshotId: attempts.at(-1) ?? newUlid(clock.now()),
      earlier: attempts.slice(0, -1),
      clock,
      host: hostname(),
      pid: process.pid,
      logger,
      signal: stop,
      onFile: (done, total) => tell(world, { step: 'store', destination, done, total }),
    })
    return { destination, problem: null, report }
  }).catch((error: unknown) => ({ ...nothing, problem: problemOf(world, error) }))
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

async function withEngine<T>(
  world: ForgetWorld,
  { to: destination }: ForgetTarget,
  work: (engine: Warehouse) => Promise<T>,
): Promise<T> {
  tell(world, { step: 'store', destination })
  const engine = await openWarehouse({ path: ':memory:', mode: 'write' })
  try {
    return await work(engine)
  } finally {
    engine.close()
  }
}

function problemOf({ stop }: ForgetWorld, error: unknown): string {
  stop.throwIfAborted()
  // A defect is to be seen, not to be told in passing.
  if (error instanceof JobtideError && error.exitCode !== EXIT.defect) return error.message
  throw error
}
