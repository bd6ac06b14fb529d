/** The endpoints other than job changes, by path. */

import { jsonOrNull } from '../../support/json.ts'
import type { EventSource } from '../events.ts'
import type { FaultPlan } from '../faults.ts'
import { replyOf, BadRequest, type Admitted, type Call, type Reply } from '../gate.ts'
import { companyProfile, companySearch, jobDetails, peopleFilters, suggest } from './companies.ts'
import { peopleSearch } from './people-search.ts'
import { postDetails, postReposts, postSearch } from './posts.ts'
import { Signals, type SentDelivery } from './signals.ts'
import { ServedWorld, WorldBehind, type ServedEndpoint } from './world.ts'

const SERVED: readonly ServedEndpoint[] = [
  companyProfile,
  companySearch,
  jobDetails,
  peopleFilters,
  peopleSearch,
  postDetails,
  postReposts,
  postSearch,
  suggest,
]

export class OtherEndpoints {
  readonly #behind: WorldBehind
  readonly #signals = new Signals()

  constructor(source: EventSource) {
    this.#behind = new WorldBehind(source)
  }

  /** The endpoint of a path; undefined where there is none. */
  at(path: string): ServedEndpoint | undefined {
    return [...SERVED, this.#signals.endpoint].find((one) =>
      one.path.endsWith('/') ? path.startsWith(one.path) : path === one.path,
    )
  }

  /** The deliveries of a run of all signals. */
  runSignals(nowMs: number): SentDelivery[] {
    return this.#signals.run(new ServedWorld(this.#behind, nowMs))
  }

  /** @throws BadRequest for a request that breaks a rule */
  answer(
    endpoint: ServedEndpoint,
    { path, call }: { readonly path: string; readonly call: Call },
    admitted: Admitted,
    faults: FaultPlan,
  ): Reply {
    const request = endpoint.method === 'GET' ? queryOf(endpoint, path, call) : bodyOf(call)
    const answer = endpoint.answer(request, new ServedWorld(this.#behind, call.nowMs))
    const page = Number(request['page'] ?? 1)
    const strike = faults(page, new Set([answer.organizationId ?? '']))
    const { credits, items, status } = answer
    const body = JSON.stringify({ ...answer.body, credit_used: credits })
    return replyOf(admitted, strike, { status, body, credits, items, facts: { page } })
  }
}

function bodyOf({ body }: Call): Readonly<Record<string, unknown>> {
  const request = jsonOrNull(body)
  if (request !== null && typeof request === 'object' && !Array.isArray(request)) {
    return request as Record<string, unknown>
  }
  throw new BadRequest('the body must be a JSON object')
}

function queryOf(endpoint: ServedEndpoint, path: string, { query }: Call): Record<string, string> {
  return {
    ...Object.fromEntries(new URLSearchParams(query)),
    rest: decodeURIComponent(path.slice(endpoint.path.length)),
  }
}
