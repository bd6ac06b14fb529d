/** The service on this machine: its rules, errors, order and charges, over a made-up world or a file of events. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { isoInstant, type Clock } from '../support/clock.ts'
import { messageOf } from '../support/errors.ts'
import { jsonOrNull } from '../support/json.ts'
import { closeServer, listenAt } from '../support/loopback.ts'
import { shuffled } from '../support/numbers.ts'
import { MINUTE } from '../support/units.ts'
import { SERVED } from './endpoints/served.ts'
import { Signals, SIGNATURE_HEADER, type SentDelivery } from './endpoints/signals.ts'
import { ServedWorld, WorldBehind } from './endpoints/world.ts'
import type { EventSource } from './events.ts'
import { createFaultPlan, sendAnswer, type Fault, type FaultPlan } from './faults.ts'
import {
  BadRequest,
  createGate,
  errorAnswer,
  openBooks,
  pageAsked,
  refusal,
  replyOf,
  type Call,
  type GateOptions,
  type Reply,
} from './gate.ts'
import { seededRandom } from './random.ts'

export interface ServiceOptions extends GateOptions {
  readonly source: EventSource
  readonly faults?: readonly Fault[]
}

/** All endpoints of the service behind one gate, without a socket. */
export class SimulatedService {
  readonly #admit: ReturnType<typeof createGate>
  readonly #behind: WorldBehind
  readonly #signals = new Signals()
  #faults: FaultPlan

  /** @throws ConfigError naming a fault that is wrong */
  constructor(options: ServiceOptions) {
    this.#admit = createGate(options)
    this.#behind = new WorldBehind(options.source)
    this.#faults = createFaultPlan(options.faults ?? [])
  }

  /** Replaces all faults. @throws ConfigError naming the one that is wrong */
  setFaults(faults: unknown): void {
    this.#faults = createFaultPlan(faults)
  }

  /** The deliveries of a run of all signals. */
  runSignals(nowMs: number): SentDelivery[] {
    return this.#signals.run(new ServedWorld(this.#behind, nowMs))
  }

  answer(path: string, call: Call, method = 'POST'): Reply {
    const endpoint = [...SERVED, this.#signals.endpoint].find((one) =>
      one.path.endsWith('/') ? path.startsWith(one.path) : path === one.path,
    )
    if (endpoint === undefined) return { answer: errorAnswer(404, `no such path: ${path}`) }
    const { method: allowed = 'POST' } = endpoint
    if (method !== allowed) {
      return { answer: errorAnswer(405, `${method} is not allowed`, { Allow: allowed }) }
    }
    const admitted = this.#admit(call)
    if ('answer' in admitted) return admitted
    try {
      const rest = decodeURIComponent(path.slice(endpoint.path.length))
      const request =
        allowed === 'GET'
          ? { ...Object.fromEntries(new URLSearchParams(call.query)), rest }
          : objectOf(call)
      const served = endpoint.answer(request, new ServedWorld(this.#behind, call.nowMs))
      const strike = this.#faults(pageAsked(request), new Set(served.organizationIds))
      return replyOf(admitted, request, strike, served)
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error
      return refusal(400, error.message, admitted.key, admitted.headers)
    }
  }
}

/** The parameters in a body; an empty one has none. */
function objectOf({ body, contentType }: Call): Readonly<Record<string, unknown>> {
  if (body.trim() === '') return {}
  if (!/^application\/json\b/i.test(contentType ?? '')) {
    throw new BadRequest('send the body with Content-Type: application/json')
  }
  const request = jsonOrNull(body)
  if (request === null) throw new BadRequest('the body is not valid JSON')
  if (typeof request === 'object' && !Array.isArray(request)) {
    return request as Record<string, unknown>
  }
  throw new BadRequest('the body must be a JSON object')
}

export interface SimulatorOptions extends ServiceOptions {
  /** The server's time. */
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
    books.record({ ...NO_FACTS, ...facts, at: isoInstant(nowMs), status })
    response.sendDate = false
    const headers = { ...answer.headers, Date: new Date(nowMs).toUTCString() }
    sendAnswer(response, { ...answer, headers }, strike?.fault)
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

async function deliver({ url, body, signature }: SentDelivery): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    ...(signature === null ? {} : { [SIGNATURE_HEADER]: signature }),
  }
  for (let time = 1; time <= DELIVERED_AT_MOST; time += 1) {
    const answer = await fetch(url, { method: 'POST', headers, body }).catch(() => null)
    await answer?.arrayBuffer()
    if (answer?.ok === true) return
  }
}

const NO_FACTS = {
  key: null,
  request: null,
  page: null,
  events: 0,
  credits_used: 0,
  fault: null,
}
