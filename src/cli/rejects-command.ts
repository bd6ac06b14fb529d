/** `rejects`: lists rejected events, with reason and source. The rest of their pages was loaded. */

import { jsonOrNull } from '../support/json.ts'
import { countText, numberText, sum } from '../support/numbers.ts'
import { queryReport } from '../warehouse/query-report.ts'
import type { Context } from './context.ts'
import { whileReading } from './reading.ts'
import { table, type Report } from './report.ts'

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
  { limit }: { readonly limit: number },
): Promise<Report> {
  const { received, reasons, rows } = await whileReading(context, async (warehouse) => {
    const [sent] = await queryReport<{ received: number }>(warehouse, 'received_events')
    return {
      received: sent?.received ?? 0,
      reasons: await queryReport<{ reason: string; events: number; last_at: Date }>(
        warehouse,
        'reject_reasons',
      ),
      rows: await queryReport<Reject>(warehouse, 'rejects', { limit }),
    }
  })
  const count = sum(reasons.map(({ events }) => events))
  const newest = `(the newest ${numberText(rows.length)} of ${numberText(count)}; more with --limit)`
  return {
    title:
      count === 0
        ? `no event was rejected: all ${countText(received, 'event')} received fit`
        : `${countText(count, 'event')} rejected of ${numberText(received)} received; the rest of their pages was loaded`,
    sections: [
      table('reasons', reasons, [
        ['events', 'events', 'number'],
        ['last (UTC)', 'last_at', 'instant'],
        ['reason', 'reason'],
      ]),
      table(
        null,
        rows,
        [
          ['received (UTC)', 'received_at', 'instant'],
          ['batch/page/place', ({ batch_id, page, position }) => `${batch_id}/${page}/${position}`],
          ['reason', 'reason'],
          ['event', 'event'],
        ],
        { notes: rows.length < count ? [newest] : [] },
      ),
    ],
    notes: count === 0 ? [] : ['whole events: --json'],
    values: { dataDir: context.directory.root, received, rejects: count },
    data: { rows: rows.map((row) => ({ ...row, event: jsonOrNull(row.event) ?? row.event })) },
  }
}
