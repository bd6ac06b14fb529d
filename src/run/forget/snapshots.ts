/**
 * Erases people from published snapshots: finds the snapshots that name them, publishes one without them, and drops the old
 * ones.
 */

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { IDENTITY_FILE, openJournal, type Journal } from '../../journal/journal.ts'
import { dropSnapshots, parseKeep } from '../../publish/retention.ts'
import {
  isOfThisFormat,
  objectsOf,
  POINTER_KEY,
  snapshotKeys,
  listSnapshots,
  readCurrent,
  type StoredManifest,
} from '../../publish/manifest.ts'
import { PublishError } from '../../publish/errors.ts'
import { withScratchEngine } from '../../publish/scratch.ts'
import type { ObjectStore } from '../../publish/store/object-store.ts'
import { isFolderAddress, withoutSlash } from '../../publish/store/open-store.ts'
import { packageRoot } from '../../support/assets.ts'
import { ConfigError, EXIT, JobtideError, expectedError } from '../../support/errors.ts'
import { isWithin } from '../../support/file-modes.ts'
import { countText } from '../../support/numbers.ts'
import { lookBefore, withWarehouse } from '../../warehouse/warehouse.ts'
import { refuseNewerBackups } from '../backup/back-up.ts'
import { dataDirectory } from '../data-directory.ts'
import { readSnapshotTarget, type SnapshotTarget } from '../job.ts'
import { pipelineFilesIn, unlessWrong } from '../pipeline-file.ts'
import { loadStage, openTarget, publishStage } from '../stages.ts'
import { knownDestinations } from './known.ts'
import { wasGone, type Marker, type StoreFindings } from './pending.ts'
import {
  searchFolder,
  searchStore,
  unsearchedIn,
  scratchOf,
  searchIn,
  type ErasureWorld,
  type SearchReport,
} from './search.ts'

/**
 * The destinations `known` of a data directory, and that of `pipeline` where it is none of them, each as the pipelines in
 * ./pipelines, or Jobtide's own, reach it.
 * @throws ConfigError when that pipeline cannot be read
 */
export function targetsOf(dataDir: string, pipeline: string | undefined, known: readonly string[]) {
  const named = pipeline === undefined ? null : readSnapshotTarget(pipeline, {}, dataDir)
  const folders = [resolve('pipelines'), join(packageRoot, 'pipelines')]
  const files = folders.flatMap(pipelineFilesIn)
  const declared = [
    named,
    ...files.map((file) => unlessWrong(() => readSnapshotTarget(file, {}, dataDir))),
  ].filter((target) => target !== null)
  // A folder that was never published to need not exist.
  const isThere = named !== null && (!isFolderAddress(named.to) || existsSync(named.to))
  const wanted = [...known, ...(isThere ? [named.to] : [])].map(withoutSlash)
  const keep = parseKeep(100_000)
  return [...new Set(wanted)].map(
    (to) => declared.find((target) => withoutSlash(target.to) === to) ?? { to, s3: {}, keep },
  )
}

/**
 * Looks at every place before anything is changed: otherwise half an erasure would be left, which this version cannot finish.
 * A place that is out of reach or damaged does not keep people in the others.
 * @throws JobtideError for a place of a newer version, a backup that knows more than the journal here, or a place that is said to
 *   be gone and that nothing was published to
 */
export async function refuseNewerPlaces(world: ErasureWorld, journal: Journal): Promise<void> {
  const known = await lookBefore(world.directory.warehouse, (open) => knownDestinations(open))
  const targets = world.targets(known ?? [])
  const places = targets.map(({ to }) => withoutSlash(to))
  const unknown = world.gone?.find((place) => !places.includes(place))
  if (unknown !== undefined) {
    throw new ConfigError(`no snapshot was published to ${unknown}`, {
      hint: `Snapshots were published to: ${places.join(', ') || 'nowhere'}. Nothing was changed.`,
    })
  }
  for (const target of targets) {
    let store: ObjectStore | null = null
    try {
      store = await openTarget(target, world, 'read')
      await readCurrent(store)
    } catch (error) {
      if (!(error instanceof JobtideError)) throw error
      if (store !== null && error.exitCode === EXIT.usage) throw error
    }
  }
  await refuseNewerBackups(world, journal)
}

/**
 * The data directory that has a copy of this one's journal, and that a folder lies in; null for none. Its
 * snapshots are not ours to replace: their readers would see our rows, and its next publish would be refused.
 */
function copyAround(root: string, place: string): string | null {
  const identity = identityIn(root)
  if (identity === null || !isFolderAddress(place) || isWithin(root, place)) return null
  for (let at = dirname(place); at !== dirname(at); at = dirname(at)) {
    if (identityIn(at) === identity) return at
  }
  return null
}

// A `journal` above the folder may be a file, or of another account: then it is not a copy of this one's.
function identityIn(root: string): string | null {
  try {
    return readFileSync(join(dataDirectory(root).journal, IDENTITY_FILE), 'utf8').trim() || null
  } catch {
    return null
  }
}

/**
 * If readers see a snapshot that names the people, publishes one without them, then drops every snapshot that names
 * them. A failed destination does not stop the others: its failure is its `problem`. One in a copy of the data directory
 * is left to an erasure there.
 * @param how find: only looks for those snapshots
 */
export function eraseInTarget(
  world: ErasureWorld,
  target: SnapshotTarget,
  markers: readonly Marker[],
  how: 'find' | 'erase' = 'erase',
): Promise<StoreFindings> {
  const owner = copyAround(world.directory.root, target.to)
  const isOurs = how === 'erase' && owner === null
  return inTarget(world, target, isOurs ? 'write' : 'read', async (store) => {
    const manifests = await listSnapshots(store)
    const named = await snapshotsNaming(world, store, manifests, markers)
    if (owner !== null && named.length > 0) {
      const what = `${countText(named.length, 'snapshot')} there ${named.length === 1 ? 'names' : 'name'} a person to be erased`
      throw new PublishError(
        `${what}. It lies in a copy of this data directory: run forget with --data-dir ${owner} as well, or remove the copy`,
      )
    }
    if (!isOurs) return named
    // An older format may hold data outside its files: deleted rows, statistics in its Delta logs.
    const old = manifests.filter((manifest) => !isOfThisFormat(manifest))
    const ids = [...new Set([...old.map(({ snapshot_id: id }) => id), ...named])].toSorted()
    const current = await readCurrent(store)
    if (current !== null && ids.includes(current.pointer.snapshot_id)) await publish(world, target)
    const scratchFolder = scratchOf(world)
    await withScratchEngine(scratchFolder, (warehouse) =>
      dropSnapshots({ ...world, store, warehouse, scratchFolder }, ids),
    )
    world.logger.info({ snapshots: ids, at: target.to }, 'erasure.snapshots_dropped')
    return ids
  })
}

/** Ids of the snapshots that name them, oldest first: in a data file or in the manifest. */
async function snapshotsNaming(
  world: ErasureWorld,
  store: ObjectStore,
  manifests: readonly StoredManifest[],
  markers: readonly Marker[],
): Promise<string[]> {
  const keysOf = (manifest: StoredManifest) => [
    snapshotKeys(manifest.snapshot_id).manifest,
    ...objectsOf(manifest).map(({ key }) => key),
  ]
  const keys = [...new Set(manifests.flatMap(keysOf))]
  const options = searchIn(world, `searching ${store.destination}`, markers)
  const { matches, unsearched } = await searchStore(store, keys, options)
  // Which snapshots name them cannot be known then.
  if (unsearched.length > 0) throw new PublishError(unsearchedIn(unsearched).join('; '))
  const named = new Set(matches)
  return manifests
    .filter((manifest) => keysOf(manifest).some((key) => named.has(store.urlOf(key))))
    .map((manifest) => manifest.snapshot_id)
}

async function publish(world: ErasureWorld, target: SnapshotTarget): Promise<void> {
  const { directory, clock } = world
  const journal = openJournal(directory.journal, clock)
  await withWarehouse({ path: directory.warehouse, mode: 'write' }, async (warehouse) => {
    // DuckDB rebuilt the warehouse, whichever engine builds the models of its runs.
    const own = { ...target, spark: undefined }
    await publishStage(warehouse, own, { runId: null, writer: journal }, world)
    await loadStage(warehouse, journal, world)
  })
}

/** Searches all of a destination; null where it is searched with a data directory, this one or a copy. */
export async function searchTarget(
  world: ErasureWorld,
  target: SnapshotTarget,
  markers: readonly Marker[],
): Promise<SearchReport | null> {
  const options = searchIn(world, 'proof', markers)
  if (isFolderAddress(target.to)) {
    const { root } = world.directory
    const isSearched = isWithin(root, target.to) || copyAround(root, target.to) !== null
    return isSearched ? null : searchFolder(target.to, options)
  }
  const store = await openTarget(target, world, 'read')
  const keys = (await store.list('')).map(({ key }) => key)
  return searchStore(store, keys, options)
}

async function inTarget(
  world: ErasureWorld,
  target: SnapshotTarget,
  access: 'read' | 'write',
  work: (store: ObjectStore) => Promise<string[]>,
): Promise<StoreFindings> {
  const destination = target.to
  if (isFolderAddress(destination) && !existsSync(destination)) {
    return outOfReach(world, destination, 'there is no such folder: mount it')
  }
  let isReached = false
  try {
    const store = await openTarget(target, world, access)
    await store.head(POINTER_KEY)
    isReached = true
    return { destination, problem: null, snapshots: await work(store) }
  } catch (error) {
    world.stop.throwIfAborted()
    const { message: problem } = expectedError(error)
    return isReached
      ? { destination, problem, snapshots: [] }
      : outOfReach(world, destination, problem)
  }
}

function outOfReach(world: ErasureWorld, destination: string, why: string): StoreFindings {
  const place = withoutSlash(destination)
  const isGone = world.gone?.includes(place) || wasGone(world.directory.root, destination)
  return isGone
    ? { destination, problem: 'said to be gone for good', snapshots: [], is_gone: true }
    : {
        destination,
        problem: `${why}. If it is gone for good, as after a move to another machine, add --gone ${place}`,
        snapshots: [],
      }
}
