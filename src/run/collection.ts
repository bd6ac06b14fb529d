/**
 * Reads the requests of a pipeline of `kind: collect` from its list, or an SQL select over the warehouse, with the options of
 * each request.
 */

import { basename, dirname, resolve } from 'node:path'
import type { z } from 'zod'
import type { Endpoint, LookupRequest } from '../api/endpoints/endpoint.ts'
import { ENDPOINTS } from '../api/endpoints/endpoints.ts'
import type { Suppression } from '../load/suppression.ts'
import { standIn } from '../model/select.ts'
import type { Lookup, CollectQuestion } from '../plan/collection.ts'
import { readRows } from '../plan/organizations.ts'
import { skippedOf, type SkippedLines } from '../plan/skipped-lines.ts'
import type { CollectSpec } from '../plan/pipeline.ts'
import { readNamedFile } from '../support/atomic-file.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { stableJson } from '../support/json.ts'
import { meant } from '../support/nearest.ts'
import { plainly } from '../support/schema-words.ts'
import { DAY } from '../support/units.ts'
import { unaskedTable } from '../warehouse/endpoint-tables.ts'
import { NotOneReadingError, SqlError } from '../warehouse/errors.ts'
import { withWarehouse } from '../warehouse/warehouse.ts'
import { dataDirectory } from './data-directory.ts'

interface Asked {
  readonly lookups: readonly Lookup[]
  /** How often others name one of them again. */
  readonly duplicates: number
  /** Rows of a select that the endpoint would refuse, and why. */
  readonly refused: readonly { readonly subject: string; readonly reason: string }[]
}

export interface Collection extends Omit<CollectQuestion, 'lookups'> {
  readonly declared: Endpoint
  /** The file that lists the things; else that of the pipeline, or the command. */
  readonly list: string
  /** Lines of it that name nothing. */
  readonly skipped: readonly SkippedLines[]
  /**
   * Reads the things to request, each once. Not before a run: an SQL select reads the warehouse.
   * @throws ConfigError naming file and line of what the endpoint would refuse
   */
  readonly read: () => Promise<Asked>
}

const CHECK = 'Correct the request. Nothing was sent.'

/**
 * Resolves the requests of a pipeline file; reads and checks a list that it names.
 * @param overrides a file in place of `for_each`, and how many of it
 * @throws ConfigError naming file and line of what the endpoint would refuse
 */
export async function readCollection(
  spec: CollectSpec,
  file: string,
  overrides: { readonly organizations?: string; readonly limit?: number },
  dataDir: string,
): Promise<Collection> {
  const { for_each: source, options, refresh_days: days, pages } = spec
  const declared = keeping(spec, file)
  const fills = spec.fills ?? declared.subject
  const isFilled = source !== undefined || overrides.organizations !== undefined
  if (isFilled && !Object.hasOwn(declared.request.shape, fills)) {
    const allowed = Object.keys(declared.request.shape).join(', ')
    throw new ConfigError(`${file}: fills: unknown; allowed: ${allowed}`, { hint: CHECK })
  }
  const named = typeof source === 'string' ? resolve(dirname(file), source) : null
  const list = overrides.organizations ?? named
  const skipped: SkippedLines[] = []
  const readNow = async () => {
    if (list === null && source === undefined)
      return lookupsOf(lookupsWith(declared, options, file))
    const lines =
      list === null
        ? await selected(source as { sql: string }, declared.name, dataDir)
        : listed(fills, list, skipped)
    if (lines.length === 0) {
      const what = list ?? 'the select of for_each'
      throw new ConfigError(`${what} names nothing to ask for`, { hint: CHECK })
    }
    const all: Lookup[] = []
    const refused: { subject: string; reason: string }[] = []
    for (const { subject, place } of lines) {
      const given = { ...options, [fills]: subject }
      try {
        all.push(...lookupsOfLine(declared, given, subject, `${file}: options`, { [fills]: place }))
      } catch (error) {
        // A wrong line of a file must be corrected. A row of a select comes from data, and does not stop the others.
        if (list !== null || !(error instanceof ConfigError) || !error.message.startsWith(place))
          throw error
        refused.push({ subject, reason: error.message })
      }
    }
    const [first] = refused
    if (all.length === 0 && first !== undefined)
      throw new ConfigError(first.reason, { hint: CHECK })
    return { ...lookupsOf(all, overrides.limit), refused }
  }
  // A list is read once, and checked at once.
  const known = typeof source === 'object' && list === null ? null : await readNow()
  const read = async () => known ?? readNow()
  const about = { pipeline: spec.name, endpoint: declared.name, declared, pages, skipped }
  return { ...about, list: list ?? file, read, refreshMs: days * DAY }
}

/** Erased people are never requested, even if a list still names them. */
export function withoutErased(lookups: readonly Lookup[], suppression: Suppression): Lookup[] {
  return lookups.filter(({ subject }) => !suppression.coversText(subject))
}

/** One request to an endpoint with the given options. @throws ConfigError naming what it would refuse */
export function collectOnce(
  pipeline: string,
  endpoint: string,
  options: LookupRequest,
  { pages, refreshMs }: Pick<Collection, 'pages' | 'refreshMs'>,
): Collection {
  const declared = declaredAs(endpoint)
  const known = lookupsOf(lookupsWith(declared, options, endpoint))
  const read = () => Promise.resolve(known)
  const about = { pipeline, endpoint, declared, list: 'the command', skipped: [] }
  return { ...about, read, refreshMs, pages, repeatsRefused: true }
}

/** The endpoint, with contacts kept where the pipeline says so. */
function keeping({ endpoint, contacts }: CollectSpec, file: string): Endpoint {
  const declared = declaredAs(endpoint)
  if (!contacts) return declared
  if (declared.contacts !== undefined) {
    const { notKept = [] } = declared
    return { ...declared, notKept: notKept.filter((path) => path !== declared.contacts) }
  }
  throw new ConfigError(`${file}: contacts: answers of ${endpoint} have none`, { hint: CHECK })
}

function declaredAs(endpoint: string): Endpoint {
  const declared = ENDPOINTS.get(endpoint)
  if (declared === undefined) throw new TypeError(`no endpoint ${endpoint}`)
  return declared
}

/** The request without a list; a search is named by its filters. */
function lookupsWith(declared: Endpoint, options: LookupRequest, file: string): Lookup[] {
  const texts = Object.entries(requestOf(declared, options, file)).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${name}=${text}`
  })
  return lookupsOfLine(declared, options, texts.join(' '), file)
}

/**
 * The request for one line of a list. Tables identify a thing by its name, from the line or from the options, where several
 * count as several lines.
 * @param line names a search
 */
function lookupsOfLine(
  declared: Endpoint,
  given: LookupRequest,
  line: string,
  ...where: readonly [where: string, places?: Readonly<Record<string, string>>]
): Lookup[] {
  const { subject: member, request } = declared
  const isThing = request.shape[member]?.safeParse(undefined).success === false
  const named = isThing ? given[member] : undefined
  const names: readonly unknown[] = Array.isArray(named) && named.length > 0 ? named : [named]
  return names.map((name) => ({
    subject: typeof name === 'string' ? name : line,
    request: requestOf(
      declared,
      name === undefined ? given : { ...given, [member]: name },
      ...where,
    ),
  }))
}

/** Each thing once, in whatever spelling it is named. */
function lookupsOf(all: readonly Lookup[], limit = all.length): Asked {
  const unique = new Map(all.map((lookup) => [stableJson(lookup.request), lookup]))
  const lookups = [...unique.values()].slice(0, limit)
  return { lookups, duplicates: all.length - unique.size, refused: [] }
}

interface Line {
  readonly subject: string
  readonly place: string
}

/** @param skipped gets the lines that name nothing */
function listed(fills: string, list: string, skipped: SkippedLines[]): Line[] {
  const bytes = readNamedFile('list', list, CHECK)
  const name = basename(list)
  const rows = readRows(bytes, name, 'what to ask for', 'Write one per line, or CSV with a header.')
  const header = rows[0]?.cells.map((cell) => cell.toLowerCase()) ?? []
  const at = header.findIndex((cell) => cell === fills || cell === 'url')
  const named = rows.slice(at >= 0 ? 1 : 0).map(({ cells, line }) => {
    return { subject: cells[Math.max(0, at)] ?? '', line, place: `${name}:${line}` }
  })
  const empty = named.filter(({ subject }) => subject === '').map(({ line }) => line)
  const used = named.filter(({ subject }) => subject !== '')
  skipped.push(...skippedOf(name, empty, used.length))
  return used
}

/** Tables of endpoints that were never asked are empty here, so that the select works whichever pipeline runs first. */
async function selected({ sql }: { readonly sql: string }, endpoint: string, dataDir: string) {
  const path = dataDirectory(dataDir).warehouse
  try {
    return await withWarehouse({ path, mode: 'read' }, async (warehouse) => {
      const absent = await standIn(warehouse, sql)
      const lines: Line[] = []
      const { batches } = await warehouse.stream(sql)
      for await (const rows of batches) {
        for (const [cell] of rows) {
          const place = `row ${lines.length + 1} of for_each`
          const subject = ['string', 'number', 'bigint'].includes(typeof cell) ? String(cell) : ''
          if (subject !== '') lines.push({ subject, place })
        }
      }
      const before = absent.find(({ endpoints = [] }) => !endpoints.includes(endpoint))
      const missing = before && unaskedTable(before.name)
      if (missing && lines.length === 0) {
        throw new ConfigError(`for_each: ${missing.message}`, { hint: `${missing.hint} ${CHECK}` })
      }
      return lines
    })
  } catch (error) {
    if (!(error instanceof SqlError || error instanceof NotOneReadingError)) throw error
    throw new ConfigError(`for_each: ${messageOf(error)}`, { hint: CHECK, cause: error })
  }
}

/**
 * A request as the endpoint takes it.
 * @param where the place of the options
 * @param places the places of members that are not options, by name
 * @throws ConfigError that names the wrong member and its place
 */
function requestOf(
  { request, takesOthers, pages }: Endpoint,
  given: LookupRequest,
  where: string,
  places: Readonly<Record<string, string>> = {},
): LookupRequest {
  const isOther = (name: string) => takesOthers === true && name.startsWith(OTHER)
  const entries = Object.entries(given)
  const documented = Object.fromEntries(entries.filter(([name]) => !isOther(name)))
  const others = entries
    .filter(([name]) => isOther(name))
    .map(([name, value]) => [name.slice(1), value] as const)
  const parsed = request.safeParse(documented, { error: plainly })
  const twice = others.find(([name]) => name === pages || Object.hasOwn(request.shape, name))
  if (twice !== undefined) {
    throw new ConfigError(`${where}: ${OTHER}${twice[0]}: the endpoint knows ${twice[0]}`, {
      hint: CHECK,
    })
  }
  if (parsed.success) return { ...parsed.data, ...Object.fromEntries(others) }
  const issue = parsed.error.issues[0] as z.core.$ZodIssue
  const member = issue.code === 'unrecognized_keys' ? issue.keys.join(', ') : issue.path.join('.')
  const place = places[String(issue.path[0])] ?? where
  const allowed = Object.keys(request.shape).filter((key) => places[key] === undefined)
  const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : []
  const words =
    unknown === undefined
      ? issue.message
      : `unknown; ${meant(unknown, allowed)}allowed: ${allowed.join(', ')}`
  throw new ConfigError(`${place}: ${member}: ${words}`, { hint: CHECK })
}

/** Before a name that the service does not document. */
const OTHER = '+'
