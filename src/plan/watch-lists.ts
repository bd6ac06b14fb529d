/**
 * Reads watch-lists: the people and organisations whose changes a user wants to see. Pure: text in, entries out, every
 * bad line named. The macros `page_name` and `plain_name` (sql/macros.sql) unify spellings in lists and data.
 */

import { z } from 'zod'
import { ConfigError } from '../support/errors.ts'
import { companySlug } from '../support/text.ts'
import { FUNCTIONS, LEVELS } from '../titles/taxonomy.ts'
import { columnsHeaded, readRows, type OrganizationList } from './organizations.ts'
import { text } from './pipeline-fields.ts'

export const CHANGES = [
  'joined',
  'left',
  'promoted',
  'demoted',
  'moved',
  'retitled',
  'title_changed',
  'stepped_down',
  'joined_side_role',
  'left_side_role',
] as const

function someOf<Word extends string>(words: readonly Word[]) {
  return z.array(z.enum(words)).min(1).optional()
}

const watchListSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,40}$/, 'expected lower-case letters, digits, - and _')
    .describe('Name of the list, as in watch_hits.'),
  people: text
    .optional()
    .describe(
      'A CSV file of people with one or more of the columns profile_id, url, handle and name, relative to this file.',
    ),
  organizations: text
    .optional()
    .describe('Instead of people: a list of organisations, relative to this file.'),
  changes: someOf(CHANGES).describe('Which changes; absent: all.'),
  levels: someOf([...LEVELS, 'unknown']).describe('Only changes from or to one of these levels.'),
  functions: someOf([...FUNCTIONS, 'unknown']).describe(
    'Only changes from or to one of these fields of work.',
  ),
})

export const watchSchema = z.array(watchListSchema).superRefine((lists, context) => {
  for (const [index, { name, people, organizations }] of lists.entries()) {
    const refuse = (path: (string | number)[], message: string) => {
      context.addIssue({ code: 'custom', path, message })
    }
    if ((people === undefined) === (organizations === undefined))
      refuse([index], 'expected people or organizations, one of them')
    if (lists.slice(0, index).some((other) => other.name === name))
      refuse([index, 'name'], 'there are two lists of that name')
  }
})

type Conditions = Pick<z.infer<typeof watchListSchema>, 'changes' | 'levels' | 'functions'>

export interface WatchList extends Conditions {
  readonly name: string
  readonly entries: readonly WatchEntry[]
}

const PERSON_COLUMNS = ['profile_id', 'url', 'handle', 'name'] as const

/** One way in which an entry names a person or organisation; an entry may have several. */
export interface WatchEntry {
  /** Place in the list, from 1. */
  readonly entry: number
  readonly kind: (typeof PERSON_COLUMNS)[number] | 'organization_id' | 'company_url'
  readonly listedAs: string
}

// Headings that other programs and people use for these columns; an exact name wins.
const HEADINGS: Readonly<Record<(typeof PERSON_COLUMNS)[number], RegExp>> = {
  profile_id: /^person id$/,
  url: /^(?:linkedin|profile|linkedin profile|person network)(?: page)? url$/,
  handle: /^(?:person|public) handle$/,
  name: /^(?:person )?full name$/,
}
const LONGEST = 500
// Control characters, the rest of text that is not UTF-8, and a spreadsheet's formula or error.
const UNUSABLE = /[\p{Cc}\uFFFD]|^[=+#]/u
const HINT = `Expected CSV in UTF-8 with a header and one or more of the columns ${PERSON_COLUMNS.join(', ')}. Nothing was sent.`

/** Other columns are ignored. @throws ConfigError that names file, line and column */
export function parsePeople(bytes: Uint8Array, file: string): WatchEntry[] {
  const [header, ...rows] = readRows(bytes, file, 'people', HINT)
  const heads = (header?.cells ?? []).map((head) => head.toLowerCase())
  const columns = PERSON_COLUMNS.flatMap((kind) => {
    const [at, ...others] = columnsHeaded(heads, kind, HEADINGS[kind])
    if (at === undefined) return []
    if (others.length === 0) return { kind, at }
    const meant = [at, ...others].map((one) => heads[one]).join(', ')
    throw refused(`${file}:${header?.line ?? 1}: two columns ${kind}: ${meant}`)
  })
  const wanted = PERSON_COLUMNS.join(', ')
  if (columns.length === 0) {
    const found = heads.length === 0 ? 'nothing' : heads.join(', ')
    throw refused(`${file}:${header?.line ?? 1}: no column ${wanted}; found: ${found}`)
  }
  if (rows.length === 0) throw refused(`${file}: the watch-list is empty`)
  return rows.flatMap(({ cells, line }, index) => {
    const named = columns.flatMap(({ kind, at }) => {
      const written = cells[at] ?? ''
      if (written === '') return []
      const isOdd = UNUSABLE.test(written) || (kind !== 'name' && /\s/.test(written))
      if (written.length > LONGEST || isOdd) {
        const shown = JSON.stringify(written.slice(0, 60))
        const what = kind === 'url' ? 'page' : kind
        throw refused(`${file}:${line}: ${kind}: not a ${what}: ${shown}`)
      }
      return [{ entry: index + 1, ...asWritten(kind, written) }]
    })
    if (cells.slice(heads.length).some((cell) => cell !== '')) {
      const counts = `${cells.length} cells below ${heads.length} columns`
      throw refused(`${file}:${line}: ${counts}: put a cell with a comma in quotes`)
    }
    if (named.length === 0)
      throw refused(`${file}:${line}: no person is named: ${wanted} are empty`)
    // An id is enough: an additional name could only match another person.
    if (named[0]?.kind === 'profile_id') return named.slice(0, 1)
    return named.filter(({ kind }, at) => named.findIndex((one) => one.kind === kind) === at)
  })
}

function refused(message: string): ConfigError {
  return new ConfigError(message, { hint: HINT })
}

// A page may be in the column of handles, and a handle in that of pages: a slash tells them apart.
function asWritten(kind: (typeof PERSON_COLUMNS)[number], written: string) {
  if (kind === 'name') return { kind, listedAs: written.normalize('NFKC') }
  if (kind === 'profile_id') return { kind, listedAs: written }
  return written.includes('/')
    ? ({ kind: 'url', listedAs: written } as const)
    : ({ kind: 'handle', listedAs: written.replace(/^@/, '') } as const)
}

export function watchedOrganizations({ organizations }: OrganizationList): WatchEntry[] {
  return organizations.map(({ by, value }, index) => ({
    entry: index + 1,
    kind: by === 'id' ? 'organization_id' : 'company_url',
    listedAs: by === 'id' ? value : companySlug(value),
  }))
}
