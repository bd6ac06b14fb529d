/** A service on loopback that answers as a test says, whatever is asked; and a run that reads it with its journal in memory. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { createTransport } from '../../src/api/transport.ts'
import type { BatchRecord } from '../../src/journal/records.ts'
import type { EventSource, JobChangeEvent } from '../../src/simulator/events.ts'
import { Secret } from '../../src/support/secret.ts'
import { DAY } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'
import { NOW, eventsIn, simulate } from '../simulator/simulator-fixture.ts'
import { batchesOf } from './extract-fixture.ts'
import { memoryRun, type MemoryRun } from './memory-run.ts'

/** What the server is asked, as far as its answer depends on it. */
export interface AskedPage {
  readonly page: number
  /** From 1: how many requests there were. */
  readonly nth: number
  readonly organizations: readonly string[]
}

/** What it answers. */
export interface AnsweredPage {
  readonly data: readonly JobChangeEvent[]
  readonly hasMore: boolean
  /** Default: as asked. */
  readonly limit?: number
  readonly page?: number
  /** Of its `Date` header, milliseconds since 1970 UTC. */
  readonly at?: number
}

/** What the server was asked, and charged: 10 credits for a page with events. */
export interface PageServer {
  readonly url: string
  readonly pages: number[]
  credits: number
}

/** Starts it; it stops with the test. */
export async function pageServer(answer: (asked: AskedPage) => AnsweredPage): Promise<PageServer> {
  const account: Omit<PageServer, 'url'> = { pages: [], credits: 0 }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as {
        page: number
        limit: number
        organization_ids: string[]
      }
      account.pages.push(asked.page)
      const organizations = asked.organization_ids
      const said = answer({ page: asked.page, nth: account.pages.length, organizations })
      const { data, hasMore, limit = asked.limit, page = asked.page, at } = said
      const credits = data.length > 0 ? 10 : 0
      account.credits += credits
      const pagination = { page, limit, has_more: hasMore }
      const body = { success: true, message: 'ok', data, pagination, credit_used: credits }
      response.setHeader('Content-Type', 'application/json')
      if (at !== undefined) response.setHeader('Date', new Date(at).toUTCString())
      response.end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return Object.assign(account, { url: `http://127.0.0.1:${port}` })
}

/** What makes an event, and which version of it, itself. */
export function versionOf({ person, organization, ...event }: JobChangeEvent): string {
  return JSON.stringify([person.profile_id, organization.organization_id, event])
}

/** A run that reads a service over HTTP, with its journal in memory; versions that it bought are named by versionOf. */
export function httpRun(
  url: string,
  batches: readonly BatchRecord[],
  clock: VirtualClock,
  connections: number,
): MemoryRun {
  const apiKey = new Secret('simulator-key')
  const transport = createTransport({ baseUrl: url, apiKey, clock, connections })
  onTestFinished(() => transport.close())
  const namesIn = (body: string) =>
    (JSON.parse(body) as { data: JobChangeEvent[] }).data.map(versionOf)
  return memoryRun(batches, { transport, namesIn, vanish: () => undefined }, clock)
}

/** Buys all that the source has, in batches of so many organisations, expects that it is all there, and counts pages. */
export async function buyAll(
  source: EventSource,
  perBatch: number,
  concurrency: number,
): Promise<number> {
  const clock = virtualClock(NOW + 365 * DAY)
  const simulator = await simulate(source, { clock })
  const ids = source.organizations.map(({ organization_id: id }) => id)
  const batches = ids.flatMap((_, i) =>
    i % perBatch > 0 ? [] : batchesOf(ids.slice(i, i + perBatch), { batch_id: String(i) }),
  )
  const run = httpRun(simulator.url, batches, clock, concurrency)
  await run.extract({ concurrency })
  const { credits, charged_pages: pages } = simulator.account()
  expect(run.history().creditsCommitted).toBe(credits)
  const all = eventsIn(source).map(versionOf)
  expect(all.filter((version) => !run.bought.has(version))).toEqual([])
  return pages
}
