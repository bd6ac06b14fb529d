/**
 * A service in the test's own process whose list moves while it is read: events come in anywhere (also hours after they
 * were detected), are corrected, and leave the window. Answers take virtual time, and say when they were made in whole
 * seconds.
 */

import type { Answer, Transport } from '../../src/api/transport.ts'
import type { Clock } from '../../src/support/clock.ts'
import { DAY } from '../../src/support/units.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'

/** One version of an event. Times are the server's, milliseconds since 1970 UTC. */
export interface Version {
  /** The event; all its versions have the same. */
  readonly id: number
  readonly version: number
  readonly organization: string
  readonly detectedAt: number
  readonly visibleAt: number
  /** When a correction takes its place; Infinity for never. */
  readonly goneAt: number
  /** What the list is ordered by: fresh events first. */
  readonly lagDays: number
}

/** Billing and answers of the service. */
export interface ListServer {
  readonly transport: Transport
  readonly account: { requests: number; charged: number; readonly pages: number[] }
  now(): number
  /** What is in the list of a window at a time. */
  list(organizations: ReadonlySet<string>, daysAgo: number | null, atMs: number): Version[]
  /** Names of the versions in a body that was sent. */
  namesIn(body: string): readonly string[]
  /** Answers to requests that arrive from now on never come back. */
  vanish(): void
}

export interface ListServerOptions {
  readonly clock: Clock
  readonly versions: readonly Version[]
  /** How long a request takes to the server, and its answer back, in milliseconds. */
  readonly latency: () => number
  /** How far the server's clock is ahead. */
  readonly aheadMs?: number
  /** Changes what a page says. */
  readonly distort?: (
    page: number,
    answer: ListAnswer,
    organizations: ReadonlySet<string>,
  ) => ListAnswer
}

export interface ListAnswer {
  readonly data: readonly Version[]
  readonly page: number
  readonly hasMore: boolean
}

interface Question {
  readonly organization_ids: readonly string[]
  readonly page: number
  readonly limit: number
  readonly days_ago?: number
}

// A version is built once, however often it is sent.
const built = new WeakMap<Version, { readonly name: string; readonly json: string }>()

export function listServer(options: ListServerOptions): ListServer {
  const { clock, versions, latency, aheadMs = 0 } = options
  const account = { requests: 0, charged: 0, pages: [] as number[] }
  const now = () => clock.now() + aheadMs
  const sorted = versions.toSorted(
    (a, b) => a.lagDays - b.lagDays || a.id - b.id || a.version - b.version,
  )
  const sent = new Map<string, readonly Version[]>()
  let gone = new AbortController()

  function list(organizations: ReadonlySet<string>, daysAgo: number | null, atMs: number) {
    const from = daysAgo === null ? -Infinity : atMs - daysAgo * DAY
    return sorted.filter(
      ({ organization, visibleAt, goneAt, detectedAt }) =>
        organizations.has(organization) && visibleAt <= atMs && goneAt > atMs && detectedAt >= from,
    )
  }

  function answerTo(body: unknown): ListAnswer {
    const { organization_ids: ids, page, limit, days_ago: daysAgo = null } = body as Question
    const events = list(new Set(ids), daysAgo, now())
    const data = events.slice((page - 1) * limit, page * limit)
    return { data, page, hasMore: events.length > page * limit }
  }

  return {
    account,
    now,
    list,
    namesIn: (body) => (sent.get(body) ?? []).map(nameOf),
    vanish() {
      gone.abort(new Error('the process was killed'))
      gone = new AbortController()
    },
    transport: {
      async post(_path, body, signal) {
        const connection = AbortSignal.any([signal, gone.signal])
        await clock.sleep(latency(), connection)
        const { page: asked, limit, organization_ids: ids } = body as Question
        const found = answerTo(body)
        const { data, page, hasMore } = options.distort?.(asked, found, new Set(ids)) ?? found
        const credits = data.length === 0 ? 0 : 10
        account.requests += 1
        account.charged += credits
        account.pages.push(asked)
        const madeAt = now()
        const json = data.map((version) => partsOf(version).json).join()
        const pagination = JSON.stringify({ page, limit, has_more: hasMore })
        const text = `{"data":[${json}],"pagination":${pagination},"credit_used":${credits}}`
        sent.set(text, data)
        await clock.sleep(latency(), connection)
        return {
          status: 200,
          headers: { date: new Date(madeAt).toUTCString() },
          body: Buffer.from(text),
          receivedAt: clock.now(),
        } satisfies Answer
      },
      close: () => Promise.resolve(),
    },
  }
}

/** What identifies a version. */
export function nameOf(version: Version): string {
  return partsOf(version).name
}

function partsOf(version: Version): { readonly name: string; readonly json: string } {
  const known = built.get(version)
  if (known !== undefined) return known
  const { id, organization, detectedAt } = version
  const event = anEvent({ person: `per_${id}`, organization, detectedAt })
  // The natural key does not change with a correction.
  const changedAt = new Date(Date.UTC(2020, 0, 1 + (id % 500))).toISOString()
  const parts = {
    name: `${event.person.profile_id} ${event.detected_at}`,
    json: JSON.stringify({ ...event, changed_at: changedAt }),
  }
  built.set(version, parts)
  return parts
}
