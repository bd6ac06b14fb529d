/**
 * Spends the money: reads every batch of a run to its end into the journal, several batches at a time, and the pages of
 * each in order. It never asks for data that is in the journal: an unfinished batch continues where it stopped. It
 * knows nothing about the warehouse.
 */

import { BadRequestError } from '../api/errors.ts'
import { shortened } from '../api/schemas.ts'
import {
  closeBatch,
  coveredTime,
  isBegun,
  isStale,
  newBatchHistory,
  restartBatch,
  isDisordered,
  refetchCount,
  takeRecord,
  type BatchHistory,
} from '../journal/batch-history.ts'
import type { BatchRecord, OrganizationRef } from '../journal/records.ts'
import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import { shuffled } from '../support/numbers.ts'
import { SECOND } from '../support/units.ts'
import { Condition } from './budget.ts'
import { Names, hasUrls } from './names.ts'
import { EndlessListError, pageLimit } from './page-limit.ts'
import type { ExtractOptions, ExtractProgress, Quarantined } from './options.ts'
import { LAST_PAGE, PageBuyer } from './page-buyer.ts'
import { fractionOf, pagesToBuy, project, type Projection } from './projection.ts'
import { isNamed, untrackedCompanies } from './untracked.ts'
import { Workers, respectStoredRetryAfter } from './workers.ts'

/**
 * Reads what is not read yet; pages of earlier attempts at the run are not counted.
 * @throws the first error that ends the run; pages bought until then are in the journal
 */
export async function extract(options: ExtractOptions): Promise<ExtractProgress> {
  return new Extraction(options).run()
}

const DISORDERED =
  'more than a fifth of its events came on two pages, again when it was fetched once more'

// If no batch was read to its end, that many uncoverable organisations are the fault of the service.
const NOT_COVERABLE_MAX = 2

const NOT_TRACKED = 'company not tracked'

class Extraction {
  readonly #options: ExtractOptions
  readonly #workers: Workers
  readonly #buyer: PageBuyer
  readonly #untracked: ReturnType<typeof untrackedCompanies>
  /** Batches being read, in the order in which they began. */
  readonly #begun = new Set<BatchHistory>()
  readonly #progressed = new Condition()
  readonly #quarantined: Quarantined[] = []
  #notCoverable = 0
  /** The batches of the run, without those that others replaced. */
  #batches: BatchHistory[]
  /** Computed when a batch ends instead of for each page, because it reads all batches. */
  #projection: Projection | null
  readonly #names: Names
  #pages = 0
  #events = 0

  constructor(options: ExtractOptions) {
    const { run, pagePrice = 0 } = options
    this.#options = options
    this.#names = new Names(options.run.batches.values(), options.ids)
    this.#batches = [...run.batches.values()].filter(isKept)
    this.#projection = project(this.#batches)
    const price = Math.max(pagePrice, CREDITS_PER_PAGE)
    this.#workers = new Workers(options, price, () => this.#buyer.serviceClock.heard())
    const { stop, budget } = this.#workers
    this.#buyer = new PageBuyer(run.started.run_id, budget, { ...options, stop }, this.#names)
    this.#untracked = untrackedCompanies((batch, companies) =>
      this.#buyer.accepts(batch, companies),
    )
  }

  async run(): Promise<ExtractProgress> {
    const { only, stop } = this.#options
    respectStoredRetryAfter(this.#options)
    const wanted = this.#batches.filter(
      ({ state, batch }) => state === 'planned' && (only?.has(batch.batch_id) ?? true),
    )
    // Before any is read: one that is stale then begins again.
    const others = wanted.filter((one) => !isBegun(one))
    this.#report()
    // Unfinished batches come first, so that a small budget finishes something.
    for (const history of wanted.filter(isBegun)) this.#enqueue(history)
    // The others come in random order, so that the first ones show what the rest will cost.
    // URLs before ids, so that an id that a URL reveals is not requested again.
    for (const isByUrl of [true, false]) {
      const next = others.filter(({ batch }) => hasUrls(batch) === isByUrl)
      for (const history of shuffled(next, this.#options.random)) this.#enqueue(history)
      await this.#workers.idle()
    }
    stop.throwIfAborted()
    return this.#progress()
  }

  #enqueue(history: BatchHistory, priority = 0): void {
    const work = () => {
      this.#begun.add(history)
      return this.#read(history)
    }
    this.#workers.add(work, priority, () => {
      this.#begun.delete(history)
      this.#progressed.notifyAll()
    })
  }

  async #read(history: BatchHistory): Promise<void> {
    const { batch } = history
    // Only the cost is known of pages that another process read: they may show another company of that name.
    const isContinued = isBegun(history)
    const unread = isContinued ? batch.organizations : this.#names.unread(batch)
    if (unread.length < batch.organizations.length) {
      const instead = unread.length === 0 ? [] : [partOf(batch, 1, unread)]
      return this.#replace(history, instead, 'requested under another name')
    }
    const isTooWide = pageLimit(batch, this.#buyer)
    if (history.drift.fault !== null)
      return this.#replace(history, fromPage1(batch), history.drift.fault)
    for (;;) {
      try {
        const page = await this.#nextPage(history)
        if (page === null) return await this.#end(history, isContinued)
        // Waits until the remaining budget is expected to cover the batches that began before, and this one.
        while (!this.#isPayable(history)) await this.#progressed.wait(this.#workers.stop)
        if (await isTooWide(page)) return await this.#tooWide(history)
        const record = await this.#buyer.buy(batch, page)
        takeRecord(history, record)
        if (record.events > 0) this.#pages += 1
        this.#events += record.events
        this.#report()
        this.#progressed.notifyAll()
        if (history.drift.fault !== null)
          throw new EndlessListError(history.drift.fault, batch.batch_id)
      } catch (error) {
        if (error instanceof BadRequestError) return this.#withoutUntracked(history, error)
        // Its pages are not one list: an attempt that continued after them would miss events.
        if (error instanceof EndlessListError && history.state === 'planned')
          await this.#split(history, fromPage1(batch), error.message)
        throw error
      }
    }
  }

  /** Finishes a batch that was read to its end. If its order changed meanwhile, it is read once more. */
  async #end(history: BatchHistory, isContinued: boolean): Promise<void> {
    if (!isDisordered(history)) return this.#finish(history, isContinued)
    const { batch, pages } = history
    if (batch.was_endless === true) throw new EndlessListError(DISORDERED, batch.batch_id)
    // A later run continues a begun batch, but would plan its replacement again and buy the pages a third time.
    const reservation = await this.#workers.budget.reserve(this.#workers.stop)
    reservation.settle(0)
    this.#options.logger.warn({ batch: batch.batch_id, pages }, 'list_read_again')
    await this.#replace(history, fromPage1(batch), 'events came on two pages')
  }

  /** The next page; null when the batch was read to its end. */
  async #nextPage(history: BatchHistory): Promise<number | null> {
    if (!history.hasMore) return null
    if (isStale(history, this.#buyer.serviceClock.now())) restartBatch(history)
    // Requested again after 1, 4 and 9 seconds: a momentary fault may be over by then.
    const seconds = history.drift.isUnsure ? 1 : refetchCount(history) ** 2
    if (seconds > 0) await this.#options.clock.sleep(seconds * SECOND, this.#workers.stop)
    return history.pages + 1
  }

  #isPayable(history: BatchHistory): boolean {
    const { creditsLimit } = this.#options
    if (creditsLimit === null) return true
    let pages = 0
    for (const begun of this.#begun) {
      if (begun === history) break
      pages += pagesToBuy(begun)
    }
    if (pages === 0) return true
    pages += pagesToBuy(history)
    return this.#workers.budget.spent + pages * CREDITS_PER_PAGE <= creditsLimit
  }

  async #tooWide(history: BatchHistory): Promise<void> {
    const { batch } = history
    const reason = `more than ${LAST_PAGE} pages`
    const [organization, another] = batch.organizations
    if (organization === undefined || another !== undefined) {
      const parts = halve(batch).map((part) => ({ ...part, part_of_wide: true as const }))
      return this.#replace(history, parts, reason)
    }
    await this.#quarantine(organization, `${reason}: not coverable in this window`)
    await this.#replace(history, [], 'not coverable')
    this.#notCoverable += 1
    if (this.#notCoverable < NOT_COVERABLE_MAX || this.#progress().batchesDone > 0) return
    throw new EndlessListError(
      `${organization.value} has ${reason}, like every organisation fetched so far`,
      batch.batch_id,
    )
  }

  /** Quarantines the companies for which the service refuses a batch, and continues with the others. */
  async #withoutUntracked(history: BatchHistory, refusal: BadRequestError): Promise<void> {
    const { batch } = history
    const reason = shortened(refusal.serverMessage)
    const untracked = await this.#untracked(batch, refusal)
    for (const company of untracked) {
      const isOwn = isNamed(refusal.serverMessage, company)
      await this.#quarantine(company, isOwn ? reason : NOT_TRACKED)
    }
    if (untracked.length === 0) return this.#replace(history, halve(batch), reason)
    const rest = batch.organizations.filter((company) => !untracked.includes(company))
    await this.#replace(history, rest.length === 0 ? [] : [partOf(batch, 1, rest)], reason)
  }

  async #quarantine(organization: OrganizationRef, reason: string): Promise<void> {
    const { logger, writer } = this.#options
    const { value } = organization
    if (this.#quarantined.some((one) => one.organization.value === value)) return
    this.#quarantined.push({ organization, reason })
    logger.info({ organization: value, reason }, 'organization_quarantined')
    const quarantined = { ...this.#stamp(), organization, reason }
    await writer.append({ kind: 'organization_quarantined', ...quarantined })
  }

  async #replace(history: BatchHistory, instead: readonly BatchRecord[], reason: string) {
    // The parts that replace a batch are read before other batches begin, the smallest first.
    for (const one of await this.#split(history, instead, reason))
      this.#enqueue(one, one.batch.batch_id.split('.').length)
  }

  async #split(history: BatchHistory, instead: readonly BatchRecord[], reason: string) {
    const { batch } = history
    await this.#options.writer.append(
      { kind: 'batch_split', ...this.#stamp(), batch_id: batch.batch_id, reason },
      JSON.stringify({ batch, instead }),
    )
    closeBatch(history, 'split')
    const smaller = instead.map(newBatchHistory)
    this.#batches = [...this.#batches.filter(isKept), ...smaller]
    this.#projection = project(this.#batches)
    this.#report()
    return smaller
  }

  async #finish(history: BatchHistory, isContinued: boolean): Promise<void> {
    const { batch, pages, events } = history
    const { writer } = this.#options
    for (const learnt of isContinued ? [] : this.#names.learn(batch))
      writer.write({ kind: 'organization_learnt', ...this.#stamp(), ...learnt })
    this.#names.add(batch)
    const { batch_id } = batch
    const stamp = this.#stamp()
    const { from: covered_from, to: covered_to } = coveredTime(history, stamp.at)
    await writer.append(
      { kind: 'batch_finished', ...stamp, batch_id, pages, events, covered_from, covered_to },
      JSON.stringify(batch),
    )
    closeBatch(history, 'finished')
    this.#projection = project(this.#batches)
    this.#report()
  }

  #stamp(): { readonly run_id: string; readonly at: number } {
    const { run, clock } = this.#options
    return { run_id: run.started.run_id, at: clock.now() }
  }

  #progress(): ExtractProgress {
    return {
      fraction: fractionOf(this.#batches),
      batchesDone: this.#batches.filter(({ state }) => state === 'finished').length,
      batches: this.#batches.length,
      pages: this.#pages,
      events: this.#events,
      credits: this.#workers.budget.spentNow,
      projection: this.#projection,
      quarantined: this.#quarantined,
      unexpectedCharges: this.#buyer.unexpectedCharges,
      listsCut: 0,
      filterErrors: [],
      clockTrouble: this.#buyer.serviceClock.trouble,
    }
  }

  #report(): void {
    this.#options.onProgress?.(this.#progress())
  }
}

/** Replaces a batch whose pages do not form one list. */
function fromPage1(batch: BatchRecord): BatchRecord[] {
  return [{ ...partOf(batch, 1, batch.organizations), was_endless: true }]
}

function isKept({ state }: BatchHistory): boolean {
  return state !== 'split'
}

/** Two batches with half of the organisations each; the batch must have at least two. */
function halve(batch: BatchRecord): BatchRecord[] {
  const { organizations } = batch
  const middle = Math.ceil(organizations.length / 2)
  return [
    partOf(batch, 1, organizations.slice(0, middle)),
    partOf(batch, 2, organizations.slice(middle)),
  ]
}

/** The batch with some of its organisations, under a new name: `0012` becomes `0012.<number>`. */
function partOf(
  batch: BatchRecord,
  number: number,
  organizations: readonly OrganizationRef[],
): BatchRecord {
  const { batch_id: id, expected_pages: pages } = batch
  const share = organizations.length / batch.organizations.length
  return {
    ...batch,
    batch_id: `${id}.${number}`,
    organizations,
    ...(pages === undefined ? {} : { expected_pages: pages * share }),
  }
}
