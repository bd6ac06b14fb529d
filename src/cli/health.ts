/** Answers on this machine whether the data is as fresh as it should be: `GET /health`, 200 or 503. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { errorDocument } from '../support/errors.ts'
import { closeServer, listenOnLoopback } from '../support/loopback.ts'

/** What is told at a path: a status and a text. */
export interface Told {
  readonly status: number
  readonly type: string
  readonly body: string
}

const JSON_TYPE = 'application/json'

export function toldAsJson(status: number, document: object): Told {
  return { status, type: JSON_TYPE, body: `${JSON.stringify(document)}\n` }
}

/**
 * Serves `pages` by their paths on 127.0.0.1.
 * @param port 0 for any free one
 * @returns the port and how to close
 * @throws ConfigError when the port is taken
 */
export async function serveHealth(
  port: number,
  pages: Readonly<Record<string, () => Promise<Told>>>,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const page = pages[(request.url ?? '').split('?', 1)[0] ?? '']
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const answer =
      page === undefined || !isRead
        ? Promise.resolve(toldAsJson(page === undefined ? 404 : 405, { error: 'GET /health' }))
        : page().catch((error: unknown) => toldAsJson(503, { error: errorDocument(error) }))
    void answer.then(({ status, type, body }) => {
      response.writeHead(status, { 'content-type': type }).end(body)
    })
  })
  await listenOnLoopback(server, port)
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server) }
}
