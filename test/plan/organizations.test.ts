import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromText, parseOrganizations, readRows } from '../../src/plan/organizations.ts'
import { csvLine } from '../../src/support/text.ts'
import { hostileText } from '../helpers/hostile-text.ts'

const parse = (text: string | Uint8Array) =>
  parseOrganizations(typeof text === 'string' ? Buffer.from(text) : text, 'list.csv')
const values = (text: string | Uint8Array) =>
  parse(text).organizations.map(({ by, value }) => `${by}:${value}`)

function refusal(text: string | Uint8Array): string {
  try {
    parse(text)
  } catch (error) {
    expect(error).toMatchObject({ name: 'ConfigError', exitCode: 2 })
    return (error as Error).message
  }
  throw new Error('the list was accepted')
}

function utf16(text: string, order: 'le' | 'be'): Buffer {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
  return order === 'le' ? bytes : bytes.swap16()
}

describe('readRows', () => {
  it('reads the cells that csvLine wrote, with 3 delimiters, #, blanks and quotes in them (300 random lines)', () => {
    const part = fc.constantFrom(',', ';', '\t', '#', ' ', '"', 'Smith', '\u00a0')
    const cell = fc.oneof(hostileText, fc.string({ unit: part, maxLength: 8 }))
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 4 }), (cells) => {
        const written = csvLine(['name', 'url']) + csvLine([...cells, 'acme'])
        const [, row] = readRows(Buffer.from(written), 'list.csv', 'companies', '')
        expect(row?.cells).toEqual([...cells, 'acme'])
      }),
      { numRuns: 300 },
    )
  })
})

describe('parseOrganizations', () => {
  const two = ['id:org_1', 'url:acme']

  it.each([
    ['a line each', 'org_1\nacme\n'],
    ['old Mac line ends', 'org_1\racme\r'],
    ['blank lines and blanks', '\n  org_1  \n\n \t \nacme\n\n'],
    ['comments, with quotes in them', '# our "key accounts\norg_1\n  # more\nacme\n'],
    ['quotes', '"org_1"\n"acme"\n'],
    ['a header for both', 'organization_id,company_url\norg_1,\n,acme\n'],
    ['a header in any case', 'Company_URL,ORGANIZATION_ID\n,org_1\nacme,\n'],
    ['other columns between', 'name,organization_id,note,company_url\nA,org_1,x,\nB,,y,acme\n'],
    ['headings as people write them', 'Name,Organization ID,LinkedIn URL\nA,org_1,\nB,,acme\n'],
    ['headings of British spelling', 'Organisation_ID,Company page URL\norg_1,\n,acme\n'],
    ['short and long lines', 'organization_id,company_url\norg_1\n,acme,,,\n'],
    ['comments before the header', '# list\norganization_id,company_url\norg_1,\n,acme\n'],
  ])('reads a list with %s', (_, text) => {
    expect(values(text)).toEqual(two)
  })

  it.each(['le', 'be'] as const)('reads UTF-16 (%s) with a byte order mark', (order) => {
    expect(values(utf16('organization_id\r\norg_1\r\n', order))).toEqual(['id:org_1'])
  })

  it('prefers the id if a line has both', () => {
    expect(values('organization_id,company_url\norg_1,acme\n')).toEqual(['id:org_1'])
  })

  it('counts 3 lines that repeat a company, and keeps the first', () => {
    const list = parse('org_1\norg_2\norg_1\norg_1\nacme\nacme/\n')
    expect(list.organizations.map(({ value }) => value)).toEqual(['org_1', 'org_2', 'acme'])
    expect(list.duplicates).toBe(3)
  })

  it('names 2 lines of a CRM list without id and URL, but neither blank lines nor comments', () => {
    const crm = [
      'name,company_url,owner',
      'Acme,acme,Kim',
      'Globex,,Kim',
      '',
      ',,',
      '# Initech,,Kim',
      'Hooli,hooli,',
      'Umbrella, ,',
    ]
    const list = parse(crm.join('\n'))
    expect(list.organizations).toHaveLength(2)
    expect(list.skipped).toEqual([{ list: 'list.csv', lines: [3, 8], used: 2 }])
    expect(parse('org_1\n\n# org_2\n').skipped).toEqual([])
  })

  it.each([
    ['apostrophes by which Excel marks text', "organization_id,company_url\n'org_1,\n,'acme\n"],
    [
      'a first line that names the delimiter',
      'sep=;\r\norganization_id;company_url\r\norg_1;\r\n;acme',
    ],
    ['the same for a list without a header', 'sep=,\norg_1\nacme\n'],
    ['invisible characters at the ends', '\u200borg_1\u200b\n\u2060\u00a0acme\u00ad\n'],
  ])('cleans %s', (_, text) => {
    expect(values(text)).toEqual(two)
  })

  it('skips 8 rows that name no company, and keeps the one called Totalenergies', () => {
    const rows = [
      'n/a',
      'N.A.',
      '-',
      '\u2013',
      'Total',
      'Grand Total:',
      'null',
      'https://n.example/in/kim',
    ]
    const list = parse(['company_url', ...rows, 'totalenergies', ''].join('\n'))
    expect(list.organizations).toEqual([{ by: 'url', value: 'totalenergies' }])
    expect(list.skipped).toEqual([{ list: 'list.csv', lines: [2, 3, 4, 5, 6, 7, 8, 9], used: 1 }])
  })

  it('reads both Unicode spellings of an accented page as one', () => {
    const list = parse(
      'https://n.example/company/caf\u00e9\nhttps://n.example/company/cafe\u0301\ncaf%65%cc%81\n',
    )
    expect(list.organizations).toEqual([
      { by: 'url', value: 'https://n.example/company/caf\u00e9' },
    ])
    expect(list.duplicates).toBe(2)
  })

  it('reads 6 spellings of one company page as one, and keeps other URLs apart', () => {
    const spellings = [
      'https://www.network.example/company/acme',
      'http://de.network.example/company/Acme/about/?x=1',
      'acme',
      'ACME/',
      'network.example/company/%61cme#top',
      'company/acme',
    ]
    const list = parse([...spellings, 'a.example/acme', 'b.example/acme', ''].join('\n'))
    expect(list.organizations.map(({ value }) => value)).toEqual([
      spellings[0],
      'a.example/acme',
      'b.example/acme',
    ])
    expect(list.duplicates).toBe(5)
  })

  it.each([
    ['a space', 'org_1\nacme inc\n', 'list.csv:2: not an organisation: "acme inc"'],
    [
      'a line after a comment and a blank one',
      '# a\n\norg_1\nx y\n',
      'list.csv:4: not an organisation',
    ],
    ['a control character', 'org_1\r\nac\u0007me\r\n', 'list.csv:2: not an organisation'],
    [
      'an invisible character, which is shown',
      'org_1\norg\u200b_2\n',
      'list.csv:2: not an organisation: "org<U+200B>_2"',
    ],
    [
      'a blank that is none of the keyboard, which is shown',
      'org_1\nacme\u00a0inc\n',
      'list.csv:2: not an organisation: "acme<U+00A0>inc"',
    ],
    [
      'a file of accounts, whose hashes it does not show',
      'root:$6$hash:19000:0:99999:7:::\nbin:*:19000::::::\n',
      'list.csv:1: not an organisation: "root:\u2026"',
    ],
    [
      'a file of settings, whose values it does not show',
      'JOBTIDE_API_KEY=secret\n',
      'list.csv:1: not an organisation: "JOBTIDE_API_KEY=\u2026"',
    ],
    [
      'a line of a key, of which it shows 60 characters',
      `org_1\n${'Ab1'.repeat(40)}==\n`,
      `list.csv:2: not an organisation: "${'Ab1'.repeat(20)}"`,
    ],
    [
      'another delimiter',
      'organization_id|name\norg_1|Acme\n',
      'list.csv:1: not an organisation: ',
    ],
    [
      'a page of HTML',
      '<html><body>login</body></html>',
      'list.csv:1: not an organisation: "<html>',
    ],
    ['501 characters', `org_1\n${'a'.repeat(501)}\n`, 'list.csv:2: not an organisation'],
    ['a formula', 'org_1\n=HYPERLINK(A1)\n', 'list.csv:2: not an organisation: "=HYPERLINK(A1)"'],
    ['a formula with @', 'company_url\n@SUM(A1)\n', 'list.csv:2: not an organisation'],
    [
      'a number that a spreadsheet shortened',
      'organization_id\n1.23E+15\n',
      'list.csv:2: not an organisation: "1.23E+15"',
    ],
    ['an error of a spreadsheet', 'id,company_url\n1,#REF!\n', 'list.csv:2: not an organisation'],
    [
      'a column named twice',
      'organization_id,name,Organization_ID\norg_1,a,org_2\n',
      'list.csv:1: two columns organization_id',
    ],
    [
      'a column headed in two ways',
      'LinkedIn URL,name,Company URL\n/company/a,a,https://a.example\n',
      'list.csv:1: two columns company_url: LinkedIn URL, Company URL',
    ],
    ...['url', 'Website', 'Company', 'Company Name', 'account_ids', 'LinkedIn page'].map((head) => [
      `the heading ${head} of its only column`,
      `# x\n${head}\nacme\n`,
      `list.csv:2: no column organization_id or company_url; found: ${head}`,
    ]),
    [
      'two names in a line',
      'org_1\nacme,globex\n',
      'list.csv:2: more than one organisation in a line: acme,globex',
    ],
    [
      'a URL cut at a comma',
      'a.example/x\na.example/x,y\n',
      'list.csv:2: more than one organisation in a line',
    ],
    [
      'columns that it does not know',
      '# x\nid,link\norg_1,acme\n',
      'list.csv:2: no column organization_id or company_url; found: id, link',
    ],
    [
      'a quote left open',
      'org_1\n"acme\n',
      'list.csv:2: not a list of organisations: a quote is not closed',
    ],
  ])('refuses %s', (_, text, message) => {
    expect(refusal(text)).toContain(message)
  })

  it.each([
    '',
    '\r\n \n# none yet\n',
    'organization_id\n',
    'organization_id,company_url\n,\n"",""',
  ])('refuses %j: it names no organisation', (text) => {
    expect(refusal(text)).toContain('list.csv: the list of organisations is empty')
  })

  it.each(['PK\u0003\u0004\u0014', Buffer.from('d0cf11e0a1b11ae100', 'hex')])(
    'refuses a workbook by its first bytes (%j), and says to save it as CSV',
    (bytes) => {
      expect(refusal(bytes)).toBe(
        'list.csv is an Excel file or another archive, not a list in text',
      )
    },
  )

  it('refuses text that is not UTF-8, and UTF-16 without a mark', () => {
    expect(refusal(Buffer.from('org_1\nm\u00fcller\n', 'latin1'))).toContain(
      'list.csv:2: not an org',
    )
    expect(refusal(Buffer.from('org_1\n', 'utf16le'))).toContain('list.csv:1: not an organisation')
  })

  it.each(['linkedin\nacme\n', 'page-one\nacme\n', 'company\n'])(
    'reads the slug in the first line of %j',
    (text) => {
      expect(parse(text).organizations[0]).toEqual({ by: 'url', value: text.split('\n')[0] })
    },
  )

  it('reads the same organisations from any header, delimiter and line end', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/)
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { minLength: 1, maxLength: 20 }),
        fc.constantFrom('\n', '\r\n'),
        fc.constantFrom(',', ';', '\t'),
        fc.boolean(),
        fc.boolean(),
        (names, end, delimiter, hasMark, isQuoted) => {
          const cell = (text: string) => (isQuoted ? `"${text}"` : text)
          const lines = names.map((one) => [cell('note'), cell(one)].join(delimiter))
          const text = ['note,company_url'.replace(',', delimiter), ...lines].join(end)
          const list = parse((hasMark ? '\ufeff' : '') + text)
          expect(list.organizations).toEqual(names.map((value) => ({ by: 'url', value })))
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('fromText', () => {
  it.each([
    ['org_8f3A', { by: 'id', value: 'org_8f3A' }],
    ['url', { by: 'url', value: 'url' }],
    ['acme', { by: 'url', value: 'acme' }],
    ['acme-labs', { by: 'url', value: 'acme-labs' }],
    ['Acme_Labs', { by: 'url', value: 'Acme_Labs' }],
    ['https://x.example/company/acme/', { by: 'url', value: 'https://x.example/company/acme' }],
    ['x.example/company/acme?a=1#top', { by: 'url', value: 'x.example/company/acme?a=1#top' }],
    ['m\u00fcller', { by: 'url', value: 'm\u00fcller' }],
    ['', null],
  ])('%s', (text, reference) => {
    expect(fromText(text)).toEqual(reference)
  })
})
