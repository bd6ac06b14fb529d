/** Nights against the simulator, in one process: the buying half of a run, on a clock that the test sets. */

import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createTransport } from '../../src/api/transport.ts'
import { openJournal } from '../../src/journal/journal.ts'
import type { Question } from '../../src/plan/plan.ts'
import { dataDirectory } from '../../src/run/data-directory.ts'
import type { Job } from '../../src/run/job.ts'
import type { RunCommand } from '../../src/run/begin.ts'
import { runJob, type RunReport } from '../../src/run/run.ts'
import type { RunProgress, RunWorld } from '../../src/run/stages.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { Secret } from '../../src/support/secret.ts'
import { MINUTE } from '../../src/support/units.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { aQuestion } from '../plan/plan-fixture.ts'
import type { TestSimulator } from '../simulator/simulator-fixture.ts'

/** The options of a night. */
interface NightChoices {
  readonly job?: Partial<Job>
  readonly stop?: AbortSignal
  readonly onProgress?: (step: RunProgress) => void
  readonly command?: RunCommand
}

/** The job `nightly` over these organisations. */
export function jobOver(organizations: readonly string[], question: Partial<Question> = {}): Job {
  return {
    schedule: null,
    notify: null,
    pipeline: 'nightly',
    question: aQuestion({
      organizations: organizations.map((value) => ({ by: 'id', value })),
      ...question,
    }),
    collection: null,
    backups: [],
    databases: [],
    organizationsFile: 'organizations.csv',
    isBundled: false,
    duplicates: 0,
    skipped: [],
    creditsLimit: null,
    creditsPerMonth: null,
    requestsPerSecond: null,
    concurrency: 2,
    maxWaitMs: 15 * MINUTE,
    snapshot: null,
    publishing: {},
    retentionDays: null,
    acceptLoss: false,
    watch: [],
    beginAgain: false,
    forgetPause: false,
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
