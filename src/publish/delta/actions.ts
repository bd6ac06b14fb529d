/**
 * The lines of a Delta log: what each says, as text and read back. Pure. Only what Jobtide writes is named; what other
 * engines add to a line is passed over, as the protocol asks of readers.
 */

import { z } from 'zod'
import { DamagedLogError } from '../errors.ts'

const textMap = z.record(z.string(), z.string().nullable())

const deletionVectorSchema = z.object({
  /** `i`: the rows stand in the line itself; other letters: in a file. */
  storageType: z.string(),
  pathOrInlineDv: z.string(),
  offset: z.int().nullish(),
  /** Before it became text. */
  sizeInBytes: z.int(),
  /** Rows it takes away. */
  cardinality: z.int(),
})

const addSchema = z.object({
  /** Below the table's folder. */
  path: z.string(),
  partitionValues: textMap,
  /** Bytes. */
  size: z.int(),
  /** Milliseconds since 1970 UTC. */
  modificationTime: z.int(),
  dataChange: z.boolean(),
  /** JSON. */
  stats: z.string().nullish(),
  deletionVector: deletionVectorSchema.nullish(),
})

const removeSchema = z.object({
  path: z.string(),
  /** Milliseconds since 1970 UTC. */
  deletionTimestamp: z.int().nullish(),
  dataChange: z.boolean(),
  extendedFileMetadata: z.boolean().nullish(),
  partitionValues: textMap.nullish(),
  size: z.int().nullish(),
  deletionVector: deletionVectorSchema.nullish(),
})

const metaDataSchema = z.object({
  id: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  format: z.object({ provider: z.string(), options: textMap.nullish() }),
  /** JSON. */
  schemaString: z.string(),
  partitionColumns: z.array(z.string()),
  createdTime: z.int().nullish(),
  configuration: textMap,
})

const protocolSchema = z.object({
  minReaderVersion: z.int(),
  minWriterVersion: z.int(),
  readerFeatures: z.array(z.string()).nullish(),
  writerFeatures: z.array(z.string()).nullish(),
})

const txnSchema = z.object({
  appId: z.string(),
  version: z.int(),
  lastUpdated: z.int().nullish(),
})

const commitInfoSchema = z.looseObject({ snapshot_id: z.string().nullish() })

const actionSchema = z.object({
  commitInfo: commitInfoSchema.nullish(),
  protocol: protocolSchema.nullish(),
  metaData: metaDataSchema.nullish(),
  txn: txnSchema.nullish(),
  remove: removeSchema.nullish(),
  add: addSchema.nullish(),
})

/** One line: one of its fields is there. */
export type Action = z.infer<typeof actionSchema>
/** Rows of a file that do not count. */
export type DeletionVector = z.infer<typeof deletionVectorSchema>
/** A file that belongs to the table from here on. */
export type AddFile = z.infer<typeof addSchema>
/** A file that no longer does. */
export type RemoveFile = z.infer<typeof removeSchema>
/** What the table is. */
export type MetaData = z.infer<typeof metaDataSchema>
/** What an engine must know to read and write the table. */
export type Protocol = z.infer<typeof protocolSchema>
/** How far an application has come. */
export type Txn = z.infer<typeof txnSchema>

/** The text of a commit or a list of actions: one line each, without the fields that are null. */
export function formatActions(actions: readonly Action[]): string {
  return actions.map((action) => `${JSON.stringify(withoutNulls(action))}\n`).join('')
}

/** A copy of a part of a log without the fields that are null: null and absent mean the same there. */
export function withoutNulls(value: object): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, inner: unknown) => (inner === null ? undefined : inner)),
  )
}

/**
 * Reads actions from their lines. `where` names them in the message.
 * @throws PublishError when a line is no action of a Delta log
 */
export function parseActions(text: string, where: string): Action[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line, index) => {
    try {
      return actionSchema.parse(JSON.parse(line))
    } catch (error) {
      throw new DamagedLogError(`${where}, line ${index + 1}, is no line of a Delta log`, {
        hint: 'Remove the folder _delta_log there: the next publish writes it again.',
        cause: error,
      })
    }
  })
}

/** What tells one logical file from another: the path, and which rows of it do not count. */
export function logicalFile(file: {
  readonly path: string
  readonly deletionVector?: DeletionVector | null | undefined
}): string {
  return `${file.path}\n${vectorId(file.deletionVector)}`
}

// What tells one deletion vector from another, as the protocol derives it; empty for none.
function vectorId(vector: DeletionVector | null | undefined): string {
  if (vector === null || vector === undefined) return ''
  const { storageType, pathOrInlineDv, offset } = vector
  const id = storageType + pathOrInlineDv
  return offset === null || offset === undefined ? id : `${id}@${offset}`
}
