/** Configures Jobtide's connections, through a proxy if there is one. */

import { Agent, EnvHttpProxyAgent, Pool, type Dispatcher } from 'undici'
import { untilAborted } from '../support/abort.ts'
import { messageOf } from '../support/errors.ts'
import { MIB, SECOND } from '../support/units.ts'
import { NoTunnelError, obstacleOf } from './unreachable.ts'

export interface AgentOptions {
  /** Most sockets, 1 or more. */
  readonly connections: number
  /** Milliseconds from the request to the end of the response headers; 30 s. */
  readonly headersMs?: number
  /** Milliseconds between two chunks of the body; 15 s. */
  readonly idleMs?: number
  /** Milliseconds for a proxy to open a tunnel; 12 s. */
  readonly tunnelMs?: number
  readonly proxies?: ProxySettings
}

/** Addresses of proxies for http and https, empty for none, and the hosts that are reached directly, as in NO_PROXY. */
export interface ProxySettings {
  readonly http: string
  readonly https: string
  readonly noProxy: string
}

const CONNECT_MS = 10 * SECOND
const HEADERS_MS = 30 * SECOND
const IDLE_MS = 15 * SECOND
// Connecting to the proxy, and its response.
const TUNNEL_MS = 12 * SECOND
// A page of 50 events is about 30 KB. This bounds what a broken service can make us hold in memory.
export const LARGEST_BODY_BYTES = 32 * MIB

export function createAgent(options: AgentOptions): Dispatcher {
  const { connections, proxies, tunnelMs = TUNNEL_MS } = options
  const connect = { timeout: CONNECT_MS }
  const agentOptions = {
    connections,
    pipelining: 1,
    connect,
    headersTimeout: options.headersMs ?? HEADERS_MS,
    bodyTimeout: options.idleMs ?? IDLE_MS,
    maxResponseSize: LARGEST_BODY_BYTES,
  }
  if (proxies === undefined) return new Agent(agentOptions)
  return new EnvHttpProxyAgent({
    ...agentOptions,
    proxyTls: connect,
    requestTls: connect,
    clientFactory: (proxy, ofProxy) => limited(new Pool(proxy, ofProxy), tunnelMs),
    // Never undefined: undici would then read the environment.
    httpProxy: proxies.http,
    httpsProxy: proxies.https,
    noProxy: proxies.noProxy,
  })
}

/** One request without redirects; without a body a GET. @throws undici's error; the signal's reason */
export function requestOnce(
  agent: Dispatcher,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object | null,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url)
  const type = body === null ? {} : { 'content-type': 'application/json' }
  const answered = agent.request({
    origin,
    path: `${pathname}${search}`,
    method: body === null ? 'GET' : 'POST',
    headers: { ...type, 'user-agent': 'jobtide', ...headers },
    body: body && JSON.stringify(body),
    signal,
  })
  // undici ignores the abort signal while it waits for a proxy to answer CONNECT.
  return untilAborted(answered, signal)
}

/** Otherwise undici waits 5 minutes for the answer to CONNECT, and retries forever if the proxy hangs up. */
function limited(pool: Pool, tunnelMs: number): Pool {
  const open = pool.connect.bind(pool) as (options: Dispatcher.ConnectOptions) => Promise<unknown>
  const connect = async (options: Dispatcher.ConnectOptions) => {
    const limit = AbortSignal.timeout(tunnelMs)
    try {
      return await open({ ...options, signal: limit })
    } catch (error) {
      if (obstacleOf(error) !== null) throw error
      const why = limit.aborted
        ? `did not open a tunnel within ${tunnelMs / SECOND} s`
        : `hung up: ${messageOf(error)}`
      throw new NoTunnelError(why, error)
    }
  }
  return Object.assign(pool, { connect })
}
