/** Checks key, plan and rate limit of every request, and records requests and answers. */

import type { Answer, Strike } from './faults.ts'

export interface GateOptions {
  /** Accepted keys; default `simulator-key`. */
  readonly apiKeys?: readonly string[]
  /** Requests of a key in any window, 1 or more; without it there is no 429 and there are no `X-RateLimit-*` headers. */
  readonly rateLimit?: { readonly requests: number; readonly windowMs: number }
}

/** A request that arrived. */
export interface Call {
  readonly body: string
  /** The query string of its address. */
  readonly query: string
  readonly contentType: string | undefined
  readonly authorization: string | undefined
  readonly nowMs: number
  readonly monotonicMs: number
}

/** An answer, the fault that hit it, and the account entry of the request, if it got that far. */
export interface Reply {
  readonly answer: Answer
  readonly strike?: Strike | undefined
  readonly facts?: Partial<AccountEntry>
}

export interface Admitted {
  readonly key: string
  readonly headers: Answer['headers']
}

/** A request that breaks a rule: becomes a 400 with this message, which names the parameter and what was sent. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest'
}

/** Checks key and rate limit of a request. @returns the answer that refuses, or whose request it is */
export function createGate(options: GateOptions): (call: Call) => Reply | Admitted {
  const { apiKeys = ['simulator-key'], rateLimit } = options
  const admittedAt = new Map<string, number[]>()
  return ({ authorization, monotonicMs }) => {
    const key = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (key === undefined) return refusal(401, 'missing API key: send Authorization: Bearer <key>')
    if (!apiKeys.includes(key)) return refusal(401, 'invalid API key')
    if (rateLimit === undefined) return { key, headers: {} }
    const { requests, windowMs } = rateLimit
    const times = (admittedAt.get(key) ?? []).filter((at) => at > monotonicMs - windowMs)
    const isAdmitted = times.length < requests
    if (isAdmitted) times.push(monotonicMs)
    admittedAt.set(key, times)
    // In seconds, until the oldest request leaves the window and makes room.
    const reset = Math.ceil(((times[0] ?? monotonicMs) + windowMs - monotonicMs) / 1_000)
    const headers = {
      'X-RateLimit-Limit': String(requests),
      'X-RateLimit-Remaining': String(requests - times.length),
      'X-RateLimit-Reset': String(reset),
    }
    if (isAdmitted) return { key, headers }
    return refusal(429, 'rate limit of the plan exceeded', key, headers)
  }
}

function answerOf(status: number, body: string, headers: Answer['headers'] = {}): Answer {
  const type = { 'Content-Type': 'application/json; charset=utf-8' }
  return { status, headers: { ...type, ...headers }, body: Buffer.from(body) }
}

/** An error answer in the shape of the service. Errors are never charged. */
export function errorAnswer(status: number, message: string, headers?: Answer['headers']): Answer {
  const body = { success: false, message, data: null, credit_used: 0 }
  return answerOf(status, JSON.stringify(body), headers)
}

export function refusal(
  status: number,
  message: string,
  key: string | null = null,
  headers: Answer['headers'] = {},
): Reply {
  return { answer: errorAnswer(status, message, headers), facts: { key } }
}

/** The answer of an endpoint to a request. */
export interface ServedAnswer {
  /** Default 200. */
  readonly status?: number
  /** The JSON, without `credit_used`; or its text, which has it. */
  readonly body: Readonly<Record<string, unknown>> | string
  readonly credits: number
  /** Events or other items in it. */
  readonly items: number
  /** The organisations that it is about, for faults that hit one. */
  readonly organizationIds?: readonly string[]
}

/** The reply to an admitted request: its answer, possibly changed by a fault, and the charge. */
export function replyOf(
  { key, headers }: Admitted,
  request: NonNullable<AccountEntry['request']>,
  strike: Strike | undefined,
  { status = 200, body, credits, items }: ServedAnswer,
): Reply {
  const { credit_used: said = credits } = (strike?.fault.body ?? {}) as { credit_used?: number }
  const isServed = strike?.fault.status === undefined
  const text = typeof body === 'string' ? body : JSON.stringify({ ...body, credit_used: credits })
  return {
    answer: isServed ? answerOf(status, text, headers) : statusAnswer(strike.fault, headers),
    strike,
    facts: {
      key,
      request,
      page: pageAsked(request),
      fault: strike?.action ?? null,
      events: isServed ? items : 0,
      credits_used: strike?.isCharged === false ? 0 : said,
    },
  }
}

/** The answer of a fault with a status, instead of the endpoint's. */
function statusAnswer(fault: Strike['fault'], limits: Answer['headers']): Answer {
  const { status = 503, message = `fault: status ${status}`, headers: own = {}, body } = fault
  const texts = Object.entries(own).map(([name, value]) => [name, String(value)] as const)
  const headers = { ...limits, ...Object.fromEntries(texts) }
  if (body === undefined) return errorAnswer(status, message, headers)
  return answerOf(status, typeof body === 'string' ? body : JSON.stringify(body), headers)
}

/** The page that a request asks for. */
export function pageAsked(request: Readonly<Record<string, unknown>>): number {
  return Number(request['page'] ?? 1)
}

/** One request as the simulator saw it. A null means that the request did not get far enough to say. */
export interface AccountEntry {
  readonly at: string
  /** The API key, if the simulator knows it. */
  readonly key: string | null
  /** Its parameters as sent. */
  readonly request: Readonly<Record<string, unknown>> | null
  readonly page: number | null
  /** Null if the connection was reset. */
  readonly status: number | null
  readonly events: number
  /** The actual charge, which a fault may make differ from the body. */
  readonly credits_used: number
  /** The action of the fault that hit it, such as `cut`. */
  readonly fault: string | null
}

/** Totals since the start, and the last requests, oldest first. Ledgers are compared with it. */
export interface Account {
  readonly requests: number
  /** Requests by status; `none` are the ones without an answer. */
  readonly by_status: Readonly<Record<string, number>>
  readonly charged_pages: number
  readonly credits: number
  readonly log: readonly AccountEntry[]
}

const LOG_SIZE = 100_000

/** Books requests, and gives the account. */
export function openBooks() {
  const byStatus: Record<string, number> = {}
  const totals = { requests: 0, charged_pages: 0, credits: 0 }
  let log: AccountEntry[] = []
  return {
    record(entry: AccountEntry): void {
      const status = String(entry.status ?? 'none')
      byStatus[status] = (byStatus[status] ?? 0) + 1
      totals.requests += 1
      totals.charged_pages += entry.credits_used > 0 ? 1 : 0
      totals.credits += entry.credits_used
      log.push(entry)
      // Dropping half at a time keeps recording cheap.
      if (log.length > 2 * LOG_SIZE) log = log.slice(-LOG_SIZE)
    },
    account: (): Account => ({ ...totals, by_status: { ...byStatus }, log: log.slice(-LOG_SIZE) }),
  }
}
