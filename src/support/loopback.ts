/** Starts servers for this machine only: on 127.0.0.1, or on a unix socket that only this account can use. */

import { lstatSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { connect, type ListenOptions } from 'node:net'
import { ConfigError, messageOf, systemCode } from './errors.ts'

/**
 * Listens at an address of this machine.
 * @param port 0 for any free one
 * @returns its URL
 * @throws ConfigError when the port is taken or not allowed
 */
export async function listenAt(server: Server, host: string, port: number): Promise<string> {
  await listen(server, { port, host }, `${host} port ${port}`)
  const address = server.address()
  const taken = typeof address === 'object' ? (address?.port ?? port) : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${taken}`
}

/**
 * Listens at a unix socket that only this account may connect to. One that a dead process left is replaced.
 * @throws ConfigError when a process listens there, something else is there, or no socket can be
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there !== undefined) {
    const why = there.isSocket() ? await whyTaken(path) : 'it exists and is not a socket'
    if (why !== null)
      throw new ConfigError(`socket ${path}: ${why}`, { hint: 'Name another path.' })
    rmSync(path, { force: true })
  }
  // By the mask, which the kernel asks when it makes the socket: a change of mode would come after others could connect.
  // Node makes it within listen(), so that no file of other work is made meanwhile.
  const mask = process.umask(0o177)
  let listening: Promise<void>
  try {
    listening = listen(server, { path }, `socket ${path}`)
  } finally {
    process.umask(mask)
  }
  await listening
}

const TAKEN: Readonly<Record<string, string>> = {
  EADDRINUSE: 'in use by another program',
  EACCES: 'this account may not listen there',
  EADDRNOTAVAIL: 'no network of this machine has that address',
  ENOTFOUND: 'no host has that name',
  ENOENT: 'its folder is not there',
}

function listen(server: Server, where: ListenOptions, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const why = TAKEN[systemCode(error) ?? ''] ?? messageOf(error)
      reject(
        new ConfigError(`${name}: ${why}`, {
          hint: 'Name another host, port or path; --port 0 and --health-port 0 take any free port.',
          cause: error,
        }),
      )
    })
    server.listen(where, resolve)
  })
}

/** Why the socket at `path` must not be replaced; null when no process listens there. */
function whyTaken(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve('a process listens there')
    })
    socket.once('error', (error) =>
      resolve(/^(?:ECONNREFUSED|ENOENT)$/.test(systemCode(error) ?? '') ? null : messageOf(error)),
    )
  })
}

/** Ends the server with its connections; resolves when it has. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
