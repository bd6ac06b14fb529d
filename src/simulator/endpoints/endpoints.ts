/** The endpoints beside job changes, by path, and the world that they answer from. */

import { jsonOrNull } from '../../support/json.ts'
import { companySlug } from '../../support/text.ts'
import type { EventSource } from '../events.ts'
import type { FaultPlan } from '../faults.ts'
import { replyOf, type Admitted, type Call, type Reply } from '../gate.ts'
import { BadRequest } from '../search-request.ts'
import { companyProfile } from './company-profile.ts'
import type { ServedEndpoint, ServedWorld } from './endpoint.ts'

const SERVED: readonly ServedEndpoint[] = [companyProfile]

export class OtherEndpoints {
  readonly #source: EventSource
  readonly #byPath = new Map(SERVED.map((endpoint) => [endpoint.path, endpoint]))
  readonly #numberBySlug: ReadonlyMap<string, number>

  constructor(source: EventSource) {
    this.#source = source
    this.#numberBySlug = new Map(
      source.organizations.map(({ slug, network_url: url }, number) => [
        companySlug(slug ?? url ?? ''),
        number,
      ]),
    )
  }

  has(path: string): boolean {
    return this.#byPath.has(path)
  }

  /** @throws BadRequest for a request that breaks a rule */
  answer(path: string, call: Call, admitted: Admitted, faults: FaultPlan): Reply {
    const request = jsonOrNull(call.body)
    if (request === null || typeof request !== 'object' || Array.isArray(request)) {
      throw new BadRequest('the body must be a JSON object')
    }
    const served = this.#byPath.get(path) as ServedEndpoint
    const answer = served.answer(request as Record<string, unknown>, this.#worldAt(call.nowMs))
    const { page = 1 } = request as { page?: unknown }
    const strike = faults(Number(page), new Set([answer.organizationId ?? '']))
    const { credits, items } = answer
    const body = JSON.stringify({ ...answer.body, credit_used: credits })
    return replyOf(admitted, strike, { body, credits, items, facts: { page: Number(page) } })
  }

  #worldAt(nowMs: number): ServedWorld {
    const { organizations, events } = this.#source
    return {
      nowMs,
      organizationOf: (url) => {
        const number = this.#numberBySlug.get(companySlug(url))
        const tracked = organizations[number ?? -1]
        if (number === undefined || tracked === undefined) return undefined
        let growth = 0
        for (const { type, detectedAt, organization } of events) {
          if (organization !== number || detectedAt > nowMs) continue
          growth += type === 'joined' ? 1 : type === 'left' ? -1 : 0
        }
        return { number, tracked, growth }
      },
    }
  }
}
