/** Extractions whose journal is in memory, so that thousands of them fit into a test. */

import { Pacer } from '../../src/api/pacer.ts'
import { extract } from '../../src/extract/extract.ts'
import type { ExtractOptions, ExtractProgress } from '../../src/extract/options.ts'
import { countUnanswered, emptyHistory, foldRecord } from '../../src/journal/history.ts'
import type { RunHistory } from '../../src/journal/run-history.ts'
import type { JournalWriter } from '../../src/journal/journal.ts'
import type { JournalRecord, BatchFinished, BatchRecord } from '../../src/journal/records.ts'
import type { PlacedFrame } from '../../src/journal/reader.ts'
import { createLogger, createScrubber } from '../../src/support/logger.ts'
import type { VirtualClock } from '../helpers/virtual-clock.ts'
import type { ListServer } from './list-server.ts'

const RUN = 'run_1'

export interface MemoryRun {
  readonly records: JournalRecord[]
  /** Names of the versions in all pages. */
  readonly bought: Set<string>
  extract(options?: Partial<ExtractOptions>): Promise<ExtractProgress>
  /** From here on nothing is written any more, until the next extraction begins. */
  kill(): void
  /** What the journal adds up to. */
  history(): RunHistory
  /** What the last extraction worked with. */
  live(): RunHistory
  finished(): BatchFinished[]
}

export function memoryRun(
  batches: readonly BatchRecord[],
  server: Pick<ListServer, 'transport' | 'namesIn' | 'vanish'>,
  clock: VirtualClock,
): MemoryRun {
  const frames: PlacedFrame[] = []
  const bought = new Set<string>()
  let generation = 0
  let latest: RunHistory | undefined

  function keep(record: JournalRecord, payload?: string | Uint8Array): void {
    frames.push({ record, size: 0, end: 0, payload: () => Buffer.from(payload ?? '') })
    if (record.kind !== 'page_received') return
    for (const name of server.namesIn(Buffer.from(payload ?? '').toString())) bought.add(name)
  }

  function writer(): JournalWriter {
    generation += 1
    const own = generation
    const write: JournalWriter['write'] = (record, payload) => {
      if (own !== generation) throw new Error('the process was killed')
      keep(record, payload)
    }
    return {
      write,
      append: async (record, payload) => write(record, payload),
      close: () => Promise.resolve(),
    }
  }

  function history(): RunHistory {
    const all = emptyHistory()
    for (const frame of frames) foldRecord(all, frame)
    const run = countUnanswered(all).runs.get(RUN)
    if (run === undefined) throw new Error('the run has no beginning')
    return run
  }

  const optionsOf = (overrides: Partial<ExtractOptions>): ExtractOptions => ({
    run: (latest = history()),
    transport: server.transport,
    pacer: new Pacer(clock, null),
    writer: writer(),
    clock,
    random: () => 0.5,
    logger: createLogger('error', createScrubber(), () => undefined),
    baseUrl: 'https://service.example',
    creditsLimit: null,
    concurrency: 4,
    maxWaitMs: 60_000,
    notBefore: 0,
    stop: new AbortController().signal,
    abort: new AbortController().signal,
    ...overrides,
  })

  keep(
    {
      kind: 'run_started',
      run_id: RUN,
      at: clock.now(),
      pipeline: 'nightly',
      command: 'run',
      organizations: 1,
      batches: batches.length,
      credits_limit: null,
      question_sha256: 'question',
    },
    JSON.stringify(batches),
  )
  return {
    get records() {
      return frames.map(({ record }) => record)
    },
    bought,
    extract: (overrides = {}) => clock.run(extract(optionsOf(overrides))),
    kill() {
      generation += 1
      server.vanish()
    },
    history,
    live() {
      if (latest === undefined) throw new Error('nothing was extracted')
      return latest
    },
    finished: () =>
      frames.flatMap(({ record }) => (record.kind === 'batch_finished' ? [record] : [])),
  }
}
