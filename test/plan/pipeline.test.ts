import { describe, expect, it } from 'vitest'
import { parsePipeline } from '../../src/plan/pipeline.ts'
import { durationMs } from '../../src/plan/pipeline-fields.ts'
import { HOUR, MINUTE, SECOND } from '../../src/support/units.ts'

const LINES = {
  name: 'name: nightly',
  organizations: 'organizations: list.csv',
  window: 'window: since-last',
}
/** A pipeline file with `lines` after the three that every file needs; one named again replaces it. */
function file(...lines: string[]): string {
  const own = new Set(lines.map((line) => line.split(':', 1)[0]))
  const base = Object.entries(LINES).filter(([key]) => !own.has(key))
  return [...base.map(([, line]) => line), ...lines].join('\n')
}

function messageOf(text: string): string {
  try {
    parsePipeline(text, 'nightly.yaml')
  } catch (error) {
    expect(error).toMatchObject({ name: 'ConfigError', exitCode: 2 })
    return (error as Error).message
  }
  throw new Error('the file was accepted')
}

describe('parsePipeline', () => {
  it('fills in the defaults of a file with three lines', () => {
    expect(parsePipeline(file(), 'nightly.yaml')).toEqual({
      name: 'nightly',
      kind: 'job-changes',
      destinations: [],
      organizations: 'list.csv',
      event_types: ['joined', 'left', 'title_change'],
      window: 'since-last',
      initial_window: 365,
      overlap_hours: 6,
      timezone: 'UTC',
      limits: { concurrency: 4, max_wait: '15m' },
    })
  })

  it('reads every key', () => {
    const text = file(
      'schedule: "15 2 * * 1-5"',
      'event_types: [left]',
      'window: 30',
      'initial_window: all',
      'overlap_hours: 0.5',
      'limits: {credits: 10, requests_per_second: 0.2, concurrency: 32, max_wait: 2h}',
      'snapshot: {to: "s3://bucket/prefix", keep: {last: 7, weekly: 12}, s3: {sse: aws:kms, path_style: true}}',
      'retention_days: 730',
    )
    expect(parsePipeline(text, 'nightly.yaml')).toMatchObject({
      schedule: '15 2 * * 1-5',
      event_types: ['left'],
      window: 30,
      initial_window: 'all',
      overlap_hours: 0.5,
      limits: { credits: 10, requests_per_second: 0.2, concurrency: 32, max_wait: '2h' },
      snapshot: {
        to: 's3://bucket/prefix',
        keep: { last: 7, weekly: 12 },
        s3: { sse: 'aws:kms', path_style: true },
      },
      retention_days: 730,
    })
  })

  // Line 4 is the first after the three that every file needs.
  it.each([
    [
      'shedule: x',
      '4: shedule: unknown key; did you mean schedule? allowed: name, schedule, timezone, limits',
    ],
    [
      'limits: {credit: 5}',
      '4: limits.credit: unknown key; did you mean credits? allowed: credits, ',
    ],
    [
      'snapshot: {to: a, too: b}',
      '4: snapshot.too: unknown key; did you mean to? allowed: to, keep',
    ],
    [
      'notify: {webhook: {"https://hook.test/T0/sk-1"}}',
      '4: notify.webhook.…: unknown key; allowed: url',
    ],
    ['name: my pipeline', '3: name: expected lower-case letters, digits and hyphens'],
    ['window: 0', '3: window: expected a whole number of days from 1 to 365, or since-last or all'],
    ['window: 366', '3: window: expected a whole number of days'],
    [
      'initial_window: since-last',
      '4: initial_window: expected a whole number of days from 1 to 365, or all',
    ],
    [
      'event_types: [joined, moved]',
      '4: event_types.1: expected joined, left or title_change, got "moved"',
    ],
    ['event_types: []', '4: event_types: expected at least one of joined, left, title_change'],
    ['overlap_hours: -1', '4: overlap_hours: expected 0 or more, got -1'],
    ['limits: {credits: 9}', '4: limits.credits: expected 10 or more, got 9'],
    [
      'limits: {requests_per_second: 0}',
      '4: limits.requests_per_second: expected more than 0, got 0',
    ],
    ['limits: {concurrency: 33}', '4: limits.concurrency: expected 32 or less, got 33'],
    [
      'limits: {max_wait: 5 minutes}',
      '4: limits.max_wait: expected a duration such as 30s, 15m or 2h',
    ],
    ['schedule: "0 15 2 * * *"', '4: schedule: expected five cron fields'],
    ['---', '4: not valid YAML: the line --- begins a second document'],
    ['timezone: Mars/Olympus', '4: timezone: expected UTC or the name of a zone'],
    ['snapshot: {keep: 3}', '4: snapshot.to: missing; '],
    ['snapshot: {to: a, keep: {last: 0}}', '4: snapshot.keep: expected a whole'],
    [
      'snapshot: {to: a, keep: {yearly: 1}}',
      '4: snapshot.keep.yearly: unknown key; allowed: last, daily, ',
    ],
    [
      'snapshot: {to: a, s3: {acl: public}}',
      '4: snapshot.s3.acl: unknown key; allowed: region, endpoint, path_style, sse, ',
    ],
    ['retention_days: 0', '4: retention_days: expected 1 or more, got 0'],
    ['destinations: postgres://db', '4: destinations: expected a list, got a text'],
    ['journal: {backup: true}', '4: journal.backup: expected false, or a text, got true'],
    ['kind: jobs', '4: kind: expected job-changes or collect'],
    ['limits: {credits: 1.5}', '4: limits.credits: expected a whole number, got 1.5'],
    ['limits: {concurrency: many}', '4: limits.concurrency: expected a number, got "many"'],
    ['build: {engine: duckd}', 'duckdb or spark, got "duckd"; did you mean duckdb?'],
    ['limits: 5', '4: limits: expected keys and values, got 5'],
    ['organizations: ""', '3: organizations: expected a text that is not empty'],
  ])('refuses %s', (line, message) => {
    const said = messageOf(file(line))
    expect(said).toContain(message)
    expect(said).toMatch(/^nightly\.yaml:\d+: /)
  })

  it.each([
    ['destinations: postgres://db', 'destinations: expected a list, got a text'],
    ['title: []', 'title: expected a text, got an empty list'],
    ['limits: {max_wait: 15}', 'limits.max_wait: expected a duration such as 30s, 15m or 2h'],
  ])('says only once what is wrong with %s', (line, message) => {
    expect(messageOf(file(line))).toBe(`nightly.yaml:4: ${message}`)
  })

  it('names a key that is missing', () => {
    expect(messageOf('name: a\nwindow: all')).toBe(
      'nightly.yaml:1: organizations: missing; expected a text',
    )
  })

  it('names every fault at once, each with its line, in lists and maps over several lines', () => {
    const text = [
      'name: nightly',
      'organizations: list.csv',
      'window: soon',
      'event_types:',
      '  - joined',
      '  - moved',
      'limits:',
      '  credits: many',
      '  speed: 5',
      'keep: 3',
    ].join('\n')
    const lines = messageOf(text).split('\n')
    expect(lines.map((line) => line.split(': ').slice(0, 2).join(': ')).toSorted()).toEqual([
      'nightly.yaml:10: keep',
      'nightly.yaml:3: window',
      'nightly.yaml:6: event_types.1',
      'nightly.yaml:8: limits.credits',
      'nightly.yaml:9: limits.speed',
    ])
  })

  it.each([
    ['a colon too many', 'name: a: b', 'nightly.yaml:1: not valid YAML: '],
    ['a bracket left open', 'name: a\nevent_types: [joined', 'nightly.yaml:2: not valid YAML: '],
    ['a key twice', 'name: a\nwindow: 1\nname: b', 'nightly.yaml:3: not valid YAML: '],
    ['a tab for indentation', 'limits:\n\tcredits: 50', 'nightly.yaml:2: not valid YAML: '],
    ['an alias without an anchor', 'name: *nobody', 'nightly.yaml: not valid YAML: '],
    ['two documents', 'name: a\n---\nname: b', 'not valid YAML: '],
    ['1,000 lists in one another', '- '.repeat(1_000), 'not valid YAML: it is nested too deeply'],
    ['8,000 brackets', `name: ${'['.repeat(8_000)}`, 'it is nested too deeply'],
  ])('refuses YAML with %s', (_, text, message) => {
    expect(messageOf(text)).toContain(message)
  })

  it('refuses a file whose aliases expand to millions of values', () => {
    const rows = ['a: &a [1,1,1,1,1,1,1,1,1,1]']
    for (const [name, of] of ['ba', 'cb', 'dc', 'ed', 'fe'].map((pair) => pair.split(''))) {
      rows.push(`${name}: &${name} [${Array<string>(10).fill(`*${of}`).join()}]`)
    }
    expect(messageOf(rows.join('\n'))).toContain('not valid YAML: Excessive alias count')
  })

  it.each(['', '- nightly', 'nightly'])('refuses %j and lists the allowed keys', (text) => {
    expect(messageOf(text)).toContain('nightly.yaml:1: expected keys and values: name, schedule')
  })
})

it.each([
  ['30s', 30 * SECOND],
  ['15m', 15 * MINUTE],
  ['2h', 2 * HOUR],
])('%s is %i ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms)
})
