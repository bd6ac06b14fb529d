/**
 * A month of nights against the service, with two missed and one that stopped half-way: what is covered afterwards, and
 * what it cost beside what each organisation needed.
 */

import { describe, expect, it } from 'vitest'
import { payloadOf } from '../../src/journal/history.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import type { BatchRecord } from '../../src/journal/records.ts'
import { coverageOf } from '../../src/plan/window.ts'
import type { RunProgress } from '../../src/run/stages.ts'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { createWorld, worldSightings } from '../../src/simulator/world.ts'
import { EXIT, JobtideError } from '../../src/support/errors.ts'
import { DAY, HOUR, MINUTE } from '../../src/support/units.ts'
import { NOW, simulate } from '../simulator/simulator-fixture.ts'
import { jobOver, nightsOf } from './nights-fixture.ts'

const NIGHTS = 31
const MISSED: readonly number[] = [9, 10]
const HALF_FINISHED = 20
const OVERLAP_HOURS = 6
const world = {
  seed: 11,
  organizations: 230,
  events: 14_000,
  startAt: NOW - 730 * DAY,
  endAt: NOW + 40 * DAY,
}

/** Batches that were read to their end, with the pages that were paid for them and when. */
function batchesRead(journal: Journal) {
  const paid = new Map<string, number>()
  const read: { batch: BatchRecord; at: number; coveredTo: number; pages: number }[] = []
  for (const segment of journal.segments()) {
    for (const frame of journal.read(segment)) {
      const { record } = frame
      if (record.kind === 'page_received' && record.events > 0) {
        const key = `${record.run_id} ${record.batch_id}`
        paid.set(key, (paid.get(key) ?? 0) + 1)
      }
      if (record.kind !== 'batch_finished') continue
      const batch = payloadOf<BatchRecord>(frame)
      const pages = paid.get(`${record.run_id} ${record.batch_id}`) ?? 0
      read.push({ batch, at: record.at, coveredTo: record.covered_to, pages })
    }
  }
  return read
}

/** How many pages the events fill that each organisation of a batch needs: since it was covered, and the overlap. */
function pagesNeeded(
  batch: BatchRecord,
  at: number,
  edges: ReadonlyMap<string, number>,
  eventsOf: ReadonlyMap<string, readonly JobChangeEvent[]>,
): number {
  const events = batch.organizations.flatMap(({ value }) => {
    const edge = edges.get(value)
    const since = edge === undefined ? 365 * DAY : at - edge + OVERLAP_HOURS * HOUR
    const from = at - Math.ceil(since / DAY) * DAY
    return (eventsOf.get(value) ?? []).filter(({ detected_at: detectedAt }) => {
      const time = Date.parse(detectedAt)
      return time >= from && time <= at
    })
  })
  return Math.ceil(events.length / 50)
}

function groupByOrganization(events: readonly JobChangeEvent[]): Map<string, JobChangeEvent[]> {
  const groups = new Map<string, JobChangeEvent[]>()
  for (const event of events) {
    const id = event.organization.organization_id
    groups.set(id, [...(groups.get(id) ?? []), event])
  }
  return groups
}

describe('a month of nights with two missed and one half-finished', () => {
  it('leaves no gap, loses no event, and pays 0 credits beyond what each organisation needed', async () => {
    const simulator = await simulate(createWorld(world))
    const { clock } = simulator
    const names = simulator.organizations().map(({ organization_id: id }) => id)
    const events = [...worldSightings(world)].map(({ event }) => event)
    const eventsOf = groupByOrganization(events)
    const job = jobOver(names, { overlapHours: OVERLAP_HOURS })
    const nights = nightsOf(simulator, job)
    const { journal } = nights

    for (let number = 0; number < NIGHTS; number += 1) {
      if (MISSED.includes(number)) continue
      const at = NOW + number * DAY + (number % 3) * MINUTE
      if (number !== HALF_FINISHED) {
        await nights.night(at)
        continue
      }
      const stop = new AbortController()
      const onProgress = (step: RunProgress) => {
        if (step.stage !== 'extract' || step.batchesDone < 2) return
        stop.abort(new JobtideError(EXIT.terminated, 'stopped'))
      }
      await expect(nights.night(at, { stop: stop.signal, onProgress })).rejects.toThrow('stopped')
    }

    const history = readHistory(journal)
    for (const name of names) {
      for (const type of job.question.eventTypes) {
        const intervals = coverageOf(type, history.coverage.get(name) ?? [])
        expect(intervals, name).toHaveLength(1)
        expect(intervals[0]?.from).toBeLessThan(NOW - 365 * DAY + MINUTE)
        expect(intervals[0]?.to).toBe(clock.nowMs)
      }
    }

    let paid = 0
    let needed = 0
    const edges = new Map<string, number>()
    for (const { batch, at, coveredTo, pages } of batchesRead(journal)) {
      paid += pages
      needed += pagesNeeded(batch, at, edges, eventsOf)
      for (const { value } of batch.organizations) edges.set(value, coveredTo)
    }
    const { credits } = simulator.account()
    process.stdout.write(`a month of nights: ${paid} pages paid, ${needed} needed\n`)
    expect(credits).toBe(paid * 10)
    expect(paid).toBe(needed)
    expect(history.spending.size).toBe(NIGHTS - MISSED.length)
  })
})
