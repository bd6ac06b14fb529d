/**
 * Reads the list of organisations to watch as people keep it: CSV with a header, or one id, URL or slug a line. Pure:
 * text in, references out, every bad line named.
 */

import { parse, type Options } from 'csv-parse/sync'
import type { OrganizationRef } from '../journal/records.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { skippedOf, type SkippedLines } from './skipped-lines.ts'
import { companySlug, decodeTable, decodeText, withoutTrailingSlashes } from '../support/text.ts'

export interface OrganizationList {
  readonly organizations: readonly OrganizationRef[]
  /** Lines that repeat a company. */
  readonly duplicates: number
  /** Lines with text but no organisation. */
  readonly skipped: readonly SkippedLines[]
}

const ID_COLUMN = 'organization_id'
const URL_COLUMN = 'company_url'
// Headings that other programs and people use for these columns; an exact name wins.
const HEADINGS = {
  [ID_COLUMN]: /^organi[sz]ation id$/,
  [URL_COLUMN]:
    /^(?:company|organi[sz]ation|linkedin|company linkedin|linkedin company)(?: page)? url$/,
}
// The heading of a column that may hold anything: read as a slug, it would be asked for. LinkedIn is a company as well.
const HEADING =
  /^(?!linkedin$)(?:(?:account|company|companies|domain|employer|id|link|linkedin|name|organi[sz]ation|page|slug|url|website)s?(?:[ _-]|$))+$/i
const LONGEST_NAME = 500
// The service's ids are `<prefix>_<opaque>`; page slugs are written with hyphens.
const LOOKS_LIKE_ID = /^[a-z]+_[A-Za-z0-9]+$/

// Cells that cannot be an organisation: nothing (the rest of "/"), control and invisible characters, spaces, commas, the rest
// of text that is not UTF-8 (U+FFFD), what neither an id nor a URL has (another delimiter, HTML, JSON), a spreadsheet's formula or
// error, and a long number that a spreadsheet shortened.
const UNUSABLE =
  /^$|[\p{Cc}\p{Default_Ignorable_Code_Point}\s,\uFFFD|<>"{}\\^`]|^[=+@#]|^\d+(?:\.\d+)?E\+\d+$/u
// A line of another kind of file, such as accounts or settings. Its value may be a secret, and is not shown.
const OTHER_FILE = /^[^/?=:]*(?:=|:(?!\/\/|\d+\/))/

// Cells of a spreadsheet that name nothing.
const NO_NAME =
  /^(?:#?n[/.]?a[.!]?|null|none|nil|unknown|tbd|[-\u2013\u2014?.*]+|(?:grand |sub-?)?totals?:?|sum:?)$/i
// A person's page names no company.
const PERSON_PAGE = /(?:^|\/)(?:in|pub)\/[^/?#]/i

// The example lines of a new folder (config/init/organizations.csv).
const PLACEHOLDER = /\breplace-me-\d+$/

/** @param bytes UTF-8, or UTF-16 with a mark @throws ConfigError that names file and line, or for an empty list */
export function parseOrganizations(bytes: Uint8Array, file: string): OrganizationList {
  const rows = readRows(bytes, file, 'organisations', ONE_A_LINE)
  const [first] = rows
  const header = first?.cells ?? []
  for (const column of [ID_COLUMN, URL_COLUMN] as const) {
    const meant = columnsOf(header, column).map((at) => header[at])
    if (meant.length > 1) {
      throw new ConfigError(`${file}:${first?.line}: two columns ${column}: ${meant.join(', ')}`, {
        hint: `Name only the one that Jobtide should use ${column}. Nothing was sent.`,
      })
    }
  }
  const [idAt = -1] = columnsOf(header, ID_COLUMN)
  const [urlAt = -1] = columnsOf(header, URL_COLUMN)
  const hasHeader = idAt >= 0 || urlAt >= 0
  const named = header.filter((cell) => cell !== '')
  const isHeading = named.length > 1 || (rows.length > 1 && HEADING.test(named[0] ?? ''))
  if (!hasHeader && isHeading) {
    throw new ConfigError(
      `${file}:${first?.line}: no column ${ID_COLUMN} or ${URL_COLUMN}; found: ${header.join(', ')}`,
      { hint: `Name the columns in the first line, for example ${ID_COLUMN},${URL_COLUMN}` },
    )
  }
  const references = rows.slice(hasHeader ? 1 : 0).map(({ cells, line }) => {
    const reference = hasHeader
      ? fromColumns(cells[idAt] ?? '', cells[urlAt] ?? '')
      : fromText(onlyCell(cells, file, line))
    return { reference, line }
  })
  return collect(references, file)
}

/** The positions of a column of organisations in a header; more than one if several have its meaning. */
export function columnsOf(header: readonly string[], column: keyof typeof HEADINGS): number[] {
  return columnsHeaded(header, column, HEADINGS[column])
}

/** The positions of the columns with this heading, else of those with an equivalent one. */
export function columnsHeaded(header: readonly string[], heading: string, other: RegExp): number[] {
  const heads = header.map((head) => head.trim().toLowerCase())
  const all = [...heads.keys()]
  const exact = all.filter((at) => heads[at] === heading)
  if (exact.length > 0) return exact
  return all.filter((at) => other.test((heads[at] ?? '').replaceAll(/[\s_]+/g, ' ')))
}

// Without a header a line is one name. A second one is refused, because using only the first would leave a company
// unwatched.
function onlyCell(cells: readonly string[], file: string, line: number): string {
  const [name = '', ...others] = cells.filter((cell) => cell !== '')
  if (others.length === 0) return name
  throw new ConfigError(`${file}:${line}: more than one organisation in a line: ${cells.join()}`, {
    hint: `Write one a line, or name the columns in the first line: ${ID_COLUMN},${URL_COLUMN}`,
  })
}

/** A reference from one name: an id as it is, anything else as page URL or slug; null if the cell names no company. */
export function fromText(cell: string): OrganizationRef | null {
  const value = withoutTrailingSlashes(cleaned(cell))
  if (isNoName(value) || PERSON_PAGE.test(value)) return null
  return LOOKS_LIKE_ID.test(value) ? { by: 'id', value } : { by: 'url', value }
}

function fromColumns(idCell: string, url: string): OrganizationRef | null {
  const id = cleaned(idCell)
  if (isNoName(withoutTrailingSlashes(id))) return fromText(url)
  // An id in the column of URLs counts as an id, even if a page has that name.
  return PERSON_PAGE.test(id) ? null : { by: 'id', value: id }
}

const isNoName = (value: string) => value === '' || NO_NAME.test(value)

const EDGE = /[\p{Default_Ignorable_Code_Point}\s]/u
const HAS_EDGE = /^[\p{Default_Ignorable_Code_Point}\s]|[\p{Default_Ignorable_Code_Point}\s]$/u

/** Without spaces and invisible characters at both ends. One regular expression would take quadratic time. */
function withoutEdges(text: string): string {
  if (!HAS_EDGE.test(text)) return text
  const characters = Array.from(text)
  const from = characters.findIndex((one) => !EDGE.test(one))
  const last = characters.findLastIndex((one) => !EDGE.test(one))
  return from < 0 ? '' : characters.slice(from, last + 1).join('')
}

/** Without invisible characters at both ends, and Excel's apostrophe before text; accents are normalised. */
function cleaned(cell: string): string {
  return withoutEdges(withoutEdges(cell).replace(/^'+(?=.)/, '')).normalize('NFC')
}

export interface Row {
  readonly cells: readonly string[]
  readonly line: number
}

const ONE_A_LINE = 'Write one organisation a line, or CSV with a header. Close every quote.'

/** The lines that are not empty, with the header. @param of what it lists @throws ConfigError that names the file */
export function readRows(bytes: Uint8Array, file: string, of: string, hint: string): Row[] {
  refuseWorkbook(bytes, file)
  return parseRows(decodeText(bytes), file, of, hint, { delimiter: DELIMITERS, comment: '#' })
}

/** The lines of a table with a header: one delimiter, no comments. @throws ConfigError that names the file */
export function readTable(bytes: Uint8Array, file: string, hint: string): Row[] {
  const text = decodeTable(bytes)
  const lines = text.split(/\r\n?|\n/)
  const header = lines.find((line) => !isSeparator(line) && line.trim() !== '') ?? ''
  const count = (delimiter: string) => header.split(delimiter).length
  const [delimiter = ','] = DELIMITERS.toSorted((a, b) => count(b) - count(a))
  refuseWorkbook(bytes, file)
  return parseRows(text, file, 'rows', hint, { delimiter, comment: '' })
}

const DELIMITERS = [',', ';', '\t']
// Excel writes and reads this line, which states the delimiter.
const isSeparator = (line: string) => /^\uFEFF?sep=/i.test(line)
// Workbooks are archives; old ones have their own format.
const WORKBOOKS = [Buffer.from('PK\u0003\u0004'), Buffer.from('d0cf11e0a1b11ae1', 'hex')]

/** @throws ConfigError if a file is a workbook in place of text */
export function refuseWorkbook(bytes: Uint8Array, file: string): void {
  if (!WORKBOOKS.some((magic) => magic.equals(bytes.subarray(0, magic.length)))) return
  throw new ConfigError(`${file} is an Excel file or another archive, not a list in text`, {
    hint: 'Save the sheet as CSV (in Excel: File, Save As, CSV UTF-8) and use that file. Nothing was sent.',
  })
}

function parseRows(
  text: string,
  file: string,
  of: string,
  hint: string,
  options: Pick<Options, 'delimiter' | 'comment'>,
): Row[] {
  try {
    const rows: Row[] = []
    parse(text, {
      ...options,
      bom: true,
      trim: true,
      skip_empty_lines: true,
      // Whole lines only: a URL may have a fragment.
      comment_no_infix: true,
      relax_column_count: true,
      // Rows are consumed one by one: the parser's own list, with its notes on every row, is five times the size of the
      // file.
      on_record(cells: string[], { lines }) {
        const isOfExcel = lines === 1 && isSeparator(cells[0] ?? '')
        if (!isOfExcel && cells.some((cell) => cell !== '')) rows.push({ cells, line: lines })
        return null
      },
    })
    return rows
  } catch (error) {
    const { code = '', lines } = Object(error) as { code?: string; lines?: number }
    const message = code.includes('QUOTE')
      ? `${file}:${lines}: not a list of ${of}: a quote is not closed, or stands within a cell`
      : `${file}: not a list of ${of}: ${messageOf(error)}`
    throw new ConfigError(message, { hint, cause: error })
  }
}

/** A value with each invisible character shown by its code point, such as `<U+200B>`. */
function shown(value: string): string {
  const visible = value.replaceAll(
    /[\p{Cc}\p{Default_Ignorable_Code_Point}\uFFFD]|(?! )\s/gu,
    (character) => {
      const code = character.codePointAt(0) ?? 0
      return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
    },
  )
  return JSON.stringify(visible)
}

// The service knows the slug of a company page. The last part of any other URL may mean anything.
const COMPANY_PAGE = /^[^/]*$|(?:^|\/)company\/[^/?#]/i

function collect(
  lines: readonly { reference: OrganizationRef | null; line: number }[],
  file: string,
): OrganizationList {
  const seen = new Map<string, OrganizationRef>()
  const skipped: number[] = []
  for (const { reference, line } of lines) {
    if (reference === null) {
      skipped.push(line)
      continue
    }
    const { value } = reference
    const [start = ''] = OTHER_FILE.exec(value) ?? []
    if (value.length > LONGEST_NAME || UNUSABLE.test(value) || start !== '') {
      const isSecret = start !== '' && start !== '='
      throw new ConfigError(
        `${file}:${line}: not an organisation: ${shown((isSecret ? `${start}\u2026` : value).slice(0, 60))}`,
        {
          hint: 'Expected an organization_id, a company page URL or its slug: no spaces, formulas, shortened numbers, or signs such as , | and <, in UTF-8.',
        },
      )
    }
    if (PLACEHOLDER.test(value)) {
      throw new ConfigError(`${file}:${line}: an example line: ${value}`, {
        hint: 'Replace it with an organisation that you watch. Nothing was sent.',
      })
    }
    // The part that all spellings of a company page have in common.
    const isPage = reference.by === 'url' && COMPANY_PAGE.test(value)
    const name = isPage ? `page ${companySlug(value)}` : value
    if (!seen.has(name)) seen.set(name, reference)
  }
  if (seen.size === 0) {
    throw new ConfigError(`${file}: the list of organisations is empty`, {
      hint: 'Write one organization_id or company_url a line. Nothing was sent.',
    })
  }
  const used = lines.length - skipped.length
  return {
    organizations: [...seen.values()],
    duplicates: used - seen.size,
    skipped: skippedOf(file, skipped, used),
  }
}
