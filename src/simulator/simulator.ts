/** The service on this machine: its rules, errors, order, charges and account, over a made-up world or a file of events. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { isoInstant, type Clock } from '../support/clock.ts'
import { messageOf } from '../support/errors.ts'
import { jsonOrNull } from '../support/json.ts'
import { closeServer, listenAt } from '../support/loopback.ts'
import { shuffled } from '../support/numbers.ts'
import { MINUTE } from '../support/units.ts'
import { SERVED } from './endpoints/served.ts'
import { Signals, type SentDelivery } from './endpoints/signals.ts'
import { Refusal, ServedWorld, WorldBehind, type ServedAnswer } from './endpoints/world.ts'
import type { EventSource } from './events.ts'
import { createFaultPlan, sendAnswer, type Answer, type Fault, type Strike } from './faults.ts'
import { seededRandom } from './random.ts'

export interface ServiceOptions {
  readonly source: EventSource
  readonly faults?: readonly Fault[]
  /** Accepted keys; default `simulator-key`. */
  readonly apiKeys?: readonly string[]
  /** Requests of a key in any window, 1 or more; without it there is no 429 and there are no `X-RateLimit-*` headers. */
  readonly rateLimit?: { readonly requests: number; readonly windowMs: number }
}

export interface Call {
  readonly body: string
  /** The query string of its address. */
  readonly query: string
  readonly contentType: string | undefined
  readonly authorization: string | undefined
  /** By the server's clock, milliseconds since 1970 UTC. */
  readonly nowMs: number
  readonly monotonicMs: number
}

/** The booking of a request. A null means that the request did not get far enough to say. */
const NOTHING = {
  /** The API key, if the simulator knows it. */
  key: null as string | null,
  /** Its parameters as sent. */
  request: null as Readonly<Record<string, unknown>> | null,
  page: null as number | null,
  events: 0,
  /** The actual charge, which a fault may make differ from the body. */
  credits_used: 0,
  /** The action of the fault that hit it, such as `cut`. */
  fault: null as string | null,
}

/** An answer, the fault that hit it, and the booking. */
interface Reply {
  readonly answer: Answer
  readonly strike?: Strike | undefined
  readonly facts: Readonly<typeof NOTHING>
}

type Headers = Answer['headers']

/** All endpoints of the service, without a socket. */
export class SimulatedService {
  readonly #options: ServiceOptions
  readonly #behind: WorldBehind
  readonly #signals = new Signals()
  /** By key: the times of the requests in the window of the rate limit. */
  readonly #admittedAt = new Map<string, number[]>()
  #faults: ReturnType<typeof createFaultPlan>

  /** @throws ConfigError naming a fault that is wrong */
  constructor(options: ServiceOptions) {
    this.#options = options
    this.#behind = new WorldBehind(options.source)
    this.#faults = createFaultPlan(options.faults ?? [])
  }

  /** Replaces all faults. @throws ConfigError naming the one that is wrong */
  setFaults(faults: unknown): void {
    this.#faults = createFaultPlan(faults)
  }

  runSignals(nowMs: number): SentDelivery[] {
    return this.#signals.run(new ServedWorld(this.#behind, nowMs))
  }

  answer(path: string, call: Call, method = 'POST'): Reply {
    const { apiKeys = ['simulator-key'] } = this.#options
    const sent = /^Bearer +(\S+)$/i.exec(call.authorization ?? '')?.[1]
    const key = apiKeys.find((one) => one === sent) ?? null
    let limits: Headers = {}
    try {
      const endpoint = [...SERVED, this.#signals.endpoint].find((one) =>
        one.path.endsWith('/') ? path.startsWith(one.path) : path === one.path,
      )
      if (endpoint === undefined) throw new Refusal(`no such path: ${path}`, 404)
      const { method: allowed } = endpoint
      if (method !== allowed) {
        throw new Refusal(`${method} is not allowed`, 405, { Allow: allowed })
      }
      if (key === null) {
        const missing = 'missing API key: send Authorization: Bearer <key>'
        throw new Refusal(sent === undefined ? missing : 'invalid API key', 401)
      }
      limits = this.#admit(key, call.monotonicMs)
      const rest = decodeURIComponent(path.slice(endpoint.path.length))
      const request =
        allowed === 'GET'
          ? { ...Object.fromEntries(new URLSearchParams(call.query)), rest }
          : objectOf(call)
      const served = endpoint.answer(request, new ServedWorld(this.#behind, call.nowMs))
      const page = Number(request['page'] ?? 1)
      const strike = this.#faults(page, new Set(served.organizationIds))
      const { answer, ...charge } = chargedAnswer(served, strike, limits)
      const credits_used = strike?.isCharged === false ? 0 : charge.credits_used
      const fault = strike?.action ?? null
      return { answer, strike, facts: { key, request, page, fault, ...charge, credits_used } }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const headers = { ...limits, ...error.headers }
      const answer = jsonAnswer(error.status, errorBody(error.message), headers)
      return { answer, facts: { ...NOTHING, key } }
    }
  }

  /** Counts a request against the rate limit. @returns the headers that say what is left @throws Refusal when nothing was */
  #admit(key: string, monotonicMs: number): Headers {
    const { rateLimit } = this.#options
    if (rateLimit === undefined) return {}
    const { requests, windowMs } = rateLimit
    const times = (this.#admittedAt.get(key) ?? []).filter((at) => at > monotonicMs - windowMs)
    const isAdmitted = times.length < requests
    if (isAdmitted) times.push(monotonicMs)
    this.#admittedAt.set(key, times)
    // In seconds, until the oldest request leaves the window and makes room.
    const reset = Math.ceil(((times[0] ?? monotonicMs) + windowMs - monotonicMs) / 1_000)
    const headers = {
      'X-RateLimit-Limit': String(requests),
      'X-RateLimit-Remaining': String(requests - times.length),
      'X-RateLimit-Reset': String(reset),
    }
    if (isAdmitted) return headers
    throw new Refusal('rate limit of the plan exceeded', 429, headers)
  }
}

/** The parameters in a body; an empty one has none. */
function objectOf({ body, contentType }: Call): Readonly<Record<string, unknown>> {
  if (body.trim() === '') return {}
  if (!/^application\/json\b/i.test(contentType ?? '')) {
    throw new Refusal('send the body with Content-Type: application/json')
  }
  const request = jsonOrNull(body)
  if (request === null) throw new Refusal('the body is not valid JSON')
  if (typeof request === 'object' && !Array.isArray(request)) {
    return request as Record<string, unknown>
  }
  throw new Refusal('the body must be a JSON object')
}

/** The answer of an endpoint, or that of a fault with a status in its place, and its charge. */
function chargedAnswer(
  { status = 200, body, credits, items }: ServedAnswer,
  fault: Strike | undefined,
  limits: Headers,
) {
  const { credit_used: credits_used = credits } = (fault?.body ?? {}) as { credit_used?: number }
  if (fault?.status === undefined) {
    const sent = typeof body === 'string' ? body : { ...body, credit_used: credits }
    return { answer: jsonAnswer(status, sent, limits), events: items, credits_used }
  }
  const { message = `fault: status ${fault.status}`, body: sent = errorBody(message) } = fault
  const answer = jsonAnswer(fault.status, sent, { ...limits, ...fault.headers })
  return { answer, events: 0, credits_used }
}

function jsonAnswer(status: number, body: unknown, headers: Headers): Answer {
  const type = { 'Content-Type': 'application/json; charset=utf-8' }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { status, headers: { ...type, ...headers }, body: Buffer.from(text) }
}

/** An error in the shape of the service. Errors are never charged. */
function errorBody(message: string) {
  return { success: false, message, data: null, credit_used: 0 }
}

/** One request as the simulator saw it; its status is null if the connection was reset. */
export type AccountEntry = Reply['facts'] & { readonly at: string; readonly status: number | null }

const LOG_SIZE = 100_000

/** Books requests. Ledgers are compared with the account: totals since the start, and the last requests, oldest first. */
function openBooks() {
  /** Requests by status; `none` are the ones without an answer. */
  const byStatus: Record<string, number> = {}
  const totals = { requests: 0, charged_pages: 0, credits: 0 }
  const log: AccountEntry[] = []
  return {
    record(entry: AccountEntry): void {
      const status = String(entry.status ?? 'none')
      byStatus[status] = (byStatus[status] ?? 0) + 1
      totals.requests += 1
      totals.charged_pages += entry.credits_used > 0 ? 1 : 0
      totals.credits += entry.credits_used
      log.push(entry)
      // Dropping half at a time keeps recording cheap.
      if (log.length > 2 * LOG_SIZE) log.splice(0, LOG_SIZE)
    },
    account: () => ({ ...totals, by_status: { ...byStatus }, log: log.slice(-LOG_SIZE) }),
  }
}

export interface SimulatorOptions extends ServiceOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  /** Default 0: any free port. The simulator listens on 127.0.0.1 only. */
  readonly port?: number
}

/**
 * Starts a simulator on 127.0.0.1.
 * @throws ConfigError when the port is taken or a fault is wrong
 */
export async function startSimulator(options: SimulatorOptions) {
  const { clock, source } = options
  const service = new SimulatedService(options)
  const books = openBooks()

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // A client that went away in the middle of its request gets no answer.
    const body = await text(request).catch(() => null)
    if (body === null) return
    const { method, url = '' } = request
    const { authorization, 'content-type': contentType } = request.headers
    const [path = '', query = ''] = url.split('?', 2)
    const nowMs = clock.now()
    const call = { body, query, contentType, authorization, nowMs, monotonicMs: clock.monotonic() }
    const { answer, strike, facts } = service.answer(path, call, method)
    const status = strike?.action === 'reset' ? null : answer.status
    // Booked first: the account is right before the client can know the answer.
    books.record({ ...facts, at: isoInstant(nowMs), status })
    response.sendDate = false
    const headers = { ...answer.headers, Date: new Date(nowMs).toUTCString() }
    sendAnswer(response, { ...answer, headers }, strike)
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(messageOf(error)))
    })
  })
  // Longer than a client's pauses: a connection closed during a request would look like a billed, lost page.
  server.keepAliveTimeout = 5 * MINUTE
  const url = await listenAt(server, '127.0.0.1', options.port ?? 0)
  /** Deliveries that come with those of the next run. */
  const late: SentDelivery[] = []
  const random = seededRandom(DELIVERY_SEED)
  return {
    url,
    account: books.account,
    organizations: () => source.organizations,
    /** Makes a run of each signal: what it delivers is sent to its webhook, and again where that does not answer 2xx. */
    runSignals: async () => {
      late.push(...service.runSignals(clock.now()))
      for (const delivery of shuffled(late.splice(0), random)) {
        if (random() < DELIVERED_LATE) late.push(delivery)
        else await deliver(delivery)
        if (random() < DELIVERED_TWICE) await deliver(delivery)
      }
    },
    /** Replaces all faults; their counting starts again. */
    setFaults: (faults: readonly Fault[]) => service.setFaults(faults),
    close: () => closeServer(server),
  }
}

export type Simulator = Awaited<ReturnType<typeof startSimulator>>

const DELIVERED_AT_MOST = 5
// In any order, some twice, some with those of the next run.
const DELIVERED_TWICE = 0.2
const DELIVERED_LATE = 0.1
const DELIVERY_SEED = 17

async function deliver({ url, body, headers: own }: SentDelivery): Promise<void> {
  const headers = { 'content-type': 'application/json', ...own }
  for (let time = 1; time <= DELIVERED_AT_MOST; time += 1) {
    const answer = await fetch(url, { method: 'POST', headers, body }).catch(() => null)
    await answer?.arrayBuffer()
    if (answer?.ok === true) return
  }
}
