/** The simulator's own paths, for tests that run it in another process. The service has nothing like them. */

import { z } from 'zod'
import { ConfigError, messageOf } from '../support/errors.ts'
import type { Account } from './account.ts'
import { errorAnswer } from './search-endpoint.ts'
import type { Answer } from './wire-faults.ts'

/** Every control path begins like this. */
export const CONTROL_PREFIX = '/_simulator/'

/** A key of the answer to `GET /_simulator/clock`, by which a client knows that it talks to a simulator. */
export const SIMULATOR_MARK = 'jobtide_simulator'

/** What the control paths can see and do. */
export interface Controls {
  account(): Account
  organizations(): unknown
  /** @throws ConfigError when they are no faults */
  setFaults(faults: unknown): void
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
  try {
    switch (`${method} ${path.slice(CONTROL_PREFIX.length)}`) {
      case 'GET account':
        return json(controls.account())
      case 'GET organizations':
        return json(controls.organizations())
      case 'GET clock':
        return json({ [SIMULATOR_MARK]: true, now: controls.now() })
      case 'POST clock':
        controls.advance(clockBody.parse(JSON.parse(body)).advance_ms)
        return json({ now: controls.now() })
      case 'POST faults':
        controls.setFaults(JSON.parse(body))
        return json({ success: true })
      default:
        return errorAnswer(404, `no such control: ${method} ${path}`)
    }
  } catch (error) {
    if (error instanceof SyntaxError) return errorAnswer(400, 'the body is not valid JSON')
    if (error instanceof z.ZodError) return errorAnswer(400, z.prettifyError(error))
    if (error instanceof ConfigError) return errorAnswer(400, messageOf(error))
    throw error
  }
}

function json(value: unknown): Answer {
  const headers = { 'Content-Type': 'application/json; charset=utf-8' }
  return { status: 200, headers, body: Buffer.from(JSON.stringify(value)) }
}
