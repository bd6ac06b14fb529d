/**
 * Faults as data: each is a JSON object that says which requests it hits, how often, and what it does to them on the
 * wire. docs/simulator.md has an example of each.
 */

import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { ConfigError } from '../support/errors.ts'
import { plainly } from '../support/schema-words.ts'
import { seededRandom } from './random.ts'

const amount = z.union([
  z.int().min(0),
  z.string().regex(/^\d{1,2}(\.\d+)?%$/, 'expected bytes, or a percentage under 100 such as "50%"'),
])

// HTTP forbids a body with these, and every answer here has one.
const BODILESS = new Set([204, 205, 304])

const actions = {
  /** Answer this status, with `headers`, `message` or `body`, instead of the page. */
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
  /** Send this many bytes (or percent) of the gzipped body as if they were all. */
  gzip_cut: amount.optional(),
}

const ACTIONS = Object.keys(actions) as (keyof typeof actions)[]

const faultSchema = z
  .strictObject({
    page: z.int().min(1).optional(),
    organization_id: z.string().min(1).optional(),
    nth: z.int().min(1).optional(),
    probability: z.number().min(0).max(1).optional(),
    seed: z.int().default(1),
    times: z.union([z.int().min(1), z.literal('always')]).default(1),
    ...actions,
    headers: z.record(z.string(), z.union([z.string(), z.number()]).transform(String)).optional(),
    message: z.string().optional(),
    body: z.unknown().optional(),
    charged: z.boolean().optional(),
  })
  .superRefine((fault, context) => {
    const chosen = ACTIONS.filter((action) => fault[action] !== undefined)
    const refuse = (message: string) => context.addIssue({ code: 'custom', message })
    if (chosen.length !== 1) {
      refuse(`a fault has exactly one action, not ${chosen.length} (${ACTIONS.join(', ')})`)
    }
    for (const detail of ['headers', 'message', 'body'] as const) {
      if (fault[detail] !== undefined && fault.status === undefined) {
        refuse(`${detail} goes with status only`)
      }
    }
  })
  .transform((fault) => {
    const action = ACTIONS.find((name) => fault[name] !== undefined) ?? 'status'
    /** Whether a page with events is still charged. */
    const isCharged = fault.charged ?? (action !== 'status' && action !== 'reset')
    return { ...fault, action, isCharged }
  })

/** A fault as written: plain JSON. */
export type Fault = z.input<typeof faultSchema>

/** A fault that hits a request. */
export type Strike = z.output<typeof faultSchema>

/** The first fault that hits a request for `page` of the organisations `ids`. */
type FaultPlan = (page: number, ids: ReadonlySet<string>) => Strike | undefined

/** A plan whose counts begin now. @throws ConfigError naming the fault that is wrong */
export function createFaultPlan(faults: unknown): FaultPlan {
  const parsed = z.array(faultSchema).safeParse(faults, { error: plainly })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const [position, ...path] = issue?.path ?? []
    const where =
      position === undefined ? 'faults' : ['fault', Number(position) + 1, ...path].join(' ')
    throw new ConfigError(`${where}: ${issue?.message}`)
  }
  const armed = parsed.data.map(arm)
  return (page, ids) => {
    for (const candidate of armed) {
      const strike = candidate(page, ids)
      if (strike !== undefined) return strike
    }
    return undefined
  }
}

/** `nth` and `probability` count the requests that `page` and `organization_id` let through. */
function arm(fault: Strike): FaultPlan {
  const random = seededRandom(fault.seed)
  let left = fault.times === 'always' ? Infinity : fault.times
  let seen = 0
  return (page, ids) => {
    if (fault.page !== undefined && fault.page !== page) return undefined
    if (fault.organization_id !== undefined && !ids.has(fault.organization_id)) return undefined
    seen += 1
    if (fault.nth !== undefined && fault.nth !== seen) return undefined
    if (fault.probability !== undefined && random() >= fault.probability) return undefined
    if (left === 0) return undefined
    left -= 1
    return fault
  }
}

/** An answer that is ready to be sent. `Content-Length` is added on sending. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Sends `answer`, changed by a fault of the wire, if one hit the request. */
export function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  fault: Strike | undefined,
): void {
  const { headers, body } = answer
  if (fault?.reset === true) response.socket?.resetAndDestroy()
  else if (fault?.slow !== undefined) sendSlowly(response, answer, fault.slow)
  else if (fault?.cut !== undefined) {
    const sent = partOf(body, fault.cut)
    writeHead(response, answer)
    response.flushHeaders()
    if (sent.length > 0) response.write(sent)
    // Not destroy(): written bytes must reach the client before the connection ends.
    response.socket?.destroySoon()
  } else {
    const cut = fault?.gzip_cut
    const sent = cut === undefined ? body : partOf(gzipSync(body), cut)
    const encoding = cut === undefined ? {} : { 'Content-Encoding': 'gzip' }
    writeHead(response, { ...answer, headers: { ...headers, ...encoding }, body: sent })
    response.end(sent)
  }
}

/** At most all but one byte, so that something is always missing. */
function partOf(bytes: Buffer, amount: number | string): Buffer {
  const { length } = bytes
  const end = typeof amount === 'number' ? amount : (length * Number.parseFloat(amount)) / 100
  return bytes.subarray(0, Math.max(0, Math.min(Math.floor(end), length - 1)))
}

function writeHead(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'Content-Length': String(body.length) })
}

function sendSlowly(
  response: ServerResponse,
  answer: Answer,
  slow: NonNullable<Strike['slow']>,
): void {
  const step = slow.bytes ?? answer.body.length
  let sent = 0
  const drip = () => {
    if (response.destroyed) return
    if (!response.headersSent) writeHead(response, answer)
    response.write(answer.body.subarray(sent, sent + step))
    sent += step
    if (sent >= answer.body.length) response.end()
    else setTimeout(drip, slow.every_ms).unref()
  }
  setTimeout(drip, slow.delay_ms).unref()
}
