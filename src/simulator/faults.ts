/**
 * Faults asked for by data: each is a plain JSON object that says which requests it strikes, how often, and what it
 * does to them. This file checks and chooses; what a fault does to a page is in page-faults.ts, what it does on the
 * wire in wire-faults.ts. The table in README.md has an example of each.
 */

import { z } from 'zod'
import { ConfigError } from '../support/errors.ts'
import { seededRandom } from './random.ts'

const amount = z.union([
  z.int().min(0),
  z.string().regex(/^\d{1,2}(\.\d+)?%$/, 'expected bytes, or a percentage under 100 such as "50%"'),
])

// HTTP forbids a body with these, and every answer here has one.
const BODILESS = new Set([204, 205, 304])

const actions = {
  /** Answer this status instead of the page. */
  status: z
    .int()
    .min(200)
    .max(599)
    .refine((status) => !BODILESS.has(status), 'expected a status that has a body')
    .optional(),
  /** Announce the whole body, send this many bytes (or percent) of it, destroy the connection. */
  cut: amount.optional(),
  /** Wait before the headers, then drip the body. */
  slow: z
    .strictObject({
      delay_ms: z.int().min(0).default(0),
      bytes: z.int().min(1).optional(),
      every_ms: z.int().min(0).default(10),
    })
    .optional(),
  /** Reset the connection before the headers. */
  reset: z.literal(true).optional(),
  /** Answer 200 with a page of HTML. */
  html: z.literal(true).optional(),
  /** Send the body gzipped, whether the client accepts it or not. */
  gzip: z.literal(true).optional(),
  /** Send this many bytes (or percent) of the gzipped body as if they were all. */
  gzip_cut: amount.optional(),
  /** Answer 200 with a body that is no JSON. */
  garbage: z.literal(true).optional(),
  /** Add a field (a dotted path) to an event. */
  extra_field: z.string().min(1).optional(),
  /** Remove a field (a dotted path) from an event. */
  missing_field: z.string().min(1).optional(),
  /** Give a field (a dotted path) of an event a value of another type. */
  wrong_type: z.string().min(1).optional(),
  /** Begin the page with the last event of the page before it. */
  duplicate: z.literal(true).optional(),
  /** Say has_more, also after the last page. */
  has_more_forever: z.literal(true).optional(),
  /** Send page 1 whatever page is asked for, and say has_more. */
  same_page_forever: z.literal(true).optional(),
  /** Send no events and say has_more. */
  empty_with_has_more: z.literal(true).optional(),
  /** Say that this is page 1 whatever page is asked for. */
  stuck_page_number: z.literal(true).optional(),
}

/** What a fault can do. */
export type FaultAction = keyof typeof actions
const ACTIONS = Object.keys(actions) as FaultAction[]

/** Whether a page is charged when one of these takes its place; `charged` in the fault says otherwise. */
const CHARGED: Partial<Record<FaultAction, boolean>> = {
  cut: true,
  slow: true,
  reset: false,
  html: false,
  gzip: true,
  gzip_cut: true,
  garbage: true,
}

const faultSchema = z
  .strictObject({
    // Which requests.
    page: z.int().min(1).optional(),
    organization_id: z.string().min(1).optional(),
    nth: z.int().min(1).optional(),
    every: z.int().min(1).optional(),
    probability: z.number().min(0).max(1).optional(),
    seed: z.int().default(1),
    times: z.union([z.int().min(1), z.literal('always')]).default(1),
    // What happens.
    ...actions,
    // Details of what happens.
    headers: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
    message: z.string().optional(),
    body: z.unknown().optional(),
    event: z.union([z.int().min(0), z.literal('all')]).default(0),
    charged: z.boolean().optional(),
  })
  .superRefine((fault, context) => {
    const chosen = ACTIONS.filter((action) => fault[action] !== undefined)
    const refuse = (message: string) => context.addIssue({ code: 'custom', message })
    if (chosen.length !== 1) {
      refuse(`a fault has exactly one action, not ${chosen.length} (${ACTIONS.join(', ')})`)
    }
    const [action] = chosen
    if (action === undefined) return
    if (fault.charged !== undefined && CHARGED[action] === undefined) {
      refuse(`charged does not go with ${action}`)
    }
    for (const detail of ['headers', 'message', 'body'] as const) {
      if (fault[detail] !== undefined && action !== 'status') {
        refuse(`${detail} goes with status only`)
      }
    }
  })

/** A fault as written: plain JSON. */
export type Fault = z.input<typeof faultSchema>

/** A fault that strikes a request. */
export interface Strike {
  readonly fault: z.output<typeof faultSchema>
  readonly action: FaultAction
  /** Whether a page with events is charged all the same. */
  readonly isCharged: boolean
}

/** Chooses the fault for each request. */
export interface FaultPlan {
  /**
   * The first fault that strikes a request for `page` that names the organisations `ids`.
   * At most one fault strikes a request.
   */
  strike(page: number, ids: ReadonlySet<string>): Strike | undefined
}

/**
 * A plan that begins to count now.
 * @throws ConfigError naming the fault and what is wrong with it
 */
export function createFaultPlan(faults: unknown): FaultPlan {
  const parsed = z.array(faultSchema).safeParse(faults)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const [position, ...path] = issue?.path ?? []
    const where =
      position === undefined ? 'faults' : ['fault', Number(position) + 1, ...path].join(' ')
    throw new ConfigError(`${where}: ${issue?.message}`)
  }
  const armed = parsed.data.map(arm)
  return {
    strike(page, ids) {
      for (const candidate of armed) {
        const strike = candidate(page, ids)
        if (strike !== undefined) return strike
      }
      return undefined
    },
  }
}

/** `nth`, `every` and `probability` count the requests that `page` and `organization_id` let through. */
function arm(fault: Strike['fault']): FaultPlan['strike'] {
  const action = ACTIONS.find((name) => fault[name] !== undefined) ?? 'status'
  const strike = {
    fault,
    action,
    isCharged: fault.charged ?? CHARGED[action] ?? action !== 'status',
  }
  const random = seededRandom(fault.seed)
  let left = fault.times === 'always' ? Infinity : fault.times
  let seen = 0
  return (page, ids) => {
    if (fault.page !== undefined && fault.page !== page) return undefined
    if (fault.organization_id !== undefined && !ids.has(fault.organization_id)) return undefined
    seen += 1
    if (fault.nth !== undefined && fault.nth !== seen) return undefined
    if (fault.every !== undefined && seen % fault.every !== 0) return undefined
    if (fault.probability !== undefined && random() >= fault.probability) return undefined
    if (left === 0) return undefined
    left -= 1
    return strike
  }
}
