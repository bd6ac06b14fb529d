/** Why a search by hand was not answered, from the journal, even if the run was killed before it could report it. */

import { expect, it } from 'vitest'
import type { AnswerReceived, RequestFailed } from '../../src/journal/records.ts'
import { foldLookup, newLookupHistory } from '../../src/journal/run-history.ts'
import { searchRefused } from '../../src/run/unknown-list.ts'

const LOOKUP = { batch_id: '000001', lookup_key: 'key', subject: 'keyword=a', request: {} }
const answer = { kind: 'answer_received', batch_id: '000001', page: 1, items: 0, next: null }
const failure = { kind: 'request_failed', batch_id: '000001', page: 1, error: 'no such place' }

it.each<[string, object, number | null, string]>([
  ['something', { ...answer, outcome: 'found' }, null, ''],
  ['nothing', { ...answer, outcome: 'absent', credits_used: 0 }, null, ''],
  ['an error', { ...answer, outcome: 'refused', reason: 'no such place' }, 2, 'no such place'],
  ['400', { ...failure, status: 400 }, 2, 'no such place'],
  ['a failure that passes', { ...failure, status: 500 }, 5, 'has no answer yet'],
  ['"later"', { ...answer, outcome: 'later' }, 5, 'has no answer yet'],
])('a search that was answered with %s', (_, record, exitCode, says) => {
  const run = { lookups: new Map([['000001', newLookupHistory(LOOKUP)]]), batchesDone: 0 }
  foldLookup(new Map(), run, record as AnswerReceived | RequestFailed)
  const problem = searchRefused(run)
  expect(problem?.exitCode ?? null).toBe(exitCode)
  expect(problem?.message ?? '').toContain(says)
})
