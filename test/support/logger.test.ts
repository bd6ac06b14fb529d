import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createJsonLog } from '../../src/support/json-log.ts'
import { createPeopleLog, createScrubber } from '../../src/support/logger.ts'
import { Secret } from '../../src/support/secret.ts'

// With the characters that each encoding changes: / + = % " \ and a letter outside ASCII.
const KEY = 'sk_live/4+f9"a0\\c7=%é'
const bytes = Buffer.from(KEY)

const ENCODINGS: Readonly<Record<string, string>> = {
  raw: KEY,
  'url-encoded': encodeURIComponent(KEY),
  'url-encoded in lower case': encodeURIComponent(KEY).replaceAll(/%../g, (hex) =>
    hex.toLowerCase(),
  ),
  base64: bytes.toString('base64'),
  'base64 without padding': bytes.toString('base64').replace(/=+$/, ''),
  base64url: bytes.toString('base64url'),
  hex: bytes.toString('hex'),
  'hex in upper case': bytes.toString('hex').toUpperCase(),
  'JSON-escaped': JSON.stringify(KEY).slice(1, -1),
}

/** Every place of a value in a log line: fields and message. */
const SHAPES: Readonly<Record<string, (text: string) => readonly [object, string]>> = {
  'the message': (text) => [{}, `refused ${text}`],
  'a field': (text) => [{ key: text }, 'x'],
  'a header': (text) => [{ headers: { authorization: `Bearer ${text}` } }, 'x'],
  'raw headers in an array': (text) => [{ headers: ['authorization', `Bearer ${text}`] }, 'x'],
  'a field four levels deep': (text) => [{ a: { b: { c: { d: text } } } }, 'x'],
  'the message of an error': (text) => [{ err: new Error(`bad key ${text}`) }, 'x'],
  'the cause of an error': (text) => [{ err: new Error('x', { cause: new Error(text) }) }, 'x'],
  'the config of an error': (text) => [
    { err: Object.assign(new Error('x'), { config: { headers: { 'x-api-key': text } } }) },
    'x',
  ],
  'a URL': (text) => [{ url: `https://api.example/search?key=${text}&page=1` }, 'x'],
  'a JSON text': (text) => [{ body: JSON.stringify({ key: text }) }, 'x'],
  'a JSON text in a JSON text': (text) => [
    { body: JSON.stringify({ inner: JSON.stringify({ key: text }) }) },
    'x',
  ],
  'an inspected object': (text) => [{ dump: inspect({ headers: { k: `Bearer ${text}` } }) }, 'x'],
  'the middle of a word': (text) => [{ word: `abc${text}xyz` }, 'x'],
  'twice in one line': (text) => [{ a: text, b: text }, `${text}${text}`],
  'a text of many lines': (text) => [{ text: `first\n${text}\r\nlast` }, 'x'],
}

/** The lines of a log entry: as text for people, and as JSON. */
function logged(fields: object, message: string, secrets: readonly string[] = [KEY]): string {
  const lines: string[] = []
  const scrubber = createScrubber()
  for (const secret of secrets) scrubber.add(secret)
  createJsonLog('info', scrubber, (line) => lines.push(line)).info(fields, message)
  createPeopleLog((line) => lines.push(scrubber.scrub(line))).warn(fields, message)
  return lines.join('')
}

/** Whether a spelling of the key is still in a line, under any number of backslashes. */
function leaks(line: string, spelling: string): boolean {
  return line.replaceAll('\\', '').includes(spelling.replaceAll('\\', ''))
}

describe('the log scrubber', () => {
  describe.each(Object.entries(SHAPES))('finds the key in %s', (_shape, make) => {
    it.each(Object.entries(ENCODINGS))('%s', (_encoding, text) => {
      const [fields, message] = make(text)
      const line = logged(fields, message)
      expect(leaks(line, text)).toBe(false)
      expect(line).toContain('[redacted]')
      // Without a scrubber the key is in the line.
      expect(leaks(logged(fields, message, []), text)).toBe(true)
    })
  })

  it.each([0, 1, 2, 3, 4])('finds it in the base64 of a text with %d bytes before it', (before) => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = Buffer.from(`${'u'.repeat(before)}${KEY}:tail`).toString(encoding)
      const scrubbed = logged({ authorization: `Basic ${text}` }, 'x')
      expect(scrubbed).not.toContain(text.slice(8, 20))
      expect(scrubbed).toContain('[redacted]')
    }
  })

  it('finds it in the numbers of a Buffer', () => {
    expect(logged({ body: Buffer.from(`key ${KEY}`) }, 'x')).not.toContain(bytes.join(','))
  })

  it.each([
    ['sk_live_long', 'sk_live_long_and_more'],
    ['sk_live_long_and_more', 'sk_live_long'],
  ])('leaves no part of a secret that contains another one (%s, %s)', (...secrets) => {
    expect(logged({ key: 'sk_live_long_and_more' }, 'x', secrets)).not.toContain('and_more')
  })

  it('ignores a secret of 5 characters and accepts one of 6', () => {
    expect(logged({ word: 'apple' }, 'x', ['apple'])).toContain('apple')
    expect(logged({ word: 'apples' }, 'x', ['apples'])).not.toContain('apples')
  })
})

describe('a log line', () => {
  it('is one line, of JSON with a time in ISO 8601 or for people, whatever it contains', () => {
    const text = logged({ name: 'a\r\nb\u001B[31m', count: 3, none: undefined }, 'two\nlines')
    const [json = '', people, ...more] = text.trimEnd().split('\n')
    expect(more).toEqual([])
    expect(text).not.toContain('\u001B')
    const parsed = JSON.parse(json) as Record<string, unknown>
    expect(parsed).toMatchObject({ level: 'info', name: 'a\r\nb\u001B[31m', msg: 'two\nlines' })
    expect(parsed['time']).toMatch(/^\d{4}-\d{2}-\d{2}T.*Z$/)
    expect(people).toBe('jobtide: warning: two·lines (name a··b·[31m, count 3)')
  })
})

describe('a Secret', () => {
  const secret = new Secret(KEY)

  it.each([
    ['a template', `${String(secret)}`],
    ['JSON', JSON.stringify({ deep: [{ secret }] })],
    ['inspect of what holds it, hidden parts too', inspect({ secret }, { showHidden: true })],
    ['inspect of a map', inspect(new Map([['key', secret]]), { depth: 9 })],
    ['a join', [secret, secret].join()],
  ])('shows [redacted] and not its value in %s', (_way, shown) => {
    expect(shown).toContain('[redacted]')
    expect(leaks(shown, KEY)).toBe(false)
    expect(secret.reveal()).toBe(KEY)
  })

  it.each([
    ['its keys', Reflect.ownKeys(secret)],
    ['a copy of its fields', Object.assign({}, secret)],
    ['a structured clone', structuredClone(secret)],
    ['an error that holds it as its cause', inspect(new Error('failed', { cause: secret }))],
  ])('hides its value from %s', (_way, shown) => {
    expect(leaks(inspect(shown, { depth: 9, showHidden: true }), KEY)).toBe(false)
  })
})

it.each([
  ['as they are', '\u200b'],
  ['as bytes', '\u00e2\u0080\u008b'],
  ['as JSON escapes', '\\u00ad'],
  ['at the end of a line', '\n'],
  ['at the end of a line in JSON', '\\r\\n'],
])('a key with invisible characters in it, %s, is scrubbed', (_, invisible) => {
  const scrubber = createScrubber()
  scrubber.add('sk_live_4f9a0c7d')
  const [first, ...rest] = 'sk_live_4f9a0c7d'
  const text = `invalid key ${first}${invisible}${rest.join('')}, or ${[first, ...rest].join(invisible)}`
  expect(scrubber.scrub(text)).toBe('invalid key [redacted], or [redacted]')
})

it.each([
  ['"/" as PHP does', 'sk\\/AbC+d3fG7h\\/Jk9Lm2=='],
  ['"+" and "=" as .NET does', 'sk/AbC\\u002Bd3fG7h/Jk9Lm2\\u003d\\u003D'],
  ['a letter', 's\\u006b/AbC+d3fG7h/Jk9Lm2=='],
  [
    'all of it, in a JSON text in a JSON text',
    'sk/AbC+d3fG7h/Jk9Lm2=='.replaceAll(/./g, (one) => `\\\\u00${one.charCodeAt(0).toString(16)}`),
  ],
])('a key is scrubbed even if JSON escapes %s', (_, escaped) => {
  const scrubber = createScrubber()
  scrubber.add('sk/AbC+d3fG7h/Jk9Lm2==')
  expect(scrubber.scrub(`{"message":"API key ${escaped} has expired"}`)).toBe(
    '{"message":"API key [redacted] has expired"}',
  )
})

it('a text of 100,000 escaped characters of a key is searched in time, even if they repeat', () => {
  const scrubber = createScrubber()
  scrubber.add('aaaabbbbaaaac')
  const began = performance.now()
  for (const text of ['\\u0061'.repeat(100_000), '\\'.repeat(1_000_000)]) {
    expect(scrubber.scrub(text)).toBe(text)
  }
  expect(performance.now() - began).toBeLessThan(5_000)
})

it.each(['toLowerCase', 'toUpperCase'] as const)(
  'a key in %s is scrubbed, encoded or not',
  (change) => {
    const secret = 'Key-Of/Somebody_5f2c'
    const scrubber = createScrubber()
    scrubber.add(secret)
    const spellings = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('hex')]
    for (const spelling of spellings) {
      expect(scrubber.scrub(`no key ${spelling[change]()}.`)).toBe('no key [redacted].')
    }
  },
)

it('a field of one line is on no later line; fields of the run are on each, with their current value', () => {
  const lines: string[] = []
  const run: Record<string, string> = { pipeline: 'nightly' }
  const log = createJsonLog('info', createScrubber(), (line) => lines.push(line), run)
  log.info({ page: 7, stage: 'extract' }, 'page_received')
  run['run_id'] = 'run_1'
  log.info({}, 'run_ended')
  const [first, second] = lines.map((line) => JSON.parse(line) as object)
  expect(first).toMatchObject({ pipeline: 'nightly', page: 7, stage: 'extract' })
  const names = Object.keys(second ?? {})
  expect(names.toSorted()).toEqual(['level', 'msg', 'pipeline', 'run_id', 'time'])
  expect(run).toEqual({ pipeline: 'nightly', run_id: 'run_1' })
})
