/** Files of events, one JSON object a line, plain or gzipped: served instead of a made-up world. */

import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { z } from 'zod'
import { ConfigError, messageOf } from '../support/errors.ts'
import { createEventCollector, EVENT_TYPES, LONGEST_EVENT, type EventSource } from './events.ts'

const text = z.string().nullable().default(null)
const instant = z.string().refine((value) => !Number.isNaN(Date.parse(value)), {
  error: 'expected an ISO 8601 timestamp',
})

// Not strict: keys that are not known are served as they are. Missing keys become null, as the service sends them.
const eventLine = z.looseObject({
  event_type: z.enum(EVENT_TYPES),
  detected_at: instant,
  changed_at: instant,
  detection_lag_days: z.int(),
  title: z.looseObject({ current: text, previous: text }),
  person: z.looseObject({
    profile_id: z.string().min(1),
    handle: text,
    full_name: text,
    first_name: text,
    last_name: text,
    headline: text,
    network_url: text,
  }),
  organization: z.looseObject({
    organization_id: z.string().min(1),
    name: text,
    slug: text,
    network_url: text,
  }),
})

/**
 * Reads the events of an `.ndjson` or `.ndjson.gz` file; exact duplicates are kept. Blank lines are skipped.
 * @throws ConfigError when the file cannot be read, or naming the first line that is not an event
 */
export async function readEventsFile(path: string): Promise<EventSource> {
  const collector = createEventCollector()
  let lineNumber = 0
  for await (const line of linesOf(path)) {
    lineNumber += 1
    if (line.trim() === '') continue
    collector.add(parseLine(line, `${path}, line ${lineNumber}`))
  }
  return collector.finish()
}

function parseLine(line: string, subject: string): z.infer<typeof eventLine> {
  if (line.length > LONGEST_EVENT) {
    throw new ConfigError(`${subject}: ${line.length} characters are too many for one event`)
  }
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new ConfigError(`${subject}: not JSON: ${messageOf(error)}`, { cause: error })
  }
  const parsed = eventLine.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new ConfigError(`${subject}: ${issue?.path.join('.')}: ${issue?.message}`)
}

const NEW_LINE = 0x0a

async function* linesOf(path: string): AsyncGenerator<string> {
  const file = createReadStream(path, { highWaterMark: 256 * 1_024 })
  const unpacked = path.endsWith('.gz')
    ? file.on('error', (error) => unpacked.destroy(error)).pipe(createGunzip())
    : file
  let rest = Buffer.alloc(0)
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let start = 0
      for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, start)) {
        yield bytes.toString('utf8', start, end)
        start = end + 1
      }
      rest = Buffer.from(bytes.subarray(start))
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${path}: cannot be read: ${messageOf(error)}`, { cause: error })
  } finally {
    file.destroy()
  }
  if (rest.length > 0) yield rest.toString('utf8')
}
