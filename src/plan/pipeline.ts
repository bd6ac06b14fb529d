/**
 * A pipeline file: what to ask for, how much it may cost, and where the result goes. Here are the keys of each kind;
 * those of all kinds are in pipeline-fields.ts. Parsed once, strictly: an unknown key or a bad value is refused with
 * file and line before the first request.
 */

import { Lexer, LineCounter, Parser, isMap, parseDocument, type Document } from 'yaml'
import { z } from 'zod'
import { ENDPOINTS } from '../api/endpoints/endpoints.ts'
import { EVENT_TYPES } from '../journal/records.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { meant } from '../support/nearest.ts'
import { plainly } from '../support/schema-words.ts'
import { lineOf } from '../support/yaml-lines.ts'
import { commonFields, text } from './pipeline-fields.ts'
import { watchSchema } from './watch-lists.ts'

/** How far back to ask: whole days of detection time, 1 to 365, or one of `words`. */
function windowSchema<Word extends string>(words: readonly Word[]) {
  const error = `expected a whole number of days from 1 to 365, or ${words.join(' or ')}`
  return z.union([z.int().min(1, error).max(365, error), z.literal(words)], { error })
}

const filterText = z
  .string()
  .trim()
  .min(3, 'expected 3 characters or more: the service takes no shorter text')
  .optional()

export const pipelineSchema = z.strictObject({
  ...commonFields,
  kind: z
    .literal('job-changes', 'expected job-changes or collect')
    .default('job-changes')
    .describe('What it reads.'),
  organizations: text.describe(
    'The organisations to watch: a CSV, TXT or Parquet file, relative to this file.',
  ),
  event_types: z
    .array(z.enum(EVENT_TYPES))
    .min(1, 'expected at least one of joined, left, title_change')
    .default([...EVENT_TYPES])
    .describe('Which job changes to ask for.'),
  title: filterText.describe('Words of the new title: only changes to titles with all of them.'),
  geo_city: filterText.describe('A part of the name of the city that the person is in now.'),
  geo_country_code: z
    .string()
    .trim()
    .regex(/^[A-Za-z]{2}$/, 'expected two letters, such as GB')
    .transform((code) => code.toUpperCase())
    .optional()
    .describe('The country that the person is in now: two letters.'),
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
    .describe('With since-last: hours before the watermark to fetch again.'),
  watch: watchSchema
    .optional()
    .describe('Lists of people or organisations whose changes go to watch_hits.'),
})

export const collectSchema = z.strictObject({
  ...commonFields,
  kind: z.literal('collect').describe('It asks an endpoint for each line of a list.'),
  endpoint: z.enum([...ENDPOINTS.keys()]).describe('The items to request.'),
  for_each: z
    .union([text, z.strictObject({ sql: text })], {
      error: 'expected a file, or {sql: …}',
    })
    .optional()
    .describe(
      'The items to request: a CSV or TXT file, relative to this one, or the first column of an SQL select over the warehouse; absent: one request, for what the options say.',
    ),
  fills: text
    .optional()
    .describe('The member of a request that each item fills; absent: the first of the endpoint.'),
  options: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Other members of each request, as the endpoint names them.'),
  contacts: z
    .boolean()
    .default(false)
    .describe(
      'Whether to keep mail addresses and telephone numbers in answers: they may belong to people.',
    ),
  pages: z.int().min(1).max(10_000).default(10).describe('The most pages of one list.'),
  refresh_days: z
    .int()
    .min(1)
    .max(3650)
    .default(30)
    .describe('An answer that is this many days old, or fewer, is not requested again.'),
})

export type PipelineSpec = z.infer<typeof pipelineSchema>
export type CollectSpec = z.infer<typeof collectSchema>

/** @throws ConfigError that names file, line and what is allowed, for all faults at once */
export function parsePipeline(written: string, file: string): PipelineSpec | CollectSpec {
  refuseLarge(written, file)
  const lines = new LineCounter()
  const options = { lineCounter: lines, prettyErrors: false, logLevel: 'error' as const }
  const document = parseDocument(written, options)
  const [syntax] = document.errors
  if (syntax !== undefined) {
    const { line } = lines.linePos(syntax.pos[0])
    throw notYaml(`${file}:${line}`, SYNTAX[syntax.code] ?? syntax.message)
  }
  const isCollect = isMap(document.contents) && document.get('kind') === 'collect'
  const schema = isCollect ? collectSchema : pipelineSchema
  // The message about an unknown key, or about a value where a map should be: the allowed keys.
  const error = (issue: z.core.$ZodRawIssue) => {
    const { code, inst } = issue
    return inst instanceof z.ZodObject && (code === 'unrecognized_keys' || inst === schema)
      ? Object.keys(inst.shape).join(', ')
      : plainly(issue)
  }
  const parsed = schema.safeParse(valuesOf(document, file), { error })
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues
    .filter((issue, index, all) => !all.slice(0, index).some((one) => isSubsumed(issue, one)))
    .flatMap((issue) => describe(issue, document, lines, file))
  throw new ConfigError(faults.join('\n'), { hint: HINT })
}

/** Whether the length of a value is at fault that is of another type: the parser measures texts in place of lists. */
function isSubsumed({ code, path }: z.core.$ZodIssue, earlier: z.core.$ZodIssue): boolean {
  const isLength = code === 'too_small' || code === 'too_big'
  return isLength && earlier.code === 'invalid_type' && earlier.path.join() === path.join()
}

// Messages that advise users of the parser.
const SYNTAX: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'the line --- begins a second document; write each pipeline into its own file',
}

export type ReadableParts = Readonly<ReturnType<typeof readableParts>>

/**
 * The valid parts of a file with errors, each on its own: whom to notify that its pipeline cannot run, and when it
 * should. Never throws.
 */
export function readableParts(written: string) {
  const { name, schedule, timezone, notify } = commonFields
  let values: Readonly<Record<string, unknown>> = {}
  try {
    refuseLarge(written, '')
    values = Object(parseDocument(written, { logLevel: 'error' }).toJS()) as typeof values
  } catch {
    // Then no part of it is valid.
  }
  const cron = schedule.safeParse(values['schedule']).data
  const zone = timezone.catch('UTC').parse(values['timezone'])
  return {
    name: name.safeParse(values['name']).data ?? null,
    schedule: cron === undefined ? null : { cron, timezone: zone },
    notify: notify.safeParse(values['notify']).data ?? null,
  }
}

const HINT = 'Fix the pipeline file and run the command again. Nothing was sent.'

// The parser's time for a map grows with the square of its keys: 100,000 took minutes.
const LONGEST_FILE = 16_384

// A pipeline file has three levels. A thousand levels were enough to exhaust the stack, where V8 may end the process
// instead of throwing.
const DEEPEST = 32

function refuseLarge(written: string, file: string): void {
  if (written.length > LONGEST_FILE) {
    const what = `it is longer than ${LONGEST_FILE} characters`
    throw new ConfigError(`${file} is not a pipeline file: ${what}`)
  }
  // Reads its tokens only, which needs no stack.
  const parser = new Parser()
  for (const token of new Lexer().lex(written)) {
    Array.from(parser.next(token))
    if (parser.stack.length <= DEEPEST) continue
    throw notYaml(file, 'it is nested too deeply')
  }
}

function notYaml(place: string, why: string): ConfigError {
  return new ConfigError(`${place}: not valid YAML: ${why}`, { hint: HINT })
}

// Resolving aliases throws for an alias without an anchor, and for a few that expand to millions of values.
function valuesOf(document: Document, file: string): unknown {
  try {
    return document.toJS() as unknown
  } catch (error) {
    throw notYaml(file, messageOf(error))
  }
}

const KEY = /^[\w-]{1,40}$/

function describe(
  issue: z.core.$ZodIssue,
  document: Document.Parsed,
  lines: LineCounter,
  file: string,
): string[] {
  const { path, message } = issue
  const at = (of: readonly PropertyKey[]) => `${file}:${lineOf(of, document, lines)}`
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      // A value that was written without its key may be a secret.
      const shown = KEY.test(key) ? key : '…'
      const allowed = `${meant(key, message.split(', '))}allowed: ${message}`
      return `${at([...path, key])}: ${[...path, shown].join('.')}: unknown key; ${allowed}`
    })
  }
  if (path.length === 0) return [`${at(path)}: expected keys and values: ${message}`]
  const isMissing = document.getIn(path) === undefined
  return [`${at(path)}: ${path.join('.')}: ${isMissing ? 'missing; ' : ''}${message}`]
}
