/** What every endpoint asks of a request before it reads it: the key, the plan, and the plan's rate limit. */

import type { AccountEntry } from './account.ts'
import type { Strike } from './faults.ts'
import { rateWindow, type RateLimit, type RateWindow } from './rate-window.ts'
import type { Answer } from './wire-faults.ts'

export interface GateOptions {
  /** Keys that are let in; default `simulator-key`. */
  readonly apiKeys?: readonly string[]
  /** Keys that are known but whose plan lacks the data: 403. */
  readonly keysWithoutPlan?: readonly string[]
  /** Without it there is no 429 and there are no `X-RateLimit-*` headers. */
  readonly rateLimit?: RateLimit
}

/** A request that arrived. */
export interface Call {
  readonly body: string
  /** What stands behind the question mark of its address. */
  readonly query: string
  readonly contentType: string | undefined
  readonly authorization: string | undefined
  readonly nowMs: number
  readonly monotonicMs: number
}

/** An answer, the fault that struck, and what the account says about the request, where it got so far. */
export interface Reply {
  readonly answer: Answer
  readonly strike?: Strike | undefined
  readonly facts?: Partial<AccountEntry>
}

export interface Admitted {
  readonly key: string
  readonly headers: Answer['headers']
}

export class Gate {
  readonly #options: GateOptions
  readonly #limit: RateWindow | undefined

  constructor(options: GateOptions) {
    this.#options = options
    this.#limit = options.rateLimit && rateWindow(options.rateLimit)
  }

  /** @returns the answer that refuses, or whose request it is */
  admit({ authorization, monotonicMs }: Call): Reply | Admitted {
    const { apiKeys = ['simulator-key'], keysWithoutPlan = [] } = this.#options
    const key = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (key === undefined) return refusal(401, 'missing API key: send Authorization: Bearer <key>')
    if (keysWithoutPlan.includes(key)) {
      return refusal(403, 'your plan does not include job change data', key)
    }
    if (!apiKeys.includes(key)) return refusal(401, 'invalid API key')
    const admission = this.#limit?.(key, monotonicMs)
    const headers = admission?.headers ?? {}
    if (admission?.isAdmitted !== false) return { key, headers }
    return refusal(429, 'rate limit of the plan exceeded', key, headers)
  }
}

function answerOf(status: number, body: string, headers: Answer['headers'] = {}): Answer {
  return {
    status,
    headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
    body: Buffer.from(body),
  }
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

/** What an endpoint would answer to a request. */
export interface Served {
  /** Default 200. */
  readonly status?: number | undefined
  readonly body: string
  readonly credits: number
  /** Events or other items in it. */
  readonly items: number
  /** What the account says beside. */
  readonly facts: Partial<AccountEntry>
}

/** The reply to an admitted request: its answer, or what the fault that struck makes of it, and what that is charged. */
export function replyOf(
  { key, headers }: Admitted,
  strike: Strike | undefined,
  { status = 200, body, credits, items, facts }: Served,
): Reply {
  const { credit_used: said = credits } = (strike?.fault.body ?? {}) as { credit_used?: number }
  const isServed = strike?.fault.status === undefined
  return {
    answer: isServed ? answerOf(status, body, headers) : statusAnswer(strike.fault, headers),
    strike,
    facts: {
      ...facts,
      key,
      fault: strike?.action ?? null,
      events: isServed ? items : 0,
      credits_used: strike?.isCharged === false ? 0 : said,
    },
  }
}

/** What a fault of that status answers in place of the endpoint. */
function statusAnswer(
  { status = 503, message, headers: own = {}, body }: Strike['fault'],
  limits: Answer['headers'],
): Answer {
  const texts = Object.entries(own).map(([name, value]) => [name, String(value)])
  const headers = { ...limits, ...(Object.fromEntries(texts) as Answer['headers']) }
  if (typeof body === 'string') return answerOf(status, body, headers)
  if (body !== undefined) return answerOf(status, JSON.stringify(body), headers)
  return errorAnswer(status, message ?? `fault: status ${status}`, headers)
}
