/** Buying pages in memory, on a virtual clock, from a service that fails as a script says. */

import { Pacer } from '../../src/api/pacer.ts'
import { Budget } from '../../src/extract/budget.ts'
import { MINUTE } from '../../src/support/units.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'
import {
  aPageBuyer,
  memoryJournal,
  scriptedService,
  type MemoryJournal,
  type ScriptedAnswer,
  type ScriptedService,
} from './buying-fixture.ts'
import { batchesOf } from './extract-fixture.ts'

const batch = batchesOf(['org_a'])[0]!

/** When every weather begins, milliseconds since 1970 UTC. */
export const START = virtualClock().now()

/** A page that cost 10 credits. */
export const aPage: ScriptedAnswer = { takesMs: 300, status: 200, events: 50, hasMore: true }

/** Which request for a page this is, counted over all pages, and how long after the beginning it was sent. */
interface Asked {
  readonly page: number
  readonly nth: number
  readonly afterMs: number
}

export interface Weather {
  readonly clock: VirtualClock
  readonly service: ScriptedService
  readonly journal: MemoryJournal
  /** Buys pages `from` to `to` at 5 requests a second, in a new attempt at the run; rejects with the first error. */
  buy(to: number, choices?: Choices): Promise<void>
}

interface Choices {
  readonly from?: number
  readonly workers?: number
  readonly seed?: number
}

/** A service that answers as `answerTo` says. */
export function weather(answerTo: (asked: Asked) => ScriptedAnswer): Weather {
  const clock = virtualClock()
  const beganAt = clock.monotonic()
  const service = scriptedService(clock, (body, nth) =>
    answerTo({ page: Number(body['page']), nth, afterMs: clock.monotonic() - beganAt }),
  )
  const journal = memoryJournal([batch], clock.now())
  return {
    clock,
    service,
    journal,
    async buy(to, { from = 1, workers = 8, seed } = {}) {
      const stop = new AbortController()
      const run = journal.history().runs.get('run_1')!
      const buyer = aPageBuyer({
        clock,
        transport: service,
        writer: journal.open().writer,
        pacer: new Pacer(clock, 5, 15 * MINUTE),
        budget: new Budget({
          run: { limit: null, spent: run.creditsCommitted },
          now: () => clock.now(),
        }),
        ...(seed === undefined ? {} : { random: seededRandom(seed) }),
        stop: stop.signal,
      })
      let next = from
      const worker = async () => {
        while (next <= to) {
          const page = next
          next += 1
          await buyer.buy(batch, page)
        }
      }
      const failures: unknown[] = []
      const working = Array.from({ length: workers }, () =>
        worker().catch((error: unknown) => {
          failures.push(error)
          stop.abort(error)
        }),
      )
      await clock.run(Promise.all(working))
      if (failures.length > 0) throw failures[0] as Error
    },
  }
}

/** A service that answers with `storm` for the time given, and with pages before and after. */
export function aStorm(storm: ScriptedAnswer, fromMs: number, lastsMs: number): Weather {
  return weather(({ afterMs }) => (afterMs < fromMs || afterMs >= fromMs + lastsMs ? aPage : storm))
}

/** Credits that the journal counts for requests of which nobody knows whether they were billed. */
export function inDoubtOf({ journal }: Weather): number {
  return [...journal.history().spending.values()].reduce((sum, { inDoubt }) => sum + inDoubt, 0)
}

/** Pages that were bought. */
export const pagesOf = ({ service }: Weather) => service.account.filter(isPage).length
/** Whether a request brought a page. */
export const isPage = ({ status, charged }: { status: number | null; charged: number }) =>
  status === 200 && charged > 0
