/** The log as JSON, one line for each event, by pino. Loaded only for commands with such a log. */

import { pino } from 'pino'
import type { Logger, LogLevel, Scrubber } from './logger.ts'
import { escapedJson } from './text.ts'

/** Writes scrubbed lines, one a call, with the newline. @param fields added to each line with their current values */
export function createJsonLog(
  level: LogLevel,
  scrubber: Scrubber,
  write: (line: string) => void,
  fields: Readonly<Record<string, string>> = {},
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // A copy, because the fields of the line are added to it.
      mixin: () => ({ ...fields }),
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => write(scrubber.scrub(escapedJson(line))) },
  )
}
