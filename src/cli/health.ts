/** Serves health and metrics on this machine, on a port or a unix socket. */

import { createServer } from 'node:http'
import { errorDocument } from '../support/errors.ts'
import { closeServer, listenAt, listenOnSocket } from '../support/loopback.ts'

/** The response of a path: a status and a text. */
export interface Told {
  readonly status: number
  readonly type: string
  readonly body: string
}

export interface Served {
  /** 0 for a socket. */
  readonly port: number
  close(): Promise<void>
}

const JSON_TYPE = 'application/json'

export function toldAsJson(status: number, document: object): Told {
  return { status, type: JSON_TYPE, body: `${JSON.stringify(document)}\n` }
}

/**
 * Serves `pages` by their paths.
 * @param place a port of 127.0.0.1, 0 for any free one, or the path of a unix socket
 * @throws ConfigError when the place is taken
 */
export async function serveHealth(
  place: number | string,
  pages: Readonly<Record<string, () => Promise<Told>>>,
): Promise<Served> {
  const known = Object.keys(pages).map((path) => `GET ${path}`)
  const server = createServer((request, response) => {
    const page = pages[(request.url ?? '').split('?', 1)[0] ?? '']
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const answer =
      page === undefined || !isRead
        ? Promise.resolve(toldAsJson(page === undefined ? 404 : 405, { error: known.join(', ') }))
        : page().catch((error: unknown) => toldAsJson(503, { error: errorDocument(error) }))
    void answer.then(({ status, type, body }) => {
      response.writeHead(status, { 'content-type': type }).end(body)
    })
  })
  await (typeof place === 'number'
    ? listenAt(server, '127.0.0.1', place)
    : listenOnSocket(server, place))
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  return { port, close: () => closeServer(server) }
}
