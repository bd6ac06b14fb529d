/**
 * Publishes a snapshot: data files, then views and manifest, then the pointer, then `current/` and the Delta logs.
 * Readers follow the pointer, so they see the whole new snapshot or the previous one. The remains of a failed publish
 * are garbage a day later.
 */

import { atOnce } from '../support/at-once.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import { ConfigError, EXIT, JobtideError } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { updateCurrent } from './current.ts'
import { syncDeltaLogs } from './delta.ts'
import { PublishError } from './errors.ts'
import { exportTables, type ExportOptions, type ScratchFile } from './export.ts'
import { assertNoDataLoss, isEmpty, refuseSchemaChange, type LossChoices } from './guard.ts'
import {
  FORMAT_VERSION,
  POINTER_KEY,
  formatJson,
  isOfThisFormat,
  objectsOf,
  pointerTo,
  sameContent,
  snapshotKeys,
  totalsOf,
  viewsSql,
  readCurrent,
  readPointer,
  type Manifest,
  type NotKept,
  type SnapshotTotals,
  type CurrentSnapshot,
} from './manifest.ts'
import { withScratch } from './scratch.ts'
import { removeFolder, type ObjectStore } from './store/object-store.ts'

export interface PublishChoices extends LossChoices, Pick<ExportOptions, 'compact'> {
  /** Accepts removed tables and columns and changed types. Default: false, which refuses such a snapshot. */
  readonly acceptSchemaChange?: boolean
}

export interface PublishOptions extends ExportOptions, PublishChoices {
  readonly made?: NonNullable<ExportOptions['made']> & {
    /** The snapshot that they go on from; another one in its place is not replaced. */
    readonly current: CurrentSnapshot | null
    readonly spark: Manifest['spark']
    /** Checks that passed there. */
    readonly checks: number
  }
  readonly store: ObjectStore
  readonly clock: Clock
  /** The run that publishes; null for a publish outside a run. */
  readonly runId: string | null
  /** The journal that the warehouse is made from, a ULID. */
  readonly journalId: string
  /** Rows erased on purpose: fewer rows are not a loss then. */
  readonly notKept: NotKept
  /** The MACs of the suppression list and of those before it. */
  readonly lists: readonly string[]
  readonly version: string
  /** Called once readers see a new snapshot, before anything else can fail. */
  readonly onPublished?: (report: PublishReport & { readonly snapshotId: string }) => Promise<void>
  /** Whether `current/` is kept there. Default: true. */
  readonly hasCurrent?: boolean
  /** Whether a table is of a model of the user's own: it may go, and its columns. Default: none is. */
  readonly isOwn?: (table: string) => boolean
}

export interface PublishReport extends SnapshotTotals {
  /** The snapshot that readers now see: the one before where nothing changed; null where they see none. */
  readonly snapshotId: string | null
  /** True when nothing was published, because nothing was read yet: there is no row, and no organisation is covered. */
  readonly nothingRead: boolean
  /** True when the store already showed exactly this: then there is no new snapshot. */
  readonly unchanged: boolean
  /** The format of the snapshot before, where that is an older one: a whole new snapshot took its place. */
  readonly replacedFormat: number | null
  /** Files that the snapshot before did not have. */
  readonly newFiles: number
  readonly newBytes: number
  readonly destination: string
}

/**
 * The warehouse may be open for reading only; it must not be in a transaction.
 * @throws PublishError when the store, a type, a change of columns or another publisher refuses it
 * @throws RefusedError when the destination shows the rows of another journal, or more than this warehouse holds
 * @throws JobtideError with exit code 6 when the last build failed a check
 */
export function publishSnapshot(options: PublishOptions): Promise<PublishReport> {
  return withScratch(options.scratchFolder, () => publishFromScratch(options))
}

async function publishFromScratch(options: PublishOptions): Promise<PublishReport> {
  const { store, made } = options
  const { destination } = store
  const current = made === undefined ? await readCurrent(store) : made.current
  const before = current?.manifest ?? null
  const sizes = await sizesOfTables(store)
  // One transaction: all tables, the coverage and the credits are those of one moment.
  const { manifest, files, newFiles } = await options.warehouse.transaction(() =>
    exportSnapshot(options, current, sizes),
  )
  const nothingNew = { unchanged: true, newFiles: 0, newBytes: 0, destination }
  if (isEmpty(manifest) && before?.journal_id !== manifest.journal_id) {
    // An empty snapshot would suggest to readers that nothing ever happened.
    const seen = { snapshotId: before?.snapshot_id ?? null, replacedFormat: null }
    return { ...totalsOf({ tables: [] }), ...nothingNew, ...seen, nothingRead: true }
  }
  if (before !== null) {
    assertNoDataLoss(before, manifest, options)
    refuseSchemaChange(before, manifest, options)
  }
  // Even if nothing changed, because a lost file was written again.
  await putFiles(options, files)
  const unchanged = before !== null && isOfThisFormat(before) && sameContent(before, manifest)
  const shown = unchanged ? before : manifest
  const report = {
    snapshotId: shown.snapshot_id,
    nothingRead: false,
    replacedFormat: before === null || isOfThisFormat(before) ? null : before.format_version,
    ...totalsOf(shown),
    ...nothingNew,
    ...(unchanged ? {} : { unchanged, newFiles, newBytes: manifest.new_bytes }),
  }
  if (!unchanged) {
    await putSnapshot(options, manifest, current)
    await options.onPublished?.(report)
  }
  // For readers that do not know manifests. Also for an earlier snapshot, whose publisher may have been killed before.
  const toShow = { ...options, manifest: shown, listed: [...sizes.keys()] }
  if (options.hasCurrent ?? true) await updateCurrent(toShow)
  else {
    // It must not keep showing an old day.
    await removeFolder(store, 'current')
    await syncDeltaLogs(toShow)
  }
  return report
}

/** The objects below `tables/`: key → bytes. */
async function sizesOfTables(store: ObjectStore): Promise<Map<string, number>> {
  return new Map((await store.list('tables/')).map(({ key, bytes }) => [key, bytes]))
}

/** Exports the tables, and says what the manifest of that is. @param current of an older format, nothing of it is kept */
async function exportSnapshot(
  options: PublishOptions,
  current: CurrentSnapshot | null,
  sizes: ReadonlyMap<string, number>,
) {
  const { warehouse, runId, clock, snapshotId, made, version } = options
  const checks = await readChecks(warehouse)
  type Ledger = Manifest['coverage'] & Pick<Manifest, 'credits'> & { readonly duckdb: string }
  const [ledger] = await warehouse.all<Ledger>(LEDGER_SQL, [runId])
  if (ledger === undefined) throw new Error('an aggregate has one row')
  const { credits, duckdb, ...coverage } = ledger
  const versions = { jobtide: version, duckdb }
  const before = current !== null && isOfThisFormat(current.manifest) ? current.manifest : null
  const { tables, files } = await exportTables(options, before, sizes, versions)
  const known = new Set(before === null ? [] : objectsOf(before).map(({ key }) => key))
  const newObjects = objectsOf({ tables }).filter(({ key }) => !known.has(key))
  const manifest: Manifest = {
    format_version: FORMAT_VERSION,
    snapshot_id: snapshotId,
    sequence: (current?.manifest.sequence ?? 0) + 1,
    previous: current && {
      snapshot_id: current.pointer.snapshot_id,
      manifest_sha256: current.pointer.manifest_sha256,
    },
    created_at: isoInstant(clock.now()),
    destination: options.store.destination,
    run_id: runId,
    journal_id: options.journalId,
    not_kept: options.notKept,
    versions,
    ...(made?.spark === undefined ? {} : { spark: made.spark }),
    tables,
    new_bytes: sum(newObjects.map(({ bytes }) => bytes)),
    coverage,
    checks: checks && { ...checks, passed: checks.passed + (made?.checks ?? 0) },
    credits,
  }
  return { manifest, files, newFiles: newObjects.length }
}

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

const CHECKS_SQL = `
  select max(build_id) as build_id, cast(count(*) as double) as passed, ${instant('max(checked_at)')} as checked_at,
         string_agg(check_name, ', ' order by check_name) filter (where offenders > 0) as failed,
         (select cast(count(*) as double) from ops.changed_people) as changed,
         (select cast(count(*) as double) from ops.build_state where key = 'partial') as partial
  from ops.checks`

const NOTHING_PUBLISHED = 'Nothing was published. Readers see what they saw.'

/** The last build's report; null for no build. @throws JobtideError with exit code 6 when a check failed */
export async function readChecks(warehouse: Warehouse): Promise<Manifest['checks']> {
  type Row = NonNullable<Manifest['checks']> & {
    readonly failed: string | null
    readonly changed: number
    readonly partial: number
  }
  const [row] = await warehouse.all<Row>(CHECKS_SQL)
  if (row === undefined || (row.passed === 0 && row.partial === 0)) return null
  const { build_id, passed, checked_at, failed, changed, partial } = row
  if (failed !== null) {
    throw new JobtideError(EXIT.checkFailed, `the last build failed: ${failed}`, {
      hint: `${NOTHING_PUBLISHED} Fix what the check found and run \`jobtide build\`.`,
    })
  }
  if (changed > 0 || partial > 0) {
    const what =
      changed > 0
        ? 'there are events that were loaded after the last build'
        : 'the last build made some models only (--select), and checked no others'
    throw new ConfigError(what, { hint: `${NOTHING_PUBLISHED} Run \`jobtide build\` first.` })
  }
  return { build_id, passed, checked_at }
}

const AT_ONCE = 4

async function putFiles(options: PublishOptions, files: readonly ScratchFile[]): Promise<void> {
  const { store, signal, logger, onProgress } = options
  let done = 0
  if (files.length === 0) onProgress?.({ phase: 'upload', done, total: 0, name: '' })
  await atOnce(files, AT_ONCE, async ({ key, path, rows, bytes }) => {
    signal?.throwIfAborted()
    await store.putFile(key, path, signal)
    logger.debug({ key, rows, bytes }, 'publish.file_written')
    done += 1
    onProgress?.({ phase: 'upload', done, total: files.length, name: key })
  })
}

/** Stores views and manifest, and moves the pointer: readers see nothing of the snapshot before that. */
async function putSnapshot(
  { store, signal, logger }: PublishOptions,
  manifest: Manifest,
  current: CurrentSnapshot | null,
): Promise<void> {
  const { snapshot_id: id } = manifest
  const keys = snapshotKeys(id)
  const text = formatJson(manifest)
  await store.put(keys.views, Buffer.from(viewsSql(manifest)))
  await store.put(keys.manifest, Buffer.from(text))
  // The store's answer does not prove it, and another program may delete there.
  const sizes = await sizesOfTables(store)
  const stored = Buffer.from((await store.get(keys.manifest))?.bytes ?? []).toString()
  const missing = objectsOf(manifest).find(({ key, bytes }) => sizes.get(key) !== bytes)
  const lost = stored === text ? missing?.key : keys.manifest
  if (lost !== undefined) {
    throw new PublishError(`${store.urlOf(lost)} was written but is missing`, {
      hint: `Check whether another program deletes there. ${NOTHING_PUBLISHED} Run publish again.`,
    })
  }
  signal?.throwIfAborted()
  const pointer = Buffer.from(formatJson(pointerTo(id, text)))
  if (!(await store.replace(POINTER_KEY, pointer, current?.version ?? null))) {
    const from = current?.pointer.snapshot_id ?? 'no snapshot'
    const to = (await readPointer(store))?.pointer.snapshot_id ?? 'no snapshot'
    const what = `another publisher moved ${store.urlOf(POINTER_KEY)} from ${from} to ${to}`
    throw new PublishError(what, { hint: 'Run publish again.', context: { from, to } })
  }
  logger.info({ snapshot: id, at: store.destination }, 'publish.pointer_moved')
}
