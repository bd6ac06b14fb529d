/** Models that Spark builds, after a backfill and one night: for CI on machines whose JOBTIDE_SPARK_PYTHON names a Python with PySpark. */

import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../src/support/units.ts'
import { compareNights } from './compare-nights.ts'
import { findPython } from './python.ts'

const { python, why } = findPython()

describe.skipIf(python === null)(`models that Spark builds ${why && `(skipped: ${why})`}`, () => {
  it(
    'are those of DuckDB after a backfill and after an incremental night',
    { timeout: 30 * MINUTE },
    async () => {
      const { incremental, updated } = await compareNights(python ?? '', 1)
      expect(incremental).toEqual([false, true])
      expect(updated).toBeGreaterThan(0)
    },
  )
})
