/** Who is where, as shown by endpoints other than job changes: as seen by then. */

import { expect, it } from 'vitest'
import { ServedWorld, WorldBehind } from '../../src/simulator/endpoints/world.ts'
import { createWorld } from '../../src/simulator/world.ts'
import { DAY } from '../../src/support/units.ts'

const START = Date.UTC(2025, 0, 1)
const source = createWorld({
  seed: 3,
  organizations: 4,
  events: 300,
  startAt: START,
  endAt: START + 200 * DAY,
})
const headcounts = (behind: WorldBehind, at: number) =>
  new ServedWorld(behind, at).organizations().map(({ people }) => people)

it('the headcounts at 50 moments, in any order, equal those of a new world', () => {
  const behind = new WorldBehind(source)
  const counts = Array.from({ length: 50 }, (_, index) => {
    const at = START + ((index * 37) % 50) * 5 * DAY
    const shown = headcounts(behind, at)
    expect(shown).toEqual(headcounts(new WorldBehind(source), at))
    return shown.join()
  })
  expect(new Set(counts).size).toBeGreaterThan(20)
})
