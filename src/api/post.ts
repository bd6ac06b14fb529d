/** Sends a small request to an address other than the service's, such as a webhook. */

import { SECOND } from '../support/units.ts'
import { createAgent, requestOnce, type ProxySettings } from './agent.ts'

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
  try {
    const answer = await requestOnce(agent, url, headers, body, AbortSignal.timeout(DEADLINE_MS))
    await answer.body.dump()
    return answer.statusCode
  } finally {
    await agent.destroy()
  }
}
