/** Runs of `kind: collect` in memory: a service with one list, and the items bought from it. */

import type { Endpoint, LookupRequest } from '../../src/api/endpoints/endpoint.ts'
import { collect, type CollectOptions } from '../../src/extract/collect.ts'
import type { ExtractProgress } from '../../src/extract/options.ts'
import { lookupKey } from '../../src/journal/run-history.ts'
import {
  aService,
  buyingOptions,
  memoryJournal,
  type Asked,
  type Service,
  until,
} from './extract-fixture.ts'

/** A service whose company search shows this list, in pages of this size. A page with items costs 5. */
export function aListService(
  pageSize: number,
  listAt: (asked: Asked) => readonly number[],
): Service {
  return aService((asked) => {
    const list = listAt(asked)
    const items = list
      .slice((asked.page - 1) * pageSize, asked.page * pageSize)
      .map((id) => ({ id }))
    const charge = items.length > 0 ? 5 : 0
    const data = { items, total: list.length, total_pages: Math.ceil(list.length / pageSize) }
    return { text: JSON.stringify({ status: 'ok', data, credit_used: charge }), charge }
  })
}

export type Collecting = ReturnType<typeof aCollection>

/** A run that asks an endpoint for some items; by default for one, without options. */
export function aCollection(
  service: Service,
  endpoint: Endpoint,
  ...requests: readonly LookupRequest[]
) {
  const { clock } = service
  const journal = memoryJournal([], clock.now())
  const lookups = (requests.length === 0 ? [{}] : requests).map((request, index) => ({
    batch_id: String(index + 1).padStart(6, '0'),
    subject: (request[endpoint.subject] as string | undefined) ?? 'all',
    request,
    lookup_key: lookupKey(endpoint.name, request),
  }))
  const planned = { run_id: 'run_1', at: clock.now(), endpoint: endpoint.name }
  journal.open().writer.write({ kind: 'lookups_planned', ...planned }, JSON.stringify(lookups))
  let process: ReturnType<typeof journal.open> | undefined
  let gone = new AbortController()
  const answers = () => journal.records('answer_received')
  return {
    /** In the journal, in order. */
    answers,
    /** The bodies of answers, in order. */
    bodies: () =>
      journal.frames
        .filter(({ record }) => record.kind === 'answer_received')
        .map(({ payload }) => JSON.parse(payload().toString()) as unknown),
    /** Ids in all answers of a list service. */
    items(): number[] {
      const bodies = this.bodies() as { data: { items: { id: number }[] } }[]
      return bodies.flatMap(({ data }) => data.items.map(({ id }) => id))
    },
    /** Credits in the journal, including those in doubt. */
    ledger: () => journal.run().creditsCommitted,
    /** Lets nothing be written and no answer arrive until the run is resumed. */
    kill() {
      process?.kill()
      gone.abort(new Error('the process was killed'))
    },
    /** Runs, or resumes a run that the last call ended. */
    collect(overrides: Partial<CollectOptions> = {}): Promise<ExtractProgress> {
      process?.kill()
      process = journal.open(true)
      const { signal } = (gone = new AbortController())
      const transport = until(signal, service)
      const run = journal.run()
      const work = collect({
        ...buyingOptions(service, process.writer, { transport }),
        run,
        endpoint,
        pages: 1_000,
        creditsLimit: null,
        concurrency: 4,
        notBefore: 0,
        ...overrides,
      })
      return clock.run(work)
    },
  }
}
