/**
 * Logs: one line per event on stderr, JSON by json-log.ts or text for people. Secrets are removed by value from the finished
 * line, because removing them by field name misses most of the places a secret can hide (messages, causes, headers).
 */

import { onOneLine, printable } from './text.ts'

/** Replaces every spelling of a secret in a text. */
export interface Scrubber {
  /** Values shorter than SHORTEST_SECRET are ignored: they would cut holes into ordinary words. */
  add(secret: string): void
  scrub(text: string): string
}

/** Shorter values are not scrubbed, so they are not accepted as keys. */
export const SHORTEST_SECRET = 6
/** Longer values do not fit into a header, and the pattern of their spellings would be too large. */
export const LONGEST_SECRET = 4_096
/** In longer secrets, only characters that programs do escape are searched for as JSON escapes. */
const LONGEST_ESCAPED = 1_024

export function createScrubber(): Scrubber {
  const secrets = new Set<string>()
  let spellings: readonly string[] = []
  let anySpelling: RegExp | null = null
  return {
    add(secret) {
      if (secret.length < SHORTEST_SECRET) return
      // Longest first: a secret that is part of another must not leave the rest of it behind.
      spellings = [...new Set([...spellings, ...spellingsOf(secret)])].toSorted(
        (a, b) => b.length - a.length,
      )
      secrets.add(secret)
      const patterns = spellings.map((one) => atAnyDepth(one, secrets.has(one)))
      // Ignores case, because a service may quote a key in lower case.
      anySpelling = new RegExp(patterns.join('|'), 'gi')
    },
    scrub(text) {
      return anySpelling === null ? text : text.replaceAll(anySpelling, '[redacted]')
    },
  }
}

function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const url = encodeURIComponent(secret)
  return [
    secret,
    url,
    ...base64Spellings(bytes, 'base64'),
    ...base64Spellings(bytes, 'base64url'),
    bytes.toString('hex'),
    // How JSON shows a Buffer.
    bytes.join(','),
  ]
}

// A log line is JSON and may hold JSON in its strings, at several levels. Each level, and util.inspect, adds
// backslashes before quotes and backslashes. JSON may escape any character: some services escape "/" and "+", and
// parsing then reveals the secret.
function atAnyDepth(spelling: string, isSecret: boolean): string {
  // For other spellings and long secrets, only those that programs do escape, because a larger pattern is refused.
  const isEscapable = isSecret && spelling.length <= LONGEST_ESCAPED ? /./su : /[+/=<>&'"]/
  return Array.from(spelling, (character) => {
    if (character === '\\') return String.raw`\\+(?:u005c)?`
    const code = `u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
    // These may have a backslash before them unescaped.
    if (/["'/]/.test(character)) return String.raw`\\{0,${DEPTH}}(?:${character}|${code})`
    const plain = character.replace(/[.*+?^${}()|[\]]/, String.raw`\$&`)
    return isEscapable.test(character) ? String.raw`(?:${plain}|\\{1,${DEPTH}}${code})` : plain
  }).join(isSecret ? BETWEEN : '')
}

// Backslashes of JSON in JSON in JSON, and of util.inspect around it. Without a limit, a long run of them would be
// searched from each position.
const DEPTH = 15

// Invisible characters and ends of lines, as they are, as bytes or as JSON escapes: they go where the text is shown or kept. Not
// the escape of a character that a secret may have: where it could be either, the time would grow with every repeat.
const VISIBLE = String.raw`00(?:2[1-9a-f]|[3-6][\da-f]|7[\da-e])`
const BETWEEN = String.raw`(?:[^\x21-\x7e]|\\+(?:u(?!${VISIBLE})[\da-f]{4}|[bfnrt]))*`

// In the middle of a longer text, such as `user:secret`, the same bytes have three spellings, by where they begin.
// Each is cut to the characters that the bytes before and after the secret have no part in.
function base64Spellings(bytes: Buffer, encoding: 'base64' | 'base64url'): string[] {
  const inside = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString(encoding)
    const first = Math.ceil((offset * 8) / 6)
    const end = Math.floor(((offset + bytes.length) * 8) / 6)
    return text.slice(first, end)
  })
  const alone = bytes.toString(encoding)
  return [alone, alone.replace(/=+$/, ''), ...inside]
}

/** The levels `--log-level` takes, quietest last. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Writes a line for each event at its level or above: its fields, and its name. */
export type Logger = Readonly<
  Record<Exclude<LogLevel, 'silent'>, (fields: object, name: string) => void>
>

const quiet = () => undefined

export const silentLogger: Logger = {
  trace: quiet,
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
}

/** A logger for people: warnings and errors, such as `jobtide: warning: waiting_for_lock: data is in use by …`. */
export function createPeopleLog(write: (line: string) => void): Logger {
  const at = (level: string) => (fields: object, name: string) =>
    write(lineForPeople(level, fields, name))
  return { ...silentLogger, warn: at('warning'), error: at('error') }
}

function lineForPeople(level: string, fields: object, name: string): string {
  const { reason, message = reason, why = message, ...others } = fields as Record<string, unknown>
  const about = typeof why === 'string' ? `: ${why}` : ''
  const rest = Object.entries(others)
    .filter(([key, value]) => !ABOUT_RUN.has(key) && value !== undefined)
    .map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const tail = rest.length === 0 ? '' : ` (${rest.join(', ')})`
  return `${onOneLine(printable(`jobtide: ${level}: ${name}${about}${tail}`))}\n`
}

// A person who watches knows which run it is.
const ABOUT_RUN = new Set(['pipeline', 'run_id'])
