/** How large the state of 40,000 organisations over three years of nights is, and how soon a start knows it. */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { CHECKPOINT_FILE, readHistory, saveCheckpoint } from '../../src/journal/read-history.ts'
import { makePlan } from '../../src/plan/plan.ts'
import { MIB } from '../../src/support/units.ts'
import { aJournal } from '../journal/journal-fixture.ts'
import { afterNights, organizationId, writeNight } from '../journal/years-of-nights.ts'

const ORGANIZATIONS = 40_000
const NIGHTS = 1_095

it('knows 40,000 organisations over 1,095 nights', { timeout: 1_800_000 }, async () => {
  const journal = aJournal()
  for (let night = 0; night < NIGHTS; night += 1) {
    const writer = journal.writer()
    writeNight(writer, night, ORGANIZATIONS)
    await writer.close()
    // As at the end of a night; each night would only make the bench longer.
    if (night % 100 === 99) saveCheckpoint(journal)
  }
  saveCheckpoint(journal)
  const bytes = statSync(join(journal.folder, CHECKPOINT_FILE)).size
  const beganAt = performance.now()
  const history = readHistory(journal)
  const readMs = performance.now() - beganAt
  const plan = makePlan(
    {
      pipeline: 'nightly',
      organizations: Array.from({ length: ORGANIZATIONS }, (_, i) => ({
        by: 'id',
        value: organizationId(i),
      })),
      eventTypes: ['joined', 'left', 'title_change'],
      window: 'since-last',
      initialWindow: 365,
      overlapHours: 6,
    },
    history,
    afterNights(NIGHTS),
  )
  const totalMs = performance.now() - beganAt
  process.stdout.write(
    `state ${(bytes / MIB).toFixed(1)} MiB; read in ${Math.round(readMs)} ms, planned ${plan.batches.length} batches after ${Math.round(totalMs)} ms\n`,
  )
  expect(bytes).toBeLessThan(50 * MIB)
})
