/** What is said of a request that is refused. */

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
