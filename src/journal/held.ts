/**
 * The content of a segment by run, counted while it is written: enough to report a loss, to keep its charges in the
 * ledger, and to know which batches lost pages. Pure.
 */

import { countText } from '../support/numbers.ts'
import type { JournalRecord, RunStarted } from './records.ts'
import { addCounts, costOf, dayOf, noCounts, type Counts } from './spending.ts'

export interface HeldRun {
  readonly run_id: string
  readonly records: number
  /** The beginning of the run; absent if another segment holds it. */
  readonly started?: RunStarted
  /** Pages received, by batch_id. */
  readonly pages: Readonly<Record<string, number>>
  /** Requests and charges, by UTC day. */
  readonly days: Readonly<Record<string, Counts>>
}

interface CountedRun extends HeldRun {
  records: number
  started?: RunStarted
  readonly pages: Record<string, number>
  readonly days: Record<string, Counts>
}

export class SegmentSummary {
  readonly #runs = new Map<string, CountedRun>()

  add(record: JournalRecord): void {
    // Other records belong to no run, or do not concern what it asked, bought or covered.
    if (!('run_id' in record) || record.run_id === null || record.kind === 'snapshot_published') {
      return
    }
    const { run_id: runId } = record
    const run = this.#runs.get(runId) ?? { run_id: runId, records: 0, pages: {}, days: {} }
    this.#runs.set(runId, run)
    run.records += 1
    if (record.kind === 'run_started') run.started = record
    const isPage = record.kind === 'page_received' && record.free_probe !== true
    if (isPage || record.kind === 'answer_received') {
      run.pages[record.batch_id] = (run.pages[record.batch_id] ?? 0) + 1
    }
    const cost = costOf(record)
    if (cost !== null) addCounts((run.days[dayOf(cost.sentAt)] ??= noCounts()), cost.counts)
  }

  /** The totals so far, without the pages of each batch: small for a segment of any length. */
  totals(): HeldRun[] {
    return [...this.#runs.values()].map((run) => ({ ...run, pages: {} }))
  }

  held(): HeldRun[] {
    return structuredClone([...this.#runs.values()])
  }
}

/** The part of `whole` that is lost if only its first records, with `kept`, remain. */
export function withoutKept(whole: readonly HeldRun[], kept: readonly HeldRun[]): HeldRun[] {
  return whole.flatMap((run) => {
    const rest = kept.find(({ run_id: id }) => id === run.run_id)
    if (rest === undefined) return [run]
    if (run.records === rest.records) return []
    const { started, ...lost } = structuredClone(run) as CountedRun
    lost.records -= rest.records
    for (const [batch, pages] of Object.entries(run.pages)) {
      lost.pages[batch] = pages - (rest.pages[batch] ?? 0)
      if (lost.pages[batch] === 0) delete lost.pages[batch]
    }
    for (const [day, counts] of Object.entries(rest.days)) {
      addCounts((lost.days[day] ??= noCounts()), counts, -1)
    }
    return [started === undefined || rest.started !== undefined ? lost : { ...lost, started }]
  })
}

export function totalsOf(runs: readonly HeldRun[]): Counts {
  const sum = noCounts()
  for (const { days } of runs) for (const counts of Object.values(days)) addCounts(sum, counts)
  return sum
}

const RUNS_SHOWN = 3

/** The loss, for people: `11 pages with 534 events for 110 credits (run 01J…, 2 more runs)`. */
export function lossText(runs: readonly HeldRun[]): string {
  if (runs.length === 0) return 'nothing that a run has bought'
  const { pages, events, charged, inDoubt } = totalsOf(runs)
  const doubt = inDoubt <= 0 ? '' : ` and ${inDoubt} in doubt`
  const more = runs.length > RUNS_SHOWN ? [`${runs.length - RUNS_SHOWN} more runs`] : []
  const ids = [...runs.slice(0, RUNS_SHOWN).map(({ run_id: runId }) => `run ${runId}`), ...more]
  return `${countText(pages, 'page')} with ${countText(events, 'event')} for ${countText(charged, 'credit')}${doubt} (${ids.join(', ')})`
}
