/** Starts and ends servers for this machine. */

import type { Server } from 'node:http'
import { ConfigError, messageOf, systemCode } from './errors.ts'

/** Whether a host of an address, or a bare one, is this machine. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[?::1\]?)$/.test(host)
}

/** @param port 0 for any free one @returns its URL @throws ConfigError when the port is taken or not allowed */
export async function listenAt(server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const why = TAKEN[systemCode(error) ?? ''] ?? messageOf(error)
      reject(
        new ConfigError(`${host} port ${port}: ${why}`, {
          hint: 'Name another host or port. --port 0 and --health-port 0 take any free port.',
          cause: error,
        }),
      )
    })
    server.listen({ port, host }, resolve)
  })
  const address = server.address()
  const taken = typeof address === 'object' ? (address?.port ?? port) : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${taken}`
}

const TAKEN: Readonly<Record<string, string>> = {
  EADDRINUSE: 'in use by another program',
  EACCES: 'this account may not listen there',
  EADDRNOTAVAIL: 'no network of this machine has that address',
  ENOTFOUND: 'no host has that name',
}

/** Ends the server with its connections; resolves when it has. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
