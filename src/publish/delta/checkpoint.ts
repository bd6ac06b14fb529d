/** Checkpoints: the state of a log at one version as one Parquet file, so that readers need not read every commit. */

import { readFile, writeFile } from 'node:fs/promises'
import { DAY, MIB } from '../../support/units.ts'
import { quotePath, quoteText } from '../../warehouse/sql-text.ts'
import { formatActions, type Action, type RemoveFile } from './actions.ts'
import { withScratchFile, type DeltaLogSource } from './local-file.ts'
import { checkpointKey, lastCheckpointKey } from './log-files.ts'
import type { LogState } from './log.ts'

/** How long a removed file is named, the default of `delta.deletedFileRetentionDuration`. */
const TOMBSTONE_DAYS = 7

const TEXT_MAP = 'map(varchar, varchar)'
// The protocol's "Checkpoint Schema": names and types are part of the format.
const COLUMNS: Readonly<Record<string, string>> = {
  txn: 'struct("appId" varchar, version bigint, "lastUpdated" bigint)',
  add: `struct(path varchar, "partitionValues" ${TEXT_MAP}, size bigint, "modificationTime" bigint, "dataChange" boolean,
    stats varchar, tags ${TEXT_MAP})`,
  remove: `struct(path varchar, "deletionTimestamp" bigint, "dataChange" boolean, "extendedFileMetadata" boolean,
    "partitionValues" ${TEXT_MAP}, size bigint)`,
  metaData: `struct(id varchar, name varchar, description varchar,
    format struct(provider varchar, options ${TEXT_MAP}), "schemaString" varchar, "partitionColumns" varchar[],
    "createdTime" bigint, configuration ${TEXT_MAP})`,
  protocol:
    'struct("minReaderVersion" integer, "minWriterVersion" integer, "readerFeatures" varchar[], "writerFeatures" varchar[])',
}

/** Writes the checkpoint of a log at the version of `state`, which has been committed, and tells readers of it. */
export async function writeCheckpoint(
  source: DeltaLogSource,
  table: string,
  state: LogState,
): Promise<void> {
  const actions = actionsOf(state)
  const bytes = await parquetOf(source, actions)
  await putUnlessThere(source, checkpointKey(table, state.version), bytes)
  await tellReaders(source, table, { version: state.version, size: actions.length })
}

function actionsOf({ protocol, metaData, txn, tombstones, files }: LogState): Action[] {
  const longAgo = (txn?.lastUpdated ?? 0) - TOMBSTONE_DAYS * DAY
  // Of files of Jobtide 0.12 whose deleted rows were named nothing is said: a reader of this protocol does not know them.
  const isFresh = ({ deletionTimestamp = 0, deletionVector }: RemoveFile) =>
    deletionTimestamp > longAgo && deletionVector === undefined
  return [
    ...(protocol === null ? [] : [{ protocol }]),
    ...(metaData === null ? [] : [{ metaData }]),
    ...(txn === null ? [] : [{ txn }]),
    ...[...tombstones.values()].filter(isFresh).map((remove) => ({ remove })),
    ...[...files.values()].map((add) => ({ add: { ...add, dataChange: false } })),
  ]
}

async function parquetOf(
  { warehouse, scratchFolder }: DeltaLogSource,
  actions: readonly Action[],
): Promise<Buffer> {
  const columns = Object.entries(COLUMNS).map(
    ([name, type]) => `${quoteText(name)}: ${quoteText(type)}`,
  )
  return withScratchFile(scratchFolder, async (lines) => {
    await writeFile(lines, formatActions(actions))
    return withScratchFile(scratchFolder, async (parquet) => {
      await warehouse.run(
        `copy (select * from read_json(${quotePath(lines)}, format = 'newline_delimited',
           maximum_object_size = ${MIB}, columns = {${columns.join(', ')}}))
         to ${quoteText(parquet)} (format parquet, compression snappy, parquet_version v1)`,
      )
      return readFile(parquet)
    })
  })
}

// Another publisher may be writing the same one, perhaps with another version of DuckDB and so with other bytes: either
// is as good.
async function putUnlessThere(
  { store }: DeltaLogSource,
  key: string,
  bytes: Uint8Array,
): Promise<void> {
  if ((await store.head(key)) !== null) return
  try {
    await store.put(key, bytes)
  } catch (error) {
    if ((await store.head(key)) === null) throw error
  }
}

// It only saves readers a long listing, so a race that is lost is no failure.
async function tellReaders(
  { store }: DeltaLogSource,
  table: string,
  hint: { version: number; size: number },
): Promise<void> {
  const key = lastCheckpointKey(table)
  const stored = await store.get(key)
  const [, version = '-1'] =
    /"version":\s*(\d+)/.exec(Buffer.from(stored?.bytes ?? []).toString()) ?? []
  if (Number(version) >= hint.version) return
  await store.replace(key, Buffer.from(JSON.stringify(hint)), stored?.version ?? null)
}
