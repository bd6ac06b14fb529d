/** Servers on this machine, for this machine: 127.0.0.1 alone. */

import type { Server } from 'node:http'
import { ConfigError, messageOf } from './errors.ts'

/** Listens. @param port 0 for any free one @throws ConfigError when the port is taken or not allowed */
export function listenOnLoopback(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(new ConfigError(`port ${port}: ${messageOf(error)}`, { cause: error }))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
}

/** Ends the server with its connections; resolves when it has. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
