/** Parts of several documents. See src/cli/documents.ts. */

import { z } from 'zod'
import { SCHEMA_VERSION } from '../report.ts'

export const text = z.string()
export const orNull = (type: z.ZodType) => type.nullable()
export const flag = z.boolean()
export const count = z.int().nonnegative()
export const amount = z.number()
export const instant = text.meta({ format: 'date-time' })
export const list = (type: z.ZodType) => z.array(type)
export const object = (keys: Record<string, z.ZodType>) => z.object(keys)
export const withVersion = (keys: Record<string, z.ZodType>) =>
  object({ schema_version: z.literal(SCHEMA_VERSION), ...keys })
export const anything = z.record(text, z.unknown())
export const left = list(object({ organization: text, reason: text }))
/** Lines of lists that name nothing. */
export const skippedLines = list(object({ list: text, count, lines: list(count) }))
export const totals = { tables: count, files: count, rows: count, bytes: count }

/** A failure, as errorDocument makes it. */
export const problem = z.looseObject({ message: text, hint: orNull(text), exit_code: count })
/** The document of a command that ends without a result. */
export const failure = withVersion({ error: problem })
