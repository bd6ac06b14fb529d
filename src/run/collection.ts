/** What a pipeline of `kind: collect` asks for: its list, or an SQL select over the warehouse, with the options of each request. */

import { basename, dirname, resolve } from 'node:path'
import type { z } from 'zod'
import type { Endpoint } from '../api/endpoints/endpoint.ts'
import { ENDPOINTS } from '../api/endpoints/endpoints.ts'
import type { Lookup, CollectQuestion } from '../plan/collection.ts'
import { readRows } from '../plan/organizations.ts'
import type { CollectSpec } from '../plan/pipeline.ts'
import type { Question } from '../plan/plan.ts'
import { readNamedFile } from '../support/atomic-file.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { DAY } from '../support/units.ts'
import { NotOneReadingError, SqlError } from '../warehouse/errors.ts'
import { withWarehouse } from '../warehouse/warehouse.ts'
import { dataDirectory } from './data-directory.ts'

/** What is asked, and of which endpoint. */
export interface Collection extends Omit<CollectQuestion, 'lookups'> {
  readonly declared: Endpoint
  /**
   * Reads what is to be asked for, each thing once, and how often others name it again. Not before a run: an SQL select reads the
   * warehouse.
   * @throws ConfigError naming file and line of what the endpoint would refuse
   */
  readonly read: () => Promise<{ readonly lookups: readonly Lookup[]; readonly duplicates: number }>
}

const CHECK = 'Correct the pipeline file or its list; nothing was sent.'

/** The question of a pipeline that asks nothing of job changes. */
export function noJobChanges(pipeline: string): Question {
  const window = { window: 'all', initialWindow: 'all', overlapHours: 0 } as const
  return { pipeline, organizations: [], eventTypes: [], ...window }
}

/**
 * What a pipeline file asks for; a list that it names is read, and checked.
 * @param overrides a file in place of `for_each`, and how many of it
 * @throws ConfigError naming file and line of what the endpoint would refuse
 */
export async function readCollection(
  spec: CollectSpec,
  file: string,
  overrides: { readonly organizations?: string; readonly limit?: number },
  dataDir: string,
): Promise<{ readonly collection: Collection; readonly list: string }> {
  const declared = ENDPOINTS.get(spec.endpoint)
  if (declared === undefined) throw new TypeError(`no endpoint ${spec.endpoint}`)
  const { for_each: source, options } = spec
  const named = typeof source === 'string' ? resolve(dirname(file), source) : null
  const list = overrides.organizations ?? named
  const readNow = async () => {
    const lines =
      list === null ? await selected(source as { sql: string }, dataDir) : listed(declared, list)
    const lookups = new Map<string, Lookup>()
    for (const { subject, place } of lines) {
      const request = checked(declared, { ...options, [declared.subject]: subject }, place, file)
      lookups.set(subject, { subject, request })
    }
    if (lookups.size === 0) {
      const what = list ?? 'the select of for_each'
      throw new ConfigError(`${what} names nothing to ask for`, { hint: CHECK })
    }
    const wanted = [...lookups.values()].slice(0, overrides.limit)
    return { lookups: wanted, duplicates: lines.length - lookups.size }
  }
  // A list is read once, and checked at once.
  const known = list === null ? null : await readNow()
  const read = async () => known ?? readNow()
  const refreshMs = spec.refresh_days * DAY
  const { name: endpoint } = declared
  return {
    collection: { pipeline: spec.name, endpoint, declared, read, refreshMs },
    list: list ?? file,
  }
}

interface Line {
  readonly subject: string
  readonly place: string
}

function listed({ subject }: Endpoint, list: string): Line[] {
  const bytes = readNamedFile('list', list, CHECK)
  const name = basename(list)
  const rows = readRows(bytes, name, 'what to ask for', 'Write one a line, or CSV with a header.')
  const header = rows[0]?.cells.map((cell) => cell.toLowerCase()) ?? []
  const at = header.indexOf(subject)
  return rows.slice(at >= 0 ? 1 : 0).flatMap(({ cells, line }) => {
    const cell = cells[Math.max(0, at)] ?? ''
    return cell === '' ? [] : { subject: cell, place: `${name}:${line}` }
  })
}

async function selected({ sql }: { readonly sql: string }, dataDir: string): Promise<Line[]> {
  const path = dataDirectory(dataDir).warehouse
  try {
    return await withWarehouse({ path, mode: 'read' }, async (warehouse) => {
      const lines: Line[] = []
      const { batches } = await warehouse.stream(sql)
      for await (const rows of batches) {
        for (const [cell] of rows) {
          const place = `row ${lines.length + 1} of for_each`
          if (typeof cell === 'string' && cell !== '') lines.push({ subject: cell, place })
        }
      }
      return lines
    })
  } catch (error) {
    if (!(error instanceof SqlError || error instanceof NotOneReadingError)) throw error
    throw new ConfigError(`for_each: ${messageOf(error)}`, { hint: CHECK, cause: error })
  }
}

/** A request as the endpoint takes it. @throws ConfigError naming where its line stands, and the member that is wrong */
function checked(
  { request, subject }: Endpoint,
  given: Lookup['request'],
  place: string,
  file: string,
): Lookup['request'] {
  const parsed = request.safeParse(given)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0] as z.core.$ZodIssue
  const member = issue.code === 'unrecognized_keys' ? issue.keys.join(', ') : issue.path.join('.')
  const where = issue.path[0] === subject ? place : `${file}: options`
  const allowed = Object.keys(request.shape).filter((key) => key !== subject)
  const words =
    issue.code === 'unrecognized_keys' ? `unknown; allowed: ${allowed.join(', ')}` : issue.message
  throw new ConfigError(`${where}: ${member}: ${words}`, { hint: CHECK })
}
