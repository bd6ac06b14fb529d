/**
 * The lines of a Delta log, as the protocol's "Actions" has them: as text and read back. Pure. Only what Jobtide writes is
 * named; what other engines add to a line is passed over, as the protocol asks of readers. A field that is null is absent.
 */

import { z } from 'zod'
import { DamagedLogError } from '../errors.ts'

const textMap = z.record(z.string(), z.string())

const deletionVectorSchema = z.object({
  /** `i`: the rows stand in the line itself; other letters: in a file. */
  storageType: z.string(),
  pathOrInlineDv: z.string(),
  offset: z.int().optional(),
  sizeInBytes: z.int(),
  cardinality: z.int(),
})

const addSchema = z.object({
  /** Below the table's folder. */
  path: z.string(),
  partitionValues: textMap,
  size: z.int(),
  /** Milliseconds since 1970 UTC, as all times in a log. */
  modificationTime: z.int(),
  dataChange: z.boolean(),
  /** JSON. */
  stats: z.string().optional(),
  deletionVector: deletionVectorSchema.optional(),
})

const removeSchema = z.object({
  path: z.string(),
  deletionTimestamp: z.int().optional(),
  dataChange: z.boolean(),
  extendedFileMetadata: z.boolean().optional(),
  partitionValues: textMap.optional(),
  size: z.int().optional(),
  deletionVector: deletionVectorSchema.optional(),
})

const metaDataSchema = z.object({
  id: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  format: z.object({ provider: z.string(), options: textMap.optional() }),
  /** JSON. */
  schemaString: z.string(),
  partitionColumns: z.array(z.string()),
  createdTime: z.int().optional(),
  configuration: textMap,
})

const protocolSchema = z.object({
  minReaderVersion: z.int(),
  minWriterVersion: z.int(),
  readerFeatures: z.array(z.string()).optional(),
  writerFeatures: z.array(z.string()).optional(),
})

const actionSchema = z.object({
  commitInfo: z.looseObject({ snapshot_id: z.string().optional() }).optional(),
  protocol: protocolSchema.optional(),
  metaData: metaDataSchema.optional(),
  /** How far an application has come. */
  txn: z
    .object({ appId: z.string(), version: z.int(), lastUpdated: z.int().optional() })
    .optional(),
  remove: removeSchema.optional(),
  add: addSchema.optional(),
})

/** One line: one of its fields is there. */
export type Action = z.infer<typeof actionSchema>
/** Rows of a file that do not count. */
export type DeletionVector = z.infer<typeof deletionVectorSchema>
/** A file that belongs to the table from here on. */
export type AddFile = z.infer<typeof addSchema>
/** A file that no longer does. */
export type RemoveFile = z.infer<typeof removeSchema>
export type MetaData = z.infer<typeof metaDataSchema>
/** What an engine must know to read and write the table. */
export type Protocol = z.infer<typeof protocolSchema>

export function formatActions(actions: readonly Action[]): string {
  return actions.map((action) => `${JSON.stringify(action)}\n`).join('')
}

/** Reads actions from their lines. `where` names them in the message. */
export function parseActions(text: string, where: string): Action[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line, index) => {
    try {
      return actionSchema.parse(JSON.parse(line, (_key, value: unknown) => value ?? undefined))
    } catch (error) {
      throw new DamagedLogError(`${where}, line ${index + 1}, is no line of a Delta log`, {
        hint: 'Remove the folder _delta_log there: the next publish writes it again.',
        cause: error,
      })
    }
  })
}

/** What tells one logical file from another: the path, and which rows of it do not count. */
export function logicalFile({ path, deletionVector }: AddFile | RemoveFile): string {
  const { storageType = '', pathOrInlineDv = '', offset = '' } = deletionVector ?? {}
  return `${path}\n${storageType}${pathOrInlineDv}@${offset}`
}
