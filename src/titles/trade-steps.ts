/** Steps between jobs of one trade that levels do not tell apart: a registered nurse who becomes a nurse practitioner. */

import type { Job } from './core.ts'
import { stepsOfTrades } from './roles.ts'
import { readWork } from './work.ts'
import { splitTitle } from './words.ts'

/** For each trade, where on its steps a job stands. */
const trades: readonly ReadonlyMap<string, number>[] = stepsOfTrades.map(
  (jobs) => new Map(jobs.map((title, step) => [nameOf(readWork(splitTitle(title)).job), step])),
)

/** How many steps of their trade `after` stands above `before`; null where no trade holds both. */
export function stepsUp(before: Job, after: Job): number | null {
  const from = nameOf(before)
  const to = nameOf(after)
  for (const steps of trades) {
    const low = steps.get(from)
    const high = steps.get(to)
    if (low !== undefined && high !== undefined) return high - low
  }
  return null
}

function nameOf({ words }: Job): string {
  return words.join(' ')
}
