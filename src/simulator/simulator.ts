/**
 * The job-change search endpoint on this machine: the same rules, errors, order and charges as the service, served from
 * a made-up world or a file of events. README.md beside this file says where it differs from the service.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { isoInstant, type Clock } from '../support/clock.ts'
import { ConfigError, messageOf } from '../support/errors.ts'
import { MINUTE } from '../support/units.ts'
import { Bookkeeper, type Account } from './account.ts'
import { answerControl, CONTROL_PREFIX } from './control.ts'
import type { TrackedOrganization } from './events.ts'
import type { Fault } from './faults.ts'
import {
  errorAnswer,
  SEARCH_PATH,
  SearchEndpoint,
  type Reply,
  type SearchEndpointOptions,
} from './search-endpoint.ts'
import { sendAnswer } from './wire-faults.ts'

/** How to run a simulator. */
export interface SimulatorOptions extends SearchEndpointOptions {
  /** The server's time, before it is advanced. */
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  /** Default 0: any free port. The simulator listens on 127.0.0.1 only. */
  readonly port?: number
}

/** A running simulator. */
export interface Simulator {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  account(): Account
  organizations(): readonly TrackedOrganization[]
  /**
   * Replaces all faults; their counting starts again.
   * @throws ConfigError naming the fault that is wrong
   */
  setFaults(faults: readonly Fault[]): void
  /** Moves the simulator's time forward by `ms` milliseconds. */
  advance(ms: number): void
  /** Stops listening and cuts every connection. */
  close(): Promise<void>
}

/**
 * Starts a simulator on 127.0.0.1.
 * @throws ConfigError when the port is taken or a fault is wrong
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const service = new Service(options)
  const server = createServer((request, response) => {
    service.serve(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(messageOf(error)))
    })
  })
  await listen(server, options.port ?? 0)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    account: () => service.account(),
    organizations: () => options.source.organizations,
    setFaults: (faults) => service.endpoint.setFaults(faults),
    advance: (ms) => service.advance(ms),
    close: () => close(server),
  }
}

class Service {
  readonly endpoint: SearchEndpoint
  readonly #clock: SimulatorOptions['clock']
  readonly #books = new Bookkeeper()
  #advancedMs = 0

  constructor(options: SimulatorOptions) {
    this.endpoint = new SearchEndpoint(options)
    this.#clock = options.clock
  }

  account(): Account {
    return this.#books.account()
  }

  advance(ms: number): void {
    this.#advancedMs += ms
  }

  now(): string {
    return isoInstant(this.#nowMs)
  }

  get #nowMs(): number {
    return this.#clock.now() + this.#advancedMs
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request
    const [path = ''] = url.split('?', 1)
    // A client that went away in the middle of its request gets no answer.
    const body = await text(request).catch(() => null)
    if (body === null) return
    if (path.startsWith(CONTROL_PREFIX)) {
      return sendAnswer(response, answerControl(this, method, path, body), undefined)
    }
    const { answer, strike, facts } = this.#reply(request, path, body)
    const nowMs = this.#nowMs
    // Booked first: the account is right before the client can know the answer.
    this.#books.record({
      ...NO_FACTS,
      ...facts,
      at: isoInstant(nowMs),
      status: strike?.action === 'reset' ? null : answer.status,
    })
    response.sendDate = false
    const headers = { ...answer.headers, Date: new Date(nowMs).toUTCString() }
    sendAnswer(response, { ...answer, headers }, strike?.fault)
  }

  #reply({ method, headers }: IncomingMessage, path: string, body: string): Reply {
    if (path !== SEARCH_PATH) return { answer: errorAnswer(404, `no such path: ${path}`) }
    if (method !== 'POST') {
      return { answer: errorAnswer(405, `${method} is not allowed`, { Allow: 'POST' }) }
    }
    return this.endpoint.answer({
      body,
      contentType: headers['content-type'],
      authorization: headers.authorization,
      nowMs: this.#nowMs,
      // Advancing lets rate-limit windows pass, too: it is time that moves, not only the date.
      monotonicMs: this.#clock.monotonic() + this.#advancedMs,
    })
  }
}

/** Facts about a request that did not get as far as a search. */
const NO_FACTS = {
  key: null,
  organizations: null,
  event_type: null,
  days_ago: null,
  page: null,
  limit: null,
  events: 0,
  credits_used: 0,
  fault: null,
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
