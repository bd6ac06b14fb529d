/** What a commit must say so that a table's Delta log shows what the manifest says. Pure. */

import { createHash } from 'node:crypto'
import { stableJson } from '../../support/json.ts'
import { DamagedLogError } from '../errors.ts'
import type { Manifest, ManifestTable } from '../manifest.ts'
import {
  logicalFile,
  withoutNulls,
  type Action,
  type AddFile,
  type DeletionVector,
  type MetaData,
  type Protocol,
  type RemoveFile,
} from './actions.ts'
import { tableFolder } from './log-files.ts'
import { APP_ID, sequenceOf, type LogState } from './replay.ts'
import { schemaString } from './schema.ts'
import { fileStats } from './stats.ts'

const DELETION_VECTORS = 'deletionVectors'
// With these in a log, another engine may have asked for more than Jobtide's commits do; appendOnly and invariants do
// nothing until a property or a column asks for them, and engines list them whenever they upgrade a table.
const HARMLESS_FEATURES = [DELETION_VECTORS, 'timestampNtz', 'appendOnly', 'invariants']
const TABLE_FEATURES = { minReaderVersion: 3, minWriterVersion: 7 }

/** What a commit is made of. */
export interface CommitFacts {
  readonly state: LogState
  readonly manifest: Manifest
  readonly table: ManifestTable
  /** Deletion vectors by key of the file; none for a whole file. */
  readonly vectors: ReadonlyMap<string, DeletionVector>
}

/**
 * The actions of the next commit, in the order of their lines; null when the log shows this snapshot as it is. The same
 * facts give the same actions, so that two publishers of one snapshot write the same bytes.
 * @throws PublishError when the log asks of writers what Jobtide does not know
 */
export function planCommit(facts: CommitFacts): Action[] | null {
  const { state, manifest } = facts
  const at = Date.parse(manifest.created_at)
  const protocol = nextProtocol(facts)
  const metaData = nextMetaData(facts, protocol, at)
  const changes: Action[] = [
    ...(sameJson(protocol, state.protocol) ? [] : [{ protocol }]),
    ...(sameJson(metaData, state.metaData) ? [] : [{ metaData }]),
    ...fileActions(facts, at),
  ]
  // Where it has come to this snapshot, another engine may have changed the log since.
  if (changes.length === 0 && sequenceOf(state) === manifest.sequence) return null
  const txn = { appId: APP_ID, version: manifest.sequence, lastUpdated: at }
  return [{ commitInfo: commitInfo(manifest, at) }, { txn }, ...changes]
}

function commitInfo(manifest: Manifest, at: number): NonNullable<Action['commitInfo']> {
  return {
    timestamp: at,
    operation: 'WRITE',
    operationParameters: { mode: 'Overwrite', partitionBy: '[]' },
    engineInfo: `Jobtide/${manifest.versions.jobtide}`,
    isBlindAppend: false,
    snapshot_id: manifest.snapshot_id,
    // What engines show in a table's history.
    userMetadata: manifest.snapshot_id,
  }
}

function nextProtocol({ state, table, vectors }: CommitFacts): Protocol {
  const known = state.protocol ?? { minReaderVersion: 1, minWriterVersion: 2 }
  const listed = [...new Set([...(known.readerFeatures ?? []), ...(known.writerFeatures ?? [])])]
  const foreign = listed.filter((feature) => !HARMLESS_FEATURES.includes(feature))
  const isRaised = known.minWriterVersion > 2 && known.minWriterVersion < 7
  if (foreign.length > 0 || isRaised) throw refuseForeign(table.name, known, foreign)
  // A feature that was needed once stays: older versions can still be read.
  if (vectors.size === 0 || listed.includes(DELETION_VECTORS)) return known
  const withNeeded = (features: readonly string[] | null | undefined) =>
    [...new Set([...(features ?? []), DELETION_VECTORS])].toSorted()
  return {
    ...TABLE_FEATURES,
    readerFeatures: withNeeded(known.readerFeatures),
    writerFeatures: withNeeded(known.writerFeatures),
  }
}

function refuseForeign(table: string, protocol: Protocol, foreign: readonly string[]): Error {
  const what = foreign.length > 0 ? foreign.join(', ') : `version ${protocol.minWriterVersion}`
  return new DamagedLogError(
    `another engine has changed the Delta log of ${table}: it asks of writers for ${what}`,
    {
      hint: `Remove the folder ${tableFolder(table)}_delta_log there: the next publish writes it again.`,
    },
  )
}

function nextMetaData({ state, manifest, table }: CommitFacts, protocol: Protocol, at: number) {
  const known = state.metaData
  const hasVectors = protocol.writerFeatures?.includes(DELETION_VECTORS) === true
  const metaData: MetaData = {
    id: known?.id ?? tableId(table.name, manifest.snapshot_id),
    name: table.name,
    description: table.grain,
    format: { provider: 'parquet', options: {} },
    schemaString: schemaString(table),
    partitionColumns: [],
    createdTime: known?.createdTime ?? at,
    configuration: {
      ...known?.configuration,
      // Writers may only write deletion vectors where it says so.
      ...(hasVectors ? { 'delta.enableDeletionVectors': 'true' } : {}),
    },
  }
  return metaData
}

// A UUID that follows from the table and its first snapshot, so that two publishers of one snapshot agree on it.
function tableId(table: string, snapshotId: string): string {
  const hash = createHash('sha256').update(`delta ${table} ${snapshotId}`).digest()
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x80, 6)
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8)
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Files that the log has and the manifest has not, with the same deletion vector, go; those it lacks come. */
function fileActions({ state, table, vectors }: CommitFacts, at: number): Action[] {
  const wanted = new Map<string, AddFile>()
  for (const file of table.files) {
    const vector = vectors.get(file.key)
    // Keys are made of characters that stand for themselves in a URI, so the path needs no encoding.
    const path = file.key.slice(tableFolder(table.name).length)
    wanted.set(path, {
      path,
      partitionValues: {},
      size: file.bytes,
      modificationTime: at,
      dataChange: true,
      stats: fileStats(file, table.schema),
      ...(vector === undefined ? {} : { deletionVector: vector }),
    })
  }
  const isSame = (a: AddFile | undefined, b: AddFile | undefined) =>
    a !== undefined && b !== undefined && logicalFile(a) === logicalFile(b)
  const removed = [...state.files.values()].filter((file) => !isSame(file, wanted.get(file.path)))
  const added = [...wanted.values()].filter((file) => !isSame(state.files.get(file.path), file))
  return [
    ...byPath(removed).map((file) => ({ remove: removalOf(file, at) })),
    ...byPath(added).map((add) => ({ add })),
  ]
}

function removalOf({ path, size, deletionVector }: AddFile, at: number): RemoveFile {
  return {
    path,
    deletionTimestamp: at,
    dataChange: true,
    extendedFileMetadata: true,
    partitionValues: {},
    size,
    ...(deletionVector ? { deletionVector } : {}),
  }
}

function byPath<T extends { readonly path: string }>(files: readonly T[]): T[] {
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

// A checkpoint turns what is absent into null.
function sameJson(a: object, b: object | null): boolean {
  return b !== null && stableJson(withoutNulls(a)) === stableJson(withoutNulls(b))
}
