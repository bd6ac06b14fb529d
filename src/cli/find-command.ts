/** `find` and `suggest`: runs one search now and keeps its answers like those of a pipeline. */

import { existsSync } from 'node:fs'
import { filterErrorsIn, type Endpoint, type LookupRequest } from '../api/endpoints/endpoint.ts'
import { filterValuesIn } from '../api/endpoints/people.ts'
import { lookupKey } from '../journal/run-history.ts'
import { readRows } from '../plan/organizations.ts'
import { collectOnce, type Collection } from '../run/collection.ts'
import { openJournal } from '../journal/journal.ts'
import { knownBackups } from '../run/backup/backup-target.ts'
import { oneOffJob, type Job, type OneOffOptions } from '../run/job.ts'
import { runJob, type RunReport } from '../run/run.ts'
import { readNamedFile, writeFileAtomic } from '../support/atomic-file.ts'
import { ConfigError, EXIT, JobtideError } from '../support/errors.ts'
import { jsonOrNull } from '../support/json.ts'
import { didYouMean } from '../support/nearest.ts'
import { countText, numberText } from '../support/numbers.ts'
import { csvLine } from '../support/text.ts'
import { DAY } from '../support/units.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { collectionReport } from './plan-command.ts'
import { facts, table, type Column, type Report } from './report.ts'
import { notFilterText, problemOf } from './run-result.ts'
import { withService } from './service-commands.ts'

type FoundRow = Readonly<Record<'name' | 'about' | 'url' | 'organization_id', string | null>>

interface Search {
  readonly endpoint: string
  /** The columns of FoundRow, and the table with what was found. */
  readonly sql: string
  readonly columns: readonly Column<FoundRow>[]
  /** The columns of the list that is written, and their heads. */
  readonly heads: Readonly<Partial<FoundRow>> & { readonly url: string }
}

const SEARCHES: Readonly<Record<string, Search>> = {
  companies: {
    endpoint: 'company-search',
    sql: 'company_name as name, company_id as about, url, organization_id from companies_found',
    columns: [
      ['company', 'name'],
      ['page', 'url'],
      ['organization_id', 'organization_id', 'id'],
    ],
    heads: { name: 'name', url: 'company_url' },
  },
  people: {
    endpoint: 'people-search',
    sql: `full_name as name, title || coalesce(', ' || company_name, '') as about, profile_url as url, organization_id
          from people_found`,
    columns: [
      ['name', 'name'],
      ['title', 'about'],
      ['organization_id', 'organization_id', 'id'],
    ],
    heads: { name: 'name', about: 'title', url: 'lead', organization_id: 'organization_id' },
  },
  posts: {
    endpoint: 'post-search',
    sql: `author_name as name, content as about, posts.url, organization_id
          from posts_found inner join posts using (post)`,
    columns: [
      ['author', 'name'],
      ['post', 'about'],
    ],
    heads: { name: 'author', about: 'post', url: 'url', organization_id: 'organization_id' },
  },
}

const ROWS_SHOWN = 20

export async function findCommand(
  context: Context,
  what: string,
  filters: readonly string[],
  options: OptionsOf<'find'>,
): Promise<Report> {
  const { pages, refreshDays, output: file, dryRun = false } = options
  const search = Object.hasOwn(SEARCHES, what) ? SEARCHES[what] : undefined
  if (search === undefined) {
    throw new ConfigError(`cannot search for ${what}`, {
      hint: `${didYouMean(what, Object.keys(SEARCHES))}Name one of: ${Object.keys(SEARCHES).join(', ')}. Nothing was sent.`,
    })
  }
  const { endpoint, columns, heads } = search
  const request = requestOf(filters)
  const asked = { pages, refreshMs: refreshDays * DAY }
  const collection = collectOnce(`find-${what}`, endpoint, request, asked)
  if (dryRun) return collectionReport(context, jobOf(context, collection, options), collection)
  const before = file === undefined ? null : listBefore(file, heads)
  const answered = await ask(context, collection, options, async (warehouse, key) => {
    const sql = `select ${search.sql} where lookup_key = $1 and position is not null order by position`
    const rows = await warehouse.all<FoundRow>(sql, [key])
    const bodies = await bodiesOf(warehouse, key)
    // Only web addresses, because a program that opens the list follows them.
    const linkOf = (url: string | null) => (url && OTHER_SCHEME.test(url.trim()) ? null : url)
    return {
      found: rows.map((row) => ({ ...row, url: linkOf(row.url) })),
      pages: bodies.length,
      ...extentOf(collection.declared, request, bodies),
      notFilters: [...new Set(bodies.flatMap((body) => filterErrorsIn(body)))],
    }
  })
  const { run, read } = answered
  const { found, notFilters, isCut } = read
  const { credits } = run.extract
  const problem = answered.problem ?? unreadable(read.items, found.length)
  // An incomplete result never replaces a list.
  const isWhole = problem === null
  if (file !== undefined && isWhole) writeFileAtomic(file, listOf(found, heads))
  const now = new Set(found.map(({ url }) => url ?? ''))
  const changes = before !== null &&
    isWhole && {
      added: [...now].filter((url) => !before.has(url)).length,
      removed: [...before].filter((url) => !now.has(url)).length,
    }
  const changesText =
    changes === false ? '' : `: ${changes.added} more than the list before, ${changes.removed} gone`
  // Another end of the list is the service's: it repeated a page.
  const isMore = isWhole && isCut && (read.pages >= pages || run.extract.pages === 0)
  return {
    title: `${countText(found.length, 'result')}, for ${countText(credits, 'credit')}`,
    sections: [
      table('found', found, columns, { shown: ROWS_SHOWN, more: 'all with --output FILE' }),
      facts({
        'no filter': notFilterText(notFilters),
        more:
          isMore &&
          // A list that is kept is not read on: its items have moved since.
          `not fetched: this list ends after page ${numberText(read.pages)}; --pages N --refresh-days 0 fetches more, from page 1`,
        'not written': !isWhole && before === null && file,
        kept: !isWhole && before !== null && `${file}, as it was`,
        written: isWhole && file && `${file}${changesText}`,
      }),
    ],
    values: {
      endpoint,
      runId: run.runId,
      credits,
      filterErrors: notFilters,
      pages: read.pages,
      more: isCut,
      output: isWhole ? (file ?? null) : null,
      ...(changes || { added: null, removed: null }),
    },
    problem,
  }
}

/** The problem of a list whose items all lack what identifies them: an empty result would mean that nothing fits. */
function unreadable(items: number, found: number): JobtideError | null {
  if (items === 0 || found > 0) return null
  return new JobtideError(
    EXIT.unavailable,
    `the service sent ${countText(items, 'item')} that Jobtide cannot read`,
    { hint: 'The answer is kept. Read it again later with --refresh-days 0.' },
  )
}

/** How many items the pages of a list have, and whether the last page asks for another one. */
function extentOf(declared: Endpoint, request: LookupRequest, pages: readonly unknown[]) {
  let itemsBefore = 0
  let next: unknown = null
  for (const [at, body] of pages.entries()) {
    const read = declared.read(body, { request, page: at + 1, itemsBefore, status: 200 })
    if (typeof read === 'string') continue
    itemsBefore += read.items
    next = read.next
  }
  return { items: itemsBefore, isCut: next !== null }
}

/** `suggest`: what the filters of a search for people are called. @param type with `filters`, a filter or none */
export async function suggestCommand(
  context: Context,
  type: string | undefined,
  text: string | undefined,
  options: OptionsOf<'suggest'>,
): Promise<Report> {
  if (options.filters === true) return listFilters(context, type, text, options)
  if (type === undefined || text === undefined) {
    throw new ConfigError('the type to suggest is missing', {
      hint: 'Name a type and the first letters: jobtide suggest job_title "head of". Or use --filters. Nothing was sent.',
    })
  }
  const collection = collectOnce('suggest', 'suggest', { suggest_type: type, q: text }, SUGGESTING)
  const { run, problem, read } = await ask(context, collection, options, (warehouse, key) =>
    warehouse.all<Suggestion>(
      `select json_text(item, '$.label') as label, json_text(item, '$.value') as value, json_text(item, '$.id') as id,
           json_text(item, '$.meta.employees') as employees, json_text(item, '$.meta.industry') as industry,
           json_text(item, '$.meta.location') as location
       from (select json_list(body, '$.results') as items from core.newest_answers where lookup_key = $1) as lists,
           lateral json_items(items)
       order by place`,
      [key],
    ),
  )
  return {
    title: `${countText(read.length, 'suggestion')}, for ${countText(run.extract.credits, 'credit')}`,
    sections: [
      table(
        'suggestions',
        read,
        SUGGESTION.map((name) => [name, name, name === 'id' ? 'id' : 'text']),
      ),
    ],
    values: { type, credits: run.extract.credits },
    problem,
  }
}

async function listFilters(
  context: Context,
  filter: string | undefined,
  text: string | undefined,
  options: OneOffOptions,
): Promise<Report> {
  if (text !== undefined) {
    throw new ConfigError('--filters takes no text', {
      hint: 'Name a filter or none: jobtide suggest --filters seniority. Nothing was sent.',
    })
  }
  const collection = collectOnce('suggest', 'people-filters', {}, SUGGESTING)
  const { run, problem, read } = await ask(context, collection, options, async (warehouse, key) =>
    (await bodiesOf(warehouse, key)).flatMap((body) => filterValuesIn(body)),
  )
  const names = [...new Set(read.map((one) => one.filter))]
  if (filter !== undefined && !names.includes(filter)) {
    throw new ConfigError(`the service lists no filter ${filter}`, {
      hint: `Name one of: ${names.join(', ')}.`,
    })
  }
  const values = read.filter((one) => filter === undefined || one.filter === filter)
  return {
    title: `${countText(values.length, 'value')} of ${countText(filter === undefined ? names.length : 1, 'filter')}, for ${countText(run.extract.credits, 'credit')}`,
    sections: [
      table('filter_values', values, [
        ['filter', 'filter'],
        ['value', 'value'],
        ['id', 'id', 'id'],
      ]),
    ],
    values: { type: null, credits: run.extract.credits },
    problem,
  }
}

const SUGGESTION = ['label', 'value', 'id', 'employees', 'industry', 'location'] as const
type Suggestion = Readonly<Record<(typeof SUGGESTION)[number], string | null>>

const SUGGESTING = { pages: 1, refreshMs: 30 * DAY }

/**
 * Sends the search unless it was answered recently, then reads the stored answers.
 * @returns with why it is not all, where a list was not read to its end
 * @throws JobtideError why there is no answer: what an earlier search found is none
 */
async function ask<T>(
  context: Context,
  collection: Collection,
  options: OneOffOptions,
  read: (warehouse: Warehouse, key: string) => Promise<T>,
): Promise<{ run: RunReport; problem: JobtideError | null; read: T }> {
  const job = jobOf(context, collection, options)
  const { declared, read: lookups } = collection
  const [lookup] = (await lookups()).lookups
  const key = lookupKey(declared.name, lookup?.request ?? {})
  const run = await withService(context, job, (service) => runJob(job, 'find', service, context))
  if (run.stageFailure !== null) throw run.stageFailure
  const problem = problemOf(run)
  const path = context.directory.warehouse
  return withWarehouse({ path, mode: 'read' }, async (warehouse) => {
    const [answer] = await warehouse.all<{ run_id: string }>(
      'select run_id from answers inner join core.newest_answers using (request_id) where answers.lookup_key = $1',
      [key],
    )
    if (problem !== null && answer?.run_id !== run.runId) throw problem
    return { run, problem, read: await read(warehouse, key) }
  })
}

const FILTER = /^(\+?[a-z_]+)(!?)=(.+)$/s
const HINT =
  'Write each filter as one argument: name=value, or name!=value to exclude. Repeat a name for several values.'

/** Turns filters into members of a request: several values into a list, an excluded value into the service's notation. */
function requestOf(filters: readonly string[]): LookupRequest {
  const request = new Map<string, unknown[]>()
  for (const filter of filters) {
    const [, name = '', not, value] = FILTER.exec(filter) ?? []
    if (value === undefined) {
      throw new ConfigError(`not a filter: ${JSON.stringify(filter)}`, { hint: HINT })
    }
    const values = request.get(name) ?? []
    request.set(name, [...values, not === '!' ? { value, exclude: true } : value])
  }
  if (request.size === 0) {
    throw new ConfigError('a search without filters would find everyone', { hint: HINT })
  }
  const members = [...request].map(([name, values]) => [
    name,
    values.length === 1 ? values[0] : values,
  ])
  return Object.fromEntries(members) as LookupRequest
}

const OTHER_SCHEME = /^(?!https?:\/\/)[a-z][\w+.-]*:/i

function listOf(found: readonly FoundRow[], heads: Search['heads']): string {
  const names = Object.keys(heads) as (keyof FoundRow)[]
  const lines = [Object.values(heads), ...found.map((row) => names.map((name) => row[name]))]
  return lines.map((cells) => csvLine(cells, true)).join('')
}

/** Reads an existing list by its addresses; null if there is none. @throws ConfigError when the file is not such a list */
function listBefore(file: string, heads: Search['heads']): ReadonlySet<string> | null {
  if (!existsSync(file)) return null
  const hint = 'Name another file. Nothing was sent.'
  const [header, ...rows] = readRows(
    readNamedFile('list', file, hint),
    file,
    'what was found',
    hint,
  )
  const at = header?.cells.indexOf(heads.url) ?? -1
  if (at < 0) {
    throw new ConfigError(
      `${file} is not a list of this search: its columns are not ${Object.values(heads).join(', ')}`,
      { hint },
    )
  }
  return new Set(rows.map(({ cells }) => cells[at] ?? ''))
}

function jobOf({ directory, clock }: Context, collection: Collection, options: OneOffOptions): Job {
  const backups = knownBackups(directory.root, openJournal(directory.journal, clock))
  return oneOffJob(collection, { ...options, backups })
}

async function bodiesOf(warehouse: Warehouse, key: string): Promise<unknown[]> {
  const sql =
    'select body from core.newest_answers where lookup_key = $1 order by page, received_at'
  const bodies = await warehouse.all<{ body: string }>(sql, [key])
  return bodies.map(({ body }) => jsonOrNull(body))
}
