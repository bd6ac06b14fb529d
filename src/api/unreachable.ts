/**
 * Explains why a connection failed, from the message of the system or the HTTP client. Pure. In all these cases the
 * request never left, so nothing was charged.
 */

import { messageOf, systemCode } from '../support/errors.ts'

/** `certificate`: not trusted, or the address does not speak TLS. `proxy`: a proxy refused the connection. */
export type Obstacle = 'name' | 'refused' | 'route' | 'timeout' | 'certificate' | 'proxy'

const OBSTACLES: Readonly<Record<string, Obstacle>> = {
  ENOTFOUND: 'name',
  EAI_AGAIN: 'name',
  ECONNREFUSED: 'refused',
  ENETUNREACH: 'route',
  EHOSTUNREACH: 'route',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_PRX_TLS: 'certificate',
  ERR_NO_TUNNEL: 'proxy',
}
// An untrusted certificate ends the connection before the request.
const REFUSED_CERTIFICATE = /^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/
// OpenSSL's messages also name a thread and a line of its source. Only the last part, the reason, is useful.
const OPENSSL = /^[0-9A-F]+:error:(?:[^:]*:){3}([^:]+):[^]*$/
// undici's message when the answer to CONNECT is not 200.
const PROXY_ANSWER = /^Proxy response \((\d+)\)/

/** A proxy did not open a tunnel to the service, and gave no reason. */
export class NoTunnelError extends Error {
  override readonly name = 'NoTunnelError'
  readonly code = 'ERR_NO_TUNNEL'
  /** @param why what the proxy did, after its name */
  constructor(why: string, cause: unknown) {
    super(why, { cause })
  }
}

/** The obstacle, and a reason with the host and port that failed; null when it was something else. */
export function whyUnreachable(error: unknown, baseUrl: string) {
  const obstacle = obstacleOf(error)
  if (obstacle === null) return null
  const { hostname, port, protocol } = new URL(baseUrl)
  const place = `${hostname}:${port || DEFAULT_PORTS[protocol]}`
  const reason = `${place} cannot be reached: ${wordsFor(obstacle, error)}`
  return { obstacle, reason: obstacle === 'proxy' ? reason : `${reason} (${systemCode(error)})` }
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

export function obstacleOf(error: unknown): Obstacle | null {
  if (PROXY_ANSWER.test(messageOf(error))) return 'proxy'
  const code = systemCode(error) ?? ''
  return OBSTACLES[code] ?? (REFUSED_CERTIFICATE.test(code) ? 'certificate' : null)
}

function wordsFor(obstacle: Obstacle, error: unknown): string {
  // Where a name has several addresses, the error is a list of one for each.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const { hostname, address, port } = Object(first) as Readonly<Record<string, string | undefined>>
  const message = messageOf(error)
  const place = address === undefined ? '' : ` by ${address}${port === undefined ? '' : `:${port}`}`
  const refusal = PROXY_ANSWER.exec(message)?.[1]
  const words: Readonly<Record<Obstacle, string>> = {
    name: `the name ${hostname ?? 'of the host'} is not known`,
    refused: `the connection was refused${place}`,
    route: 'no route to it',
    timeout: 'the connection timed out',
    certificate: `the TLS connection failed: ${message.replace(OPENSSL, '$1')}`,
    proxy: `the proxy ${refusal === undefined ? message : `answered ${refusal}${PROXY_WORDS[refusal] ?? ''}`}`,
  }
  return words[obstacle]
}

const PROXY_WORDS: Readonly<Record<string, string>> = {
  403: ': it does not let this machine reach the host',
  407: ': it wants a user name and a password, or other ones (HTTPS_PROXY=http://user:password@host:port)',
}
