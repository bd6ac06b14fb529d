/**
 * Runs before every test file: a socket that leaves this machine throws. Tests that need a network, or contact an
 * outside server, fail here with the requested address.
 */

import { Socket } from 'node:net'

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|::ffff:127(?:\.\d{1,3}){3})$/i

interface Target {
  readonly host?: string
  readonly path?: string
}

// Every way to open a TCP or TLS connection in Node ends in this method.
const connect = Reflect.get(Socket.prototype, 'connect') as (...args: unknown[]) => Socket

function guarded(this: Socket, ...args: unknown[]): Socket {
  const { host = 'localhost', path } = targetOf(args)
  if (path === undefined && !LOOPBACK.test(host)) {
    throw new Error(`a test may not leave this machine, but asked for ${host}`)
  }
  return connect.apply(this, args)
}

// One process runs many test files, and runs this before each of them.
if (connect.name !== guarded.name) Reflect.set(Socket.prototype, 'connect', guarded)

/** `connect(options)`, `connect(port, host)`, `connect(path)`, or the list that `net.connect` makes of any of these. */
function targetOf(args: readonly unknown[]): Target {
  const [first, second] = args
  if (Array.isArray(first)) return targetOf(first)
  if (typeof first === 'object' && first !== null) return first
  if (typeof first === 'string' && Number.isNaN(Number(first))) return { path: first }
  return typeof second === 'string' ? { host: second } : {}
}
