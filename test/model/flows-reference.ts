/** A second implementation of flows by year without SQL, which counts each leaving. */

import { expect } from 'vitest'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'

/** Compares talent_flows_yearly with the reference; returns the number of rows. */
export async function expectFlowsByYear(warehouse: Warehouse): Promise<number> {
  const leavings = await warehouse.all<{
    year: string
    source: string
    target: string | null
    person: string
  }>(
    `select cast(left_on as text)[:4] as year, organization_id as source, went_to_organization_id as target, profile_id as person
     from leavers where is_primary and not is_transfer`,
  )
  const moves = leavings.filter(({ target }) => target !== null)
  const flows = new Map(
    moves.map((one) => [`${one.source}|${one.target}|${one.year}`, one] as const),
  )
  const rows = await warehouse.all<Record<string, unknown>>(
    `select concat_ws('|', from_organization_id, to_organization_id, year) as flow, people, moves, leavers, known_leavers,
       known_share, share_of_known, share_of_leavers, expected_moves, lift from talent_flows_yearly`,
  )
  const found = new Map(rows.map((row) => [row['flow'], row]))
  expect(found.size).toBe(flows.size)
  for (const [flow, { source, target, year }] of flows) {
    const ofYear = moves.filter((one) => one.year === year)
    const known = ofYear.filter((one) => one.source === source)
    const own = known.filter((one) => one.target === target)
    const left = leavings.filter((one) => one.year === year && one.source === source).length
    // How many of the known leavers would have gone there if they had moved like all leavers of the year.
    const expected =
      (known.length * ofYear.filter((one) => one.target === target).length) / ofYear.length
    expect(found.get(flow)).toEqual({
      flow,
      people: new Set(own.map(({ person }) => person)).size,
      moves: own.length,
      leavers: left,
      known_leavers: known.length,
      known_share: known.length / left,
      share_of_known: own.length / known.length,
      share_of_leavers: own.length / left,
      expected_moves: expect.closeTo(expected, 9) as number,
      lift: expect.closeTo(own.length / expected, 6) as number,
    })
  }
  return flows.size
}
