/**
 * Logs: one JSON line per event on stderr, an event name and fields. Secrets are removed by value from the finished
 * line, because removing them by field name misses most of the places a secret can hide (messages, causes, headers).
 */

import { pino, type Logger } from 'pino'

export type { Logger }

/** Replaces every spelling of a secret in a text. */
export interface Scrubber {
  /** Adds a secret; values shorter than 6 characters are ignored, they would tear holes in ordinary words. */
  add(secret: string): void
  scrub(text: string): string
}

const SHORTEST_SECRET = 6

/** A scrubber that knows no secret yet. */
export function createScrubber(): Scrubber {
  const spellings = new Set<string>()
  return {
    add(secret) {
      if (secret.length < SHORTEST_SECRET) return
      const base64 = Buffer.from(secret).toString('base64')
      const known = [
        secret,
        encodeURIComponent(secret),
        JSON.stringify(secret).slice(1, -1),
        base64,
        base64.replace(/=+$/, ''),
        Buffer.from(secret).toString('base64url'),
        Buffer.from(secret).toString('hex'),
      ]
      for (const spelling of known) spellings.add(spelling)
    },
    scrub(text) {
      let clean = text
      for (const spelling of spellings) clean = clean.replaceAll(spelling, '[redacted]')
      return clean
    },
  }
}

/** The levels `--log-level` takes, quietest last. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A pino logger that writes scrubbed lines with `write` (one call per line, newline included). */
export function createLogger(
  level: LogLevel,
  scrubber: Scrubber,
  write: (line: string) => void,
): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => write(scrubber.scrub(line)) },
  )
}

/** A logger that says nothing. */
export const silentLogger: Logger = pino({ level: 'silent' })
