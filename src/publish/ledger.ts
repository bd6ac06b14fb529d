/** What a manifest says about coverage, credits and checks, read from `ops`. */

import { isoInstant } from '../support/clock.ts'
import { ConfigError, EXIT, JobtideError } from '../support/errors.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { CoverageSummary, Manifest } from './manifest.ts'
import { engineVersion } from './partitions.ts'

/** Reads coverage, credits and the engine's version in the transaction that is open. */
export async function readLedger(
  warehouse: Warehouse,
  runId: string | null,
): Promise<{ coverage: CoverageSummary; credits: Manifest['credits']; duckdb: string }> {
  const [credits] = await warehouse.all<{ total: bigint; of_run: bigint }>(CREDITS_SQL, [runId])
  return {
    coverage: await readCoverage(warehouse),
    credits: { total: Number(credits?.total ?? 0), of_run: Number(credits?.of_run ?? 0) },
    duckdb: await engineVersion(warehouse),
  }
}

interface ChecksRow {
  readonly checks: bigint
  readonly failed: string | null
  readonly checked_at: bigint | null
  readonly changed: bigint
}

const CHECKS_SQL = `
  select count(*) as checks, epoch_ms(max(checked_at)) as checked_at,
         string_agg(check_name, ', ' order by check_name) filter (where offenders > 0) as failed,
         (select count(*) from ops.changed_people) as changed
  from ops.checks`

/**
 * What the last build said of its tables; null when nothing was ever built.
 * @throws JobtideError with exit code 6 when a check failed: the tables are older than the events then
 */
export async function readChecks(warehouse: Warehouse): Promise<Manifest['checks']> {
  const [row] = await warehouse.all<ChecksRow>(CHECKS_SQL)
  if (row === undefined || row.checks === 0n) return null
  if (row.failed !== null) {
    throw new JobtideError(EXIT.checkFailed, `the last build failed: ${row.failed}`, {
      hint: 'Nothing was published; readers keep the snapshot before. Mend what the check found and run `jobtide build`.',
    })
  }
  if (row.changed > 0n) {
    throw new ConfigError('there are events that were loaded after the last build', {
      hint: 'Nothing was published; readers keep the snapshot before. Run `jobtide build` first.',
    })
  }
  return { passed: Number(row.checks), checked_at: instant(row.checked_at) ?? '' }
}

const CREDITS_SQL = `
  select coalesce(cast(sum(credits_used) as bigint), 0) as total,
         coalesce(cast(sum(credits_used) filter (where run_id = $1) as bigint), 0) as of_run
  from ops.pages`

// An organisation begins where its first interval begins, the beginning of time included (null in the table).
const COVERAGE_SQL = `
  with edges as (
    select organization_id, count(*) as intervals, max(covered_to) as covered_to,
           min(coalesce(covered_from, '-infinity')) as covered_from
    from ops.coverage group by organization_id)
  select count(*) as organizations, coalesce(cast(sum(intervals) as bigint), 0) as intervals,
         epoch_ms(nullif(min(covered_from), '-infinity')) as from_min,
         epoch_ms(nullif(max(covered_from), '-infinity')) as from_max,
         epoch_ms(min(covered_to)) as to_min, epoch_ms(max(covered_to)) as to_max
  from edges`

const COVERAGE_HASH_SQL = `
  select sha256(coalesce(string_agg(line, chr(10) order by line), '')) as sha256
  from (select concat_ws('|', organization_id, event_types, epoch_us(covered_to),
                         coalesce(epoch_us(covered_from), -1)) as line from ops.coverage)`

interface CoverageRow {
  readonly organizations: bigint
  readonly intervals: bigint
  readonly from_min: bigint | null
  readonly from_max: bigint | null
  readonly to_min: bigint | null
  readonly to_max: bigint | null
}

async function readCoverage(warehouse: Warehouse): Promise<CoverageSummary> {
  const [row] = await warehouse.all<CoverageRow>(COVERAGE_SQL)
  const [hash] = await warehouse.all<{ sha256: string }>(COVERAGE_HASH_SQL)
  return {
    organizations: Number(row?.organizations ?? 0),
    intervals: Number(row?.intervals ?? 0),
    covered_from: { min: instant(row?.from_min), max: instant(row?.from_max) },
    covered_to: { min: instant(row?.to_min), max: instant(row?.to_max) },
    sha256: hash?.sha256 ?? '',
  }
}

function instant(epochMs: bigint | null | undefined): string | null {
  return epochMs === null || epochMs === undefined ? null : isoInstant(Number(epochMs))
}
