/** `rejects`: lists rejected events, with reason and source. The rest of their pages was loaded. */

import { jsonOrNull } from '../support/json.ts'
import { countText, numberText, sum } from '../support/numbers.ts'
import { queryReport } from '../warehouse/query-report.ts'
import type { Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { whileReading } from './reading.ts'
import { table, type Report } from './report.ts'

interface Reason {
  readonly reason: string
  readonly events: number
  readonly last_at: Date
}

interface Reject {
  readonly received_at: Date
  readonly batch_id: string
  readonly page: number
  readonly position: number
  readonly reason: string
  /** As sent, JSON. */
  readonly event: string
}

export async function rejectsCommand(
  context: Context,
  { limit }: OptionsOf<'rejects'>,
): Promise<Report> {
  const { sent, reasons, rows } = await whileReading(context, async (warehouse) => ({
    sent: await queryReport<{ received: number }>(warehouse, 'received_events'),
    reasons: await queryReport<Reason>(warehouse, 'reject_reasons'),
    rows: await queryReport<Reject>(warehouse, 'rejects', { limit }),
  }))
  const received = sent[0]?.received ?? 0
  const count = sum(reasons.map(({ events }) => events))
  const newest = `(the newest ${numberText(rows.length)} of ${numberText(count)}; more with --limit)`
  return {
    title:
      count === 0
        ? `no event was rejected (${numberText(received)} received)`
        : `${countText(count, 'event')} rejected of ${numberText(received)} received; the rest of their pages was loaded`,
    sections: [
      table('reasons', reasons, [
        ['events', 'events', 'number'],
        ['last (UTC)', 'last_at', 'instant'],
        ['reason', 'reason'],
      ]),
      table(null, rows, [
        ['received (UTC)', 'received_at', 'instant'],
        ['batch/page/place', ({ batch_id, page, position }) => `${batch_id}/${page}/${position}`],
        ['reason', 'reason'],
        ['event', 'event'],
      ]),
    ],
    notes: count === 0 ? [] : [...(rows.length < count ? [newest] : []), 'whole events: --json'],
    values: { dataDir: context.directory.root, received, rejects: count },
    data: { rows: rows.map((row) => ({ ...row, event: jsonOrNull(row.event) ?? row.event })) },
  }
}
