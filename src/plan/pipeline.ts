/**
 * A pipeline file: what to ask for, how much it may cost, where it goes. Parsed once, strictly: an unknown key or a bad
 * value is refused with file and line before the first request.
 */

import { Cron } from 'croner'
import { LineCounter, isMap, isNode, parseDocument, type Document } from 'yaml'
import { z } from 'zod'
import { EVENT_TYPES } from '../journal/records.ts'
import { ConfigError } from '../support/errors.ts'
import { HOUR, MINUTE, SECOND } from '../support/units.ts'

const DURATION = /^(\d{1,4})(s|m|h)$/
const DURATION_UNITS = { s: SECOND, m: MINUTE, h: HOUR } as const

/** How far back to ask: whole days of detection time, 1 to 365, or everything. */
const daysSchema = z.union([z.int().min(1).max(365), z.literal('all')], {
  error: 'expected a whole number of days from 1 to 365, or "all"',
})

const durationSchema = z
  .string()
  .regex(DURATION, 'expected a duration such as 30s, 15m or 2h')
  .describe('A duration: a whole number and s, m or h.')

/** The shape of a pipeline file; config/pipeline.schema.json is made from it. */
export const pipelineSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'expected lower-case letters, digits and hyphens')
    .describe('Name of the pipeline; runs are remembered by it.'),
  schedule: z
    .string()
    .refine(isCron, 'expected five cron fields (UTC), such as "15 2 * * *"')
    .optional()
    .describe('Cron time in UTC, five fields.'),
  organizations: z
    .string()
    .min(1)
    .describe('The organisations to watch: a CSV, TXT or Parquet file, relative to this file.'),
  event_types: z
    .array(z.enum(EVENT_TYPES))
    .min(1, 'expected at least one of joined, left, title_change')
    .default([...EVENT_TYPES])
    .describe('Which job changes to ask for.'),
  window: z
    .union([z.literal('since-last'), z.int().min(1).max(365), z.literal('all')], {
      error: 'expected since-last, a whole number of days from 1 to 365, or all',
    })
    .describe('How far back to ask, in days of detection time.'),
  initial_window: daysSchema
    .default(365)
    .describe('With since-last: the window of an organisation that was never covered.'),
  overlap_hours: z
    .number()
    .min(0)
    .max(720)
    .default(6)
    .describe('With since-last: hours to read again before the covered edge.'),
  limits: z
    .strictObject({
      credits: z.int().min(10).optional().describe('Credits a run may spend; a page costs 10.'),
      requests_per_second: z
        .number()
        .positive()
        .max(1000)
        .optional()
        .describe('Requests a second; absent leaves the pace to the service.'),
      concurrency: z.int().min(1).max(32).default(4).describe('Requests at the same time.'),
      max_wait: durationSchema
        .default('15m')
        .describe('The longest wait the service may order before the run stops (exit 5).'),
    })
    .default({ concurrency: 4, max_wait: '15m' }),
  snapshot: z
    .strictObject({
      to: z
        .string()
        .min(1)
        .describe('A folder (relative to the data directory) or s3://bucket/prefix.'),
      keep: z.int().min(1).default(30).describe('How many snapshots to keep.'),
    })
    .optional()
    .describe('Where Parquet snapshots go; absent publishes nothing.'),
})

/** A pipeline file as read. */
export type PipelineSpec = z.infer<typeof pipelineSchema>

/** Milliseconds of a duration such as `15m`. */
export function durationMs(text: string): number {
  const [, amount, unit] = DURATION.exec(text) ?? []
  return Number(amount) * DURATION_UNITS[unit as keyof typeof DURATION_UNITS]
}

/**
 * Parses the text of a pipeline file.
 * @param file name for messages
 * @throws ConfigError naming file, line and what is allowed, for every fault at once
 */
export function parsePipeline(text: string, file: string): PipelineSpec {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [syntax] = document.errors
  if (syntax !== undefined) {
    const { line } = lines.linePos(syntax.pos[0])
    throw new ConfigError(`${file}:${line}: not valid YAML: ${syntax.message}`, { hint: HINT })
  }
  const parsed = pipelineSchema.safeParse(document.toJS())
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.flatMap((issue) => describe(issue, document, lines, file))
  throw new ConfigError(faults.join('\n'), { hint: HINT })
}

const HINT = 'Mend the pipeline file and run again; nothing was sent.'

function describe(
  issue: z.core.$ZodIssue,
  document: Document.Parsed,
  lines: LineCounter,
  file: string,
): string[] {
  if (issue.code !== 'unrecognized_keys') {
    const name = issue.path.length === 0 ? 'the file' : issue.path.join('.')
    return [`${file}:${lineOf(issue.path, document, lines)}: ${name}: ${issue.message}`]
  }
  const parent = issue.path.length === 0 ? pipelineSchema : pipelineSchema.shape.limits
  const allowed =
    issue.path.length === 0
      ? Object.keys(parent instanceof z.ZodObject ? parent.shape : {})
      : Object.keys(NESTED_KEYS[String(issue.path[0])] ?? {})
  return issue.keys.map(
    (key) =>
      `${file}:${lineOf([...issue.path, key], document, lines)}: ${[...issue.path, key].join('.')}: unknown key; allowed: ${allowed.join(', ')}`,
  )
}

const NESTED_KEYS: Readonly<Record<string, object>> = {
  limits: pipelineSchema.shape.limits.unwrap().shape,
  snapshot: pipelineSchema.shape.snapshot.unwrap().shape,
}

// The line of the key itself, or of the nearest parent that stands in the file.
function lineOf(
  path: readonly PropertyKey[],
  document: Document.Parsed,
  lines: LineCounter,
): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent =
      length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true)
    if (!isMap(parent)) continue
    const pair = parent.items.find((item) => String(item.key) === String(path[length - 1]))
    if (pair !== undefined && isNode(pair.key) && pair.key.range) {
      return lines.linePos(pair.key.range[0]).line
    }
  }
  return 1
}

function isCron(text: string): boolean {
  if (text.trim().split(/\s+/).length !== 5) return false
  try {
    new Cron(text, { paused: true }).stop()
    return true
  } catch {
    return false
  }
}
