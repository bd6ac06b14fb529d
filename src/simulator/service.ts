/** All endpoints of the service behind one gate, without a socket. */

import { OtherEndpoints } from './endpoints/endpoints.ts'
import type { SentDelivery } from './endpoints/signals.ts'
import { createFaultPlan, type Fault, type FaultPlan } from './faults.ts'
import { Gate, errorAnswer, refusal, type Call, type GateOptions, type Reply } from './gate.ts'
import { BadRequest } from './search-request.ts'
import { SEARCH_PATH, SearchEndpoint, type SearchEndpointOptions } from './search-endpoint.ts'

export interface ServiceOptions extends SearchEndpointOptions, GateOptions {
  readonly faults?: readonly Fault[]
}

export class SimulatedService {
  readonly #gate: Gate
  readonly #search: SearchEndpoint
  readonly #others: OtherEndpoints
  #faults: FaultPlan

  /** @throws ConfigError naming a fault that is wrong */
  constructor(options: ServiceOptions) {
    this.#gate = new Gate(options)
    this.#search = new SearchEndpoint(options)
    this.#others = new OtherEndpoints(options.source)
    this.#faults = createFaultPlan(options.faults ?? [])
  }

  /** Replaces all faults. @throws ConfigError naming the one that is wrong */
  setFaults(faults: unknown): void {
    this.#faults = createFaultPlan(faults)
  }

  /** What a run of all signals delivers. */
  runSignals(nowMs: number): SentDelivery[] {
    return this.#others.runSignals(nowMs)
  }

  answer(path: string, call: Call, method = 'POST'): Reply {
    const other = this.#others.at(path)
    if (path !== SEARCH_PATH && other === undefined) {
      return { answer: errorAnswer(404, `no such path: ${path}`) }
    }
    const allowed = other?.method ?? 'POST'
    if (method !== allowed) {
      return { answer: errorAnswer(405, `${method} is not allowed`, { Allow: allowed }) }
    }
    const admitted = this.#gate.admit(call)
    if ('answer' in admitted) return admitted
    try {
      return other === undefined
        ? this.#search.answer(call, admitted, this.#faults)
        : this.#others.answer(other, { path, call }, admitted, this.#faults)
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error
      return refusal(400, error.message, admitted.key, admitted.headers)
    }
  }
}
