/** The truth of a simulated world, to compare with conclusions from its events. */

import { isoInstant } from '../../src/support/clock.ts'
import type { Move, Role } from '../../src/simulator/careers.ts'
import {
  dealsOf,
  type DealKind,
  type MadeUpPerson,
  type Office,
} from '../../src/simulator/made-up.ts'
import { toldDate, livesOf, organizationsOf, type WorldOptions } from '../../src/simulator/world.ts'

/**
 * A role that a person held. Dates have the precision in which people give them, mostly the month; null if the role
 * began before the world or continues, or if the service never saw the change.
 */
export interface TrueRole {
  readonly profileId: string
  readonly organizationId: string
  readonly title: string
  /** Held alongside a main job: a seat on a board, a lecture. */
  readonly isSide: boolean
  /** Its office at the top, if any, and whether it was held until a successor came. */
  readonly office: Office | null
  readonly isInterim: boolean
  readonly from: string | null
  readonly until: string | null
}

/** From the last main job at one employer to the first at the next, after any time. */
export interface TrueMove {
  readonly profileId: string
  readonly from: string
  readonly to: string
  readonly leftAt: string
  readonly joinedAt: string
  /** The employer was bought, renamed or split. */
  readonly isTransfer: boolean
}

export interface TrueDeal {
  readonly kind: DealKind
  readonly from: string
  readonly to: string
  readonly at: string
}

export interface Truth {
  /** Every role that an event shows. Those with an office are the seats. */
  readonly roles: readonly TrueRole[]
  readonly moves: readonly TrueMove[]
  readonly deals: readonly TrueDeal[]
  /** Profiles of one person, with the same history. */
  readonly duplicates: readonly (readonly [string, string])[]
}

export function truthOf(options: WorldOptions): Truth {
  const ids = organizationsOf(options).map(({ tracked }) => tracked.organization_id)
  const id = (organization: number) => ids[organization] ?? ''
  const roles: TrueRole[] = []
  const moves: TrueMove[] = []
  const duplicates: [string, string][] = []
  for (const { profiles, history } of livesOf(options)) {
    for (const person of profiles) {
      roles.push(...history.roles.filter(isTold).map((role) => trueRole(person, role, id)))
      moves.push(...history.moves.map((move) => trueMove(person, move, id)))
    }
    const [first, second] = profiles
    if (second !== undefined) duplicates.push([first.profileId, second.profileId])
  }
  const deals = [...dealsOf(options).values()].map(({ kind, from, to, at }) => {
    return { kind, from: id(from), to: id(to), at: isoInstant(at) }
  })
  return { roles, moves, deals, duplicates }
}

type IdOf = (organization: number) => string

function isTold({ from, until }: Role): boolean {
  return from !== null || until !== null
}

function trueRole(person: MadeUpPerson, role: Role, id: IdOf): TrueRole {
  const { organization, title, isSide = false, office = null, isInterim = false } = role
  const { profileId } = person
  const [from, until] = [role.from, role.until].map((at) => told(person, at))
  const dates = { from: from ?? null, until: until ?? null }
  return { profileId, organizationId: id(organization), title, isSide, office, isInterim, ...dates }
}

function trueMove(person: MadeUpPerson, { from, to, isTransfer }: Move, id: IdOf): TrueMove {
  return {
    profileId: person.profileId,
    from: id(from.organization),
    to: id(to.organization),
    leftAt: told(person, from.until) ?? '',
    joinedAt: told(person, to.from) ?? '',
    isTransfer,
  }
}

function told({ givesDays }: MadeUpPerson, at: number | null): string | null {
  return at === null ? null : isoInstant(toldDate(at, givesDays))
}
