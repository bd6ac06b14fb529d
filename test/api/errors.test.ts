/** The messages for refused requests. */

import { expect, it } from 'vitest'
import { refusalOf } from '../../src/api/errors.ts'

it.each([
  ['/api/v1/job-changes/search', 'job changes'],
  ['/api/v1/company/search', '/api/v1/company/search'],
  ['/api/v1/people-search/suggest/school', '/api/v1/people-search/suggest/school'],
])('403 of %s says which data the plan lacks', (path, data) => {
  const error = refusalOf(403, 'upgrade', `https://service.example${path}?q=a`)
  expect(error.message).toBe(`the plan of this API key does not include ${data} (403): upgrade`)
  expect(error.exitCode).toBe(3)
})

it.each([301, 400, 401, 402, 403, 404, 422])(
  '%i says that this request was free, but not the pages before it',
  (status) => {
    const { hint = '' } = refusalOf(status, 'no', 'https://service.example/api/v1/company')
    expect(hint.toLowerCase()).toContain('nothing was charged for this request')
  },
)
