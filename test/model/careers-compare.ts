/** Stints and moves as lines of text, from the definition (careers-reference.ts) and from the warehouse. */

import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { expectedMoves, expectedStints, isPrimary, keyOf } from './careers-reference.ts'
import type { GivenEvent } from './insert-events.ts'

/** Every stint and move as one line of text, sorted, as the definition has them. */
export function careersOf(events: readonly GivenEvent[]): { stints: string[]; moves: string[] } {
  const stints = expectedStints(events)
  const line = (...values: readonly unknown[]) => values.map(String).join(' | ')
  const key = (event: GivenEvent | null) => (event === null ? null : keyOf(event))
  return {
    stints: stints
      .map((stint) =>
        line(
          stint.person,
          stint.organization,
          stint.number,
          key(stint.arrival),
          key(stint.departure),
          stint.events.length,
          stint.interruptions,
          isPrimary(stint),
        ),
      )
      .toSorted(),
    moves: expectedMoves(stints)
      .map(({ departed, arrived, gapDays }) =>
        line(
          key(departed.departure),
          key(arrived.arrival),
          departed.organization,
          departed.number,
          arrived.organization,
          arrived.number,
          gapDays,
          gapDays <= 31,
        ),
      )
      .toSorted(),
  }
}

/** The same from the warehouse. */
export async function careersIn(
  warehouse: Warehouse,
): Promise<{ stints: string[]; moves: string[] }> {
  const lines = async (table: string, columns: readonly string[]) => {
    const rows = await warehouse.all<Record<string, unknown>>(
      `select ${columns.join(', ')} from ${table}`,
    )
    return rows.map((row) => columns.map((column) => String(row[column])).join(' | ')).toSorted()
  }
  return {
    stints: await lines('stints', [
      'profile_id',
      'organization_id',
      'stint_number',
      'joined_event_key',
      'left_event_key',
      'events',
      'interruptions',
      'is_primary',
    ]),
    moves: await lines('moves', [
      'left_event_key',
      'joined_event_key',
      'from_organization_id',
      'from_stint_number',
      'to_organization_id',
      'to_stint_number',
      'gap_days',
      'is_direct',
    ]),
  }
}
