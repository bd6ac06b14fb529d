/**
 * A pipeline file: what to ask for, how much it may cost, where it goes. Parsed once, strictly: an unknown key or a bad
 * value is refused with file and line before the first request.
 */

import { Lexer, LineCounter, Parser, parseDocument, type Document } from 'yaml'
import { z } from 'zod'
import { EVENT_TYPES } from '../journal/records.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { HOUR, MINUTE, SECOND } from '../support/units.ts'
import { lineOf } from '../support/yaml-lines.ts'
import { isCron, isTimezone } from './due.ts'
import { watchListSchema, watchSchema } from './watch-lists.ts'

const DURATION = /^(\d{1,4})(s|m|h)$/
const DURATION_UNITS = { s: SECOND, m: MINUTE, h: HOUR } as const

/** How far back to ask: whole days of detection time, 1 to 365, or one of `words`. */
function windowSchema<Word extends string>(words: readonly Word[]) {
  const error = `expected a whole number of days from 1 to 365, or ${words.join(' or ')}`
  return z.union([z.int().min(1, error).max(365, error), z.literal(words)], { error })
}

const durationSchema = z
  .string()
  .regex(DURATION, 'expected a duration such as 30s, 15m or 2h')
  .describe('A duration: a whole number and s, m or h.')

const count = z.int().min(0).max(100_000)
const KEEP_ERROR =
  'expected a whole number from 1, or {last, daily, weekly, monthly} with one above 0'
const keepSchema = z.union(
  [
    z.int().min(1, KEEP_ERROR).max(100_000, KEEP_ERROR),
    z
      .strictObject({
        last: count.optional().describe('The newest so many.'),
        daily: count.optional().describe('The newest of each of so many days (UTC).'),
        weekly: count.optional().describe('The newest of each of so many weeks (ISO, UTC).'),
        monthly: count.optional().describe('The newest of each of so many months (UTC).'),
      })
      .refine((rules) => Object.values(rules).some((rule) => (rule ?? 0) > 0), KEEP_ERROR),
  ],
  { error: KEEP_ERROR },
)

const s3Schema = z.strictObject({
  region: z.string().min(1).optional().describe('AWS region; absent: what the AWS SDK finds.'),
  endpoint: z
    .string()
    .min(1)
    .optional()
    .describe('http(s)://host[:port] of an S3-compatible server; JOBTIDE_S3_ENDPOINT wins.'),
  path_style: z
    .boolean()
    .optional()
    .describe('The bucket in the path, not in the host name; default: true with an endpoint.'),
  sse: z
    .enum(['none', 'AES256', 'aws:kms'])
    .optional()
    .describe('Encryption asked of the server; none leaves it to the bucket.'),
  kms_key_id: z.string().min(1).optional().describe('With aws:kms: the key.'),
  storage_class: z.string().min(1).optional().describe('Of data files, such as STANDARD_IA.'),
})

const TOLD = ['failure', 'budget', 'stale', 'recovered', 'success', 'digest'] as const
const toldSchema = z.array(z.enum(TOLD)).min(1)
const ownTold = toldSchema.optional().describe('What is told here, in place of `notify.on`.')
const ADDRESS = /^[^\s<>,;:"@]+@[^\s<>,;:"@]+$/
const addressSchema = z.string().regex(ADDRESS, 'expected an address such as team@example.com')
const urlSchema = z.string().min(1)
const URL_TEXT = 'https, or http on this machine; ${NAME} stands for a variable of the environment.'

const notifySchema = z
  .strictObject({
    webhook: z
      .strictObject({
        url: urlSchema.describe(URL_TEXT),
        format: z.enum(['json', 'slack']).default('json').describe('What is posted.'),
        on: ownTold,
      })
      .optional()
      .describe('A webhook that gets a post.'),
    email: z
      .strictObject({
        to: z
          .array(addressSchema)
          .min(1)
          .max(20)
          .describe('Who gets it, each a mail of their own.'),
        from: addressSchema.describe('The sender. The server stands in JOBTIDE_SMTP_URL.'),
        on: ownTold,
      })
      .optional()
      .describe('Mail as plain text.'),
    heartbeat: urlSchema
      .optional()
      .describe(`An address that gets a GET after each run that ends with 0. ${URL_TEXT}`),
    on: toldSchema
      .default(['failure', 'budget', 'stale', 'recovered'])
      .describe('What is told, each thing once.'),
  })
  .refine(({ webhook, email, heartbeat }) => webhook ?? email ?? heartbeat, {
    error: 'expected webhook, email or heartbeat',
  })

/** Who is told what. */
export type NotifySpec = z.infer<typeof notifySchema>
/** What a destination can be told. */
export type Told = (typeof TOLD)[number]

/** The shape of a pipeline file; config/pipeline.schema.json is made from it. */
export const pipelineSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'expected lower-case letters, digits and hyphens')
    .describe('Name of the pipeline; runs are remembered by it.'),
  schedule: z
    .string()
    .refine(isCron, 'expected five cron fields, such as "15 2 * * *"')
    .optional()
    .describe('Cron time, five fields: when `jobtide schedule` runs it, and `status` expects it.'),
  timezone: z
    .string()
    .refine(isTimezone, 'expected UTC or the name of a zone, such as Europe/Berlin')
    .default('UTC')
    .describe('The zone in which the schedule is read.'),
  organizations: z
    .string()
    .min(1)
    .describe('The organisations to watch: a CSV, TXT or Parquet file, relative to this file.'),
  event_types: z
    .array(z.enum(EVENT_TYPES))
    .min(1, 'expected at least one of joined, left, title_change')
    .default([...EVENT_TYPES])
    .describe('Which job changes to ask for.'),
  window: windowSchema(['since-last', 'all']).describe(
    'How far back to ask, in days of detection time.',
  ),
  initial_window: windowSchema(['all'])
    .default(365)
    .describe('With since-last: the window of an organisation that was never covered.'),
  overlap_hours: z
    .number()
    .min(0)
    .max(720)
    .default(6)
    .describe('With since-last: hours to read again before the watermark.'),
  limits: z
    .strictObject({
      credits: z.int().min(10).optional().describe('Credits a run may spend; a page costs 10.'),
      credits_per_month: z
        .int()
        .min(10)
        .optional()
        .describe('Credits all runs of the pipeline together may spend in a calendar month (UTC).'),
      requests_per_second: z
        .number()
        .positive()
        .max(1000)
        .optional()
        .describe('Requests a second; absent leaves the pace to the service.'),
      concurrency: z.int().min(1).max(32).default(4).describe('Batches read side by side.'),
      max_wait: durationSchema
        .default('15m')
        .describe(
          'The longest wait that the service may order or in which it answers nothing (exit 5), and the longest wait for another run (exit 8).',
        ),
    })
    .default({ concurrency: 4, max_wait: '15m' }),
  snapshot: z
    .strictObject({
      to: z
        .string()
        .min(1)
        .describe('A folder (relative to the data directory) or s3://bucket/prefix.'),
      keep: keepSchema
        .default(30)
        .describe('How many snapshots to keep: the last so many, or so many by rule.'),
      s3: s3Schema.optional().describe('How to reach the bucket, and how objects lie in it.'),
    })
    .optional()
    .describe('Where Parquet snapshots go; absent publishes nothing.'),
  retention_days: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Events that changed and were detected longer ago are erased after each run; absent keeps all.',
    ),
  watch: watchSchema
    .optional()
    .describe('Lists of people or organisations whose changes go to watch_hits.'),
  notify: notifySchema
    .optional()
    .describe('Who is told how runs end and what changed; absent: nobody.'),
})

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
  if (text.length > LONGEST_FILE) {
    throw new ConfigError(
      `${file} is no pipeline file: it is longer than ${LONGEST_FILE} characters`,
    )
  }
  refuseDeep(text, file)
  const lines = new LineCounter()
  const options = { lineCounter: lines, prettyErrors: false, logLevel: 'error' as const }
  const document = parseDocument(text, options)
  const [syntax] = document.errors
  if (syntax !== undefined) {
    const { line } = lines.linePos(syntax.pos[0])
    throw new ConfigError(`${file}:${line}: not valid YAML: ${syntax.message}`, { hint: HINT })
  }
  const parsed = pipelineSchema.safeParse(valuesOf(document, file))
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.flatMap((issue) => describe(issue, document, lines, file))
  throw new ConfigError(faults.join('\n'), { hint: HINT })
}

const HINT = 'Mend the pipeline file and run again; nothing was sent.'

// Maps take the parser time that grows with the square of their keys: 100,000 took minutes.
const LONGEST_FILE = 16_384

// A pipeline file has three levels. At the end of the stack V8 may end the process instead of throwing an error: a thousand
// levels were enough.
const DEEPEST = 32

/** Reads its tokens only, which needs no stack. */
function refuseDeep(text: string, file: string): void {
  const parser = new Parser()
  for (const token of new Lexer().lex(text)) {
    Array.from(parser.next(token))
    if (parser.stack.length <= DEEPEST) continue
    throw new ConfigError(`${file}: not valid YAML: it is nested too deeply`, { hint: HINT })
  }
}

// Resolving aliases throws for one without an anchor, and for a few that stand for millions of values.
function valuesOf(document: Document, file: string): unknown {
  try {
    return document.toJS() as unknown
  } catch (error) {
    throw new ConfigError(`${file}: not valid YAML: ${messageOf(error)}`, { hint: HINT })
  }
}

const ALLOWED_KEYS: Readonly<Record<string, readonly string[]>> = {
  '': Object.keys(pipelineSchema.shape),
  limits: Object.keys(pipelineSchema.shape.limits.unwrap().shape),
  snapshot: Object.keys(pipelineSchema.shape.snapshot.unwrap().shape),
  'snapshot.keep': ['last', 'daily', 'weekly', 'monthly'],
  'snapshot.s3': Object.keys(s3Schema.shape),
  notify: Object.keys(notifySchema.shape),
  'notify.webhook': Object.keys(notifySchema.shape.webhook.unwrap().shape),
  'notify.email': Object.keys(notifySchema.shape.email.unwrap().shape),
  watch: Object.keys(watchListSchema.shape),
}

function describe(
  issue: z.core.$ZodIssue,
  document: Document.Parsed,
  lines: LineCounter,
  file: string,
): string[] {
  const at = (path: readonly PropertyKey[]) => `${file}:${lineOf(path, document, lines)}`
  const { path } = issue
  if (issue.code === 'unrecognized_keys') {
    const group = path.filter((part) => typeof part === 'string').join('.')
    const allowed = ALLOWED_KEYS[group]?.join(', ')
    return issue.keys.map((key) => {
      // An address that was written without its key may be a secret.
      const shown = KEY.test(key) ? key : '…'
      return `${at([...path, key])}: ${[...path, shown].join('.')}: unknown key; allowed: ${allowed}`
    })
  }
  if (path.length === 0) return [`${at(path)}: ${NOT_A_MAP}`]
  const isMissing = document.getIn(path) === undefined
  return [`${at(path)}: ${path.join('.')}: ${isMissing ? 'missing; ' : ''}${issue.message}`]
}

const KEY = /^[\w-]{1,40}$/
const NOT_A_MAP = `expected keys and values: ${ALLOWED_KEYS['']?.join(', ')}`
