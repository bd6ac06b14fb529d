/**
 * Ordinary careers as untidy as people write them, in untidy-careers.txt, each with the right result: its stints,
 * moves, changes of title, returns, who is there now, and where it matters the seats at the top and their successions.
 *
 * An event is a line: the date, known as well as it is written; the organisation (_ is a space); what happened; the
 * title, or `previous > title`; `@date` is the day of its detection, else that of the change. `p2` before it names
 * another person. A missing line of the expected result means none, except for seats and successions.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, memoryWarehouse, type GivenEvent } from '../helpers/warehouse.ts'

const builtAt = new Date('2024-12-01T03:00:00Z')

interface Career {
  readonly name: string
  readonly mark: string
  readonly events: readonly GivenEvent[]
  readonly expected: Readonly<Record<string, string[]>>
}

const ALWAYS = ['stints', 'moves', 'changes', 'back', 'conversions', 'now']
const careers = readFileSync(join(import.meta.dirname, 'untidy-careers.txt'), 'utf8')
  .trim()
  .split('\n\n')
  .map(readCareer)

let warehouse: Warehouse
const found = new Map<string, Map<string, string[]>>()
beforeAll(async () => {
  warehouse = await memoryWarehouse()
  // Detected last, so that the day of the data is the same for all.
  const last: GivenEvent = {
    profile_id: 'nobody',
    organization_id: 'nowhere',
    event_type: 'joined',
    changed_at: '2024-11-29T00:00:00Z',
  }
  await insertEvents(warehouse, [...careers.flatMap(({ events }) => events), last])
  await buildModels(warehouse, { buildId: 'careers', builtAt })
  await warehouse.run(`set search_path = 'main,detail,service,core'`)
  for (const [what, select] of Object.entries(SELECTS)) {
    const byMark = new Map<string, string[]>()
    for (const { line } of await warehouse.all<{ line: string }>(select)) {
      const [, mark = ''] = /(\d{3})\//.exec(line) ?? []
      const text = line
        .replaceAll(/\d{3}\//g, '')
        .replaceAll(/^p1 /g, '')
        .trim()
      byMark.set(mark, [...(byMark.get(mark) ?? []), text])
    }
    found.set(what, byMark)
  }
})
afterAll(() => warehouse.close())

const DAYS = `coalesce(cast(joined_on as text), '?') || '..' || case when is_open then '' else coalesce(cast(left_on as text), '?') end`
const OF = `profile_id || ' ' || organization_id || ' '`
const SELECTS: Readonly<Record<string, string>> = {
  stints: `select ${OF} || ${DAYS} || case when is_primary then '' when employer_kind = 'none' then ' none' else ' side' end as line
    from stints`,
  moves: `select profile_id || ' ' || from_organization_id || '>' || to_organization_id as line from moves`,
  changes: `select ${OF} || cast(changed_on as text) || ' ' || label as line from title_changes where not is_flip`,
  back: `select ${OF} || stint_number as line from stints where is_boomerang`,
  conversions: `select ${OF} || stint_number as line from stints where is_conversion`,
  now: `select profile_id || ' ' || organization_id || case when is_uncertain then '?' when is_primary then '' else ' side' end as line
    from person_organizations where (is_current or is_uncertain) and not (not is_primary and is_uncertain)`,
  seats: `select ${OF} || seat || ' ' || coalesce(cast(cast(held_from_at as date) as text), '?') || '..'
      || coalesce(cast(cast(held_until_at as date) as text), case when is_current then '' else '?' end)
      || case when is_interim then ' interim' else '' end as line
    from executive_seats`,
  successions: `select 'p1 ' || organization_id || ' ' || seat || ' ' || profile_id || ' after ' || predecessor_profile_id as line
    from executive_changes where predecessor_profile_id is not null`,
}

describe('of an ordinary career', () => {
  it.each(careers)('$name', ({ mark, expected }) => {
    const actual = Object.fromEntries(
      Object.keys(expected).map((what) => [
        what,
        agreeing(found.get(what)?.get(mark), expected[what]),
      ]),
    )
    expect(actual).toEqual(expected)
  })
})

/** The result, sorted; a label without an expectation is written `*`, as in the file. */
function agreeing(lines: readonly string[] = [], expected: readonly string[] = []): string[] {
  return lines
    .map((line) => {
      const open = line.replace(/ [a-z]+$/, ' *')
      return expected.includes(open) ? open : line
    })
    .toSorted()
}

function readCareer(text: string, index: number): Career {
  const mark = String(index).padStart(3, '0')
  const lines = text.split('\n').filter((line) => line !== '')
  const name = (lines[0] ?? '').replace('# ', '')
  const said = lines.slice(1)
  const isExpectation = (line: string) => /^[a-z]+: /.test(line)
  const written = Object.fromEntries(
    said.filter(isExpectation).map((line) => {
      const [what = '', values = ''] = line.split(': ')
      return [what, values === 'none' ? [] : values.split(', ').toSorted()]
    }),
  )
  return {
    name,
    mark,
    events: said.filter((line) => !isExpectation(line)).map((line) => readEvent(line, mark)),
    expected: { ...Object.fromEntries(ALWAYS.map((what) => [what, []])), ...written },
  }
}

function readEvent(line: string, mark: string): GivenEvent {
  const parts = /^(?:(p\d) )?(\S+) (\S+) (joined|left|title)(?: ([^@]*?))??(?: @(\S+))?$/.exec(line)
  if (parts === null) throw new Error(`no event: ${line}`)
  const [, person = 'p1', date = '', organization = '', type, titles = '', detected = date] = parts
  const [previous, title] = titles.includes(' > ') ? titles.split(' > ') : [null, titles || null]
  const name = organization.replaceAll('_', ' ')
  return {
    profile_id: `${mark}/${person}`,
    organization_id: `${mark}/${organization}`,
    organization_name: name,
    event_type: type === 'title' ? 'title_change' : (type ?? ''),
    changed_at: instant(date),
    detected_at: instant(detected),
    title_current: title ?? null,
    title_previous: previous ?? null,
  }
}

function instant(date: string): string {
  return `${date}${'-01-01'.slice(date.length - 4)}T00:00:00Z`
}
