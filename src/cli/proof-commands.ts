/**
 * `verify`: verifies every byte of the journal, and of a published snapshot, and lists all differences. `restore`: makes a
 * warehouse from a verified snapshot.
 */

import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal, type Journal } from '../journal/journal.ts'
import type { JournalState } from '../journal/seals.ts'
import { readProject } from '../model/project.ts'
import { commentOn } from '../model/tables.ts'
import {
  isOfThisFormat,
  objectsOf,
  totalsOf,
  splitSnapshotUrl,
  listSnapshots,
  readCurrent,
  type ManifestTable,
} from '../publish/manifest.ts'
import { proveSnapshot, refuseExisting, restoreSnapshot } from '../publish/restore.ts'
import { neverPublished } from '../publish/retention.ts'
import { withScratch, type Step } from '../publish/scratch.ts'
import type { StoreOptions } from '../publish/store/object-store.ts'
import { absoluteAddress, isFolderAddress, openStore } from '../publish/store/open-store.ts'
import { verifySnapshot, type Finding, type VerifyReport } from '../publish/verify.ts'
import { proveBackup } from '../run/backup/back-up.ts'
import { knownBackups } from '../run/backup/backup-target.ts'
import { leaveOutErased } from '../run/forget/erase.ts'
import { readSnapshotTarget, type Overrides } from '../run/job.ts'
import { acquireLock } from '../run/lock.ts'
import { isThere } from '../support/atomic-file.ts'
import {
  ConfigError,
  EXIT,
  errorDocument,
  expectedError,
  isAbsence,
  type JobtideError,
} from '../support/errors.ts'
import { isWithin } from '../support/file-modes.ts'
import { bytesText, countText, sum } from '../support/numbers.ts'
import { withoutCredentials } from '../support/text.ts'
import { columnsOfAll } from '../warehouse/columns.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { refuseEmpty } from './reading.ts'
import { table, type Report } from './report.ts'

/**
 * `verify`: exit code 0 when journal and snapshot are proved, 6 with every finding when the snapshot is not, else 9 when
 * the journal is not. A snapshot is verified even if the journal is damaged.
 * @param url a destination, or `<destination>/snapshots/<snapshot id>`; absent: only the journal is proved
 */
export async function verifyCommand(
  context: Context,
  url: string | undefined,
  options: OptionsOf<'verify'>,
): Promise<Report> {
  const { output, clock, directory } = context
  const journal = openJournal(directory.journal, clock)
  if (url === undefined) {
    await refuseEmpty(journal, directory)
    const proved = journal.check('bytes')
    const backups = await provenBackups(context, journal)
    const isProved = backups.every(({ problems }) => problems.length === 0)
    const notes = backups.flatMap(({ place, problems }) =>
      problems.length === 0 ? [`the backup in ${place} is proved`] : problems,
    )
    return {
      notes: [...journalNotes(proved), ...notes],
      values: { isProved, journal: journalValues(proved), backups },
      exitCode: isProved ? EXIT.done : EXIT.storage,
    }
  }
  let proved: JournalState | null = null
  let loss: JobtideError | null = null
  try {
    proved = journal.check('bytes')
  } catch (error) {
    loss = expectedError(error)
  }
  try {
    const report = await proving(context, url, options, verifySnapshot)
    return snapshotReport(report, proved, loss)
  } catch (error) {
    if (loss !== null) output.problem(loss)
    throw error
  }
}

async function provenBackups(context: Context, journal: Journal) {
  const proven: { readonly place: string; readonly problems: readonly string[] }[] = []
  for (const target of knownBackups(context.directory.root, journal)) {
    const problems = await withTemporaryFolder((folder) =>
      proveBackup(target, journal, context, join(folder, 'segment')),
    )
    proven.push({ place: target.place, problems })
  }
  return proven
}

function journalNotes({ segments, bytes, losses }: JournalState): string[] {
  const lost =
    losses.size === 0
      ? ''
      : `; the loss of data in ${countText(losses.size, 'segment')} was accepted`
  return [
    'the journal is proved',
    `${countText(segments, 'segment')}, ${bytesText(bytes)}: every byte is as it was sealed${lost}`,
  ]
}

function journalValues({ segments, bytes, losses }: JournalState): object {
  return { segments, bytes, segmentsWithAcceptedLosses: [...losses.keys()] }
}

/** Works in a folder outside the data directory, which may be read-only or remote. */
function withTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = join(tmpdir(), `jobtide-verify-${randomUUID()}`)
  return withScratch(folder, () => work(folder))
}

async function proving<T>(
  context: Context,
  url: string,
  options: OptionsOf<'verify'>,
  prove: (of: Parameters<typeof verifySnapshot>[0]) => Promise<T>,
): Promise<T> {
  const { progress, stop: signal } = context
  const { destination, snapshotId } = splitSnapshotUrl(url)
  refuseAbsent(destination)
  const store = await openStore(destination, storeOptionsFor(context, url, options))
  const onProgress = (step: Step) => progress.show({ stage: 'verify', ...step })
  return withTemporaryFolder((scratchFolder) =>
    prove({ store, snapshotId, scratchFolder, signal, onProgress }),
  )
}

/** @throws ConfigError for a place to read that is neither on S3 nor a folder that is there */
export function refuseAbsent(place: string): void {
  const address = absoluteAddress(place, '.')
  const fault =
    address === null
      ? `${withoutCredentials(place)} is neither a folder nor s3://bucket/prefix`
      : isFolderAddress(address)
        ? faultOfFolder(address)
        : null
  if (fault !== null) throw new ConfigError(fault, { hint: 'Check the address.' })
}

function faultOfFolder(path: string): string | null {
  try {
    return statSync(path).isDirectory() ? null : `${path} is not a folder`
  } catch (error) {
    // Why one that is there cannot be read, the store says.
    return isAbsence(error) ? `there is no folder ${path}` : null
  }
}

/** Options for opening a store; the pipeline is read only for a bucket. */
export function storeOptionsFor(
  context: Context,
  url: string,
  { pipeline }: OptionsOf<'verify'>,
): StoreOptions {
  const { clock, s3Endpoint } = context
  const { destination } = splitSnapshotUrl(url)
  if (isFolderAddress(destination)) return { clock, access: 'read' }
  const { s3 } = destinationOf(context, pipeline, { snapshotTo: destination })
  return { clock, s3, s3Endpoint, access: 'read' }
}

/** Where a pipeline publishes. @throws ConfigError for a pipeline without a destination, or a file that is wrong */
export function destinationOf({ directory }: Context, pipeline: string, overrides: Overrides) {
  const target = readSnapshotTarget(pipeline, overrides, directory.root)
  if (target !== null) return target
  throw new ConfigError(`pipeline ${pipeline} has no snapshot destination`, {
    hint: 'Add `snapshot: {to: …}` to it, or name a destination: a folder or s3://bucket/prefix.',
  })
}

function snapshotReport(
  proof: VerifyReport,
  journal: JournalState | null,
  loss: JobtideError | null,
): Report {
  const { snapshotId, destination, findings, tables, files, rows, copiedFrom } = proof
  const what = `${snapshotId === null ? 'the snapshot' : `snapshot ${snapshotId}`} at ${destination}`
  const counts = `${countText(tables, 'table')}, ${countText(files, 'file')}, ${countText(rows, 'row')}, ${bytesText(proof.bytes)}`
  const isProved = findings.length === 0
  const notes = isProved
    ? [`${counts}: every byte and row is as published`]
    : [...findings.flatMap(findingNotes), '', adviceFor(findings)]
  if (isProved && copiedFrom !== null) {
    notes.push(`It was copied here from ${copiedFrom}: its views.sql still reads the files there.`)
  }
  return {
    title: isProved ? `${what} is proved` : `${what}: ${countText(findings.length, 'finding')}`,
    notes:
      journal === null || journal.segments === 0 ? notes : [...notes, ...journalNotes(journal)],
    values: {
      ...proof,
      manifest: undefined,
      isProved: isProved && loss === null,
      journal: journal && journalValues(journal),
      ...(loss && { error: errorDocument(loss) }),
    },
    problem: loss,
    ...(isProved ? {} : { exitCode: EXIT.checkFailed }),
  }
}

function findingNotes({ kind, table, object, message }: Finding): string[] {
  const head = table === null ? kind : `${kind}  ${table}`
  return ['', head, `  ${object}`, `  ${message}`]
}

const BESIDE_IT: ReadonlySet<string> = new Set(['delta', 'current'])

function adviceFor(findings: readonly Finding[]): string {
  if (findings.some(({ kind }) => kind === 'format')) {
    return 'Run `jobtide publish`, or the next pipeline: then verify what readers see.'
  }
  return findings.every(({ kind }) => BESIDE_IT.has(kind))
    ? 'The snapshot itself is whole: the fault is outside it.'
    : 'Nothing was changed here. Restore the objects from a backup, or use another snapshot: `jobtide snapshots` lists them.'
}

/** `restore`: verifies the snapshot first, and refuses one that fails. */
export async function restoreCommand(
  context: Context,
  url: string,
  options: OptionsOf<'verify'>,
): Promise<Report> {
  const { clock, directory, progress, stop: signal } = context
  const { root, warehouse } = directory
  refuseExisting(warehouse)
  const { destination } = splitSnapshotUrl(url)
  // Publishers and garbage collection own what is in a destination, and readers copy it.
  if (isFolderAddress(destination) && isWithin(destination, root)) {
    throw new ConfigError(`the data directory ${root} lies in the destination ${destination}`, {
      hint: 'Name a folder outside it with --data-dir. Nothing was written.',
    })
  }
  const snapshot = await proving(context, url, options, proveSnapshot)
  const { created_at: createdAt } = snapshot.manifest
  const lock = await acquireLock(root, { command: 'restore', clock })
  try {
    let erasedPeople = 0
    const { snapshotId, tables, rows } = await restoreSnapshot({
      snapshot,
      path: warehouse,
      scratchFolder: directory.scratch,
      describe: describeAsBuilt,
      beforeUse: async (path) => {
        erasedPeople = await leaveOutErased(context, path)
      },
      signal,
      onProgress: (step) => progress.show({ stage: 'restore', ...step }),
    })
    const counts = `${countText(tables.length, 'table')}, ${countText(rows, 'row')}`
    const erased = `${countText(erasedPeople, 'person', 'people')} erased since it was published: left out again, and the tables built again without them`
    const notRestored = ['journal', 'ledger', 'coverage']
    return {
      title: `restored: ${warehouse} from snapshot ${snapshotId} of ${createdAt}`,
      notes: [
        `${counts}: all of them the rows that were published`,
        NOT_IN_IT,
        ...(erasedPeople === 0 ? [] : [erased]),
      ],
      values: { snapshotId, createdAt, warehouse, rows, tables, notRestored, erasedPeople },
    }
  } finally {
    await lock.release()
  }
}

const NOT_IN_IT =
  'It has no journal, ledger or coverage, and does not know how often and when an event was last seen. If you still have the journal, `jobtide load` adds what it holds. `jobtide build` makes the tables again.'

/** Comments on the restored tables that this version makes itself, as its build does. */
export async function describeAsBuilt(
  warehouse: Warehouse,
  tables: readonly ManifestTable[],
): Promise<void> {
  const restored = new Set(tables.map(({ name }) => name))
  const { nodes } = await readProject(warehouse)
  const all = await columnsOfAll(warehouse)
  for (const node of nodes.filter(({ name }) => restored.has(name))) {
    const columns = (all.get(node.name) ?? []).map(({ name }) => name)
    if (columns.toSorted().join() !== [...node.columns.keys()].toSorted().join()) continue
    // A restore makes only tables, even for models that a build makes views.
    await commentOn(warehouse, node.kind === 'view' ? { ...node, kind: 'table' } : node)
  }
}

/** `snapshots`: lists the snapshots of a destination, the newest first. */
export async function snapshotsCommand(
  context: Context,
  destination: string | undefined,
  { pipeline }: OptionsOf<'verify'>,
): Promise<Report> {
  const { to } = destinationOf(context, pipeline, { snapshotTo: destination })
  // That of a pipeline is made by its first publish.
  const isMade = !isFolderAddress(to) || isThere(to)
  if (destination !== undefined || isMade) refuseAbsent(to)
  const store = isMade ? await openStore(to, storeOptionsFor(context, to, { pipeline })) : null
  const currentId = (store && (await readCurrent(store)))?.pointer.snapshot_id ?? null
  const all = store === null ? [] : await listSnapshots(store)
  const never = currentId === null ? new Set() : neverPublished(all, currentId)
  const manifests = all.filter(({ snapshot_id: id }) => !never.has(id))
  const sizes = new Map(manifests.flatMap(objectsOf).map(({ key, bytes }) => [key, bytes]))
  const bytes = sum([...sizes.values()])
  const snapshots = manifests.toReversed().map((manifest) => {
    const { snapshot_id, sequence, created_at, run_id, new_bytes, coverage } = manifest
    const said = { snapshot_id, sequence, created_at, run_id, new_bytes, coverage }
    return {
      ...said,
      ...totalsOf(manifest),
      url: `${to.replace(/\/$/, '')}/snapshots/${snapshot_id}`,
      is_current: snapshot_id === currentId,
      checks: isOfThisFormat(manifest) ? manifest.checks : null,
    }
  })
  const marked =
    currentId === null
      ? 'readers see none of them: there is no latest.json'
      : '→ what readers see; the address of another: DESTINATION/snapshots/SNAPSHOT'
  return {
    title:
      snapshots.length === 0
        ? `nothing was published to ${to} yet`
        : `${to}: ${countText(snapshots.length, 'snapshot')}, ${bytesText(bytes)} together`,
    sections: [
      table('snapshots', snapshots, [
        ['  snapshot', (row) => `${row.is_current ? '→ ' : '  '}${row.snapshot_id}`, 'id'],
        ['created (UTC)', 'created_at', 'instant'],
        ['rows', 'rows', 'number'],
        ['bytes', 'bytes', 'bytes'],
        ['new', 'new_bytes', 'bytes'],
      ]),
    ],
    notes: snapshots.length === 0 ? [] : ['', marked],
    values: { destination: to, current: currentId, bytes },
  }
}
