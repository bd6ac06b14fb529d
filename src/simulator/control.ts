/** The simulator's own paths, for a simulator in another process. The service has nothing like them. */

import { z } from 'zod'
import type { Account } from './account.ts'
import { errorAnswer, jsonAnswer } from './search-endpoint.ts'
import type { Answer } from './wire-faults.ts'

/** Every control path begins like this. */
export const CONTROL_PREFIX = '/_simulator/'

/** What the control paths can see and do. */
export interface Controls {
  account(): Account
  advance(ms: number): void
  /** Server time, ISO 8601. */
  now(): string
}

const clockBody = z.strictObject({ advance_ms: z.int().min(0) })

/** Answers a request to a control path. */
export function answerControl(
  controls: Controls,
  method: string,
  path: string,
  body: string,
): Answer {
  switch (`${method} ${path.slice(CONTROL_PREFIX.length)}`) {
    case 'GET account':
      return jsonAnswer(200, controls.account())
    case 'GET clock':
      return jsonAnswer(200, { jobtide_simulator: true, now: controls.now() })
    case 'POST clock':
      try {
        controls.advance(clockBody.parse(JSON.parse(body)).advance_ms)
        return jsonAnswer(200, { now: controls.now() })
      } catch {
        return errorAnswer(400, 'expected a body such as {"advance_ms": 86400000}')
      }
    default:
      return errorAnswer(404, `no such control: ${method} ${path}`)
  }
}
