/** `rejects`: events that did not fit, why, and where they came from. They are kept; the rest of their pages was loaded. */

import { EXIT, type ExitCode } from '../support/errors.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Context } from './context.ts'
import { countText, minuteText, numberText, tableText } from './text.ts'
import { whileReading } from './warehouse-reader.ts'

/** Options of `rejects`. */
export interface RejectsOptions {
  /** How many refused events to show, the newest first. */
  readonly limit: number
}

interface ReasonCount {
  readonly reason: string
  readonly events: number
  readonly first_at: Date
  readonly last_at: Date
}

interface Reject {
  readonly received_at: Date
  readonly run_id: string
  readonly batch_id: string
  readonly page: number
  readonly position: number
  readonly request_id: string
  readonly reason: string
  /** As sent, JSON. */
  readonly event: string
}

interface Rejects {
  /** Events received in all pages, repeats included. */
  readonly received: number
  readonly reasons: readonly ReasonCount[]
  readonly rows: readonly Reject[]
}

/** Shows refused events. */
export async function rejectsCommand(
  context: Context,
  { limit }: RejectsOptions,
): Promise<ExitCode> {
  const { directory, output } = context
  const rejects = await whileReading(context, (warehouse) => readRejects(warehouse, limit))
  output.document({
    data_dir: directory.root,
    received: rejects.received,
    rejects: countOf(rejects),
    reasons: rejects.reasons,
    rows: rejects.rows.map((row) => ({ ...row, event: jsonOrText(row.event) })),
  })
  output.text(rejectsText(rejects, output.columns))
  return EXIT.done
}

// What an event sent stands at the end of a reason; without it, equal faults are one.
const REASONS_SQL = `
  select regexp_replace(reason, ', got .*$', '', 's') as reason, cast(count(*) as integer) as events,
         min(received_at) as first_at, max(received_at) as last_at
  from ops.rejects group by 1 order by events desc, reason`

const ROWS_SQL = `
  select received_at, run_id, batch_id, page, position, request_id, reason, event
  from ops.rejects order by received_at desc, request_id desc, position limit $1`

async function readRejects(warehouse: Warehouse, limit: number): Promise<Rejects> {
  const [sum] = await warehouse.all<{ received: number }>(
    'select cast(coalesce(sum(events), 0) as double) as received from ops.pages',
  )
  return {
    received: sum?.received ?? 0,
    reasons: await warehouse.all<ReasonCount>(REASONS_SQL),
    rows: await warehouse.all<Reject>(ROWS_SQL, [limit]),
  }
}

function countOf({ reasons }: Rejects): number {
  return reasons.reduce((sum, { events }) => sum + events, 0)
}

function jsonOrText(event: string): unknown {
  try {
    return JSON.parse(event)
  } catch {
    return event
  }
}

function rejectsText(rejects: Rejects, width: number): string {
  const { received, reasons, rows } = rejects
  const count = countOf(rejects)
  if (count === 0) return `no event was refused: all ${countText(received, 'event')} received fit`
  const reasonTable = tableText(
    ['events', 'last (UTC)', 'reason'],
    reasons.map(({ reason, events, last_at }) => [
      numberText(events),
      minuteText(last_at.getTime()),
      reason,
    ]),
    { width, numeric: [true, false, false] },
  )
  const rowTable = tableText(
    ['received (UTC)', 'batch/page/place', 'reason', 'event'],
    rows.map(({ received_at, batch_id, page, position, reason, event }) => [
      minuteText(received_at.getTime()),
      `${batch_id}/${page}/${position}`,
      reason,
      event,
    ]),
    { width },
  )
  const more =
    rows.length < count
      ? [`(the newest ${numberText(rows.length)} of ${numberText(count)}; more with --limit)`]
      : []
  return [
    `${countText(count, 'event')} refused of ${numberText(received)} received; the rest of their pages was loaded`,
    '',
    reasonTable,
    '',
    rowTable,
    ...more,
    'whole events: --json',
  ].join('\n')
}
