/** What a commit must say so that a table's Delta log shows what the manifest says. Pure. */

import { sha256Hex } from '../../support/hash.ts'
import { jsonOrNull, stableJson } from '../../support/json.ts'
import { DamagedLogError } from '../errors.ts'
import type { Manifest, ManifestTable } from '../manifest.ts'
import { logicalFile, type Action, type AddFile, type MetaData, type Protocol } from './actions.ts'
import { tableFolder } from './log-files.ts'
import { APP_ID, type LogState } from './log.ts'
import { schemaString } from './schema.ts'
import { fileStats } from './stats.ts'

/** Every reader knows it: files come and go, whole. */
const PLAIN: Protocol = { minReaderVersion: 1, minWriterVersion: 2 }
/** What Jobtide 0.12 asked for, whose files had deleted rows. */
const WITH_VECTORS: Protocol = {
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures: ['deletionVectors'],
  writerFeatures: ['deletionVectors'],
}
const VECTORS_SETTING = 'delta.enableDeletionVectors'

export interface CommitFacts {
  readonly state: LogState
  readonly manifest: Manifest
  readonly table: ManifestTable
}

/**
 * The actions of the next commit, in the order of their lines; null when the log shows this table as it is. The same
 * facts give the same actions, so that two publishers of one snapshot write the same bytes.
 * @throws PublishError when the log asks of writers what Jobtide does not know
 */
export function planCommit(facts: CommitFacts): Action[] | null {
  const { state, manifest } = facts
  const at = Date.parse(manifest.created_at)
  refuseForeign(facts)
  const metaData = nextMetaData(facts, at)
  const changes: Action[] = [
    ...(sameJson(PLAIN, state.protocol) ? [] : [{ protocol: PLAIN }]),
    ...(sameJson(metaData, state.metaData) ? [] : [{ metaData }]),
    ...fileActions(facts, at),
  ]
  if (changes.length === 0) return null
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

function refuseForeign({ state, table }: CommitFacts): void {
  const known = state.protocol ?? PLAIN
  if (sameJson(known, PLAIN) || sameJson(known, WITH_VECTORS)) return
  const features = known.writerFeatures ?? [`version ${known.minWriterVersion}`]
  throw new DamagedLogError(
    `another engine has changed the Delta log of ${table.name}: it asks of writers for ${features.join(', ')}`,
    {
      hint: `Remove the folder ${tableFolder(table.name)}_delta_log there: the next publish writes it again.`,
    },
  )
}

function nextMetaData({ state, manifest, table }: CommitFacts, at: number): MetaData {
  const known = state.metaData
  const { [VECTORS_SETTING]: _, ...configuration } = known?.configuration ?? {}
  return {
    id: known?.id ?? tableId(table.name, manifest.snapshot_id),
    name: table.name,
    description: table.grain,
    format: { provider: 'parquet', options: {} },
    schemaString: schemaString(table),
    partitionColumns: [],
    createdTime: known?.createdTime ?? at,
    configuration,
  }
}

// A UUID that follows from the table and its first snapshot, so that two publishers of one snapshot agree on it.
function tableId(table: string, snapshotId: string): string {
  const hash = sha256Hex(Buffer.from(`delta ${table} ${snapshotId}`))
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
}

/** Files that the log has and the manifest has not, or of which it has not all rows, go; those it lacks come. */
function fileActions({ state, table }: CommitFacts, at: number): Action[] {
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
    })
  }
  const isSame = (a: AddFile, b: AddFile | undefined) =>
    b !== undefined &&
    logicalFile(a) === logicalFile(b) &&
    a.size === b.size &&
    recordsOf(a) === recordsOf(b)
  // Of a file that is named wrongly, the new line takes the place of the old one.
  const isGone = ({ path, deletionVector }: AddFile) => !wanted.has(path) || deletionVector
  const removed = [...state.files.values()].filter(isGone)
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

function recordsOf({ stats }: AddFile): unknown {
  return (jsonOrNull(stats ?? '') as { numRecords?: unknown } | null)?.numRecords
}

function byPath(files: readonly AddFile[]): AddFile[] {
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

function sameJson(a: object, b: object | null): boolean {
  return b !== null && stableJson(a) === stableJson(b)
}
