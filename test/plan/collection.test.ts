/** What a plan of kind collect asks for, and what it forecasts. */

import { describe, expect, it } from 'vitest'
import { companyProfile, companySearch } from '../../src/api/endpoints/companies.ts'
import type { Endpoint, LookupRequest } from '../../src/api/endpoints/endpoint.ts'
import { lookupKey } from '../../src/journal/run-history.ts'
import { planCollection } from '../../src/plan/collection.ts'
import { DAY, HOUR } from '../../src/support/units.ts'

const priceOf = (declared: Endpoint, requests: readonly LookupRequest[]) =>
  planCollection(
    {
      pipeline: 'test',
      endpoint: declared.name,
      lookups: requests.map((request) => ({ subject: JSON.stringify(request), request })),
      refreshMs: 1,
      pages: 10,
    },
    { answered: new Map() },
    declared,
    0,
  ).price

describe('a plan of kind collect', () => {
  it.each([
    ['found', undefined, 0],
    ['found', true, 0],
    ['refused', undefined, 0],
    ['refused', true, 1],
  ] as const)(
    'of what was %s an hour ago, with repeatsRefused %s, asks for %i of 1',
    (outcome, repeatsRefused, asked) => {
      const key = lookupKey('company-search', { keyword: 'a' })
      const question = {
        pipeline: 'test',
        endpoint: 'company-search',
        lookups: [{ subject: 'a', request: { keyword: 'a' } }],
        refreshMs: DAY,
        pages: 1,
        ...(repeatsRefused && { repeatsRefused }),
      }
      const answered = new Map([[key, { at: 0, outcome }]])
      const { lookups } = planCollection(question, { answered }, companySearch, HOUR)
      expect(lookups).toHaveLength(asked)
    },
  )
})

describe('the forecast of a plan of kind collect', () => {
  it('counts the allowed pages of a list, and one if the endpoint has no lists', () => {
    expect(priceOf(companySearch, [{ keyword: 'a' }, { keyword: 'b' }])).toEqual({
      least: 10,
      most: 200,
    })
    expect(priceOf(companyProfile, [{ url: 'a' }])).toEqual({ least: 1, most: 1 })
  })
})
