/** Extractions whose journal is in memory, so that thousands of them fit into a test. */

import { Pacer } from '../../src/api/pacer.ts'
import { extract } from '../../src/extract/extract.ts'
import type { ExtractOptions, ExtractProgress } from '../../src/extract/options.ts'
import type { RunHistory } from '../../src/journal/run-history.ts'
import type { JournalWriter } from '../../src/journal/journal.ts'
import type { JournalRecord, BatchFinished, BatchRecord } from '../../src/journal/records.ts'
import { createLogger, createScrubber } from '../../src/support/logger.ts'
import type { VirtualClock } from '../helpers/virtual-clock.ts'
import { memoryJournal } from './buying-fixture.ts'
import type { ListServer } from './list-server.ts'

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
  const bought = new Set<string>()
  const journal = memoryJournal(batches, clock.now(), ({ kind }, body) => {
    if (kind !== 'page_received') return
    for (const name of server.namesIn(body.toString())) bought.add(name)
  })
  let process: ReturnType<typeof journal.open> | undefined
  let latest: RunHistory | undefined

  function open(): JournalWriter {
    process?.kill()
    process = journal.open(true)
    return process.writer
  }

  function history(): RunHistory {
    const run = journal.history().runs.get('run_1')
    if (run === undefined) throw new Error('the run has no beginning')
    return run
  }

  const optionsOf = (overrides: Partial<ExtractOptions>): ExtractOptions => ({
    run: (latest = history()),
    transport: server.transport,
    pacer: new Pacer(clock, null),
    writer: open(),
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

  return {
    records: journal.records,
    bought,
    extract: (overrides = {}) => clock.run(extract(optionsOf(overrides))),
    kill() {
      process?.kill()
      server.vanish()
    },
    history,
    live() {
      if (latest === undefined) throw new Error('nothing was extracted')
      return latest
    },
    finished: () =>
      journal.records.flatMap((record) => (record.kind === 'batch_finished' ? [record] : [])),
  }
}
