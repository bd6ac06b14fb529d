/**
 * The service of a simulation: shows the versions of its plan, fails as its seed says, and records every wait that it
 * asked for.
 */

import { pick, pickWeighted, type Random } from '../../src/simulator/random.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import type { VirtualClock } from '../helpers/virtual-clock.ts'
import { aService, type Answered, type Asked } from '../extract/extract-fixture.ts'
import { addVersion, correct, organizationOf, wireEvent, type Plan, type Version } from './world.ts'

const FAULTS = {
  throttled: 3,
  away: 3,
  'away for long': 0.3,
  broken: 2,
  cut: 2,
  lost: 1,
  unreachable: 1,
  slow: 1,
  'half a body': 1,
  'last permit': 2,
}

// How often boundaries of pages are read again if events leave in the second of the last page.
const MOST_LEAVING = 2

/** A time before which the service wants no request, and when it said so. Our time. */
export interface Order {
  readonly told: number
  readonly until: number
}

/**
 * The service of a plan.
 * @param told its actions and their number
 */
export function serviceOf(
  plan: Plan,
  clock: VirtualClock,
  random: Random,
  told: { step(what: string): void; count(what: string): void },
) {
  const { versions } = plan
  /** The number of events that left a list while it was read, by question and day. */
  const left = new Map<string, number>()
  const orders: Order[] = []
  let isQuiet = false
  const latency = () => 1 + Math.floor(random() * plan.latency)
  const now = () => clock.now() + plan.aheadMs

  /** The current list of a question. */
  function shown({ body, daysAgo }: Asked): Version[] {
    const named = [...((body['organization_ids'] ?? []) as string[]), ...urlsOf(body)]
    const asked = new Set(named.map(organizationOf))
    const from = daysAgo === null ? -Infinity : now() - daysAgo * DAY
    const type = body['event_type']
    return versions
      .filter(
        (one) =>
          asked.has(one.organization) &&
          (type ?? one.type) === one.type &&
          one.visibleAt <= now() &&
          one.detectedAt <= now() &&
          one.goneAt > now() &&
          one.detectedAt >= from,
      )
      .toSorted((a, b) => a.lagDays - b.lagDays || a.number - b.number)
  }

  /** Changes a list above its unread part, before the next pages are requested. */
  function move(list: readonly Version[], { page, limit, daysAgo, body }: Asked): void {
    if (isQuiet || list.length <= page * limit || random() >= plan.drift) return
    const place = pick(random, list.slice(0, page * limit))
    const at = now() + Math.ceil(random() * 2 * plan.latency)
    const what = pickWeighted(random, { leaves: 4, corrected: 5, comes: 1 })
    told.count(`drift: ${what}`)
    if (what === 'corrected') return correct(plan, place, at, random)
    if (what === 'comes') {
      const detectedAt = at - Math.floor(random() * HOUR)
      return addVersion(versions, { ...fresh(place), detectedAt, visibleAt: at })
    }
    // Only a list whose first page is still to be made can contain it all the time.
    const question = JSON.stringify({ ...body, page: Math.floor(now() / DAY) })
    const before = left.get(question) ?? 0
    if (page > 1 || daysAgo === null || before >= MOST_LEAVING) return
    left.set(question, before + 1)
    const detectedAt = at - daysAgo * DAY
    addVersion(versions, { ...fresh(place), detectedAt, visibleAt: now(), goneAt: at })
  }

  function ordered(takesMs: number, waitMs: number): void {
    const told = clock.now() + takesMs
    orders.push({ told, until: told + waitMs })
  }

  async function answerTo(asked: Asked): Promise<Answered> {
    const { body, page, limit, nth } = asked
    const isFailing = !isQuiet && random() < plan.trouble
    const fault = isFailing ? pickWeighted(random, FAULTS) : null
    const failure = fault === null ? '' : ` → ${fault}`
    told.step(`request ${nth} ${JSON.stringify(body).slice(0, 160)}${failure}`)
    told.count(fault === null ? 'answers' : `fault: ${fault}`)
    if (fault === 'unreachable') return { obstacle: 'refused' }
    if (fault === 'lost') return { takesMs: MINUTE, status: null, charge: 0 }
    await clock.sleep(latency())
    const takesMs = latency()
    const headers = { date: new Date(now()).toUTCString() }
    const failed = (status: number, waitMs: number | null): Answered => {
      if (waitMs === null) return { takesMs, status, headers }
      ordered(takesMs, waitMs)
      return { takesMs, status, headers: { ...headers, 'retry-after': String(waitMs / SECOND) } }
    }
    if (fault === 'throttled') return failed(429, (1 + Math.floor(random() * 30)) * SECOND)
    if (fault === 'away') return failed(503, (1 + Math.floor(random() * 90)) * SECOND)
    if (fault === 'away for long') return failed(503, 3 * 3600 * SECOND)
    if (fault === 'broken') return failed(500, null)
    const unknown = urlsOf(body).filter((url) => organizationOf(url) < 0)
    if (unknown.length > 0) {
      return {
        takesMs,
        status: 400,
        headers,
        message: `company_urls: company not tracked: ${unknown[0]}`,
      }
    }
    move(shown(asked), asked)
    const list = shown(asked)
    const data = list.slice((page - 1) * limit, page * limit)
    const charge = data.length > 0 ? 10 : 0
    if (fault === 'cut') return { takesMs, status: null, charge }
    const whole: Answered = {
      takesMs: fault === 'slow' ? 50 * SECOND : takesMs,
      headers,
      data: data.map(wireEvent),
      hasMore: list.length > page * limit,
      // Makes each page in the journal distinguishable.
      message: String(nth),
    }
    if (fault === 'half a body') return { ...whole, text: '{"success":true,"da', charge }
    if (fault !== 'last permit') return whole
    ordered(takesMs, 20 * SECOND)
    const counters = {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '20',
      'x-ratelimit-limit': '60',
    }
    return { ...whole, headers: { ...headers, ...counters } }
  }

  const service = aService(answerTo, clock)
  return {
    ...service,
    orders,
    now,
    /** Ends all failures. */
    calm() {
      isQuiet = true
    },
    /** Drops what a killed process learnt less than `ms` ago, which the next process does not know. */
    forgetOrders(ms: number) {
      const kept = orders.filter(({ told }) => told < clock.now() - ms)
      orders.splice(0, orders.length, ...kept)
    },
  }
}

/** Another event at the same place. */
const fresh = ({ organization, type, lagDays }: Version) => ({ organization, type, lagDays })

const urlsOf = (body: Asked['body']) => (body['company_urls'] ?? []) as string[]
