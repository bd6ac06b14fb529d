/** What a manifest says about coverage, credits and checks, read from `ops`. */

import { ConfigError, EXIT, JobtideError } from '../support/errors.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Manifest } from './manifest.ts'

const instant = (of: string) => `strftime(${of} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`

// An organisation begins where its first interval begins, the beginning of time included (null in the table).
const LEDGER_SQL = `
  with edges as (
    select organization_id, count(*) as intervals, max(covered_to) as covered_to,
           min(coalesce(covered_from, '-infinity')) as covered_from
    from ops.coverage group by organization_id),
  summary as (
    select count(*) as organizations, coalesce(sum(intervals), 0) as intervals,
           nullif(min(covered_from), '-infinity') as from_min, nullif(max(covered_from), '-infinity') as from_max,
           min(covered_to) as to_min, max(covered_to) as to_max
    from edges)
  select cast(organizations as double) as organizations, cast(intervals as double) as intervals,
    {min: ${instant('from_min')}, max: ${instant('from_max')}} as covered_from,
    {min: ${instant('to_min')}, max: ${instant('to_max')}} as covered_to,
    (select sha256(coalesce(string_agg(line, chr(10) order by line), '')) from (
       select concat_ws('|', organization_id, event_types, epoch_us(covered_to), coalesce(epoch_us(covered_from), -1)) as line
       from ops.coverage)) as sha256,
    (select {total: cast(coalesce(sum(credits_used), 0) as double),
             of_run: cast(coalesce(sum(credits_used) filter (where run_id = $1), 0) as double)} from ops.pages) as credits,
    version() as duckdb
  from summary`

/** Reads coverage, credits and the engine's version in the transaction that is open. */
export async function readLedger(
  warehouse: Warehouse,
  runId: string | null,
): Promise<Pick<Manifest, 'coverage' | 'credits'> & { readonly duckdb: string }> {
  type Row = Manifest['coverage'] & Pick<Manifest, 'credits'> & { readonly duckdb: string }
  const [row] = await warehouse.all<Row>(LEDGER_SQL, [runId])
  if (row === undefined) throw new Error('an aggregate has one row')
  const { credits, duckdb, ...coverage } = row
  return { coverage, credits, duckdb }
}

const CHECKS_SQL = `
  select max(build_id) as build_id, cast(count(*) as double) as passed, ${instant('max(checked_at)')} as checked_at,
         string_agg(check_name, ', ' order by check_name) filter (where offenders > 0) as failed,
         (select cast(count(*) as double) from ops.changed_people) as changed
  from ops.checks`

/**
 * What the last build said of its tables; null when nothing was ever built.
 * @param hasReaders whether a snapshot was published before
 * @throws JobtideError with exit code 6 when a check failed: the tables are older than the events then
 */
export async function readChecks(
  warehouse: Warehouse,
  hasReaders: boolean,
): Promise<Manifest['checks']> {
  type Row = NonNullable<Manifest['checks']> & { readonly failed: string | null; changed: number }
  const [row] = await warehouse.all<Row>(CHECKS_SQL)
  if (row === undefined || row.passed === 0) return null
  const { build_id, passed, checked_at, failed, changed } = row
  const kept = hasReaders
    ? 'Nothing was published; readers keep the snapshot before.'
    : 'Nothing was published.'
  if (failed !== null) {
    throw new JobtideError(EXIT.checkFailed, `the last build failed: ${failed}`, {
      hint: `${kept} Mend what the check found and run \`jobtide build\`.`,
    })
  }
  if (changed > 0) {
    throw new ConfigError('there are events that were loaded after the last build', {
      hint: `${kept} Run \`jobtide build\` first.`,
    })
  }
  return { build_id, passed, checked_at }
}
