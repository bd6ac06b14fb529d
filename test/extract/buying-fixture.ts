/**
 * Buying in memory, thousands of times a second: a journal of records that a killed process leaves as it is, and a
 * service that answers as a script says and keeps its own account.
 */

import { NoAnswerError, type Answer, type Transport } from '../../src/api/transport.ts'
import type { Obstacle } from '../../src/api/unreachable.ts'
import { emptyHistory, foldRecord, type History } from '../../src/journal/history.ts'
import type { JournalWriter } from '../../src/journal/journal.ts'
import type { JournalRecord, BatchRecord } from '../../src/journal/records.ts'
import { Pacer } from '../../src/api/pacer.ts'
import { Budget } from '../../src/extract/budget.ts'
import { PageBuyer, type PageBuyerOptions } from '../../src/extract/page-buyer.ts'
import type { Clock } from '../../src/support/clock.ts'
import { createLogger, createScrubber } from '../../src/support/logger.ts'
import { MINUTE } from '../../src/support/units.ts'
import { aStart } from '../journal/journal-fixture.ts'

const silentLogger = createLogger('error', createScrubber(), () => undefined)

/** A buyer of run_1 without a budget, that waits 15 minutes at most; tests say what is otherwise. */
export function aPageBuyer(
  options: Pick<PageBuyerOptions, 'clock' | 'transport' | 'writer'> & Partial<PageBuyerOptions>,
): PageBuyer {
  const never = new AbortController().signal
  return new PageBuyer({
    runId: 'run_1',
    pacer: new Pacer(options.clock, null),
    budget: new Budget({ run: { limit: null, spent: 0 }, now: () => options.clock.now() }),
    random: () => 0.5,
    logger: silentLogger,
    baseUrl: 'http://127.0.0.1',
    maxWaitMs: 15 * MINUTE,
    stop: never,
    abort: never,
    ...options,
  })
}

/** A journal without a disk. */
export interface MemoryJournal {
  readonly records: JournalRecord[]
  /** A process that writes; after `kill` nothing of it arrives any more, and where it is loud it is told. */
  open(isLoud?: boolean): { readonly writer: JournalWriter; kill(): void }
  history(): History
}

export function memoryJournal(
  batches: readonly BatchRecord[],
  at: number,
  onWrite: (record: JournalRecord, body: Buffer) => void = () => undefined,
): MemoryJournal {
  const frames: { record: JournalRecord; payload: () => Buffer }[] = []
  const records: JournalRecord[] = []
  const write = (record: JournalRecord, payload: string | Uint8Array = '') => {
    const bytes = Buffer.from(payload as string)
    frames.push({ record, payload: () => bytes })
    records.push(record)
    onWrite(record, bytes)
  }
  write(aStart({ run_id: 'run_1', at, batches: batches.length }), JSON.stringify(batches))
  return {
    records,
    open(isLoud = false) {
      let isAlive = true
      const writeAlive: JournalWriter['write'] = (record, payload) => {
        if (isAlive) write(record, payload)
        else if (isLoud) throw new Error('the process was killed')
      }
      return {
        writer: {
          write: writeAlive,
          append: async (record, payload) => writeAlive(record, payload),
          close: () => Promise.resolve(),
        },
        kill() {
          isAlive = false
        },
      }
    },
    history() {
      const history = emptyHistory()
      for (const frame of frames) foldRecord(history, { ...frame, size: 0, end: 0 })
      return history
    },
  }
}

/** What the service does with one request. */
export interface ScriptedAnswer {
  /** Milliseconds until it is there. */
  readonly takesMs: number
  /** Null breaks the connection, or with `obstacle` there is none. */
  readonly status: number | null
  readonly obstacle?: Obstacle
  /** What comes instead of a page or an error in JSON. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly message?: string
  /** Of a page. */
  readonly events?: number
  readonly hasMore?: boolean
  /** What is charged; by default 10 for a page with events, else 0. */
  readonly charge?: number
}

/** A request in the service's account. */
export interface AccountedRequest {
  /** Our time when it left. */
  readonly sentAt: number
  readonly status: number | null
  readonly charged: number
  readonly body: Readonly<Record<string, unknown>>
}

export interface ScriptedService extends Transport {
  readonly account: AccountedRequest[]
}

/** A service that answers as `answerTo` says. */
export function scriptedService(
  clock: Clock,
  answerTo: (body: Readonly<Record<string, unknown>>, nth: number) => ScriptedAnswer,
): ScriptedService {
  const account: AccountedRequest[] = []
  return {
    account,
    async post(_path, question, signal) {
      const body = question as Readonly<Record<string, unknown>>
      const answer = answerTo(body, account.length + 1)
      const { status, events = 0 } = answer
      const charged = answer.charge ?? (status === 200 && events > 0 ? 10 : 0)
      account.push({ sentAt: clock.now(), status, charged, body })
      await clock.sleep(answer.takesMs, signal)
      const { obstacle } = answer
      if (obstacle !== undefined) throw new NoAnswerError('no way there', false, null, obstacle)
      if (status === null) throw new NoAnswerError('connection reset', true, null)
      return toAnswer(answer, status, charged, body, clock.now())
    },
    close: () => Promise.resolve(),
  }
}

function toAnswer(
  { headers = {}, message = 'as it says', events = 0, hasMore = false, text }: ScriptedAnswer,
  status: number,
  charged: number,
  body: Readonly<Record<string, unknown>>,
  receivedAt: number,
): Answer {
  const page = {
    success: true,
    message,
    data: Array.from({ length: events }, (_, i) => ({ number: i })),
    pagination: { page: body['page'], limit: body['limit'], has_more: hasMore },
    credit_used: charged,
  }
  const error = { success: false, message, data: null, credit_used: 0 }
  const json = JSON.stringify(status === 200 ? page : error)
  return { status, headers, body: Buffer.from(text ?? json), receivedAt }
}
