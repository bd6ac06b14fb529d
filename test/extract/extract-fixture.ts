/** An extraction over real HTTP against the simulator, with a journal in a folder of its own; and its ledger. */

import { expect, onTestFinished } from 'vitest'
import { Pacer } from '../../src/api/pacer.ts'
import { createTransport } from '../../src/api/transport.ts'
import { extract } from '../../src/extract/extract.ts'
import type { ExtractOptions, ExtractProgress } from '../../src/extract/options.ts'
import type { RunHistory } from '../../src/journal/run-history.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import type { PlacedFrame } from '../../src/journal/reader.ts'
import { openJournal, type Journal, type JournalWriter } from '../../src/journal/journal.ts'
import type {
  JournalRecord,
  OrganizationRef,
  RequestFailed,
  BatchRecord,
} from '../../src/journal/records.ts'
import { BATCH_ORGANIZATIONS } from '../../src/plan/packing.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import type { Clock } from '../../src/support/clock.ts'
import { createLogger, createScrubber } from '../../src/support/logger.ts'
import { Secret } from '../../src/support/secret.ts'
import { MINUTE } from '../../src/support/units.ts'
import { aStart } from '../journal/journal-fixture.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { NOW } from '../simulator/simulator-fixture.ts'

/**
 * A clock on which waiting takes no time: when somebody sleeps, it jumps to the end of the earliest sleep as soon as
 * everything that can go on has gone on.
 */
export function jumpingClock(startMs: number): Clock {
  let nowMs = startMs
  const sleepers: { readonly until: number; readonly wake: () => void }[] = []
  const jump = () => {
    const next = sleepers.toSorted((a, b) => a.until - b.until)[0]
    if (next === undefined) return
    sleepers.splice(sleepers.indexOf(next), 1)
    nowMs = Math.max(nowMs, next.until)
    next.wake()
  }
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error)
        const onAbort = () => reject(signal?.reason as Error)
        signal?.addEventListener('abort', onAbort, { once: true })
        const wake = () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        }
        sleepers.push({ until: nowMs + ms, wake })
        // Longer than a request on loopback takes, so that those in flight end before the time jumps.
        setTimeout(jump, 20)
      }),
  }
}

export interface Extraction {
  readonly journal: Journal
  readonly log: Record<string, unknown>[]
  /** Runs, or takes the run up again after whatever ended the last call. */
  run(overrides?: Partial<ExtractOptions>): Promise<ExtractProgress>
  records(): JournalRecord[]
  /** Bodies of the pages in the journal, in order. */
  events(): JobChangeEvent[]
  history(): RunHistory
  /** Credits in the journal: charged for pages, and counted for requests in doubt. */
  ledger(): { charged: number; inDoubt: number; total: number }
}

export interface ExtractionOptions {
  readonly simulator: Pick<Simulator, 'url'>
  /** Default: one that jumps, from NOW. */
  readonly clock?: Clock
  /** Default: one, of `org_a`. */
  readonly batches?: readonly BatchRecord[]
  readonly key?: string
  /** Wraps the writer of each attempt. */
  readonly wrapWriter?: (writer: JournalWriter) => JournalWriter
}

/** Batches over everything, of at most 50 organisations each. */
export function batchesOf(
  organizations: readonly (string | OrganizationRef)[],
  fields: Partial<BatchRecord> = {},
): BatchRecord[] {
  const references = organizations.map((organization) =>
    typeof organization === 'string' ? ({ by: 'id', value: organization } as const) : organization,
  )
  const batches: BatchRecord[] = []
  for (let from = 0; from < references.length; from += BATCH_ORGANIZATIONS) {
    batches.push({
      batch_id: String(batches.length + 1).padStart(4, '0'),
      organizations: references.slice(from, from + BATCH_ORGANIZATIONS),
      days_ago: null,
      event_types: ['joined', 'left', 'title_change'],
      ...fields,
    })
  }
  return batches
}

/** Batches of one organisation each. */
export const batchEach = (organizations: readonly string[]): BatchRecord[] =>
  organizations.flatMap((id, i) => batchesOf([id], { batch_id: String(i).padStart(4, '0') }))

/** Sets an extraction up; nothing is sent until `run`. */
export function anExtraction(options: ExtractionOptions): Extraction {
  const { simulator, clock = jumpingClock(NOW), batches = batchesOf(['org_a']) } = options
  const journal = openJournal(temporaryFolder(), clock)
  const log: Record<string, unknown>[] = []
  const logger = createLogger('info', createScrubber(), (line) => {
    log.push(JSON.parse(line) as Record<string, unknown>)
  })
  const frames = () => journal.segments().flatMap((segment) => [...journal.read(segment)])
  const records = () => frames().map(({ record }) => record)

  async function start(): Promise<void> {
    const writer = journal.writer()
    await writer.append(
      aStart({ run_id: 'run_1', at: clock.now(), batches: batches.length }),
      JSON.stringify(batches),
    )
    await writer.close()
  }

  return {
    journal,
    log,
    records,
    events: () => frames().flatMap(eventsOf),
    history: () => readHistory(journal).runs.get('run_1')!,
    ledger() {
      const total = readHistory(journal).runs.get('run_1')!.creditsCommitted
      const charged = records()
        .filter((record) => record.kind === 'page_received')
        .reduce((sum, { credits_used }) => sum + credits_used, 0)
      return { charged, inDoubt: total - charged, total }
    },
    async run(overrides = {}) {
      if (journal.segments().length === 0) await start()
      journal.recover()
      const history = readHistory(journal)
      const connections = overrides.concurrency ?? 4
      const transport = createTransport({
        baseUrl: simulator.url,
        apiKey: new Secret(options.key ?? 'simulator-key'),
        clock,
        connections,
      })
      const plain = journal.writer()
      const writer = options.wrapWriter?.(plain) ?? plain
      try {
        return await extract({
          run: history.runs.get('run_1')!,
          transport,
          baseUrl: simulator.url,
          pacer: new Pacer(clock, null, overrides.maxWaitMs ?? 15 * MINUTE),
          writer,
          clock,
          random: () => 0.5,
          logger,
          creditsLimit: null,
          concurrency: 4,
          maxWaitMs: 15 * MINUTE,
          notBefore: history.notBefore,
          stop: new AbortController().signal,
          abort: new AbortController().signal,
          ...overrides,
        })
      } finally {
        await plain.close()
        await transport.close()
      }
    },
  }
}

function eventsOf(frame: PlacedFrame): JobChangeEvent[] {
  if (frame.record.kind !== 'page_received') return []
  return (JSON.parse(frame.payload().toString('utf8')) as { data: JobChangeEvent[] }).data
}

/**
 * What stands in the journal's ledger is what the simulator charged, to the credit; but for empty pages that broke on
 * their way: they were free, and nobody but the simulator can know that.
 */
export function expectEqualBooks(extraction: Extraction, simulator: Simulator): void {
  const { credits, log } = simulator.account()
  const lost = log.filter(
    ({ fault, status, credits_used: charged }) =>
      charged === 0 && fault !== null && fault !== 'slow' && (status ?? 200) === 200,
  )
  expect(extraction.ledger().total).toBe(credits + 10 * lost.length)
}

export function failuresOf(extraction: Extraction): RequestFailed[] {
  return extraction.records().filter((record) => record.kind === 'request_failed')
}

/** The error that a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  try {
    await promise
  } catch (error) {
    return error as Error & Record<string, unknown>
  }
  throw new Error('expected an error, got none')
}

/** Counts what the process would die of. */
export function watchUnhandledRejections(): () => unknown[] {
  const seen: unknown[] = []
  const note = (reason: unknown) => seen.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(() => {
    process.off('unhandledRejection', note)
  })
  return () => seen
}
