import { describe, expect, it } from 'vitest'
import {
  errorMessage,
  parseEvent,
  parsePage,
  shortened,
  unknownFields,
} from '../../src/api/schemas.ts'

const PAGE = {
  success: true,
  message: 'ok',
  data: [{ any: 'thing' }],
  pagination: { page: 2, limit: 50, has_more: true },
  credit_used: 10,
}

const EVENT = {
  event_type: 'left',
  detected_at: '2026-11-20T02:15:00Z',
  changed_at: '2026-11-01T00:00:00Z',
  detection_lag_days: 19,
  title: { current: 'Engineer', previous: null },
  person: {
    profile_id: 'per_1',
    handle: 'zoe',
    full_name: 'Zoë Müller',
    first_name: 'Zoë',
    last_name: 'Müller',
    headline: ' 𝒵\u0000 ',
    network_url: 'https://network.example/in/zoe',
  },
  organization: { organization_id: 'org_1', name: 'Acme', slug: 'acme', network_url: null },
}

const page = (fields: object) => Buffer.from(JSON.stringify({ ...PAGE, ...fields }))
const ABSENT = Symbol('absent')

/** The event with one field, such as `person.handle`, set or removed. */
function eventWith(path: string, value: unknown): unknown {
  const event = structuredClone(EVENT) as Record<string, unknown>
  const [head = '', field] = path.split('.')
  const parent = field === undefined ? event : (event[head] as Record<string, unknown>)
  if (value === ABSENT) delete parent[field ?? head]
  else parent[field ?? head] = value
  return event
}

/** The field that the error names for each of these values, without the rest of the message. */
const namedWith = (path: string, values: readonly unknown[]) =>
  values.map((value) => {
    const reason = parseEvent(eventWith(path, value))
    return typeof reason === 'string' ? reason.split(': ')[0] : 'taken'
  })

describe('parsePage', () => {
  it('reads events, page, limit, has_more and credits', () => {
    expect(parsePage(page({}))).toEqual({
      events: [{ any: 'thing' }],
      page: 2,
      limit: 50,
      hasMore: true,
      creditsSent: 10,
    })
  })

  it.each([
    ['negative credits: a page that was paid for is not refused', page({ credit_used: -10 })],
    ['credits as text', page({ credit_used: '10' })],
    ['no error', page({ error: null, errors: [] })],
    ['new fields at any level', page({ x: 1, pagination: { ...PAGE.pagination, total: 9 } })],
    ['no limit', page({ pagination: { page: 2, has_more: true } })],
    ['a limit as text', page({ pagination: { ...PAGE.pagination, limit: '50' } })],
    ['no success and no message', page({ success: undefined, message: undefined })],
    ['a byte order mark', Buffer.concat([Buffer.from('\uFEFF'), page({})])],
    ['events of any kind: they are judged one by one', page({ data: [null, 5, 'x', []] })],
  ])('accepts %s', (_what, body) => {
    expect(parsePage(body)).toMatchObject({ page: 2, hasMore: true })
  })

  it.each([
    ['an empty body', Buffer.alloc(0), /^not JSON, begins with ""$/],
    ['HTML', Buffer.from('<html><body>Sign in'), /^not JSON, begins with "<html><body>Sign in"$/],
    ['cut JSON', page({}).subarray(0, 30), /^not JSON/],
    ['a list', Buffer.from('[]'), /^it: expected keys and values/],
    ['success: false', page({ success: false, data: [] }), /^success: /],
    ['no data', page({ data: undefined }), /^data: expected a list/],
    ['data null, as in errors', page({ data: null }), /^data: expected a list/],
    ['no pagination', page({ pagination: undefined }), /^pagination: /],
    ['page 0', page({ pagination: { page: 0, has_more: true } }), /^pagination.page: /],
    ['no has_more', page({ pagination: { page: 2 } }), /^pagination.has_more: /],
    ['no events and an error', page({ data: [], error: 'timeout' }), /an error: "timeout"$/],
    ['events and errors', page({ errors: ['shard 3'] }), /an error: \["shard 3"\]$/],
    ['no credits', page({ credit_used: undefined }), /^credit_used: /],
  ])('refuses %s with the reason', (_what, body, reason) => {
    expect(parsePage(body)).toMatch(reason)
  })
})

describe('parseEvent', () => {
  it('returns instants in milliseconds and every other field as sent; a lone surrogate becomes U+FFFD, and a leading byte order mark is removed', () => {
    expect(parseEvent(EVENT)).toEqual({
      ...EVENT,
      detected_at: Date.UTC(2026, 10, 20, 2, 15),
      changed_at: Date.UTC(2026, 10, 1),
    })
    expect(parseEvent(eventWith('person.headline', 'a\uD83Db'))).toMatchObject({
      person: { headline: 'a\uFFFDb' },
    })
    expect(parseEvent(eventWith('title.current', '\uFEFFClerk\uFEFF'))).toMatchObject({
      title: { current: 'Clerk\uFEFF' },
    })
  })

  const needed = [
    'event_type',
    'detected_at',
    'changed_at',
    'title',
    'person',
    'organization',
    'person.profile_id',
    'organization.organization_id',
  ]
  const { profile_id: _person, ...person } = EVENT.person
  const { organization_id: _organization, ...organization } = EVENT.organization
  const optional = [
    'detection_lag_days',
    'title.current',
    'title.previous',
    ...Object.keys(person).map((field) => `person.${field}`),
    ...Object.keys(organization).map((field) => `organization.${field}`),
  ]

  it.each(needed)('names %s if it is missing or not a text', (path) => {
    const values = [ABSENT, null, 7, true, [], '']
    expect(namedWith(path, values)).toEqual(values.map(() => path))
  })

  it.each(optional)(
    'reads %s as null if it is null or missing, and names any other fault',
    (path) => {
      const [head = '', field] = path.split('.')
      for (const value of [null, ABSENT]) {
        const event = parseEvent(eventWith(path, value)) as unknown as Record<string, never>
        const found: unknown = field === undefined ? event[head] : event[head]?.[field]
        expect(found).toBeNull()
      }
      expect(namedWith(path, [true, [], {}, 1.5])).toEqual(Array(4).fill(path))
    },
  )

  it.each([
    ['a detection lag of more than 32 bits', 'detection_lag_days', [2 ** 31, -(2 ** 31) - 1, 1e21]],
    ['another event type', 'event_type', ['promoted', 'Joined', 'joined ', '__proto__']],
    // Keys are compared byte by byte forever; a number may already have been rounded.
    ...['person.profile_id', 'organization.organization_id'].map(
      (path) =>
        [
          'an id that is damaged, has control characters or is a number',
          path,
          ['a\uD800', '\uDC00', 'a\u0000b', 'a\nb', 'a\uFFFD', '\u0085', 9_007_199_254_740_992],
        ] as const,
    ),
  ] as const)('refuses %s (%s)', (_what, path, values) => {
    expect(namedWith(path, values)).toEqual(values.map(() => path))
  })

  it.each([null, undefined, 5, 'event', [], [EVENT]])('refuses %j', (value) => {
    expect(parseEvent(value)).toMatch(/^it: expected keys and values/)
  })
})

describe('instants', () => {
  it.each([
    ['2026-11-20T02:15:00Z', '2026-11-20T02:15:00.000Z'],
    ['2026-11-20T02:15:00.123456789Z', '2026-11-20T02:15:00.123Z'],
    ['2026-11-20T02:15:00+02:00', '2026-11-20T00:15:00.000Z'],
    ['2026-11-20T02:15:00-0330', '2026-11-20T05:45:00.000Z'],
    ['2026-11-20T02:15:00', '2026-11-20T02:15:00.000Z'],
    ['2026-11-20 02:15:00', '2026-11-20T02:15:00.000Z'],
    ['2026-11-20t02:15:00z', '2026-11-20T02:15:00.000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['0001-01-01T00:00:00-01:00', '0001-01-01T01:00:00.000Z'],
    ['9999-12-31T23:59:59.999+01:00', '9999-12-31T22:59:59.999Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2016-12-31T23:59:60.5', '2017-01-01T00:00:00.500Z'],
    ['2017-01-01 05:29:60+05:30', '2017-01-01T00:00:00.000Z'],
  ])('%s is %s in any time zone', (text, expected) => {
    for (const zone of ['America/New_York', 'Pacific/Apia', 'UTC']) {
      process.env['TZ'] = zone
      expect(parseEvent(eventWith('changed_at', text))).toMatchObject({
        changed_at: Date.parse(expected),
      })
    }
  })

  it.each([
    'soon',
    '20.11.2026',
    '2026-02-29T00:00:00Z',
    '2026-11-20T25:00:00Z',
    '2026-11-20T22:59:60Z',
    '2017-01-01T00:59:60',
    '2016-12-31T23:59:61Z',
    '2016-02-30T23:59:60Z',
    '2026-11-20T02',
    '2026-11-20Z',
    '2026-11-20T02:15:00 Z',
    '2026-11-20T02:15:00+25:00',
    '1763604900',
    '+012026-11-20T00:00:00Z',
    'Fri, 20 Nov 2026 02:15:00 GMT',
    '2026-11-20T02:15:00Z\n',
    'x'.repeat(41),
  ])('%j is refused with its text, or the first 40 characters of it', (text) => {
    expect(parseEvent(eventWith('detected_at', text))).toBe(
      `detected_at: expected an ISO 8601 instant, got ${JSON.stringify(text.slice(0, 40))}`,
    )
  })

  it.each([
    '0000-12-31T23:59:59.999Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '9999-12-31T24:00:00Z',
  ])('%s is refused: its year in UTC is not 1 to 9999', (text) => {
    expect(parseEvent(eventWith('changed_at', text))).toBe(
      `changed_at: expected a year from 1 to 9999 in UTC, got "${text}"`,
    )
  })
})

describe('unknownFields', () => {
  it('finds them at each of the 4 levels, none in a documented event, and accepts any value', () => {
    expect(unknownFields(EVENT)).toEqual([])
    const event = { ...EVENT, a: 1, title: { b: 1 }, person: { c: 1 }, organization: { d: null } }
    expect(unknownFields(event)).toEqual(['a', 'title.b', 'person.c', 'organization.d'])
    for (const value of [null, undefined, 5, [], { title: null, person: 7 }]) {
      expect(unknownFields(value)).toEqual([])
    }
  })
})

describe('the words of an error answer', () => {
  it.each([
    ['the message of the service', '{"message":"limit is 50"}', 'limit is 50'],
    ['the beginning of anything else', '<h1>Bad\n  Gateway</h1>', '<h1>Bad Gateway</h1>'],
    ['a message that is no text', '{"message":5}', '{"message":5}'],
    ['no body', '', 'no message'],
    ['what a terminal would obey', '{"message":"a\\u001b[31mb\\u0007\\r\\nc"}', 'a [31mb c'],
    ['of 50,000 characters', `{"message":"${'x'.repeat(5e4)}"}`, `${'x'.repeat(16_383)}…`],
  ])('are %s', (_what, body, expected) => {
    expect(errorMessage(Buffer.from(body))).toBe(expected)
  })

  it('are shown in full up to 300 characters, and never cut in the middle of a name', () => {
    const name = 'x'.repeat(100)
    expect(shortened(`${name} ${name},${'y'.repeat(98)}`)).toHaveLength(300)
    expect(shortened(`${name} ${name},${'y'.repeat(99)}`)).toBe(`${name} ${name},…`)
    expect(shortened('x'.repeat(301))).toBe(`${'x'.repeat(299)}…`)
  })
})
