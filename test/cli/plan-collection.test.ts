import { expect, it } from 'vitest'
import { collectionReport } from '../../src/cli/plan-command.ts'
import { lookupKey } from '../../src/journal/run-history.ts'
import { collectOnce } from '../../src/run/collection.ts'
import { oneOffJob } from '../../src/run/job.ts'
import { DAY } from '../../src/support/units.ts'
import { startRun } from '../load/load-fixture.ts'
import { ledgerSite } from './ledger-fixture.ts'

const NOW = Date.UTC(2026, 10, 24)

it('says how many of the recently answered requests found nothing', async () => {
  const site = ledgerSite(NOW)
  const request = { suggest_type: 'company', q: 'weaving' }
  const collection = collectOnce('suggest', 'suggest', request, { pages: 1, refreshMs: DAY })
  const run_id = 'run_1'
  const lookup = { batch_id: '000001', lookup_key: lookupKey('suggest', request), request }
  const planned = { run_id, at: NOW - 3, endpoint: 'suggest' }
  const sent = { page: 1, request_id: 'request_1', requested_at: NOW - 2, at: NOW - 1 }
  await site.journal((writer) => {
    startRun(writer, [])
    const lookups = JSON.stringify([{ ...lookup, subject: 'weaving' }])
    writer.write({ kind: 'lookups_planned', ...planned }, lookups)
    writer.write(
      {
        kind: 'answer_received',
        run_id,
        ...sent,
        endpoint: 'suggest',
        batch_id: lookup.batch_id,
        lookup_key: lookup.lookup_key,
        subject: 'weaving',
        status: 404,
        outcome: 'absent',
        items: 0,
        credits_used: 1,
        next: null,
        body_sha256: '',
      },
      '{}',
    )
  })
  const { text, document } = await site.show((context) =>
    collectionReport(context, oneOffJob(collection, {}), collection),
  )
  expect(document).toMatchObject({ answered_lately: 1, absent: 1 })
  expect(text).toContain('1 of them that the service does not have')
})
