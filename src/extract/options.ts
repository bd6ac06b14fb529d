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
  /** The address of requests, for messages. */
  readonly baseUrl: string
  /** The longest wait in milliseconds, both for any answer and as ordered by the service. */
  readonly maxWaitMs: number
  /** What earlier runs know about the clocks; absent: nothing. */
  readonly clocksBefore?: Pick<ClockHistory, 'serverAheadMs' | 'reached'>
  /** Stops cleanly: requests in flight end first. */
  readonly stop: AbortSignal
  /** Aborts requests in flight. */
  readonly abort: AbortSignal
}

export interface ExtractOptions extends BuyingOptions {
  readonly run: RunHistory
  /** Reads only these batches of the run, by batch_id; absent: all of them. */
  readonly only?: ReadonlySet<string>
  /** Ids learnt by earlier runs, by the requested URL or slug; absent: none. */
  readonly ids?: ReadonlyMap<string, string>
  /** Credits that this run may spend; null for no limit. */
  readonly creditsLimit: number | null
  /** Credits that all runs of the pipeline may spend in a calendar month; absent: no limit. */
  readonly monthlyCredits?: BudgetOptions['month']
  /** The last price of a page, in credits; default: the expected price. */
  readonly pagePrice?: number
  /** Batches, and so requests, in parallel, 1 or more. */
  readonly concurrency: number
  /** When the service accepts requests again, as an earlier run was asked: milliseconds since 1970 UTC; 0 for now. */
  readonly notBefore: number
  readonly onProgress?: (progress: ExtractProgress) => void
}

export interface ExtractProgress {
  /** From 0 to 1, by the expected pages. */
  readonly fraction: number
  readonly batchesDone: number
  readonly batches: number
  /** Pages with events, which are charged. */
  readonly pages: number
  readonly events: number
  readonly credits: number
  /** The expected bill of the whole run, projected from its finished batches; null while these are too few. */
  readonly projection: Projection | null
  readonly quarantined: readonly Quarantined[]
  /** Pages with another charge than expected. */
  readonly unexpectedCharges: number
  /** Lists of other endpoints that were not read completely: they have more pages than allowed, or became shorter. */
  readonly listsCut: number
  /** Search filters that the service did not recognise, as text. */
  readonly filterErrors: readonly string[]
  /** The disagreement of the service's clock and this machine's; null for none. */
  readonly clockTrouble: ClockTrouble | null
}

export interface Quarantined {
  readonly organization: OrganizationRef
  readonly reason: string
}

/** Answers to this process whose `Date` and this machine's clock disagreed. */
export interface ClockTrouble {
  readonly answers: number
  /** How many of these had a `Date` that other answers contradict, and that was ignored. */
  readonly notBelieved: number
  /** The clocks at the last of them, milliseconds since 1970 UTC. */
  readonly date: number
  readonly ours: number
  /** What coverage is void because the clocks are behind earlier answers; null if they are not. */
  readonly wentBack: (WentBack & { readonly voidAfter: number }) | null
}
