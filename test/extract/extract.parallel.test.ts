import { describe, expect, it } from 'vitest'
import type { Version } from './list-server.ts'
import { batchesOf } from './extract-fixture.ts'
import { listServer, nameOf, type ListAnswer } from './list-server.ts'
import { memoryRun } from './memory-run.ts'
import { DAY } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'

const ROUND_TRIP_MS = 200

function events(count: number, nowMs: number, organization = 'org_a', firstId = 0): Version[] {
  return Array.from({ length: count }, (_, i) => ({
    id: firstId + i,
    version: 0,
    organization,
    detectedAt: nowMs - 400 * DAY + i * 1_000,
    visibleAt: 0,
    goneAt: Infinity,
    lagDays: i % 97,
  }))
}

/** A batch of so many pages, on a service that answers after 200 ms. */
function aBatch(pages: number, distort?: (page: number, answer: ListAnswer) => ListAnswer) {
  const clock = virtualClock()
  const versions = events(pages * 50, clock.now())
  const latency = () => ROUND_TRIP_MS / 2
  const server = listServer({
    clock,
    versions,
    latency,
    ...(distort === undefined ? {} : { distort }),
  })
  const run = memoryRun(batchesOf(['org_a']), server, clock)
  return { clock, versions, server, run }
}

/** So many batches of one organisation and so many pages each. */
function severalBatches(count: number, pages: number) {
  const clock = virtualClock()
  const organizations = Array.from({ length: count }, (_, i) => `org_${i}`)
  const versions = organizations.flatMap((organization, i) =>
    events(pages * 50, clock.now(), organization, i * 10_000),
  )
  const server = listServer({ clock, versions, latency: () => ROUND_TRIP_MS / 2 })
  const batches = organizations.flatMap((id, i) =>
    batchesOf([id], { batch_id: `000${i}`, expected_pages: pages }),
  )
  return { run: memoryRun(batches, server, clock), server, clock }
}

describe('100 pages of 200 ms each', () => {
  it.each([1, 4])(
    'in one batch are read one after the other in 20.2 s, with %i workers',
    async (workers) => {
      const { clock, server, run, versions } = aBatch(100)
      const startMs = clock.now()
      await run.extract({ concurrency: workers })
      // One request more asks whether there are more pages than the service counts; it is free.
      expect(clock.now() - startMs).toBeLessThanOrEqual(101 * ROUND_TRIP_MS)
      expect(server.account).toMatchObject({ requests: 101, charged: 1_000 })
      expect(run.bought.size).toBe(versions.length)
      expect(run.history().creditsCommitted).toBe(1_000)
      expect(run.finished()).toMatchObject([{ pages: 100, events: 5_000 }])
    },
  )

  it('are begun no more once one worker was told so, also where another one hears of it late', async () => {
    const { run, clock } = severalBatches(4, 2)
    let asked = 0
    const mayBegin = async () => {
      asked += 1
      if (asked === 2) return false
      await clock.sleep(100)
      return true
    }
    await run.extract({ concurrency: 2, mayBegin })
    expect(run.finished()).toHaveLength(0)
    expect(asked).toBe(2)
  })

  it.each([
    { workers: 1, seconds: 20 },
    { workers: 2, seconds: 10 },
    { workers: 4, seconds: 5 },
  ])('in 4 batches are read in $seconds s with $workers workers', async ({ workers, seconds }) => {
    const { run, server, clock } = severalBatches(4, 25)
    const startMs = clock.now()
    await run.extract({ concurrency: workers })
    expect((clock.now() - startMs) / 1_000).toBeLessThanOrEqual(seconds)
    expect(server.account).toMatchObject({ requests: 100, charged: 1_000 })
  })
})

describe('a list of 100 pages that moves once while it is read', () => {
  /** What it costs when an event comes in, or leaves, after so many seconds. */
  async function creditsWhen(atSeconds: number, how: 'comes in' | 'leaves'): Promise<number> {
    const clock = virtualClock()
    const startMs = clock.now()
    const atMs = startMs + atSeconds * 1_000
    const moved: Version = {
      id: 99_999,
      version: 0,
      organization: 'org_a',
      detectedAt: how === 'leaves' ? atMs - 365 * DAY : atMs - 1_000,
      visibleAt: how === 'leaves' ? 0 : atMs,
      goneAt: Infinity,
      lagDays: 1,
    }
    const recent = events(5_000, startMs + 300 * DAY)
    const server = listServer({
      clock,
      versions: [...recent, moved],
      latency: () => ROUND_TRIP_MS / 2,
    })
    const run = memoryRun(batchesOf(['org_a'], { days_ago: 365 }), server, clock)
    await run.extract()
    expect(recent.filter((version) => !run.bought.has(nameOf(version)))).toEqual([])
    expect(run.history().creditsCommitted).toBe(server.account.charged)
    return server.account.charged
  }

  it.each([1, 4, 12])(
    'an event that comes in after %i s costs the page that it makes more',
    async (seconds) => {
      expect(await creditsWhen(seconds, 'comes in')).toBe(1_000 + 10)
    },
  )

  it.each([1.5, 4.5, 12.5])(
    'an event that leaves after %f s costs at most 10 pages more: what is read in two seconds',
    async (seconds) => {
      expect(await creditsWhen(seconds, 'leaves')).toBeLessThanOrEqual(1_010 + 100)
    },
  )
})

describe('a list of 30 pages into which many events come at once while it is read', () => {
  it.each([51, 60, 110, 160, 330])(
    '%i events: whenever they come, all 1,500 that were there are read',
    async (size) => {
      for (let afterMs = 500; afterMs < 3_000; afterMs += 340) {
        const clock = virtualClock()
        const visibleAt = clock.now() + afterMs
        const old = events(1_500, clock.now())
        const many = events(size, clock.now(), 'org_a', 50_000).map((event) => ({
          ...event,
          detectedAt: visibleAt - 1_000,
          visibleAt,
          lagDays: -1,
        }))
        let requests = 0
        const latency = () => 60 + ((requests++ * 37) % 80)
        const server = listServer({ clock, versions: [...old, ...many], latency })
        const run = memoryRun(batchesOf(['org_a']), server, clock)
        await run.extract()
        expect(old.filter((version) => !run.bought.has(nameOf(version)))).toEqual([])
      }
    },
  )
})

describe('several batches', () => {
  it('with 3 workers: 6 batches of 10 pages are 60 requests, page after page of three at a time', async () => {
    const { run, server } = severalBatches(6, 10)
    await run.extract({ concurrency: 3 })
    expect(server.account.charged).toBe(600)
    expect(server.account.pages.slice(0, 9)).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3])
  })

  it('with 300 credits for 6 batches of 10 pages: 3 are finished, not six begun', async () => {
    const { run } = severalBatches(6, 10)
    await expect(run.extract({ concurrency: 4, creditsLimit: 300 })).rejects.toThrow('300 credits')
    expect(run.finished().map(({ batch_id }) => batch_id)).toEqual(['0000', '0001', '0002'])
  })

  it('finishes first what an earlier attempt had begun', async () => {
    const { run } = severalBatches(6, 4)
    await run.extract({ concurrency: 1, creditsLimit: 60 }).catch(() => undefined)
    expect(run.finished()).toHaveLength(1)
    await run.extract({ concurrency: 1, creditsLimit: 80 }).catch(() => undefined)
    expect(run.finished().map(({ batch_id }) => batch_id)).toEqual(['0000', '0001'])
  })
})

describe('pages that were bought', () => {
  it.each([2, 5, 9, 17])('are kept when the process is killed after %i pages', async (after) => {
    const { run, server, versions } = aBatch(30)
    let killed = false
    const onProgress = ({ pages }: { pages: number }) => {
      if (pages < after || killed) return
      killed = true
      run.kill()
    }
    await expect(run.extract({ concurrency: 4, onProgress })).rejects.toThrow('killed')
    await run.extract({ concurrency: 4 })
    // Only what was on its way is bought again.
    expect(server.account.charged).toBeLessThanOrEqual(300 + 10)
    expect(run.history().creditsCommitted).toBeGreaterThanOrEqual(server.account.charged)
    expect(run.bought.size).toBe(versions.length)
  })
})

describe('a batch with more pages than the service counts', () => {
  const LAST = 10_000
  /** org_a has endless new events, the others three pages each. */
  function endless(organization: string, page: number): Version[] {
    return Array.from({ length: 50 }, (_, i) => ({
      id: page * 50 + i,
      version: 0,
      organization,
      detectedAt: 1_700_000_000_000,
      visibleAt: 0,
      goneAt: Infinity,
      lagDays: 0,
    }))
  }

  it('is split by organisation as soon as that is known, and what cannot be covered is said', async () => {
    const clock = virtualClock()
    const versions = ['org_b', 'org_c', 'org_d'].flatMap((organization, i) =>
      events(150, clock.now(), organization, 900_000 + i * 1_000),
    )
    const server = listServer({
      clock,
      versions,
      latency: () => 10,
      distort: (page, answer, organizations) =>
        organizations.has('org_a')
          ? { data: endless('org_a', page), page, hasMore: page <= LAST }
          : answer,
    })
    const batches = batchesOf(['org_a', 'org_b', 'org_c', 'org_d'])
    const run = memoryRun(batches, server, clock)
    const report = await run.extract()
    expect(report.quarantined).toMatchObject([
      {
        organization: { value: 'org_a' },
        reason: 'more than 10000 pages: not coverable in this window',
      },
    ])
    expect(Math.max(...server.account.pages)).toBe(LAST)
    const finished = run.finished().map(({ batch_id }) => batch_id)
    expect(finished.toSorted()).toEqual(['0001.1.2', '0001.2'])
    expect(versions.filter((version) => !run.bought.has(nameOf(version)))).toEqual([])
    // Found out with the help of pages that are free when they are not there, not after 10,000 pages.
    expect(server.account.charged / 10).toBeLessThanOrEqual(210)
    expect(run.history().creditsCommitted).toBe(server.account.charged)
  })
})
