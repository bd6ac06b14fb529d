import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { readEventsFile } from '../../src/simulator/events-file.ts'
import { anEvent, manyEvents, simulate } from './simulator-fixture.ts'

const REAL_FILE = '../shared/data/oss-job-changes.ndjson.gz'

function fileOf(name: string, content: string | Buffer): string {
  const directory = mkdtempSync(join(tmpdir(), 'jobtide-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, name)
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
    async (name, pack) => {
      const [a, b, c] = manyEvents(3)
      const source = await readEventsFile(
        fileOf(name, pack(`${linesOf([a!, b!, c!])}\n\n${linesOf([b!])}`)),
      )
      const read = Array.from({ length: source.count }, (_, event) => source.eventAt(event))
      expect(read).toEqual([a, b, b, c])
    },
  )

  it('keeps characters that lie across two chunks of the file', async () => {
    const events = manyEvents(3_000, { title: '社長 Geschäftsführerin' })
    const source = await readEventsFile(fileOf('events.ndjson', linesOf(events)))
    expect(new Set(source.titles)).toEqual(new Set(['社長 Geschäftsführerin']))
    expect(source.count).toBe(3_000)
  })

  it('fills in missing keys with null and keeps keys that it does not know', async () => {
    const { person, ...rest } = anEvent()
    const line = { ...rest, person: { profile_id: person.profile_id }, colour: 'red' }
    const source = await readEventsFile(fileOf('events.ndjson', linesOf([line])))
    expect(source.eventAt(0)).toEqual({
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
  ])('with %s is refused: %s', async (line, message) => {
    const path = fileOf('events.ndjson', `${JSON.stringify(good)}\n${line}\n`)
    await expect(readEventsFile(path)).rejects.toThrow(`${path}, ${message}`)
  })

  it('that is missing, or whose gzip stream is cut, is refused by name', async () => {
    await expect(readEventsFile('no-such.ndjson')).rejects.toThrow('no-such.ndjson: cannot be read')
    await expect(readEventsFile('no-such.ndjson.gz')).rejects.toThrow(
      'no-such.ndjson.gz: cannot be read',
    )
    const packed = gzipSync(linesOf(manyEvents(500)))
    const path = fileOf('cut.ndjson.gz', packed.subarray(0, packed.length / 2))
    await expect(readEventsFile(path)).rejects.toThrow(`${path}: cannot be read`)
  })
})

describe.skipIf(!existsSync(REAL_FILE))(
  `the real events (skipped where ${REAL_FILE} is absent)`,
  () => {
    it('are 131,811 events of 39,163 organisations, and 5 batches of 50 page out exactly theirs', async () => {
      const source = await readEventsFile(REAL_FILE)
      expect([source.count, source.organizations.length]).toEqual([131_811, 39_163])
      const distinct = new Set<string>()
      const ofOrganization = new Map<string, string[]>()
      for (let number = 0; number < source.count; number += 1) {
        const event = source.eventAt(number)
        const text = JSON.stringify(event)
        distinct.add(text)
        const id = event.organization.organization_id
        ofOrganization.set(id, [...(ofOrganization.get(id) ?? []), text])
      }
      expect(distinct.size).toBe(131_807)

      const simulator = await simulate(source)
      const largest = [...ofOrganization].toSorted((a, b) => b[1].length - a[1].length)
      let pages = 0
      for (const first of [0, 50, 1_000, 5_000, 39_113]) {
        const batch = largest.slice(first, first + 50)
        const organization_ids = batch.map(([id]) => id)
        const served: JobChangeEvent[] = []
        for (let page = 1, more = true; more; page += 1) {
          const { body } = await simulator.post({ organization_ids, page, limit: 50 })
          served.push(...body.data)
          more = body.pagination.has_more
          pages += 1
        }
        expect(served.map((event) => JSON.stringify(event)).toSorted()).toEqual(
          batch.flatMap(([, events]) => events).toSorted(),
        )
      }
      expect(simulator.account()).toMatchObject({ requests: pages, credits: pages * 10 })
    })
  },
)
