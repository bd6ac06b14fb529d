import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseOrganizations } from '../../src/plan/organizations.ts'
import { parsePipeline } from '../../src/plan/pipeline.ts'
import { CHANGES, parsePeople, watchedOrganizations } from '../../src/plan/watch-lists.ts'
import { sqlFolder } from '../../src/support/assets.ts'

const parse = (text: string) =>
  parsePeople(Buffer.from(text), 'people.csv').map(
    ({ entry, kind, listedAs }) => `${entry} ${kind}:${listedAs}`,
  )

function messageOf(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    expect(error).toMatchObject({ name: 'ConfigError', exitCode: 2 })
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

describe('a watch-list of people', () => {
  it.each([
    ['one column', 'name\nAda Lovelace\n', ['1 name:Ada Lovelace']],
    ['headings in any case', '\ufeffProfile_ID\r\nper_1\r\n', ['1 profile_id:per_1']],
    [
      'headings of other programs, and columns that are not read',
      'Full name;Company;LinkedIn URL\n"Lovelace, Ada";Acme;https://network.example/in/ada\n',
      ['1 url:https://network.example/in/ada', '1 name:Lovelace, Ada'],
    ],
    [
      'an id and a name: the id says it all',
      'name,profile_id\nAda Lovelace,per_1\nGrace Hopper,\n',
      ['1 profile_id:per_1', '2 name:Grace Hopper'],
    ],
    ['a handle in the column of pages', 'url\n@ada-1\n', ['1 handle:ada-1']],
    ['a page in the column of handles', 'handle\nin.example/ada\n', ['1 url:in.example/ada']],
    ['a page and the same page again', 'url,handle\na/b,a/b\n', ['1 url:a/b']],
    ['letters of full width', 'name\nＡｄａ\n', ['1 name:Ada']],
    [
      'blank lines and comments',
      '# ours\nname\n\nAda\n# more\nBob,\n',
      ['1 name:Ada', '2 name:Bob'],
    ],
  ])('is read with %s', (_, text, entries) => {
    expect(parse(text)).toEqual(entries)
  })

  it.each([
    [
      'person,company\nAda,Acme\n',
      'people.csv:1: no column profile_id, url, handle, name; found: person, company',
    ],
    ['', 'people.csv:1: no column profile_id, url, handle, name; found: nothing'],
    ['name\n', 'people.csv: the watch-list is empty'],
    ['name,url\nAda,\n,\n\nx,y z\n', 'people.csv:5: url: not a page: "y z"'],
    ['name,Full Name,NAME\na,b,c\n', 'people.csv:1: two columns name: name, name'],
    ['LinkedIn URL,Profile URL\na,b\n', 'people.csv:1: two columns url: linkedin url, profile url'],
    ['profile_id\nper 1\n', 'people.csv:2: profile_id: not a profile_id: "per 1"'],
    ['name\n=HYPERLINK(1)\n', 'people.csv:2: name: not a name: "=HYPERLINK(1)"'],
    [
      'name,company\n,Acme\n',
      'people.csv:2: no person is named: profile_id, url, handle, name are empty',
    ],
    [
      'name,company\nLovelace, Ada,Acme\n',
      'people.csv:2: 3 cells below 2 columns: put a cell with a comma in quotes',
    ],
  ])('%j is refused with line and column', (text, message) => {
    expect(messageOf(() => parse(text))).toBe(message)
  })

  it('is refused as a workbook', () => {
    const workbook = Buffer.from('PK\u0003\u0004…')
    expect(messageOf(() => parsePeople(workbook, 'people.xlsx'))).toMatch(/Excel/)
  })
})

it('a watch-list of organisations accepts the same as the list of a pipeline', () => {
  const list = parseOrganizations(
    Buffer.from(
      'organization_id,company_url\norg_1,\n,https://network.example/company/Acme-Inc/\n',
    ),
    'list.csv',
  )
  expect(watchedOrganizations(list)).toEqual([
    { entry: 1, kind: 'organization_id', listedAs: 'org_1' },
    { entry: 2, kind: 'company_url', listedAs: 'acme-inc' },
  ])
})

describe('watch in a pipeline file', () => {
  const base = 'name: nightly\norganizations: list.csv\nwindow: all\nwatch:\n'
  const refusal = (lines: string) => messageOf(() => parsePipeline(base + lines, 'nightly.yaml'))

  it.each([
    [
      '  - { name: a, people: a.csv, level: [vp] }',
      'nightly.yaml:5: watch.0.level: unknown key; did you mean levels? allowed: name, people, organizations, changes, levels, functions',
    ],
    ['  - { name: a }', 'nightly.yaml:5: watch.0: expected people or organizations, one of them'],
    [
      '  - { name: a, people: a.csv, organizations: b.csv }',
      'nightly.yaml:5: watch.0: expected people or organizations, one of them',
    ],
    [
      '  - { name: a, people: a.csv }\n  - { name: a, people: b.csv }',
      'nightly.yaml:6: watch.1.name: there are two lists of that name',
    ],
    [
      '  - name: a\n    people: a.csv\n    changes: [joined, fired]',
      `nightly.yaml:7: watch.0.changes.1: expected ${CHANGES.join(', ').replace(/, (\w+)$/, ' or $1')}, got "fired"`,
    ],
    ['  - { people: a.csv }', 'nightly.yaml:5: watch.0.name: missing; '],
  ])('%j is refused with file and line', (lines, message) => {
    expect(refusal(lines)).toContain(message)
  })

  it('names the levels and fields of work that exist', () => {
    expect(refusal('  - { name: a, people: a.csv, levels: [boss] }')).toMatch(/intern, .*cxo/)
    expect(refusal('  - { name: a, people: a.csv, functions: [tech] }')).toMatch(/engineering/)
  })

  it('knows exactly the changes of career_changes', () => {
    const sql = readFileSync(join(sqlFolder, 'models/marts/career_changes.sql'), 'utf8')
    const cases = [...sql.matchAll(/\bcase\b(?:(?!\bcase\b)[^;])*?end as change/g)].join('\n')
    const told = [...cases.matchAll(/(?:then|else) '(\w+)'/g)].map(([, change]) => change)
    expect(new Set(told)).toEqual(new Set(CHANGES))
  })
})
