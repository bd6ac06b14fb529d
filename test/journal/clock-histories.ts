/** Random histories of clocks, and what holds in all of them: a few in every test run, many in the soak tier. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/support/units.ts'
import { ClockWorld, type NightPage, type Passing } from './clock-world.ts'

const RIGHT: readonly NightPage[] = [{ lie: 0 }]

const anyStep = fc.oneof(
  fc.integer({ min: -40 * DAY, max: 40 * DAY }),
  fc.constantFrom(400 * DAY, -400 * DAY, HOUR, -HOUR, 3_650 * DAY),
)

/** What happens to clocks before a night: one clock jumps, or a Date is wrong on all pages or on one. */
const trouble = fc.oneof(
  fc.constant({ kind: 'none' as const, ms: 0 }),
  fc.record({ kind: fc.constantFrom('service', 'ours', 'ours-right', 'lie', 'lies'), ms: anyStep }),
)
const nights = fc.array(
  fc.record({
    passed: fc.integer({ min: 4 * HOUR, max: 6 * DAY }),
    trouble,
    pages: fc.integer({ min: 1, max: 4 }),
    liar: fc.nat(3),
  }),
  { minLength: 1, maxLength: 12 },
)

// Our clock was set back by 10 hours, and then a Date is wrong by 11: only the remembered time of the service is right.
const lieUnderASlowClock = [
  { passed: 4 * HOUR, trouble: { kind: 'ours' as const, ms: -36_003_001 }, pages: 1, liar: 0 },
  { passed: 4 * HOUR, trouble: { kind: 'lies' as const, ms: -39_603_002 }, pages: 1, liar: 0 },
  { passed: 439_197_001, trouble: { kind: 'none' as const, ms: 0 as const }, pages: 1, liar: 0 },
]

/** Declares the properties, each with this many histories and `timeoutMs`. */
export function clockHistories(numRuns: number, timeoutMs: number): void {
  const property = <T>(what: string, any: fc.Arbitrary<T>, holds: (of: T) => void, known?: T) =>
    it(
      `${what}: ${numRuns} histories`,
      () => {
        const examples = known === undefined ? [] : [[known] as [T]]
        fc.assert(fc.property(any, holds), { numRuns, examples })
      },
      timeoutMs,
    )

  describe('nights under clocks that go wrong miss no event', () => {
    property('of steps, jumps and lies of one clock', nights, oneLiar, lieUnderASlowClock)
    property(
      'whose clocks are ahead together for a while, and right again before that time comes',
      episodes,
      aheadForAWhile,
    )
    property(
      'of a virtual machine that is frozen between two pages, and whose clock is set in the morning',
      frozenNights,
      frozenBetweenPages,
    )
  })
}

/** Clocks that are all ahead by `days`, for `nights` nights, each a fraction of that after the previous one. */
const episodes = fc.array(
  fc.record({
    days: fc.integer({ min: 2, max: 60 }),
    nights: fc.integer({ min: 1, max: 4 }),
    says: fc.constantFrom('nothing', 'ours'),
    rest: fc.integer({ min: 1, max: 20 }),
  }),
  { minLength: 1, maxLength: 4 },
)

function aheadForAWhile(history: readonly EpisodeOf<typeof episodes>[]): void {
  const world = new ClockWorld()
  world.pass(DAY)
  world.night(RIGHT)
  for (const { days, nights: count, says, rest } of history) {
    world.pass(rest * DAY)
    world.night(RIGHT)
    const step = (days * DAY) / (count + 2)
    world.oursAhead = days * DAY
    for (let night = 0; night < count; night += 1) {
      world.pass(step)
      world.night([{ lie: says === 'ours' ? days * DAY : null }])
    }
    world.oursAhead = 0
    world.pass(step)
    world.night(RIGHT)
    world.pass(DAY)
    world.night(RIGHT)
    expect([world.claimed(), world.missed()]).toEqual([0, 0])
  }
}

const frozenNights = fc.array(
  fc.record({
    passed: fc.integer({ min: HOUR, max: 6 * DAY }),
    pages: fc.array(
      fc.record({
        ms: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * DAY })),
        how: fc.constantFrom<Passing>('awake', 'asleep', 'frozen'),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  }),
  { minLength: 1, maxLength: 6 },
)

function frozenBetweenPages(history: readonly EpisodeOf<typeof frozenNights>[]): void {
  const world = new ClockWorld()
  world.pass(20 * DAY)
  world.night(RIGHT)
  const start = world.time - 3 * DAY + MINUTE
  for (const { passed, pages } of history) {
    world.oursAhead = 0
    world.pass(passed)
    world.night(pages.map((after) => ({ lie: 0, after })))
    expect(world.claimed(start)).toBe(0)
  }
  world.oursAhead = 0
  world.pass(DAY)
  world.night(RIGHT)
  expect(world.missed(start)).toBe(0)
}

type EpisodeOf<A> = A extends fc.Arbitrary<readonly (infer T)[]> ? T : never

function oneLiar(history: readonly EpisodeOf<typeof nights>[]): void {
  const world = new ClockWorld()
  world.pass(DAY)
  world.night(RIGHT)
  let liedBefore = false
  // Only our clock shows that a time came twice at the service, so our clock must be right.
  let wentBack = false
  let oursMoved = false
  for (const { passed, trouble: what, pages, liar } of history) {
    const half = Math.floor(passed / 2)
    world.pass(half)
    const isStep: boolean = !wentBack && (what.ms > 0 || !oursMoved)
    if (what.kind === 'service' && isStep) world.serviceAhead += what.ms
    if (what.kind === 'ours' && !wentBack) world.oursAhead += what.ms
    if (what.kind === 'ours-right' && !wentBack) world.oursAhead = world.serviceAhead
    wentBack ||= what.kind === 'service' && isStep && what.ms < 0
    oursMoved ||= what.kind === 'ours'
    world.pass(passed - half)
    // Nor can a wrong Date be detected if it equals the time of our wrong clock.
    const isTold = Math.abs(what.ms + world.serviceAhead - world.oursAhead) > HOUR
    const isLie: boolean = ['lie', 'lies'].includes(what.kind) && isTold && !liedBefore
    const lies = Array.from({ length: pages }, (__, page) => ({
      lie: isLie && (what.kind === 'lies' || page === liar % pages) ? what.ms : 0,
    }))
    world.night(lies)
    // A jump of one clock shows only once the other side is asked: the next night continues from there.
    if (what.kind === 'none' || isLie) expect(world.missed()).toBe(0)
    liedBefore = isLie
  }
  world.pass(DAY)
  world.night(RIGHT)
  expect(world.missed()).toBe(0)
}
