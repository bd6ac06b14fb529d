/** Servers on loopback that answer as a test says, and a transport to them; all close with the test. */

import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { inspect } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { NoAnswerError, createTransport, type TransportOptions } from '../../src/api/transport.ts'
import { realClock } from '../../src/support/clock.ts'
import { Secret } from '../../src/support/secret.ts'

export const KEY = 'sk_live_4f9a0c77+b/e'
export const { signal } = new AbortController()

/** Starts a server and returns its port. */
export async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

export const httpServer = (listener: RequestListener) => listen(createHttpServer(listener))

/** A transport to a port of this machine, or to a URL. */
export function transportTo(where: number | string, options: Partial<TransportOptions> = {}) {
  const transport = createTransport({
    baseUrl: typeof where === 'string' ? where : `http://127.0.0.1:${where}`,
    apiKey: new Secret(KEY),
    clock: realClock,
    connections: 4,
    ...options,
  })
  onTestFinished(() => transport.close())
  return transport
}

/** The error of one request; fails if the key is in it. */
export async function failureOf(where: number | string, options: Partial<TransportOptions> = {}) {
  const error: unknown = await transportTo(where, options)
    .send('/x', {}, signal)
    .then(
      (answer) => new Error(`an answer: ${answer.status} ${answer.body.toString()}`),
      (failure: unknown) => failure,
    )
  if (!(error instanceof NoAnswerError)) throw error
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(KEY)
  return error
}
