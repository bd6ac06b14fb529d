/** Posts a small JSON document to another address than the service's, such as a webhook. */

import { SECOND } from '../support/units.ts'
import { createAgent, type ProxySettings } from './transport.ts'

const DEADLINE_MS = 10 * SECOND

/**
 * Posts `body` as JSON, through the proxies where there are some. One attempt, no redirect.
 * @param url https, or http on loopback
 * @returns the status of the answer
 * @throws Error when no answer came within 10 s; its message may hold the address
 */
export async function postJson(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object,
  proxies: ProxySettings | undefined,
): Promise<number> {
  const agent = createAgent({ connections: 1, ...(proxies === undefined ? {} : { proxies }) })
  const { origin, pathname, search } = new URL(url)
  try {
    const answer = await agent.request({
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'jobtide', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    })
    await answer.body.dump()
    return answer.statusCode
  } finally {
    await agent.destroy()
  }
}
