/** What a request tells of the health of the service. */

/**
 * What came of a request. `answered`: the service works (a page, or a 4xx about the question). `failed`: it does not (5xx but
 * 503; no answer; a 200 that is no page). `deferred`: it wants to be asked later (503). `refused`: the request was one too
 * many (429). `undecided`: nobody knows, because we broke it off, or it was never sent.
 */
export type RequestOutcome = 'answered' | 'failed' | 'deferred' | 'refused' | 'undecided'
