/**
 * A simulated world of organisations with deals, and with ordinary moves that only look like deals. Everything follows
 * from a seed.
 */

import { pick, seededRandom, type Random } from '../../src/simulator/random.ts'
import { DAY } from '../../src/support/units.ts'
import type { GivenEvent } from '../helpers/warehouse.ts'
import { between } from './careers-world.ts'

export interface DealsWorld {
  readonly events: GivenEvent[]
  /** Pairs of organisations, as `from > to`. */
  readonly ordinary: string[]
  readonly deals: Record<'acquisition' | 'rename' | 'spin-off', string[]>
}

const START = Date.UTC(2012, 0, 1)

/** @param groups how many groups of people who only happen to move to one firm, and a fifth as many deals of each kind */
export function dealsWorld(seed: number, groups: number): DealsWorld {
  const random = seededRandom(seed)
  const events: GivenEvent[] = []
  const world: DealsWorld = {
    events,
    ordinary: [],
    deals: { acquisition: [], rename: [], 'spin-off': [] },
  }
  const large = Array.from({ length: 12 }, (_, nth) => `Large ${WORDS[nth]}`)
  for (const name of large) staff(events, random, name, between(random, 90, 200))
  for (let nth = 0; nth < groups; nth += 1) {
    const from = `Firm ${nth} ${WORDS[nth % WORDS.length]}`
    const size = between(random, 14, 80)
    const movers = between(random, 3, Math.max(4, Math.min(9, size / 5)))
    const to = random() < 0.8 ? pick(random, large) : `Young ${nth} Works`
    if (to.startsWith('Young')) staff(events, random, to, between(random, 2, 12))
    staff(events, random, from, size - movers)
    const begin = aDay(random)
    const length = between(random, 30, 140)
    // Most join on their own day; many begin on the first of a month, and are known to the month.
    const days = Array.from({ length: movers }, () => begin + between(random, 0, length) * DAY)
    move(events, random, from, to, days)
    world.ordinary.push(`${from} > ${to}`)
  }
  for (let nth = 0; nth < groups / 5; nth += 1) {
    world.deals.acquisition.push(acquisition(events, random, nth, pick(random, large)))
    world.deals.rename.push(rename(events, random, nth))
    world.deals['spin-off'].push(spinOff(events, random, nth))
  }
  return world
}

/** All but a few people of a firm join the one that bought it, on one day or as each person dates it. */
function acquisition(events: GivenEvent[], random: Random, nth: number, to: string): string {
  const from = `Bought ${nth} ${WORDS[nth % WORDS.length]}`
  const size = between(random, 5, 40)
  const movers = Math.ceil(size * (0.7 + random() * 0.3))
  staff(events, random, from, size - movers)
  const day = aDay(random)
  const isOneDay = random() < 0.5
  const days = Array.from({ length: movers }, () =>
    isOneDay && random() < 0.9 ? day : day + between(random, 0, 60) * DAY,
  )
  move(events, random, from, to, days)
  return `${from} > ${to}`
}

function rename(events: GivenEvent[], random: Random, nth: number): string {
  const from = `Old ${nth} ${WORDS[nth % WORDS.length]}`
  const to = random() < 0.5 ? `${from} Group` : `New ${WORDS[(nth + 7) % WORDS.length]} ${nth}`
  const day = aDay(random)
  const movers = between(random, 5, 60)
  move(
    events,
    random,
    from,
    to,
    Array.from({ length: movers }, () => day + between(random, 0, 20) * DAY),
  )
  return `${from} > ${to}`
}

/** A part of a large firm that begins as a new firm on one day. */
function spinOff(events: GivenEvent[], random: Random, nth: number): string {
  const from = `Parent ${nth} ${WORDS[nth % WORDS.length]}`
  const to = `Part ${WORDS[(nth + 3) % WORDS.length]} ${nth}`
  const size = between(random, 40, 120)
  const movers = between(random, 6, Math.ceil(size / 3))
  staff(events, random, from, size - movers)
  const day = aDay(random)
  const days = Array.from({ length: movers }, () =>
    random() < 0.8 ? day : day + between(random, 0, 40) * DAY,
  )
  move(events, random, from, to, days)
  return `${from} > ${to}`
}

let next = 0

/** People who stay, or leave at some time. */
function staff(events: GivenEvent[], random: Random, name: string, size: number): void {
  for (let nth = 0; nth < size; nth += 1) {
    next += 1
    const from = START + between(random, 0, 2500) * DAY
    add(events, `staff ${next}`, name, 'joined', from, random() < 0.6)
    if (random() < 0.35)
      add(events, `staff ${next}`, name, 'left', from + between(random, 300, 1500) * DAY, true)
  }
}

function move(
  events: GivenEvent[],
  random: Random,
  from: string,
  to: string,
  days: readonly number[],
): void {
  const isMonthly = random() < 0.5
  for (const day of days) {
    next += 1
    const person = `mover ${next}`
    const isMonth = isMonthly ? random() < 0.9 : random() < 0.1
    add(events, person, from, 'joined', day - between(random, 300, 2000) * DAY, true)
    add(events, person, from, 'left', day - between(random, 0, 8) * DAY, isMonth)
    add(events, person, to, 'joined', day, isMonth)
  }
}

function add(
  events: GivenEvent[],
  person: string,
  organization: string,
  type: string,
  at: number,
  isMonth: boolean,
): void {
  const date = new Date(at)
  const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
  events.push({
    profile_id: person,
    person_full_name: person,
    organization_id: organization,
    organization_name: organization,
    event_type: type,
    changed_at: new Date(isMonth ? month : at).toISOString(),
    detected_at: new Date(at + 20 * DAY).toISOString(),
    title_current: 'Engineer',
  })
}

function aDay(random: Random): number {
  return Date.UTC(2019, 0, 2) + between(random, 0, 1500) * DAY
}

const WORDS = [
  'Harbour',
  'Maple',
  'Quartz',
  'Falcon',
  'Indigo',
  'Juniper',
  'Lantern',
  'Meridian',
  'Nimbus',
  'Orchard',
  'Pinnacle',
  'Riverside',
  'Saffron',
  'Tundra',
  'Umbrella',
  'Vertex',
  'Willow',
  'Zephyr',
] as const
