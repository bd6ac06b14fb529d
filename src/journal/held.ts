/** The content of a segment by run, counted while it is written: enough to report a loss, and to keep its charges. */

import { countText } from '../support/numbers.ts'
import type { JournalRecord, RunStarted } from './records.ts'
import { addCounts, costOf, dayOf, noCounts, type Counts } from './spending.ts'

export interface HeldRun {
  readonly run_id: string
  records: number
  started?: RunStarted
  /** Requests and charges, by UTC day. */
  readonly days: Record<string, Counts>
}

export class SegmentSummary {
  readonly #runs = new Map<string, HeldRun>()

  add(record: JournalRecord): void {
    // Other records belong to no run, or do not concern what it asked, bought or covered.
    if (!('run_id' in record) || record.run_id === null || record.kind === 'snapshot_published') {
      return
    }
    const { run_id: runId } = record
    const run = this.#runs.get(runId) ?? { run_id: runId, records: 0, days: {} }
    this.#runs.set(runId, run)
    run.records += 1
    if (record.kind === 'run_started') run.started = record
    const cost = costOf(record)
    if (cost !== null) addCounts((run.days[dayOf(cost.sentAt)] ??= noCounts()), cost.counts)
  }

  held(): readonly HeldRun[] {
    return [...this.#runs.values()]
  }
}

/** The part of `whole` that is lost if only its first records, with `kept`, remain. */
export function withoutKept(whole: readonly HeldRun[], kept: readonly HeldRun[]): HeldRun[] {
  return whole.flatMap((run) => {
    const rest = kept.find(({ run_id: id }) => id === run.run_id)
    if (rest === undefined) return run
    if (run.records === rest.records) return []
    const { started, ...lost } = structuredClone(run)
    lost.records -= rest.records
    for (const [day, counts] of Object.entries(rest.days)) {
      addCounts((lost.days[day] ??= noCounts()), counts, -1)
    }
    return started === undefined || rest.started !== undefined ? lost : { ...lost, started }
  })
}

const RUNS_SHOWN = 3

/** The loss, for people: `11 pages with 534 events for 110 credits (run 01J…, 2 more runs)`. */
export function lossText(runs: readonly HeldRun[]): string {
  if (runs.length === 0) return 'nothing that a run has bought'
  const sum = noCounts()
  for (const { days } of runs) for (const counts of Object.values(days)) addCounts(sum, counts)
  const { pages, events, charged, inDoubt } = sum
  const doubt = inDoubt <= 0 ? '' : ` and ${inDoubt} in doubt`
  const more = runs.length > RUNS_SHOWN ? [`${runs.length - RUNS_SHOWN} more runs`] : []
  const ids = [...runs.slice(0, RUNS_SHOWN).map(({ run_id: runId }) => `run ${runId}`), ...more]
  return `${countText(pages, 'page')} with ${countText(events, 'event')} for ${countText(charged, 'credit')}${doubt} (${ids.join(', ')})`
}
