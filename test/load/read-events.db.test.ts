/** The engine reads events as src/api/schemas.ts does, whatever the service sends. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseEvent, parsePage, unknownFields } from '../../src/api/schemas.ts'
import { eventColumns, readPages, ReadingNotes, type PageBody } from '../../src/load/read-events.ts'
import { sqlText } from '../../src/support/assets.ts'
import { Suppression } from '../../src/load/suppression.ts'
import { receivedJson } from '../../src/support/json.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { rounds } from '../helpers/tier.ts'
import { START, aPage, memory, wireEvent } from './load-fixture.ts'

/** JSON as text: only text can repeat a name, or write a number in another way. */
const oddJson = fc.constantFrom(
  ...String.raw`
    null | true | [] | {} | [1] | {"current":"x"} | 12 | 12.0 | -0 | 1e3 | 1.5 | 1e400 | 0.1e1 | 999999999
    9007199254740993 | 2147483647 | 2147483648 | -2147483648
    "" | " " | " 12" | "12" | "null" | "infinity" | "-infinity" | "epoch" | "today" | "2024" | "joined" | "Joined" | "left "
    "\u0000" | "a\u001fb" | "\ud800" | "\ud83d\ude00" | "\/" | "\"" | "\\" | "\\u0041" | "\u0041" | "a\nb\t" | "\u007f"
    "\u2028" | "é" | "\u0301x\u0301" | "\ufffd" | "\ufeff" | "org_1" | "per 1" | "per_\"1" | "per_é" | "'; drop"`
    .split(/[|\n]/)
    .map((json) => json.trim())
    .filter((json) => json !== ''),
)
const text = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('null', '"A"', '"Senior \\"Data\\" Engineer"', '"Ünï"') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: oddJson },
)
/** One of the words between the bars; a word may be empty. */
const oneOf = (words: string) => fc.constantFrom(...words.split('|').map((word) => word.trimEnd()))
const anInstant = fc
  .tuple(
    oneOf('2024|1999|1969|1582|1600|0001|0000|9999|9899|+2024'),
    oneOf('-01-31|-02-29|-02-30|-10-15|-12-31|-13-01|-00-10|-1-1|'),
    fc.constantFrom('T', ' ', 't', ''),
    oneOf('00:00:00|23:59:59|24:00:00|23:59:60|12:30|12|7:05:00|'),
    oneOf('|.0|.1|.123|.1239|.999999|.9999999|.|,5'),
    oneOf('Z|z||+00:00|+05:30|-14:00|+15:00|+0530|+05| UTC|-00:00'),
  )
  .map((parts) => JSON.stringify(parts.join('')))
const usualInstant = fc
  .integer({ min: Date.UTC(1950, 0, 1), max: Date.UTC(2030, 0, 1) })
  .map((at) => JSON.stringify(new Date(at).toISOString()))
const instant = fc.oneof(
  { weight: 6, arbitrary: usualInstant },
  { weight: 4, arbitrary: anInstant },
  { weight: 1, arbitrary: oddJson },
)
const id = (prefix: string) =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(1, 2, 3).map((n) => `"${prefix}_${n}"`) },
    { weight: 1, arbitrary: oddJson },
  )
const lag = fc.oneof({ weight: 6, arbitrary: fc.constantFrom('3', '-3', 'null') }, oddJson)

type Members = readonly (readonly [name: string, json: string])[]
/** An object with these members: some missing, some repeated, some added. */
function object(members: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<string> {
  const extra = fc.tuple(
    fc.constantFrom('pronouns', '__proto__', 'person', 'event\\u005ftype', 'title', '', 'a.b'),
    fc.oneof(oddJson, fc.constant(`${'['.repeat(3_000)}${']'.repeat(3_000)}`)),
  )
  return fc
    .tuple(
      fc.record(members),
      fc.option(fc.nat(), { freq: 12 }),
      fc.option(fc.nat(), { freq: 16 }),
      fc.option(extra, { freq: 10 }),
    )
    .map(([record, without, twice, added]) => {
      let list: Members = Object.entries(record)
      if (without !== null) list = list.filter((_, index) => index !== without % list.length)
      if (twice !== null) list = [...list, list[twice % list.length] ?? ['title', '1']]
      if (added !== null) list = [added, ...list]
      return `{${list.map(([name, json]) => `"${name}":${json}`).join(',')}}`
    })
}
const orOdd = (usual: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 15, arbitrary: usual }, { weight: 1, arbitrary: oddJson })
const texts = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, text]))
const event = orOdd(
  object({
    event_type: orOdd(fc.constantFrom('"joined"', '"left"', '"title_change"')),
    detected_at: instant,
    changed_at: instant,
    detection_lag_days: lag,
    title: orOdd(object(texts('current previous'))),
    person: orOdd(
      object({
        profile_id: id('per'),
        ...texts('handle full_name first_name last_name headline network_url'),
      }),
    ),
    organization: orOdd(object({ organization_id: id('org'), ...texts('name slug network_url') })),
  }),
)
const page = fc
  .record({
    events: fc.array(event, { maxLength: 6 }),
    foreign: fc.option(fc.constant(['org_2']), { freq: 6 }),
    prefix: fc.oneof({ weight: 9, arbitrary: fc.constant('') }, fc.constantFrom('\ufeff', ' \n')),
    dataTwice: fc.option(fc.constant('"data":[{}],'), { freq: 12 }),
    // A byte that is not UTF-8.
    broken: fc.option(fc.constant('"note":"\xff",'), { freq: 12 }),
  })
  .map(({ events, foreign, prefix, dataTwice, broken }): PageBody => {
    const { record } = aPage([], { at: START })
    const rest = `"pagination":{"page":1,"has_more":false},"credit_used":10`
    return {
      record: { ...record, ...(foreign === null ? {} : { foreign }) },
      body: Buffer.concat([
        Buffer.from(`${prefix}{${dataTwice ?? ''}`),
        Buffer.from(broken ?? '', 'latin1'),
        Buffer.from(`"data":[${events.join(',')}],${rest}}`),
      ]),
    }
  })

const suppressions = [
  new Suppression(null),
  new Suppression(null).including({
    profileIds: ['per_2'],
    eventsBefore: Date.UTC(1990, 0, 1),
  }),
]

/** The result for the events of some pages. */
interface Outcome {
  readonly sightings: readonly string[]
  readonly rejects: readonly string[]
  readonly suppressed: number
  readonly unknownFields: readonly string[]
}

const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).toSorted()

/** The reference: the schema, one event at a time. */
function readOneByOne(pages: readonly PageBody[], suppression: Suppression): Outcome {
  const [sightings, rejects]: [object[], object[]] = [[], []]
  const fields = new Set<string>()
  let suppressed = 0
  for (const { record, body } of pages) {
    const parsedPage = parsePage(body)
    if (typeof parsedPage === 'string') throw new TypeError(parsedPage)
    for (const [index, value] of parsedPage.events.entries()) {
      if (suppression.coversEvent(value)) {
        suppressed += 1
        continue
      }
      const parsed = parseEvent(value)
      const foreign =
        typeof parsed !== 'string' &&
        record.foreign?.includes(parsed.organization.organization_id) === true
      if (typeof parsed === 'string' || foreign) {
        const reason = foreign ? 'organisation was not asked for' : parsed
        rejects.push([record.request_id, index + 1, reason, receivedJson(value)])
        continue
      }
      sightings.push({ ...eventColumns(parsed), received_at: new Date(record.at) })
      for (const field of unknownFields(value)) fields.add(field)
    }
  }
  return {
    sightings: lines(sightings),
    rejects: lines(rejects),
    suppressed,
    unknownFields: [...fields].toSorted(),
  }
}

async function readInSets(
  warehouse: Warehouse,
  pages: readonly PageBody[],
  suppression: Suppression,
): Promise<Outcome> {
  const notes = new ReadingNotes()
  await warehouse.run(sqlText('load/staging.sql'))
  await readPages(warehouse, pages.slice(0, 2), suppression, notes)
  if (pages.length > 2) await readPages(warehouse, pages.slice(2), suppression, notes)
  const rows = await warehouse.all('select * exclude (run_id) from staged_sightings')
  return {
    sightings: lines(rows),
    rejects: lines(
      notes.rejects.map(({ request_id, position, reason, event: sent }) => [
        request_id,
        position,
        reason,
        sent,
      ]),
    ),
    suppressed: notes.suppressed,
    unknownFields: [...notes.unknownFields.keys()].toSorted(),
  }
}

describe('events read in sets', () => {
  it('give the same rows, rejects, reasons and unknown fields as one by one, whatever is sent', async () => {
    const warehouse = await memory()
    await fc.assert(
      fc.asyncProperty(
        fc.array(page, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...suppressions),
        async (pages, suppression) => {
          expect(await readInSets(warehouse, pages, suppression)).toEqual(
            readOneByOne(pages, suppression),
          )
        },
      ),
      { numRuns: rounds('JOBTIDE_ODD_PAGES', 30, 3_000) },
    )
  }, 600_000)

  it('are all read by the engine if they are ordinary', async () => {
    const warehouse = await memory()
    const odd = ['Senior "Data" Engineer', 'Chef de cuisine\nParis', 'Ingénieur']
    const titles = ['Engineer', ...odd, null]
    const events = titles.map((title) => wireEvent({ title }))
    const { record, body } = aPage(events)
    await warehouse.run(sqlText('load/staging.sql'))
    const pages = [[0], ['run'], [new Date()], [Buffer.from(body)]]
    await warehouse.run(sqlText('load/read_events.sql'), pages)
    expect(record.events).toBe(5)
    const read = 'select is_read, count(*)::int as n from page_events group by 1'
    expect(await warehouse.all(read)).toEqual([{ is_read: true, n: 5 }])
  })
})
