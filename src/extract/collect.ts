/**
 * Spends the money in a run of `kind: collect`: asks an endpoint for several items at a time, and for the pages of each
 * in order. It never asks for data that is in the journal, and knows endpoints only by their declaration.
 */

import { filterErrorsIn, type Endpoint, type LookupRequest } from '../api/endpoints/endpoint.ts'
import { BadRequestError, UnavailableError } from '../api/errors.ts'
import { parseJson, shortened } from '../api/schemas.ts'
import type { Answer } from '../api/transport.ts'
import { isLookupBegun, takeAnswer, type LookupHistory } from '../journal/run-history.ts'
import type { AnswerReceived } from '../journal/records.ts'
import { CREDITS_PER_PAGE, chargeOf, chargeOfNothing } from '../journal/spending.ts'
import { sha256Hex } from '../support/hash.ts'
import type { JobtideError } from '../support/errors.ts'
import type { Secret } from '../support/secret.ts'
import { SECOND } from '../support/units.ts'
import type { ExtractOptions, ExtractProgress } from './options.ts'
import { RequestBuyer, type AnswerStamp, type Unusable } from './request-buyer.ts'
import { UnansweredError, type FailedAttempt } from './give-up.ts'
import { Workers, respectStoredRetryAfter } from './workers.ts'

export interface CollectOptions extends ExtractOptions {
  readonly endpoint: Endpoint
  /** The secret that signs deliveries of signals; absent: none. */
  readonly webhookSecret?: Secret | null
  /** The most pages of one list, 1 or more. */
  readonly pages: number
}

interface Unanswered {
  readonly history: LookupHistory
  readonly reason: string
  /** Whether it may soon be answered: then this run requests it again. */
  readonly isPassing: boolean
  /** Ends the run if nothing is answered. */
  readonly error: JobtideError | null
}

const NOT_YET = 'the service has no answer yet'

// An item without an answer is requested again at the end of the run, and again by the next run.
const ROUNDS = 3
const LATER_WAIT_MS = 5 * SECOND
/** Attempts at one item in the first round. Each later round makes one. */
const PATIENCE = 3
// One unreadable answer may be damaged on its way; a second one is the service's fault.
const UNREADABLE_PATIENCE = 2
// A 400 ends its request alone anyway (BadRequestError). Other refusals may be due to a wrong address, but then nothing
// at all is answered.
const OF_THE_ACCOUNT: ReadonlySet<number> = new Set([400, 401, 402, 403])
/** So many consecutive items without an answer end the run: the fault is not theirs, and each may be billed. */
const UNANSWERED_IN_A_ROW = 20

/** @throws the first error that ends the run; pages bought until then are in the journal */
export async function collect(options: CollectOptions): Promise<ExtractProgress> {
  return new Collection(options).run()
}

class Collection {
  readonly #options: CollectOptions
  readonly #buyer: RequestBuyer
  readonly #workers: Workers
  #unanswered: Unanswered[] = []
  #round = 1
  /** How many items this round requests, and how many consecutive ones were not answered. */
  #wanted = 0
  #unansweredInARow = 0
  #isAnswered = false
  #pages = 0
  #items = 0
  #done = 0
  #unexpectedCharges = 0
  /** Lists that were not read completely, by batch_id. */
  readonly #listsCut = new Set<string>()
  readonly #filterErrors = new Set<string>()
  readonly #refused: { subject: string; reason: string }[] = []

  constructor(options: CollectOptions) {
    const { run, endpoint } = options
    const { path } = endpoint
    this.#options = options
    const prices = [...run.lookups.values()].map(
      ({ lookup }) => endpoint.price(lookup.request).most,
    )
    this.#workers = new Workers(options, Math.max(1, ...prices))
    const { stop, budget } = this.#workers
    this.#buyer = new RequestBuyer(run.started.run_id, budget, { ...options, stop }, path)
  }

  async run(): Promise<ExtractProgress> {
    const { run, stop, clock } = this.#options
    respectStoredRetryAfter(this.#options)
    const open = [...run.lookups.values()].filter(({ isDone }) => !isDone)
    this.#done = run.lookups.size - open.length
    // Unfinished items come first, so that a small budget finishes something.
    let wanted = [...open.filter(isLookupBegun), ...open.filter((lookup) => !isLookupBegun(lookup))]
    for (this.#round = 1; wanted.length > 0; this.#round += 1) {
      if (this.#round > 1) await clock.sleep(LATER_WAIT_MS * this.#round, this.#workers.stop)
      this.#wanted = wanted.length
      for (const lookup of wanted) this.#workers.add(() => this.#work(lookup))
      await this.#workers.idle()
      const later = this.#unanswered.filter(({ isPassing }) => isPassing && this.#round < ROUNDS)
      this.#unanswered = this.#unanswered.filter((one) => !later.includes(one))
      wanted = later.map(({ history }) => history)
    }
    stop.throwIfAborted()
    // If nothing at all is answered, the service is at fault, and its error ends the run.
    const [first] = this.#unanswered.flatMap(({ error }) => error ?? [])
    if (first !== undefined && !this.#isWell()) throw first
    // The next run would buy its first pages again, so this run is resumed instead.
    const begun = this.#unanswered.find(({ history }) => isLookupBegun(history))
    if (begun !== undefined) {
      const { lookup, pages } = begun.history
      throw new UnavailableError(`page ${pages + 1} of ${lookup.subject}: ${begun.reason}`, null)
    }
    return this.#progress()
  }

  /** Whether any item of the run was answered, now or before the run was resumed. */
  #isWell(): boolean {
    return this.#isAnswered || this.#done > 0
  }

  // A single item, or one while nothing is answered, is retried for as long as a run may wait: the service may be down.
  #isOneOfMany(): boolean {
    return this.#isWell() || (this.#round === 1 && this.#wanted > 1)
  }

  /** Whether the requested item fails, so that no other waits for it. @param tries attempts, trials included */
  #isOfOneThing({ failure, decision: { kind, why } }: FailedAttempt, tries: number): boolean {
    if (kind === 'pause-all') return false
    if (kind === 'refused') return !OF_THE_ACCOUNT.has(failure.status ?? 0)
    if (kind === 'give-up') {
      const isOfMany = why === 'unreadable' || (why === 'outage' && this.#round > 1)
      return why === 'page' || (isOfMany && this.#isWell())
    }
    const most = failure.outcome === 'unreadable' ? UNREADABLE_PATIENCE : PATIENCE
    return this.#isOneOfMany() && tries >= (this.#round > 1 ? 1 : most)
  }

  async #work(history: LookupHistory): Promise<void> {
    try {
      await this.#read(history)
    } catch (error) {
      if (error instanceof BadRequestError) {
        history.isDone = true
        this.#done += 1
        this.#refused.push({ subject: history.lookup.subject, reason: error.serverMessage })
        this.#report()
        return
      }
      if (!(error instanceof UnansweredError)) throw error
      const { reason, isPassing, cause } = error
      this.#unansweredInARow += 1
      const isOver = this.#unansweredInARow >= UNANSWERED_IN_A_ROW && this.#round === 1
      if (isOver || !this.#isOneOfMany()) throw cause
      this.#unanswered.push({ history, reason, isPassing, error: cause as JobtideError })
      this.#report()
    }
  }

  async #read(history: LookupHistory): Promise<void> {
    const { endpoint } = this.#options
    const { lookup } = history
    while (!history.isDone) {
      const request = {
        ...this.#sentTo(lookup.request, history.next),
        batchId: lookup.batch_id,
        page: history.pages + 1,
        credits: endpoint.price(lookup.request).most,
        statuses: endpoint.statuses ?? [],
        isGivenUp: this.#isOfOneThing.bind(this),
      }
      const record = await this.#buyer.buy(request, (answer, stamp) =>
        this.#answer(history, answer, stamp),
      )
      this.#isAnswered = true
      this.#unansweredInARow = 0
      if (record.outcome === 'later') {
        this.#unanswered.push({ history, reason: NOT_YET, isPassing: true, error: null })
        return
      }
      takeAnswer(history, record)
      if (history.isShrunk) this.#listsCut.add(lookup.batch_id)
      this.#pages += record.credits_used > 0 ? 1 : 0
      this.#items += record.items
      this.#done += history.isDone ? 1 : 0
      this.#report()
    }
  }

  /** @param next the value that asks for the page; null for the first page */
  #sentTo(request: LookupRequest, next: LookupHistory['next']) {
    const { endpoint, webhookSecret } = this.#options
    const { path, target, pages: member, secret } = endpoint
    if (target !== undefined) return { path: target(request), body: null }
    const page = member === null || next === null ? {} : { [member]: next }
    const signing = secret && webhookSecret ? { [secret]: webhookSecret.reveal() } : {}
    return { path, body: { ...request, ...page, ...signing } }
  }

  // When the append resolves, the answer is on the disk and counts as bought.
  async #answer(
    { lookup, items: itemsBefore, lastSha256 }: LookupHistory,
    { status, body, receivedAt: at }: Answer,
    stamp: AnswerStamp,
  ): Promise<AnswerReceived | Unusable> {
    const { endpoint, writer, logger, pages: mostPages } = this.#options
    const { batch_id, page, price: mostCredits = CREDITS_PER_PAGE } = stamp
    const { subject, lookup_key, request } = lookup
    const json = parseJson(body)
    if (json === undefined) return { reason: 'it is not JSON' }
    const read = endpoint.read(json, { request, page, status, itemsBefore })
    if (typeof read === 'string') return { reason: read }
    const { outcome, items, next, price, creditsSent, reason, total = null } = read
    for (const one of filterErrorsIn(json)) this.#filterErrors.add(one)
    const { credits, sent } =
      price.most === 0 ? chargeOfNothing(creditsSent, mostCredits) : chargeOf(creditsSent, price)
    const isExpected = sent === null && credits <= price.most
    const sha256 = sha256Hex(body)
    const isLast = page >= mostPages
    // A single page that is repeated forever is not a list.
    const isOver = isLast || outcome === 'refused' || sha256 === lastSha256
    const record: AnswerReceived = {
      kind: 'answer_received',
      ...stamp,
      items,
      ...(total === null ? {} : { total }),
      at,
      endpoint: endpoint.name,
      lookup_key,
      subject,
      status,
      outcome,
      ...(reason === undefined ? {} : { reason: shortened(reason) }),
      credits_used: credits,
      ...(sent === null ? {} : { credits_sent: sent }),
      ...(isExpected ? {} : { is_unexpected: true as const }),
      next: isOver ? null : next,
      body_sha256: sha256,
    }
    await writer.append(record, this.#kept(body, json))
    if (reason !== undefined) this.#refused.push({ subject, reason })
    if (isLast && next !== null) this.#listsCut.add(batch_id)
    if (!isExpected) {
      this.#unexpectedCharges += 1
      logger.warn({ subject, credits_used: sent ?? credits, ...price }, 'unexpected_charge')
    }
    return record
  }

  #kept(body: Buffer, json: unknown): Buffer {
    const isCut = (this.#options.endpoint.notKept ?? []).map((path) => cutMember(json, path))
    return isCut.some(Boolean) ? Buffer.from(JSON.stringify(json)) : body
  }

  #progress(): ExtractProgress {
    const { run } = this.#options
    return {
      fraction: run.lookups.size === 0 ? 1 : this.#done / run.lookups.size,
      batchesDone: this.#done,
      batches: run.lookups.size,
      pages: this.#pages,
      events: this.#items,
      credits: this.#workers.budget.spentNow,
      projection: null,
      quarantined: [
        ...this.#refused,
        ...this.#unanswered.map(({ history: { lookup }, reason }) => ({ ...lookup, reason })),
      ].map(({ subject, reason }) => ({ organization: { by: 'url', value: subject }, reason })),
      unexpectedCharges: this.#unexpectedCharges,
      listsCut: this.#listsCut.size,
      filterErrors: [...this.#filterErrors],
      clockTrouble: null,
    }
  }

  #report(): void {
    this.#options.onProgress?.(this.#progress())
  }
}

/** Removes a member from a JSON value. @returns whether it was present and had content */
function cutMember(json: unknown, [name = '', ...rest]: readonly string[]): boolean {
  if (json === null || typeof json !== 'object' || !Object.hasOwn(json, name)) return false
  const object = json as Record<string, unknown>
  if (rest.length > 0) return cutMember(object[name], rest)
  delete object[name]
  return true
}
