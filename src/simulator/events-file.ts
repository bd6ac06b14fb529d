/** Files of events, one JSON object a line, plain or gzipped: served instead of a made-up world. */

import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { ConfigError, messageOf } from '../support/errors.ts'
import { EventCollector, eventSchema, type EventSource, type JobChangeEvent } from './events.ts'

/**
 * Reads the events of an `.ndjson` or `.ndjson.gz` file; exact duplicates are kept. Blank lines are skipped.
 * @throws ConfigError when the file cannot be read, or naming the first line that is not an event
 */
export async function readEventsFile(path: string): Promise<EventSource> {
  const collector = new EventCollector()
  let lineNumber = 0
  for await (const line of linesOf(path)) {
    lineNumber += 1
    if (line.trim() !== '') collector.add(parseLine(line, `${path}, line ${lineNumber}`))
  }
  return collector.finish()
}

function parseLine(line: string, subject: string): JobChangeEvent {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new ConfigError(`${subject}: not JSON: ${messageOf(error)}`, { cause: error })
  }
  const parsed = eventSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new ConfigError(`${subject}: ${issue?.path.join('.')}: ${issue?.message}`)
}

// Not node:readline, for which U+2028 within a text of JSON ends a line.
async function* linesOf(path: string): AsyncGenerator<string> {
  const file = createReadStream(path, { highWaterMark: 256 * 1_024 })
  const unpacked = path.endsWith('.gz')
    ? file.on('error', (error) => unpacked.destroy(error)).pipe(createGunzip())
    : file
  let rest = ''
  try {
    for await (const chunk of unpacked.setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${path}: cannot be read: ${messageOf(error)}`, { cause: error })
  } finally {
    file.destroy()
  }
  yield rest
}
