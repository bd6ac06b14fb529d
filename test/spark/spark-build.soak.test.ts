/** Models that Spark builds, after a backfill and five nights, and the tests of the package that builds them. */

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/support/assets.ts'
import { MINUTE } from '../../src/support/units.ts'
import { compareNights } from './compare-nights.ts'
import { findPython } from './python.ts'

const { python, why } = findPython()

describe.skipIf(python === null)(`models that Spark builds ${why && `(skipped: ${why})`}`, () => {
  it('are built by a package whose own tests pass', () => {
    const args = ['-m', 'unittest', 'discover', '-s', 'tests', '-t', '.']
    execFileSync(python ?? '', args, { cwd: join(packageRoot, 'spark'), stdio: 'pipe' })
  })

  it(
    'are those of DuckDB after a backfill and five nights: corrected, late and erased events, a new column, tables split by year',
    { timeout: 180 * MINUTE },
    async () => {
      const { site, incremental, updated } = await compareNights(python ?? '', 5)
      expect(updated).toBeGreaterThan(0)
      // The first night makes everything, and so do those after an erasure and a change to the models.
      expect(incremental).toEqual([false, true, false, false, true, true])
      const late = await site.query<{ n: number }>(
        `select count(*)::int as n from job_change_events
         where first_run_id <> (select min(first_run_id) from job_change_events)
           and first_seen_at - changed_at > interval 60 day`,
      )
      expect(late[0]?.n).toBeGreaterThan(0)
    },
  )
})
