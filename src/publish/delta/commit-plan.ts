/** What a commit must say so that a table's Delta log shows what the manifest says. Pure. */

import { sha256Hex } from '../../support/hash.ts'
import { stableJson } from '../../support/json.ts'
import { DamagedLogError } from '../errors.ts'
import type { Manifest, ManifestTable } from '../manifest.ts'
import {
  logicalFile,
  type Action,
  type AddFile,
  type DeletionVector,
  type MetaData,
  type Protocol,
} from './actions.ts'
import { tableFolder } from './log-files.ts'
import { APP_ID, sequenceOf, type LogState } from './log.ts'
import { schemaString } from './schema.ts'
import { fileStats } from './stats.ts'

const DELETION_VECTORS = 'deletionVectors'
const PLAIN: Protocol = { minReaderVersion: 1, minWriterVersion: 2 }
// A feature that was needed once stays: older versions can still be read.
const WITH_VECTORS: Protocol = {
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures: [DELETION_VECTORS],
  writerFeatures: [DELETION_VECTORS],
}

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
  const known = state.protocol ?? PLAIN
  if (sameJson(known, WITH_VECTORS)) return WITH_VECTORS
  if (sameJson(known, PLAIN)) return vectors.size > 0 ? WITH_VECTORS : PLAIN
  const features = known.writerFeatures ?? [`version ${known.minWriterVersion}`]
  throw new DamagedLogError(
    `another engine has changed the Delta log of ${table.name}: it asks of writers for ${features.join(', ')}`,
    {
      hint: `Remove the folder ${tableFolder(table.name)}_delta_log there: the next publish writes it again.`,
    },
  )
}

function nextMetaData(
  { state, manifest, table }: CommitFacts,
  protocol: Protocol,
  at: number,
): MetaData {
  const known = state.metaData
  return {
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
      ...(protocol === WITH_VECTORS ? { 'delta.enableDeletionVectors': 'true' } : {}),
    },
  }
}

// A UUID that follows from the table and its first snapshot, so that two publishers of one snapshot agree on it.
function tableId(table: string, snapshotId: string): string {
  const hash = sha256Hex(Buffer.from(`delta ${table} ${snapshotId}`))
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
}

/** Files that the log has and the manifest has not, with the same deletion vector, go; those it lacks come. */
function fileActions({ state, table, vectors }: CommitFacts, at: number): Action[] {
  const wanted = new Map<string, AddFile>()
  for (const file of table.files) {
    // Keys are made of characters that stand for themselves in a URI, so the path needs no encoding.
    const path = file.key.slice(tableFolder(table.name).length)
    wanted.set(path, {
      path,
      partitionValues: {},
      size: file.bytes,
      modificationTime: at,
      dataChange: true,
      stats: fileStats(file, table.schema),
      deletionVector: vectors.get(file.key),
    })
  }
  const isSame = (a: AddFile, b: AddFile | undefined) =>
    b !== undefined && logicalFile(a) === logicalFile(b)
  const removed = [...state.files.values()].filter((file) => !isSame(file, wanted.get(file.path)))
  const added = [...wanted.values()].filter((file) => !isSame(file, state.files.get(file.path)))
  return [
    ...byPath(removed).map(({ path, size, deletionVector }) => ({
      remove: {
        path,
        deletionTimestamp: at,
        dataChange: true,
        extendedFileMetadata: true,
        partitionValues: {},
        size,
        deletionVector,
      },
    })),
    ...byPath(added).map((add) => ({ add })),
  ]
}

function byPath(files: readonly AddFile[]): AddFile[] {
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

function sameJson(a: object, b: object | null): boolean {
  return b !== null && stableJson(a) === stableJson(b)
}
