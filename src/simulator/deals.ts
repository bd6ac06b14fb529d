/**
 * Deals: an organisation is bought by another, gets a new name and id, or splits off a part as a new organisation.
 * Its people leave the one and join the other on the same day, without having changed jobs.
 */

import { makeUpSuccessor, type MadeUpOrganization } from './made-up.ts'
import { mixSeeds, pick, seededRandom } from './random.ts'

export type DealKind = 'acquisition' | 'rename' | 'spin_off'

export interface Deal {
  readonly kind: DealKind
  readonly from: number
  readonly to: number
  readonly at: number
  /** Share of the people who go along. */
  readonly share: number
}

// One organisation in so many is bought; of a pair of neighbours the second is the new id of the first, or a part of it.
const PLACES = {
  acquisition: { every: 20, at: 8, share: 0.85 },
  rename: { every: 30, at: 12, share: 1 },
  spin_off: { every: 30, at: 25, share: 0.3 },
} as const

// Those that are bought are small, and large enough to be noticed.
const FEWEST = 100
const MOST = 400

function kindOf(number: number): DealKind | undefined {
  const kinds = Object.keys(PLACES) as DealKind[]
  return kinds.find((kind) => number % PLACES[kind].every === PLACES[kind].at)
}

/** The same organisations, those of deals with the names and sizes that the deals ask for. */
export function withDeals(
  seed: number,
  organizations: readonly MadeUpOrganization[],
): MadeUpOrganization[] {
  return organizations.map((organization, number) => {
    const size = Math.min(MOST, Math.max(FEWEST, organization.size))
    const kind = kindOf(number)
    if (kind === 'acquisition') return { ...organization, size }
    const before = organizations[number - 1]
    if (kind !== undefined && before !== undefined) {
      const random = seededRandom(mixSeeds(seed, number, 6))
      // It has no people before the deal.
      return { ...makeUpSuccessor(random, organization, before, kind), size: 0 }
    }
    const next = kindOf(number + 1)
    if (next === 'rename') return { ...organization, size }
    return next === 'spin_off' ? { ...organization, size: MOST } : organization
  })
}

/** The deals of a world, by the organisation whose people go; an organisation has one at most. */
export function dealsOf(
  options: Readonly<Record<'seed' | 'organizations' | 'startAt' | 'endAt', number>>,
): ReadonlyMap<number, Deal> {
  const { seed, organizations, startAt, endAt } = options
  const numbers = Array.from({ length: organizations }, (_, number) => number)
  const buyers = numbers.filter((number) => ![number, number + 1].some(kindOf))
  const deals = numbers.flatMap((number): Deal[] => {
    const kind = kindOf(number)
    if (kind === undefined) return []
    const random = seededRandom(mixSeeds(seed, number, 7))
    const at = startAt + (0.25 + 0.6 * random()) * (endAt - startAt)
    const { share } = PLACES[kind]
    if (kind === 'acquisition') return [{ kind, from: number, to: pick(random, buyers), at, share }]
    return [{ kind, from: number - 1, to: number, at, share }]
  })
  return new Map(deals.map((deal) => [deal.from, deal]))
}

/** When an organisation is gone; never for one that only splits. */
export function closingOf(deal: Deal | undefined): number {
  return deal === undefined || deal.kind === 'spin_off' ? Infinity : deal.at
}
