/** The inputs of an extraction, and its progress. */

import type { Pacer } from '../api/pacer.ts'
import type { Transport } from '../api/transport.ts'
import type { JournalWriter } from '../journal/journal.ts'
import type { OrganizationRef, WentBack } from '../journal/records.ts'
import type { RunHistory } from '../journal/run-history.ts'
import type { ClockHistory } from '../journal/clock-history.ts'
import type { Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import type { BudgetOptions } from './budget.ts'
import type { Projection } from './projection.ts'

export interface BuyingOptions {
  readonly transport: Transport
  readonly pacer: Pacer
  readonly writer: JournalWriter
  readonly clock: Clock
  /** A random number in [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  /** Where requests go, for messages. */
  readonly baseUrl: string
  /** The longest wait, in milliseconds: that the service may order, and for an answer at all. */
  readonly maxWaitMs: number
  /** The clocks as known from earlier runs; absent: unknown. */
  readonly clocksBefore?: Pick<ClockHistory, 'serverAheadMs' | 'reached'>
  /** Stops cleanly: requests in flight are finished. */
  readonly stop: AbortSignal
  /** Breaks off requests in flight. */
  readonly abort: AbortSignal
}

export interface ExtractOptions extends BuyingOptions {
  readonly run: RunHistory
  /** Reads only these batches of the run, by batch_id; absent: all. */
  readonly only?: ReadonlySet<string>
  /** Ids learnt by earlier runs, by the requested URL or slug; absent: none. */
  readonly ids?: ReadonlyMap<string, string>
  /** Credits this run may spend; null for no limit. */
  readonly creditsLimit: number | null
  /** Credits that all runs of the pipeline may spend in a calendar month; absent: no limit. */
  readonly monthlyCredits?: BudgetOptions['month']
  /** The last price of a page, in credits; default: the expected price. */
  readonly pagePrice?: number
  /** Batches, and so requests, at the same time, 1 or more. */
  readonly concurrency: number
  /** Milliseconds since 1970 UTC before which the service accepts no request, from an earlier run; 0 for none. */
  readonly notBefore: number
  readonly onProgress?: (progress: ExtractProgress) => void
}

export interface ExtractProgress {
  /** From 0 to 1, judged by the pages that are expected. */
  readonly fraction: number
  readonly batchesDone: number
  readonly batches: number
  /** Pages with events: those that cost. */
  readonly pages: number
  readonly events: number
  readonly credits: number
  /** The expected bill of the whole run, judged by its finished batches; null while these are too few. */
  readonly projection: Projection | null
  readonly quarantined: readonly Quarantined[]
  /** Pages that cost something else than expected. */
  readonly unexpectedCharges: number
  /**
   * Lists of other endpoints that were not read whole: they continue, or have gaps, after the maximum number of pages.
   */
  readonly listsCut: number
  /** Filters of searches that the service did not recognise, as text. */
  readonly filterErrors: readonly string[]
  /** Where the service's clock and this machine's did not agree; null where they did. */
  readonly clockTrouble: ClockTrouble | null
}

/** An organisation that could not be requested, or not be read to its end. */
export interface Quarantined {
  readonly organization: OrganizationRef
  readonly reason: string
}

/** Answers of this process whose `Date` and this machine's clock did not agree. */
export interface ClockTrouble {
  readonly answers: number
  /** Of these, the answers whose `Date` was not believed, because others contradict it. */
  readonly notBelieved: number
  /** The clocks at the last of them, milliseconds since 1970 UTC. */
  readonly date: number
  readonly ours: number
  /** That clocks say less than answers before had reached, and what it voids; null when they do not. */
  readonly wentBack: (WentBack & { readonly voidAfter: number }) | null
}
