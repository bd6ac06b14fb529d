/** A simulated service, and requests to its endpoints as pipelines make them. */

import { ENDPOINTS } from '../../src/api/endpoints/endpoints.ts'
import type { LookupRequest } from '../../src/api/endpoints/endpoint.ts'
import type { SimulatedService } from '../../src/simulator/simulator.ts'
import { createWorld } from '../../src/simulator/world.ts'
import { DAY } from '../../src/support/units.ts'

export const NOW = Date.parse('2026-03-01')

/** Two years of this many organisations. */
export const sourceOf = (organizations: number) =>
  createWorld({ seed: 3, organizations, startAt: NOW - 730 * DAY, endAt: NOW + 90 * DAY })

/** Sends the request for a page. @throws ZodError for one that is refused before it is sent */
export function send(service: SimulatedService, name: string, given: LookupRequest, page = 1) {
  const endpoint = ENDPOINTS.get(name)
  if (endpoint === undefined) throw new TypeError(`no endpoint ${name}`)
  const request = endpoint.request.parse(given)
  const target = endpoint.target?.(request)
  const [path = '', query = ''] = (target ?? endpoint.path).split('?', 2)
  const paged =
    endpoint.pages === null || page === 1 ? request : { ...request, [endpoint.pages]: page }
  const call = {
    body: target === undefined ? JSON.stringify(paged) : '',
    query,
    contentType: 'application/json',
    authorization: 'Bearer simulator-key',
    nowMs: NOW,
    monotonicMs: 0,
  }
  const reply = service.answer(path, call, target === undefined ? 'POST' : 'GET')
  return { endpoint, request, ...reply }
}
