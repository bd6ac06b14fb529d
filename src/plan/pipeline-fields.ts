/** The keys that pipeline files of every kind have. */

import { z } from 'zod'
import { postgresAddressFault } from '../support/postgres-address.ts'
import { HOUR, MINUTE, SECOND } from '../support/units.ts'
import { cronFault, isTimezone } from './due.ts'

export const text = z.string().min(1)

/** A text in which `faultOf` finds no fault. */
function faultless(faultOf: (written: string) => string | null) {
  return z.string().superRefine((written, context) => {
    const message = faultOf(written)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })
}

const DURATION = /^(\d{1,4})(s|m|h)$/
const DURATION_ERROR = 'expected a duration such as 30s, 15m or 2h'
const DURATION_UNITS = { s: SECOND, m: MINUTE, h: HOUR } as const

/** Milliseconds of a duration such as `15m`. */
export function durationMs(written: string): number {
  const [, amount, unit] = DURATION.exec(written) ?? []
  return Number(amount) * DURATION_UNITS[unit as keyof typeof DURATION_UNITS]
}

const count = z.int().min(0).max(100_000).optional()
const KEEP_ERROR =
  'expected a whole number from 1, or {last, daily, weekly, monthly} with one above 0'
const keepSchema = z.union(
  [
    z.int().min(1, KEEP_ERROR).max(100_000, KEEP_ERROR),
    z
      .strictObject({
        last: count.describe('How many of the newest snapshots to keep.'),
        daily: count.describe('For how many days (UTC) to keep the newest snapshot of the day.'),
        weekly: count.describe(
          'For how many weeks (ISO, UTC) to keep the newest snapshot of the week.',
        ),
        monthly: count.describe(
          'For how many months (UTC) to keep the newest snapshot of the month.',
        ),
      })
      .refine((rules) => Object.values(rules).some((rule) => (rule ?? 0) > 0), KEEP_ERROR),
  ],
  { error: KEEP_ERROR },
)

export const s3Schema = z.strictObject({
  region: text.optional().describe('AWS region; absent: the one that the AWS SDK finds.'),
  endpoint: text
    .optional()
    .describe('http(s)://host[:port] of an S3-compatible server; JOBTIDE_S3_ENDPOINT wins.'),
  path_style: z
    .boolean()
    .optional()
    .describe('The bucket in the path, not in the host name; default: true with an endpoint.'),
  sse: z
    .enum(['none', 'AES256', 'aws:kms'])
    .optional()
    .describe('Encryption requested from the server; none leaves the choice to the bucket.'),
  kms_key_id: text.optional().describe('With aws:kms: the key.'),
  storage_class: text.optional().describe('Storage class of data files, such as STANDARD_IA.'),
})

const toldSchema = z
  .array(z.enum(['failure', 'budget', 'stale', 'recovered', 'success', 'digest']))
  .min(1)
const ownTold = toldSchema
  .optional()
  .describe('The events reported here, instead of those in `notify.on`.')
const addressSchema = z
  .string()
  .regex(/^[^\s<>,;:"@]+@[^\s<>,;:"@]+$/, 'expected an address such as team@example.com')
// The author of a pipeline file chooses where its messages go, so addresses may come from variables, but keys and
// passwords may not.
const ADDRESS_VARIABLE =
  /^(?!.*(?:SMTP|DATABASE|DB|POSTGRES|MYSQL|MONGO|REDIS|AMQP|PROXY)_)\w+_URL$/i
const urlSchema = text.superRefine((written, context) => {
  for (const [, name = ''] of written.matchAll(/\$\{(\w*)\}/g)) {
    if (ADDRESS_VARIABLE.test(name)) continue
    const message = `\${${name}} is not allowed here: name a variable that ends in _URL and holds no credentials`
    context.addIssue({ code: 'custom', message })
  }
})
const URL_TEXT =
  'https, or http on this machine; ${NAME_URL} stands for a variable of the environment that ends in _URL and holds no credentials.'

export const notifySchema = z
  .strictObject({
    webhook: z
      .strictObject({
        url: urlSchema.describe(URL_TEXT),
        format: z.enum(['json', 'slack']).default('json').describe('The body that is posted.'),
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
          .describe('The recipients; each gets their own mail.'),
        from: addressSchema.describe('The sender. JOBTIDE_SMTP_URL names the server.'),
        on: ownTold,
      })
      .optional()
      .describe('Mail as plain text.'),
    heartbeat: urlSchema
      .optional()
      .describe(`An address that gets a GET after each run that exits with 0. ${URL_TEXT}`),
    on: toldSchema
      .default(['failure', 'budget', 'stale', 'recovered'])
      .describe('The events to report, each once.'),
  })
  .refine(({ webhook, email, heartbeat }) => webhook ?? email ?? heartbeat, {
    error: 'expected webhook, email or heartbeat',
  })

export type NotifySpec = z.infer<typeof notifySchema>
export type Told = NotifySpec['on'][number]

export const databaseSchema = z.strictObject({
  to: faultless(postgresAddressFault).describe(
    'postgres://user@host:5432/database without a password, or ${NAME_URL}: an environment variable that holds the whole address.',
  ),
  schema: text
    .max(63)
    .default('jobtide')
    .describe('The schema that gets the tables; created if it is missing.'),
  tables: z.array(text).min(1).optional().describe('The tables; absent: all tables for analysts.'),
})

const credits = z.int().min(10).optional()

export const commonFields = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'expected lower-case letters, digits and hyphens')
    .describe('Name of the pipeline; its runs are recorded under it.'),
  schedule: faultless(cronFault)
    .optional()
    .describe('Cron time, five fields: when `jobtide schedule` runs it, and `status` expects it.'),
  timezone: z
    .string()
    .refine(isTimezone, 'expected UTC or the name of a zone, such as Europe/Berlin')
    .default('UTC')
    .describe('The time zone of the schedule.'),
  limits: z
    .strictObject({
      credits: credits.describe('Credits a run may spend; a page costs 10.'),
      credits_per_month: credits.describe(
        'Credits all runs of the pipeline together may spend in a calendar month (UTC).',
      ),
      requests_per_second: z
        .number()
        .positive()
        .max(1000)
        .optional()
        .describe('Requests per second; absent: as fast as the service allows.'),
      concurrency: z
        .int()
        .min(1)
        .max(32)
        .default(4)
        .describe('How many batches to fetch at the same time.'),
      max_wait: z
        .string(DURATION_ERROR)
        .regex(DURATION, DURATION_ERROR)
        .default('15m')
        .describe(
          'The longest wait for the service, ordered or without an answer (exit 5), and for another run (exit 8).',
        ),
    })
    .default({ concurrency: 4, max_wait: '15m' }),
  snapshot: z
    .strictObject({
      to: text.describe('A folder (relative to the data directory) or s3://bucket/prefix.'),
      keep: keepSchema
        .default(30)
        .describe('How many snapshots to keep: a number of the newest, or a number for each rule.'),
      current: z
        .boolean()
        .default(true)
        .describe(
          'Whether to keep copies under stable names in current/: for tools that know only files.',
        ),
      s3: s3Schema
        .optional()
        .describe('How to reach the bucket, and how objects are stored in it.'),
    })
    .optional()
    .describe('Where Parquet snapshots go; absent publishes nothing.'),
  destinations: z
    .array(databaseSchema)
    .max(10)
    .default([])
    .describe('Databases that get the tables that changed, after each publish.'),
  journal: z
    .strictObject({
      backup: z
        .union([z.literal(false), text])
        .optional()
        .describe(
          'Where the journal is backed up: a folder outside the data directory, where relative paths start, or s3://bucket/prefix; false for nowhere; absent: journal/ below a destination on S3.',
        ),
    })
    .optional()
    .describe('The journal of bought pages.'),
  build: z
    .strictObject({
      engine: z
        .enum(['duckdb', 'spark'])
        .default('duckdb')
        .describe('The engine that builds the models of a snapshot.'),
      submit: z
        .array(text)
        .min(1)
        .optional()
        .describe(
          'The command that starts the Spark job and ends with it, with its arguments; {job} stands for the address of the job; without it, the address comes last.',
        ),
      address: text
        .optional()
        .describe(
          'The address of the destination for Spark; absent: `snapshot.to` with file:// or s3a://.',
        ),
    })
    .optional()
    .describe('The engine that builds the models; absent: DuckDB, on this machine.'),
  retention_days: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Events that changed and were detected longer ago are erased after each run; absent keeps all.',
    ),
  notify: notifySchema
    .optional()
    .describe('Who is notified of how runs end and of changes; absent: no one.'),
}
