/** A proxy on loopback that tunnels every CONNECT to one port of this machine, and records the requested address. */

import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * A proxy that closes with the test.
 * @param target the port of every tunnel, or the status with which the proxy refuses
 */
export async function startConnectProxy(
  target: { readonly port: number } | { readonly status: number },
) {
  // Such as `api.example.com:443`.
  const asked: string[] = []
  // The credentials of the request, decoded; null for none.
  const credentials: (string | null)[] = []
  const sockets = new Set<Socket>()
  const server = createServer((_request, response) => {
    asked.push('not a tunnel')
    response.writeHead(405).end()
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.on('connect', (request, client: Socket, head: Buffer) => {
    asked.push(request.url ?? '')
    const header = request.headers['proxy-authorization']
    const [, basic] = /^Basic (.+)$/.exec(header ?? '') ?? []
    credentials.push(basic === undefined ? null : Buffer.from(basic, 'base64').toString())
    if ('status' in target) {
      client.end(`HTTP/1.1 ${target.status} No\r\n\r\n`)
      return
    }
    const upstream = connect(target.port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(client).pipe(upstream)
    })
    sockets.add(upstream)
    upstream.on('error', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, asked, credentials }
}
