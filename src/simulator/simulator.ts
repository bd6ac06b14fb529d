/**
 * The job-change search endpoint on this machine: the same rules, errors, order and charges as the service, served from
 * a made-up world or a file of events. README.md beside this file says where it differs from the service.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isoInstant, type Clock } from '../support/clock.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { MINUTE } from '../support/units.ts'
import { createBookkeeper, type Account, type Bookkeeper } from './account.ts'
import { createCompanyDirectory, type UnknownIds, type UnknownNames } from './companies.ts'
import { answerControl, CONTROL_PREFIX, type Controls } from './control.ts'
import type { EventSource, TrackedOrganization } from './events.ts'
import { createFaultPlan, type Fault } from './faults.ts'
import { createRateWindow, type RateLimit } from './rate-window.ts'
import { BodyTooLarge, readBody } from './request-body.ts'
import {
  answerSearch,
  errorAnswer,
  NO_FACTS,
  SEARCH_PATH,
  type Reply,
  type SearchEndpointParts,
} from './search-endpoint.ts'
import { createSearch } from './search.ts'
import { gzipped, sendAnswer } from './wire-faults.ts'

/** How to run a simulator. */
export interface SimulatorOptions {
  readonly source: EventSource
  /** The server's time, before it is advanced. */
  readonly clock: Clock
  /** Default 0: any free port. The simulator listens on 127.0.0.1 only. */
  readonly port?: number
  /** Keys that are let in; default `simulator-key`. */
  readonly apiKeys?: readonly string[]
  /** Keys that are known but whose plan lacks job changes: 403. */
  readonly keysWithoutPlan?: readonly string[]
  /** Without it there is no 429 and there are no `X-RateLimit-*` headers. */
  readonly rateLimit?: RateLimit
  readonly faults?: readonly Fault[]
  /** Gzip bodies for clients that accept it; default false. */
  readonly gzip?: boolean
  /** Organisation ids that nobody tracks: find no events (default), or answer 400. */
  readonly unknownIds?: UnknownIds
  /** Which of the untracked companies a 400 names: the first one (default), all, or none. */
  readonly unknownNames?: UnknownNames
  /** How many requests the account's log keeps; default 10,000, Infinity for all. */
  readonly logSize?: number
}

/** An organisation and how many of its events are visible now. */
export type SimulatedOrganization = TrackedOrganization & { readonly events: number }

/** A running simulator. */
export interface Simulator {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  account(): Account
  /**
   * Replaces all faults; their counting starts again.
   * @throws ConfigError naming the fault that is wrong
   */
  setFaults(faults: readonly Fault[]): void
  /** Moves the simulator's time forward by `ms` milliseconds. */
  advance(ms: number): void
  organizations(): SimulatedOrganization[]
  /** Stops listening and cuts every connection. */
  close(): Promise<void>
}

const DEFAULT_LOG_SIZE = 10_000

/**
 * Starts a simulator on 127.0.0.1.
 * @throws ConfigError when the port is taken or a fault is wrong
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { source, clock, rateLimit } = options
  const books = createBookkeeper(options.logSize ?? DEFAULT_LOG_SIZE)
  let faults = createFaultPlan(options.faults ?? [])
  let advancedMs = 0
  const now = () => clock.now() + advancedMs

  const account = () => books.account()
  const organizations = () => organizationsAt(source, now())
  const setFaults = (replacement: unknown) => {
    faults = createFaultPlan(replacement)
  }
  const advance = (ms: number) => {
    advancedMs += ms
  }
  const controls = { account, organizations, setFaults, advance, now: () => isoInstant(now()) }
  const parts: SearchEndpointParts = {
    source,
    search: createSearch(source),
    directory: createCompanyDirectory(source, options.unknownIds ?? 'ignore', options.unknownNames),
    apiKeys: new Set(options.apiKeys ?? ['simulator-key']),
    keysWithoutPlan: new Set(options.keysWithoutPlan),
    limit: rateLimit && { rate: rateLimit, window: createRateWindow(rateLimit) },
    faults: () => faults,
  }
  const isGzip = options.gzip ?? false
  // Advancing lets rate-limit windows pass, too: it is time that moves, not only the date.
  const time = { now, monotonic: () => clock.monotonic() + advancedMs }
  const server = createServer((request, response) => {
    serve({ parts, books, controls, time, isGzip }, request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : new Error(messageOf(error))),
    )
  })
  await listen(server, options.port ?? 0)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    account,
    setFaults,
    advance,
    organizations,
    close: () => close(server),
  }
}

interface Service {
  readonly parts: SearchEndpointParts
  readonly books: Bookkeeper
  readonly controls: Controls
  readonly time: Pick<Clock, 'now' | 'monotonic'>
  readonly isGzip: boolean
}

async function serve(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/' } = request
  const [path = ''] = url.split('?', 1)
  let body: string
  try {
    body = await readBody(request)
  } catch (error) {
    // A client that went away in the middle of its request gets no answer.
    if (!(error instanceof BodyTooLarge)) return
    const answer = errorAnswer(413, error.message, { Connection: 'close' })
    return finish(service, request, response, { answer, strike: undefined, facts: NO_FACTS })
  }
  if (path.startsWith(CONTROL_PREFIX)) {
    sendAnswer(response, answerControl(service.controls, method, path, body), undefined)
    return
  }
  finish(service, request, response, reply(service, request, method, path, body))
}

function reply(
  { parts, time }: Service,
  request: IncomingMessage,
  method: string,
  path: string,
  body: string,
): Reply {
  if (path !== SEARCH_PATH) {
    const answer = errorAnswer(404, `no such path: ${path}`)
    return { answer, strike: undefined, facts: NO_FACTS }
  }
  if (method !== 'POST') {
    const answer = errorAnswer(405, `${method} is not allowed`, { Allow: 'POST' })
    return { answer, strike: undefined, facts: NO_FACTS }
  }
  return answerSearch(parts, {
    body,
    contentType: request.headers['content-type'],
    authorization: request.headers.authorization,
    nowMs: time.now(),
    monotonicMs: time.monotonic(),
  })
}

/** Books the reply, then sends it: the account is right before the client can know the answer. */
function finish(
  { books, time, isGzip }: Service,
  request: IncomingMessage,
  response: ServerResponse,
  { answer, strike, facts }: Reply,
): void {
  const nowMs = time.now()
  books.record({
    ...facts,
    at: isoInstant(nowMs),
    method: request.method ?? '',
    path: (request.url ?? '').split('?', 1)[0] ?? '',
    status: strike?.action === 'reset' ? null : answer.status,
  })
  response.sendDate = false
  const dated = { ...answer, headers: { ...answer.headers, Date: new Date(nowMs).toUTCString() } }
  const accepts = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  sendAnswer(response, isGzip && accepts ? gzipped(dated) : dated, strike)
}

function organizationsAt(source: EventSource, nowMs: number): SimulatedOrganization[] {
  const events = new Uint32Array(source.organizations.length)
  for (const [event, organization] of source.organizationOf.entries()) {
    if ((source.detectedAt[event] ?? 0) <= nowMs)
      events[organization] = (events[organization] ?? 0) + 1
  }
  return source.organizations.map((organization, number) => ({
    ...organization,
    events: events[number] ?? 0,
  }))
}

function listen(server: Server, port: number): Promise<void> {
  // Longer than a client's pauses: a connection closed under a request would look like a billed, lost page.
  server.keepAliveTimeout = 5 * MINUTE
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(new ConfigError(`port ${port}: ${messageOf(error)}`, { cause: error }))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
