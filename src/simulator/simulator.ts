/**
 * The service on this machine: the same rules, errors, order and charges as the service, served from
 * a made-up world or a file of events. README.md beside this file says where it differs from the service.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { isoInstant, type Clock } from '../support/clock.ts'
import { messageOf } from '../support/errors.ts'
import { closeServer, listenOnLoopback } from '../support/loopback.ts'
import { shuffled } from '../support/numbers.ts'
import { MINUTE } from '../support/units.ts'
import { Bookkeeper, type Account } from './account.ts'
import type { TrackedOrganization } from './events.ts'
import { SIGNATURE_HEADER, type SentDelivery } from './endpoints/signals.ts'
import type { Fault } from './faults.ts'
import type { Reply } from './gate.ts'
import { seededRandom } from './random.ts'
import { SimulatedService, type ServiceOptions } from './service.ts'
import { sendAnswer } from './wire-faults.ts'

export interface SimulatorOptions extends ServiceOptions {
  /** The server's time. */
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  /** Default 0: any free port. The simulator listens on 127.0.0.1 only. */
  readonly port?: number
}

export interface Simulator {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  account(): Account
  organizations(): readonly TrackedOrganization[]
  /** Makes a run of each signal: what it delivers is sent to its webhook, and again where that does not answer 2xx. */
  runSignals(): Promise<void>
  /** Replaces all faults; their counting starts again. */
  setFaults(faults: readonly Fault[]): void
  close(): Promise<void>
}

/**
 * Starts a simulator on 127.0.0.1.
 * @throws ConfigError when the port is taken or a fault is wrong
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { clock, source } = options
  const service = new SimulatedService(options)
  const books = new Bookkeeper()

  const replyTo = ({ method = '', url = '', headers }: IncomingMessage, body: string): Reply => {
    const [path = '', query = ''] = url.split('?', 2)
    const call = {
      body,
      query,
      contentType: headers['content-type'],
      authorization: headers.authorization,
      nowMs: clock.now(),
      monotonicMs: clock.monotonic(),
    }
    return service.answer(path, call, method)
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // A client that went away in the middle of its request gets no answer.
    const body = await text(request).catch(() => null)
    if (body === null) return
    const { answer, strike, facts } = replyTo(request, body)
    const nowMs = clock.now()
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
  // Longer than a client's pauses: a connection closed under a request would look like a billed, lost page.
  server.keepAliveTimeout = 5 * MINUTE
  await listenOnLoopback(server, options.port ?? 0)
  /** Deliveries that come with those of the next run. */
  const late: SentDelivery[] = []
  const random = seededRandom(DELIVERY_SEED)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    account: () => books.account(),
    organizations: () => source.organizations,
    runSignals: async () => {
      late.push(...service.runSignals(clock.now()))
      for (const delivery of shuffled(late.splice(0), random)) {
        if (random() < DELIVERED_LATE) late.push(delivery)
        else await deliver(delivery)
        if (random() < DELIVERED_TWICE) await deliver(delivery)
      }
    },
    setFaults: (faults) => service.setFaults(faults),
    close: () => closeServer(server),
  }
}

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
  organizations: null,
  event_type: null,
  days_ago: null,
  page: null,
  limit: null,
  events: 0,
  credits_used: 0,
  fault: null,
}
