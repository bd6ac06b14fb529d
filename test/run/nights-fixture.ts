/** Nights against the simulator, in one process: the buying half of a run, on a clock that the test sets. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { createTransport } from '../../src/api/transport.ts'
import { openJournal } from '../../src/journal/journal.ts'
import type { Question } from '../../src/plan/plan.ts'
import { dataDirectory } from '../../src/run/data-directory.ts'
import type { Collection } from '../../src/run/collection.ts'
import { oneOffJob, type Job } from '../../src/run/job.ts'
import type { RunCommand } from '../../src/run/begin.ts'
import { runJob, type RunReport } from '../../src/run/run.ts'
import type { RunProgress, RunWorld } from '../../src/run/stages.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { Secret } from '../../src/support/secret.ts'
import { MINUTE } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { aQuestion } from '../plan/plan-fixture.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { standingClock, type TestSimulator } from '../simulator/simulator-fixture.ts'

/** The options of a night. */
interface NightChoices {
  readonly job?: Partial<Job>
  readonly stop?: AbortSignal
  readonly onProgress?: (step: RunProgress) => void
  readonly command?: RunCommand
}

/** The job `nightly` over these organisations. */
export function jobOver(organizations: readonly string[], question: Partial<Question> = {}): Job {
  const asked = organizations.map((value) => ({ by: 'id' as const, value }))
  return {
    ...oneOffJob({ pipeline: 'nightly' } as Collection, {}),
    question: aQuestion({ organizations: asked, ...question }),
    collection: null,
    skipped: [],
    organizationsFile: 'organizations.csv',
    concurrency: 2,
    maxWaitMs: 15 * MINUTE,
  }
}

/** A separate data directory for `job`. */
export function nightsOf(simulator: Pick<TestSimulator, 'url' | 'clock'>, job: Job) {
  const { clock } = simulator
  const directory = dataDirectory(join(temporaryFolder(), 'data'))
  const transport = createTransport({
    baseUrl: simulator.url,
    apiKey: new Secret('simulator-key'),
    clock,
    connections: job.concurrency,
  })
  onTestFinished(() => transport.close())
  const service = { baseUrl: simulator.url, transport }
  return {
    journal: openJournal(directory.journal, clock),
    /** The data directory. */
    root: directory.root,
    /** Buys at `nowMs`. */
    night(nowMs: number, choices: NightChoices = {}): Promise<RunReport> {
      clock.nowMs = nowMs
      const world: RunWorld = {
        directory,
        // Lets other work proceed, which an already resolved promise would not: waiting for a lock is a loop.
        clock: { ...clock, sleep: () => new Promise((resolve) => setImmediate(resolve)) },
        random: () => 0.5,
        logger: silentLogger,
        version: 'test',
        s3Endpoint: undefined,
        stop: choices.stop ?? new AbortController().signal,
        abort: new AbortController().signal,
        onProgress: (step) => choices.onProgress?.(step),
      }
      return runJob({ ...job, ...choices.job }, choices.command ?? 'extract', service, world)
    },
  }
}

/** The part of a request on which the answer of a made-up service depends. */
export interface Asked {
  readonly page: number
  readonly days_ago?: number
  readonly organization_ids?: readonly string[]
  readonly event_type?: string
}

/**
 * A service over HTTP, on a clock that stands still, whose pages are what `pageOf` says.
 * @param price of a page with events, in credits
 */
export async function servePages(
  pageOf: (asked: Asked) => { data: readonly JobChangeEvent[]; has_more: boolean },
  price = 10,
) {
  const clock = standingClock()
  const account = { credits: 0, asked: [] as Asked[] }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const asked = JSON.parse(body) as Asked
      const { data, has_more } = pageOf(asked)
      const credit_used = data.length > 0 ? price : 0
      account.asked.push(asked)
      account.credits += credit_used
      const pagination = { page: asked.page, limit: 50, has_more }
      response.writeHead(200, { date: new Date(clock.nowMs).toUTCString() })
      response.end(JSON.stringify({ success: true, message: 'ok', data, pagination, credit_used }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, clock, account }
}
