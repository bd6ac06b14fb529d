import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BudgetReachedError } from '../../src/extract/budget.ts'
import type { Transport } from '../../src/api/transport.ts'
import type { BatchRecord } from '../../src/journal/records.ts'
import { DAY, HOUR, MINUTE } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { batchesOf } from './extract-fixture.ts'
import { listServer, nameOf, type Version } from './list-server.ts'
import { memoryRun } from './memory-run.ts'

/** Organisations with so many events each. */
function organizationsWith(counts: readonly number[], nowMs: number): Version[] {
  return counts.flatMap((count, organization) =>
    Array.from({ length: count }, (_, i) => ({
      id: organization * 1_000_000 + i,
      version: 0,
      organization: `org_${organization}`,
      detectedAt: nowMs - 100 * DAY - i * 1_000,
      visibleAt: 0,
      goneAt: Infinity,
      lagDays: i % 90,
    })),
  )
}

function aWorld(counts: readonly number[]) {
  const clock = virtualClock()
  const versions = organizationsWith(counts, clock.now())
  const server = listServer({ clock, versions, latency: () => 20 })
  const batches: BatchRecord[] = counts.flatMap((_, i) =>
    batchesOf([`org_${i}`], { batch_id: String(i).padStart(4, '0') }),
  )
  return { server, run: memoryRun(batches, server, clock), clock }
}

const pagesOf = (events: number) => Math.ceil(events / 50)

describe('a quote', () => {
  it('of 1,000 random batches is exact, and wastes 0 credits: the run then buys exactly the rest', async () => {
    const count = fc.oneof(
      fc.integer({ min: 0, max: 120 }),
      fc.integer({ min: 0, max: 450 }),
      fc.integer({ min: 0, max: 9 }).map((pages) => pages * 50),
    )
    const worlds = fc.tuple(
      fc.array(count, { minLength: 5, maxLength: 5 }),
      fc.integer({ min: 1, max: 6 }),
    )
    await fc.assert(
      fc.asyncProperty(worlds, async ([counts, concurrency]) => {
        const { server, run } = aWorld(counts)
        const pages = counts.reduce((sum, events) => sum + pagesOf(events), 0)
        const { batches, ...sum } = await run.quote({ concurrency })
        expect(sum).toMatchObject({ pages, credits: pages * 10 - server.account.charged })
        expect(sum.bought * 10).toBe(server.account.charged)
        expect(batches).toHaveLength(5)
        expect(run.history().creditsCommitted).toBe(server.account.charged)
        const again = await run.quote({ concurrency })
        expect(again.credits).toBe(sum.credits)

        // The quoted credits are enough, to the credit.
        await run.extract({ concurrency, creditsLimit: pages * 10 })
        expect(server.account.charged).toBe(pages * 10)
        expect(run.history().creditsCommitted).toBe(pages * 10)
        expect(run.bought.size).toBe(counts.reduce((a, b) => a + b, 0))
        expect(run.finished()).toHaveLength(5)
      }),
      { numRuns: 200 },
    )
  }, 180_000)

  it.each([
    { pages: 0, asked: 1, bought: 0 },
    { pages: 1, asked: 1, bought: 1 },
    { pages: 2, asked: 2, bought: 2 },
    { pages: 3, asked: 3, bought: 2 },
    { pages: 500, asked: 16, bought: 14 },
  ])(
    'of $pages pages asks $asked times and buys $bought of them',
    async ({ pages, asked, bought }) => {
      const { server, run } = aWorld([pages * 50])
      const { batches } = await run.quote()
      expect(batches).toMatchObject([{ pages, bought, toBuy: pages - bought }])
      expect(server.account).toMatchObject({ requests: asked, charged: bought * 10 })
    },
  )

  it('finishes batches whose pages are all there, with their coverage', async () => {
    const { run, server } = aWorld([10, 70, 170])
    await run.quote()
    expect(run.finished().map(({ batch_id }) => batch_id)).toEqual(['0000', '0001'])
    expect(run.history().batches.get('0002')).toMatchObject({ state: 'planned', pages: 2 })
    const { charged } = server.account
    await run.extract()
    expect(server.account.charged).toBe(charged + 10)
  })

  const odd = [
    { what: 'takes no limit but 50', limit: (asked: number) => (asked === 50 ? 50 : null) },
    { what: 'sends 50 whatever the limit', limit: () => 50 },
    { what: 'sends 25 at most', limit: (asked: number) => Math.min(25, asked) },
  ]
  it.each(odd)(
    'of 4 pages misses nothing that a late event pushes to the last one, where a service $what',
    async ({ limit }) => {
      const clock = virtualClock()
      const old = organizationsWith([limit(50) === 25 ? 85 : 170], clock.now())
      const late = {
        id: 9_999,
        version: 0,
        organization: 'org_0',
        detectedAt: clock.now() - 5 * HOUR,
        visibleAt: clock.now() + MINUTE,
        goneAt: Infinity,
        lagDays: 65,
      }
      const server = listServer({ clock, versions: [...old, late], latency: () => 20 })
      const post: Transport['post'] = (path, question, signal) => {
        const body = question as Record<string, unknown>
        const taken = limit(Number(body['limit']))
        if (taken !== null) return server.transport.post(path, { ...body, limit: taken }, signal)
        const message = { success: false, message: 'limit must be 50', credit_used: 0 }
        return Promise.resolve({
          status: 400,
          headers: {},
          body: Buffer.from(JSON.stringify(message)),
          receivedAt: clock.now(),
        })
      }
      const transport = { ...server.transport, post }
      const run = memoryRun(batchesOf(['org_0']), server, clock)
      expect(await run.quote({ transport })).toMatchObject({ pages: 4, bought: 3 })
      await clock.advance(2 * MINUTE)
      await run.extract({ transport })
      expect(old.filter((version) => !run.bought.has(nameOf(version)))).toEqual([])
      expect(run.history().creditsCommitted).toBe(server.account.charged)
      expect(server.account.charged).toBe(50)
    },
  )

  it('stays within its budget, and goes on with a fresh one', async () => {
    const { run, server } = aWorld([500, 500, 500, 500])
    await expect(run.quote({ creditsLimit: 70, concurrency: 4 })).rejects.toBeInstanceOf(
      BudgetReachedError,
    )
    expect(server.account.charged).toBe(70)
    const { pages, toBuy, bought } = await run.quote({ creditsLimit: 1_000 })
    expect({ pages, all: toBuy + bought }).toEqual({ pages: 40, all: 40 })
  })
})
