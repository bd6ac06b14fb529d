/**
 * How fast the simulator serves pages of 50 events to one keep-alive client. The simulator runs in this process and
 * the client in a worker thread, so that both share the machine as they do in a test run.
 */

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { it } from 'vitest'
import type { EventSource } from '../../src/simulator/events.ts'
import { readEventsFile } from '../../src/simulator/events-file.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { createWorld } from '../../src/simulator/world.ts'
import { realClock } from '../../src/support/clock.ts'

const EVENTS_FILE = '../shared/data/oss-job-changes.ndjson.gz'
const START = Date.UTC(2024, 0, 1)
const END = Date.UTC(2026, 0, 1)
const PAGES = 20_000
const CONCURRENCY = 8

// Plain JavaScript text: worker threads do not go through vitest's transform.
const CLIENT = `
const { parentPort, workerData } = require('node:worker_threads')
const { Pool } = require('undici')
const { url, questions, pages, concurrency } = workerData
const pool = new Pool(url, { connections: concurrency, pipelining: 1 })
const headers = { authorization: 'Bearer simulator-key', 'content-type': 'application/json' }
async function main() {
  const started = performance.now()
  let sent = 0, bytes = 0, events = 0
  await Promise.all(Array.from({ length: concurrency }, async (_, client) => {
    for (let question = client; sent < pages; question += concurrency) {
      const asked = questions[question % questions.length]
      for (let page = 1, more = true; more && sent < pages; page += 1) {
        sent += 1
        const body = JSON.stringify({ ...asked, page, limit: 50 })
        const answer = await pool.request({ path: '/api/v1/job-changes/search', method: 'POST', headers, body })
        const text = await answer.body.text()
        if (answer.statusCode !== 200) throw new Error(text)
        bytes += text.length
        more = text.lastIndexOf('"has_more":true') > text.length - 100
      }
    }
  }))
  const seconds = (performance.now() - started) / 1000
  await pool.close()
  parentPort.postMessage({ pages: sent, seconds, bytes })
}
main()
`

interface Measured {
  pages: number
  seconds: number
  bytes: number
}

async function measure(source: EventSource, questions: object[]): Promise<Measured> {
  const simulator = await startSimulator({ source, clock: realClock })
  const workerData = { url: simulator.url, questions, pages: PAGES, concurrency: CONCURRENCY }
  const worker = new Worker(CLIENT, { eval: true, workerData })
  try {
    const [measured] = (await once(worker, 'message')) as [Measured]
    return measured
  } finally {
    await worker.terminate()
    await simulator.close()
  }
}

function batchesOf(source: EventSource): object[] {
  const ids = source.organizations.map((organization) => organization.organization_id)
  return Array.from({ length: Math.ceil(ids.length / 50) }, (_, batch) => ({
    organization_ids: ids.slice(batch * 50, batch * 50 + 50),
  }))
}

function print(what: string, figure: string): void {
  process.stdout.write(`| ${what.padEnd(62)} | ${figure.padEnd(40)} |\n`)
}

function printServed(what: string, { pages, seconds, bytes }: Measured): void {
  const perSecond = Math.round(pages / seconds).toLocaleString('en')
  const megabytes = Math.round(bytes / seconds / 1e6)
  print(what, `${perSecond} pages/s, ${megabytes} MB/s`)
}

function timed<Result>(what: string, make: () => Result): Result {
  const started = performance.now()
  const result = make()
  print(what, `${Math.round(performance.now() - started)} ms`)
  return result
}

it('makes worlds of 200 and 2,000 organisations and serves the larger one', async () => {
  const dates = { startAt: START, endAt: END }
  timed('world: 200 organisations, about 20,000 events', () =>
    createWorld({ seed: 1, organizations: 200, ...dates }),
  )
  const world = timed('world: 2,000 organisations, about 200,000 events', () =>
    createWorld({ seed: 1, organizations: 2_000, ...dates }),
  )
  printServed('world: pages of batches of 50 organisations', await measure(world, batchesOf(world)))
  const everything = [{}, { event_type: 'joined' }, { days_ago: 365 }]
  printServed('world: pages of everything', await measure(world, everything))
})

it.skipIf(!existsSync(EVENTS_FILE))('serves the 131,811 events of the file', async () => {
  const started = performance.now()
  const source = await readEventsFile(EVENTS_FILE)
  print('file: 131,811 events loaded', `${Math.round(performance.now() - started)} ms`)
  printServed(
    'file: pages of batches of 50 organisations',
    await measure(source, batchesOf(source)),
  )
  printServed('file: pages of everything', await measure(source, [{}, { event_type: 'joined' }]))
  print(
    'memory of this process, client included',
    `${Math.round(process.memoryUsage.rss() / 1e6)} MB`,
  )
})
