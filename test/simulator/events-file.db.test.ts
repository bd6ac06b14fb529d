import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readEventsFile } from '../../src/simulator/events.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { anEvent, eventsIn, manyEvents } from './simulator-fixture.ts'

function fileOf(name: string, content: string | Buffer): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, content)
  return path
}

const linesOf = (events: readonly object[]) => events.map((e) => JSON.stringify(e)).join('\n')

describe('a file of events', () => {
  it.each([
    ['events.ndjson', (text: string) => text],
    ['events.ndjson.gz', (text: string) => gzipSync(text)],
  ])(
    '%s with 3 events, one of them twice, a blank line and no last line break gives 4',
    (name, pack) => {
      const [a, b, c] = manyEvents(3)
      const source = readEventsFile(
        fileOf(name, pack(`${linesOf([a!, b!, c!])}\n\n${linesOf([b!])}`)),
      )
      expect(eventsIn(source)).toEqual([a, b, b, c])
    },
  )

  it('fills missing keys with null and keeps unknown keys', () => {
    const { person, ...rest } = anEvent()
    const line = { ...rest, person: { profile_id: person.profile_id }, colour: 'red' }
    const source = readEventsFile(fileOf('events.ndjson', linesOf([line])))
    expect(eventsIn(source)[0]).toEqual({
      ...line,
      person: {
        profile_id: 'per_1',
        handle: null,
        full_name: null,
        first_name: null,
        last_name: null,
        headline: null,
        network_url: null,
      },
    })
  })

  const good = anEvent()
  it.each([
    ['{"event_type":', 'line 2: not JSON: '],
    [JSON.stringify({ ...good, event_type: 'hired' }), 'line 2: event_type: '],
    [
      JSON.stringify({ ...good, detected_at: 'yesterday' }),
      'line 2: detected_at: expected an ISO 8601 timestamp',
    ],
    [JSON.stringify({ ...good, detection_lag_days: '3' }), 'line 2: detection_lag_days: '],
    [JSON.stringify({ ...good, organization: {} }), 'line 2: organization.organization_id: '],
    ['"text"', 'line 2: '],
  ])('with %s is refused: %s', (line, message) => {
    const path = fileOf('events.ndjson', `${JSON.stringify(good)}\n${line}\n`)
    expect(() => readEventsFile(path)).toThrow(`${path}, ${message}`)
  })

  it('that is missing, or whose gzip stream is cut, is refused by name', () => {
    for (const path of ['no-such.ndjson', 'no-such.ndjson.gz']) {
      expect(() => readEventsFile(path)).toThrow(`${path}: cannot be read`)
    }
    const packed = gzipSync(linesOf(manyEvents(500)))
    const path = fileOf('cut.ndjson.gz', packed.subarray(0, packed.length / 2))
    expect(() => readEventsFile(path)).toThrow(`${path}: cannot be read`)
  })
})
