/**
 * Sends a request that cannot cost a credit: every value in it is invalid, and errors of this endpoint are free. The
 * kind of refusal shows whether the address is right, the key is accepted and the plan includes the data.
 */

import { refusalOf, unreachableError } from './errors.ts'
import { obeyedWait } from '../support/waits.ts'
import { statedDate, unsaidWait, waitWanted } from './retry-after.ts'
import { errorMessage } from './schemas.ts'
import { NoAnswerError, type Transport } from './transport.ts'

export const SEARCH_PATH = '/api/v1/job-changes/search'

const REFUSED = { event_type: 'none', days_ago: 0, page: 10_001, limit: 51 }

export type FreeAnswer = Readonly<Awaited<ReturnType<typeof askForFree>>>

/**
 * Sends the request once. @returns why a run would get no answer (null if it would), the time before which the service
 * accepts no request, and its time and ours, milliseconds since 1970 UTC; null without an answer or its `Date`
 * @throws the signal's reason when it aborts; NoAnswerError when the answer is incomplete
 */
export async function askForFree(transport: Transport, baseUrl: string, signal: AbortSignal) {
  try {
    const answer = await transport.send(SEARCH_PATH, REFUSED, signal)
    const { status, headers, body, receivedAt: ours } = answer
    const service = statedDate(headers)
    const times = service === null ? null : { service, ours }
    const isBusy = status === 429 || status === 503
    const isRight = status === 400 || isBusy
    const problem = isRight ? null : refusalOf(status, errorMessage(body), baseUrl + SEARCH_PATH)
    const notBefore = isBusy ? ours + obeyedWait(waitWanted(headers, ours) ?? unsaidWait(1)) : null
    return { problem, words: `answered ${status}`, notBefore, times }
  } catch (error) {
    if (!(error instanceof NoAnswerError) || error.obstacle === null) throw error
    const problem = unreachableError(error.obstacle, error.message)
    return { problem, words: '', notBefore: null, times: null }
  }
}
