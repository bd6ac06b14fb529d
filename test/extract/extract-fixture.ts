/**
 * Runs in memory on a virtual clock: a service that answers as a test says, or like the simulator, and a journal that a
 * killed process leaves unchanged.
 */

import { expect } from 'vitest'
import { Pacer } from '../../src/api/pacer.ts'
import { NoAnswerError, type Answer, type Transport } from '../../src/api/transport.ts'
import type { Obstacle } from '../../src/api/unreachable.ts'
import { Budget } from '../../src/extract/budget.ts'
import { extract } from '../../src/extract/extract.ts'
import type { BuyingOptions, ExtractOptions, ExtractProgress } from '../../src/extract/options.ts'
import { PageBuyer } from '../../src/extract/page-buyer.ts'
import { emptyHistory, foldRecord } from '../../src/journal/history.ts'
import { pausedUntil } from '../../src/journal/pauses.ts'
import type { JournalWriter } from '../../src/journal/journal.ts'
import type { JournalRecord, OrganizationRef, BatchRecord } from '../../src/journal/records.ts'
import { sourceOf, type EventSource, type JobChangeEvent } from '../../src/simulator/events.ts'
import { SimulatedService, type ServiceOptions } from '../../src/simulator/simulator.ts'
import { createJsonLog } from '../../src/support/json-log.ts'
import { createScrubber, silentLogger } from '../../src/support/logger.ts'
import { sum } from '../../src/support/numbers.ts'
import { companySlug } from '../../src/support/text.ts'
import { DAY, MINUTE } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'
import { aBatch, aStart } from '../journal/journal-fixture.ts'
import { NOW, eventsIn } from '../simulator/simulator-fixture.ts'

/** A batch over everything, of these organisations. */
export function batchOf(
  organizations: readonly (string | OrganizationRef)[],
  fields: Partial<BatchRecord> = {},
): BatchRecord {
  const named = organizations.map((one): OrganizationRef =>
    typeof one === 'string' ? { by: 'id', value: one } : one,
  )
  return aBatch({ batch_id: '0001', organizations: named, days_ago: null, ...fields })
}

/** Batches of this many organisations each. */
export function batchesOf(
  organizations: readonly (string | OrganizationRef)[],
  each = 1,
  fields: Partial<BatchRecord> = {},
): BatchRecord[] {
  return Array.from({ length: Math.ceil(organizations.length / each) }, (_, i) => {
    const batch_id = String(i).padStart(4, '0')
    return batchOf(organizations.slice(i * each, (i + 1) * each), { batch_id, ...fields })
  })
}

/** The part of a request on which its answer depends. */
export interface Asked {
  readonly path: string
  readonly page: number
  readonly limit: number
  readonly organizations: readonly string[]
  readonly daysAgo: number | null
  /** The number of the request, from 1. */
  readonly nth: number
  /** Milliseconds since the service was created. */
  readonly afterMs: number
  readonly body: Readonly<Record<string, unknown>>
}

/** How the service answers a request. By default an empty last page, at once. */
export interface Answered {
  /** Milliseconds until the answer arrives. */
  readonly takesMs?: number
  /** Default 200. Null breaks the connection; with `obstacle` there is no connection. */
  readonly status?: number | null
  readonly obstacle?: Obstacle
  /** The body in place of a page or an error in JSON. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly message?: string
  readonly data?: readonly unknown[]
  readonly hasMore?: boolean
  /** Default: as asked. */
  readonly page?: number
  readonly limit?: number
  /** The charge; by default 10 for a page with events, else 0. */
  readonly charge?: number
}

/** A request in the service's account. */
export interface AccountedRequest {
  /** Our time when it was sent. */
  readonly sentAt: number
  readonly page: number
  readonly body: Readonly<Record<string, unknown>>
  /** Null until it is answered, or if the connection broke. */
  status: number | null
  charged: number
}

export interface Service extends Transport {
  readonly clock: VirtualClock
  readonly account: AccountedRequest[]
  /** Credits charged so far. */
  charged(): number
}

/** A service that answers as `answerTo` says. */
export function aService(
  answerTo: (asked: Asked) => Answered | Promise<Answered>,
  clock = virtualClock(NOW),
): Service {
  const account: AccountedRequest[] = []
  const beganAt = clock.monotonic()
  return {
    clock,
    account,
    charged: () => sum(account.map(({ charged }) => charged)),
    async send(path, question, signal) {
      // The answer as sent over the wire.
      const body = JSON.parse(JSON.stringify(question)) as Asked['body']
      const page = Number(body['page'] ?? 1)
      const entry: AccountedRequest = { sentAt: clock.now(), page, body, status: null, charged: 0 }
      account.push(entry)
      const answered = await answerTo({
        path,
        page,
        limit: Number(body['limit']),
        organizations: (body['organization_ids'] ?? []) as string[],
        daysAgo: (body['days_ago'] ?? null) as number | null,
        nth: account.length,
        afterMs: clock.monotonic() - beganAt,
        body,
      })
      const { status = 200, data = [], takesMs = 0, obstacle } = answered
      entry.status = status
      entry.charged = answered.charge ?? (status === 200 && data.length > 0 ? 10 : 0)
      await clock.sleep(takesMs, signal)
      if (obstacle !== undefined) throw new NoAnswerError('no way there', false, null, obstacle)
      if (status === null) throw new NoAnswerError('connection reset', true, null)
      return toAnswer(answered, status, entry, clock.now())
    },
    close: () => Promise.resolve(),
  }
}

function toAnswer(
  { headers = {}, message = 'as it says', data = [], hasMore = false, text, ...said }: Answered,
  status: number,
  { charged, body }: AccountedRequest,
  receivedAt: number,
): Answer {
  const { page = body['page'], limit = body['limit'] } = said
  const pagination = { page, limit, has_more: hasMore }
  const whole = { success: true, message, data, pagination, credit_used: charged }
  const error = { success: false, message, data: null, credit_used: 0 }
  const json = text ?? JSON.stringify(status === 200 ? whole : error)
  return { status, headers, body: Buffer.from(json), receivedAt }
}

/** Answers as the simulator does, after this time. */
export interface SimulatedOptions extends Partial<ServiceOptions> {
  readonly clock?: VirtualClock
  readonly takesMs?: number
  /** The key that is sent. */
  readonly key?: string
  /** Which of the untracked companies a 400 names: the first one, as the simulator does, all, or none. */
  readonly unknownNames?: 'first' | 'all' | 'none'
}

const NOT_TRACKED = /company_urls: company not tracked: [^"]+/

/** The simulator's endpoints without a socket, so faults of the wire have no effect. */
export function simulated(
  events: readonly JobChangeEvent[] | EventSource,
  {
    clock = virtualClock(NOW),
    takesMs = 0,
    key = 'simulator-key',
    unknownNames = 'first',
    ...options
  }: SimulatedOptions = {},
): Service & { readonly endpoint: SimulatedService } {
  const source = 'organizations' in events ? events : sourceOf(events)
  const endpoint = new SimulatedService({ source, ...options })
  const service = aService(({ path, body }) => {
    const { answer, facts } = endpoint.answer(path, {
      body: JSON.stringify(body),
      query: '',
      contentType: 'application/json',
      authorization: `Bearer ${key}`,
      nowMs: clock.now(),
      monotonicMs: clock.monotonic(),
    })
    const { status, body: text } = answer
    const names = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value])
    const headers = { ...Object.fromEntries(names), date: new Date(clock.now()).toUTCString() }
    const tracked = new Set(source.organizations.map(({ slug }) => slug))
    const unknown = ((body['company_urls'] ?? []) as string[]).filter(
      (url) => !tracked.has(companySlug(url)),
    )
    const words = {
      first: '$&',
      all: `companies not tracked: ${unknown.join(', ')}`,
      none: 'a company of the request is not tracked',
    }
    const said = text.toString().replace(NOT_TRACKED, words[unknownNames])
    return { takesMs, status, headers, text: said, charge: facts.credits_used }
  }, clock)
  return { ...service, endpoint }
}

/**
 * A journal in memory. `open` begins a process that writes; after `kill` none of its writes arrive. `onWrite` is called
 * before each record that is appended.
 */
export function memoryJournal(
  batches: readonly BatchRecord[],
  at: number,
  onWrite: (record: JournalRecord) => void | Promise<void> = () => undefined,
) {
  const frames: { record: JournalRecord; payload: () => Buffer }[] = []
  const write = (record: JournalRecord, payload: string | Uint8Array = '') => {
    const bytes = Buffer.from(payload as string)
    frames.push({ record, payload: () => bytes })
  }
  write(aStart({ run_id: 'run_1', at, batches: batches.length }), JSON.stringify(batches))
  const history = () => {
    const folded = emptyHistory()
    for (const frame of frames) foldRecord(folded, { ...frame, size: 0, end: 0 })
    return folded
  }
  return {
    frames,
    records: <K extends JournalRecord['kind']>(kind: K) =>
      frames.flatMap(({ record }) =>
        record.kind === kind ? [record as Extract<JournalRecord, { kind: K }>] : [],
      ),
    open(isLoud = false): { readonly writer: JournalWriter; kill(): void } {
      let isAlive = true
      const writeAlive: JournalWriter['write'] = (record, payload) => {
        if (isAlive) write(record, payload)
        else if (isLoud) throw new Error('the process was killed')
      }
      return {
        writer: {
          write: writeAlive,
          append: async (record, payload) => {
            await onWrite(record)
            writeAlive(record, payload)
          },
          close: () => Promise.resolve(),
        },
        kill() {
          isAlive = false
        },
      }
    },
    history,
    run: () => history().runs.get('run_1')!,
  }
}

const never = new AbortController().signal

/** The arguments for buying, with defaults: no pace, waits of at most 15 minutes. */
export function buyingOptions(
  service: Service,
  writer: JournalWriter,
  overrides: Partial<BuyingOptions>,
): BuyingOptions {
  const { clock } = service
  const { maxWaitMs = 15 * MINUTE } = overrides
  return {
    transport: service,
    pacer: new Pacer(clock, null, maxWaitMs),
    writer,
    clock,
    random: () => 0.5,
    logger: silentLogger,
    baseUrl: 'https://service.example',
    maxWaitMs,
    stop: never,
    abort: never,
    ...overrides,
  }
}

/** A buyer of run_1, by default without a budget. */
export function aPageBuyer(
  service: Service,
  writer: JournalWriter,
  options: Partial<BuyingOptions> & { readonly budget?: Budget } = {},
): PageBuyer {
  const run = { limit: null, spent: 0 }
  const budget = options.budget ?? new Budget({ run, now: () => service.clock.now() })
  return new PageBuyer('run_1', budget, buyingOptions(service, writer, options))
}

export type TestRun = ReturnType<typeof aRun>

/** A run of some batches, by default one of `org_a`; see memoryJournal. */
export function aRun(
  service: Service,
  batches: readonly BatchRecord[] = [batchOf(['org_a'])],
  onWrite?: (record: JournalRecord) => void | Promise<void>,
) {
  const { clock } = service
  const log: Record<string, unknown>[] = []
  const logger = createJsonLog('info', createScrubber(), (line) => {
    log.push(JSON.parse(line) as Record<string, unknown>)
  })
  const journal = memoryJournal(batches, clock.now(), onWrite)
  let process: ReturnType<typeof journal.open> | undefined
  let latest = journal.run()
  let gone = new AbortController()
  const kill = () => {
    process?.kill()
    gone.abort(new Error('the process was killed'))
  }
  const events = () =>
    journal.frames
      .filter(({ record }) => record.kind === 'page_received')
      .flatMap(
        ({ payload }) => (JSON.parse(payload().toString()) as { data: JobChangeEvent[] }).data,
      )
  return {
    ...journal,
    log,
    /** Lets nothing be written and no answer arrive until the next extraction begins. */
    kill,
    /** The parts of the last extraction. */
    live: () => latest,
    /** The events of all pages in the journal, in order. */
    events,
    /** Names of the events in all pages; see nameOf. */
    bought: () => new Set(events().map(nameOf)),
    /** Credits in the journal: charged for pages, and counted for requests in doubt. */
    ledger() {
      const { creditsCommitted: total } = journal.run()
      const pages = journal.records('page_received')
      const charged = sum(pages.map(({ credits_used: credits }) => credits))
      return { charged, inDoubt: total - charged, total }
    },
    /** Runs, or resumes a run that the last call ended. */
    async extract(overrides: Partial<ExtractOptions> = {}): Promise<ExtractProgress> {
      process?.kill()
      process = journal.open(true)
      const { signal } = (gone = new AbortController())
      const transport = until(signal, service)
      latest = journal.run()
      const work = extract({
        ...buyingOptions(service, process.writer, { transport, logger, ...overrides }),
        run: latest,
        creditsLimit: null,
        concurrency: 4,
        notBefore: pausedUntil(journal.history(), clock.now(), clock.uptime?.() ?? null),
        ...overrides,
      })
      return clock.run(work)
    },
  }
}

/** Identifies an event and its version. */
export function nameOf({ person, organization, ...event }: JobChangeEvent): string {
  return [
    person.profile_id,
    organization.organization_id,
    event.event_type,
    event.detected_at,
    event.detection_lag_days,
  ].join(' ')
}

/** The journal's ledger equals the service's charges. */
export function expectSameCredits(run: TestRun, service: Service): void {
  expect(run.ledger()).toEqual({
    charged: service.charged(),
    inDoubt: 0,
    total: service.charged(),
  })
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

/**
 * Buys everything in the source, in batches of this many organisations, expects it to be complete, and counts pages.
 */
export async function buyAll(
  source: EventSource,
  perBatch: number,
  concurrency: number,
): Promise<number> {
  const service = simulated(source, { clock: virtualClock(NOW + 365 * DAY), takesMs: 100 })
  const ids = source.organizations.map(({ organization_id: id }) => id)
  const run = aRun(service, batchesOf(ids, perBatch))
  await run.extract({ concurrency })
  expectSameCredits(run, service)
  const bought = run.bought()
  expect(eventsIn(source).filter((event) => !bought.has(nameOf(event)))).toEqual([])
  return service.account.filter(({ charged }) => charged > 0).length
}

/** A transport that gives no answers once `gone` is aborted, as if the process were killed. */
export function until(gone: AbortSignal, service: Transport): Transport {
  return {
    ...service,
    send: (path, body, stop) => service.send(path, body, AbortSignal.any([stop, gone])),
  }
}
