/** Sends a small request to an address other than the service's, such as a webhook. */

import { untilAborted } from '../support/abort.ts'
import { SECOND } from '../support/units.ts'
import { createAgent, type ProxySettings } from './agent.ts'

const DEADLINE_MS = 10 * SECOND

/**
 * One attempt, no redirect; without a body a GET. @param url https, or http on loopback @returns the status
 * @throws Error when no answer came within 10 s; its message may hold the address
 */
export async function sendSmall(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object | null,
  proxies: ProxySettings | undefined,
): Promise<number> {
  const agent = createAgent({ connections: 1, ...(proxies && { proxies }) })
  const { origin, pathname, search } = new URL(url)
  const type = body === null ? {} : { 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(DEADLINE_MS)
  try {
    const request = agent.request({
      origin,
      path: `${pathname}${search}`,
      method: body === null ? 'GET' : 'POST',
      headers: { ...type, 'user-agent': 'jobtide', ...headers },
      body: body && JSON.stringify(body),
      signal,
    })
    // As in transport.ts: a proxy may never answer CONNECT.
    const answer = await untilAborted(request, signal)
    await answer.body.dump()
    return answer.statusCode
  } finally {
    await agent.destroy()
  }
}
