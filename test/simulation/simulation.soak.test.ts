/**
 * Nights made up from a seed: events come, change and go while pages are read, the service fails, processes are killed,
 * the power fails, the disk is full. The invariants hold after every run, and the result equals the truth after a quiet
 * night. `JOBTIDE_SEED=n` runs one seed; when it fails, it shows all its steps.
 */

import { describe, expect, it } from 'vitest'
import { messageOf } from '../../src/support/errors.ts'
import { DAY } from '../../src/support/units.ts'
import { rounds } from '../helpers/tier.ts'
import { useVolatileDisk } from '../helpers/volatile-disk.ts'
import { expectSameEverywhere, expectWholeSnapshot } from './after-journal.ts'
import { Invariants, expectTruth } from './invariants.ts'
import { simulationOf, type Simulation } from './simulation.ts'
import { quietJob, type Attempt } from './world.ts'

const SEEDS = rounds('JOBTIDE_SEEDS', 16, 2_000)
const ONLY = process.env['JOBTIDE_SEED']
// The engine takes a hundred times as long as the rest.
const WITH_ENGINE = 25
const STEPS_SHOWN = 30

const disk = useVolatileDisk()

/** Runs a seed. @throws an error with the seed and the last steps */
async function simulate(seed: number): Promise<Simulation> {
  const simulation = simulationOf(seed, seed % WITH_ENGINE === 0, disk)
  try {
    await live(simulation)
    return simulation
  } catch (error) {
    const steps = simulation.steps.slice(ONLY === undefined ? -STEPS_SHOWN : 0).join('\n')
    throw new Error(`JOBTIDE_SEED=${seed}: ${messageOf(error)}\n${steps}\n`, { cause: error })
  } finally {
    simulation.end()
  }
}

async function live(simulation: Simulation): Promise<void> {
  const { plan, clock, service, isDeep, count } = simulation
  const invariants = new Invariants(simulation)
  const run = async (attempt: Attempt) => {
    const sentBefore = service.account.length
    const ended = await simulation.attempt(attempt)
    if (isDeep) await expectWholeSnapshot(simulation)
    return { ended, held: invariants.check(attempt, ended, sentBefore) }
  }
  for (const attempt of plan.attempts) await run(attempt)

  service.calm()
  const job = quietJob(plan)
  const quietNight = async (isWhole: boolean) => {
    const fate = { kind: 'none', when: 'disk', at: 0 } as const
    const night = await run({ at: clock.now(), job, fate, isWhole })
    const { error, report } = night.ended
    const failure = error ?? report?.endedEarly ?? report?.stageFailure ?? null
    if (failure !== null) throw failure
    return night
  }
  // The first night finishes batches begun before, which are covered only up to their start.
  await clock.advance(DAY)
  await quietNight(false)
  await clock.advance(DAY)
  const beganAt = service.now()
  const { held } = await quietNight(isDeep)
  const truth = expectTruth(simulation, held, beganAt)
  if (isDeep) await expectSameEverywhere(simulation, held, truth)

  const again = await quietNight(false)
  expect(again.held.bought, 'a second run finds nothing else').toEqual(held.bought)
  count('pages', again.held.pages.length)
  count('credits', service.charged())
  count('requests whose note a power cut took', service.account.length - again.held.sent)
}

describe('nights made up from a seed', () => {
  it('are the same to the last step for the same seed', async () => {
    for (const seed of [1, 2]) {
      const [once, again] = [await simulate(seed), await simulate(seed)]
      expect(again.steps).toEqual(once.steps)
      expect(again.counts).toEqual(once.counts)
    }
  })

  it(`lose nothing, leave no charge unrecorded and claim nothing false, over ${SEEDS} seeds`, async () => {
    const seeds =
      ONLY === undefined ? Array.from({ length: SEEDS }, (_, n) => n + 1) : [Number(ONLY)]
    const totals = new Map<string, number>()
    const failures: string[] = []
    const beganAt = performance.now()
    for (const seed of seeds) {
      try {
        const { counts } = await simulate(seed)
        for (const [what, number] of counts) totals.set(what, (totals.get(what) ?? 0) + number)
      } catch (error) {
        failures.push(messageOf(error))
      }
    }
    const perSecond = (1_000 * seeds.length) / (performance.now() - beganAt)
    const counted = [...totals].map(([what, number]) => `${what} ${number}`).toSorted()
    process.stdout.write(
      `${seeds.length} seeds, ${perSecond.toFixed(1)}/s: ${counted.join(', ')}\n`,
    )
    expect(failures.join('\n')).toBe('')
    if (ONLY !== undefined) return
    expect(totals.get('kills')).toBeGreaterThan(SEEDS / 4)
    expect(totals.get('pages')).toBeGreaterThan(SEEDS)
  }, 7_200_000)
})
