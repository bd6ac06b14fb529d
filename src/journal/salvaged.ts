/** Organisations in a journal that 0.11 or 0.12 made of a warehouse (`salvage`). Pure. */

import { DAY } from '../support/units.ts'
import { addInterval, type CoveredInterval } from './coverage.ts'
import type { SalvagedOrganization } from './records.ts'
import { RATE_DAYS, addSightings, type Sightings } from './sightings.ts'

/** The parts of a history that say what was read of organisations. */
interface Known {
  readonly coverage: Map<string, CoveredInterval[]>
  readonly asked: Map<string, { readonly first: number; readonly last: number }>
  readonly seen: Map<string, Sightings>
}

export function addSalvaged(
  { coverage, asked, seen }: Known,
  organizations: readonly SalvagedOrganization[],
): void {
  for (const { name, first_asked: first, last_asked: last, covered } of organizations) {
    asked.set(name, { first, last })
    for (const { event_types: eventTypes, from, to } of covered) {
      const interval = { eventTypes, from, to }
      coverage.set(name, addInterval(coverage.get(name) ?? [], interval))
      // How often it was asked for the same days is not known: once.
      const days = from === null ? RATE_DAYS : Math.min(RATE_DAYS, Math.ceil((to - from) / DAY))
      const looked = { total: 0, lastAt: 0, events: 0, days, at: last }
      seen.set(name, addSightings(seen.get(name), looked))
    }
  }
}
