/** `snapshots`: what a destination holds, and which snapshot readers see. `diff`: what changed between two of them. */

import { existsSync } from 'node:fs'
import { objectsOf, totalsOf, type Manifest } from '../publish/manifest.ts'
import { isFolderAddress, openStore } from '../publish/store/open-store.ts'
import { diffSnapshots, type ChangedRow, type TableDiff } from '../publish/diff.ts'
import {
  listSnapshots,
  openSnapshot,
  readCurrent,
  type OpenSnapshot,
} from '../publish/read-snapshot.ts'
import { neverPublished } from '../publish/gc/retention.ts'
import { readSnapshotTarget } from '../run/job.ts'
import { withTemporaryFolder } from '../run/temporary-folder.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { countText, numberText, sum } from '../support/numbers.ts'
import type { Context } from './context.ts'
import { table } from './report.ts'
import { bytesText } from './text.ts'
import { storeOptionsFor, type VerifyOptions } from './proof-commands.ts'

/** `snapshots`: lists the snapshots of a destination, the newest first. */
export async function snapshotsCommand(
  context: Context,
  destination: string | undefined,
  { pipeline }: VerifyOptions,
): Promise<ExitCode> {
  const target = readSnapshotTarget(pipeline, { snapshotTo: destination }, context.directory.root)
  if (target === null) {
    throw new ConfigError(`pipeline ${pipeline} has no snapshot destination`, {
      hint: 'Name a folder or an s3:// address: jobtide snapshots DESTINATION.',
    })
  }
  const { to } = target
  // That of a pipeline is made by its first publish.
  if (destination !== undefined && isFolderAddress(to) && !existsSync(to)) {
    throw new ConfigError(`there is no folder ${to}`, { hint: 'Check the path.' })
  }
  const { manifests, currentId } = await readTarget(context, to, pipeline)
  const sizes = new Map(manifests.flatMap(objectsOf).map(({ key, bytes }) => [key, bytes]))
  const bytes = sum([...sizes.values()])
  const snapshots = manifests.toReversed().map((manifest) => ({
    snapshotId: manifest.snapshot_id,
    url: `${to.replace(/\/$/, '')}/snapshots/${manifest.snapshot_id}`,
    isCurrent: manifest.snapshot_id === currentId,
    sequence: manifest.sequence,
    createdAt: manifest.created_at,
    runId: manifest.run_id,
    ...totalsOf(manifest),
    newBytes: manifest.new_bytes,
    checks: manifest.checks,
    coverage: manifest.coverage,
  }))
  const marked =
    currentId === null
      ? 'none of them is what readers see: there is no latest.json'
      : '→ what readers see; the address of another: DESTINATION/snapshots/SNAPSHOT'
  context.output.report({
    title:
      snapshots.length === 0
        ? `nothing was published to ${to} yet`
        : `${to}: ${countText(snapshots.length, 'snapshot')}, ${bytesText(bytes)} together`,
    sections: [
      table('snapshots', snapshots, [
        ['  snapshot', (row) => `${row.isCurrent ? '→ ' : '  '}${row.snapshotId}`, 'id'],
        ['created (UTC)', 'createdAt', 'instant'],
        ['rows', 'rows', 'number'],
        ['bytes', 'bytes', 'bytes'],
        ['new', 'newBytes', 'bytes'],
      ]),
    ],
    notes: snapshots.length === 0 ? [] : ['', marked],
    values: { destination: to, current: currentId, bytes },
  })
  return EXIT.done
}

/** The manifests of a destination, oldest first, and which one readers see: null where the pointer is not there. */
async function readTarget(
  context: Context,
  to: string,
  pipeline: string,
): Promise<{ readonly manifests: readonly Manifest[]; readonly currentId: string | null }> {
  if (isFolderAddress(to) && !existsSync(to)) return { manifests: [], currentId: null }
  const store = await openStore(to, storeOptionsFor(context, to, { pipeline }))
  const current = await readCurrent(store)
  const manifests = await listSnapshots(store)
  const currentId = current?.pointer.snapshot_id ?? null
  const never = currentId === null ? new Set() : neverPublished(manifests, currentId)
  return { manifests: manifests.filter(({ snapshot_id: id }) => !never.has(id)), currentId }
}

export interface DiffOptions extends VerifyOptions {
  readonly table?: string
  readonly limit: number
}

export async function diffCommand(
  context: Context,
  before: string,
  after: string,
  options: DiffOptions,
): Promise<ExitCode> {
  const { output, progress, stop } = context
  const a = await openSnapshot(before, storeOptionsFor(context, before, options))
  const b = await openSnapshot(after, storeOptionsFor(context, after, options))
  const { tables, rows } = await withTemporaryFolder('diff', (scratchFolder) =>
    diffSnapshots({
      before: a,
      after: b,
      scratchFolder,
      ...(options.table && { rows: { table: options.table, limit: options.limit } }),
      signal: stop,
      onProgress: (step) => progress.show({ stage: 'diff', ...step }),
    }),
  )
  const changed = tables.filter(isDifferent)
  const equal = tables.length - changed.length
  const notes = [
    ...changed.flatMap(columnNotes),
    ...(equal > 0
      ? [`no difference in ${countText(equal, changed.length === 0 ? 'table' : 'other table')}`]
      : []),
    ...(rows === null ? [] : ['', ...rows.flatMap(rowNotes)]),
  ]
  const found = sum(
    changed.flatMap((one) => [one.rows_added, one.rows_removed, one.rows_changed].map(Number)),
  )
  // Rows of a table that only one has are not shown.
  const more = rows === null || rows.length === 0 ? 0 : found - rows.length
  output.report({
    sections: [
      [
        ['before', snapshotText(a)],
        ['after', snapshotText(b)],
      ],
      table(null, changed, [
        ['table', 'name'],
        ['added', 'rows_added', 'number'],
        ['removed', 'rows_removed', 'number'],
        ['changed', 'rows_changed', 'number'],
        ['rows now', 'rows_after', 'number'],
      ]),
    ],
    notes: more > 0 ? [...notes, `… ${numberText(more)} more: --limit`] : notes,
    // Keys and values of rows are the columns of the tables.
    data: { before: snapshotValues(a), after: snapshotValues(b), tables, rows },
  })
  return EXIT.done
}

function isDifferent(row: TableDiff): boolean {
  const counts = [row.rows_added, row.rows_removed, row.rows_changed]
  return (
    row.rows_before === null ||
    row.rows_after === null ||
    counts.some((count) => count !== 0) ||
    columnNotes(row).length > 0
  )
}

function snapshotValues({ manifest, store }: OpenSnapshot) {
  const { snapshot_id, created_at } = manifest
  return { snapshot_id, created_at, destination: store.destination }
}

function snapshotText({ manifest }: OpenSnapshot): string {
  return `${manifest.snapshot_id} of ${manifest.created_at}`
}

function columnNotes(row: TableDiff): string[] {
  const notes: readonly (readonly [is: boolean, what: string])[] = [
    [row.rows_before === null, 'only in the snapshot after'],
    [row.rows_after === null, 'only in the snapshot before'],
    [
      row.rows_before !== null && row.rows_after !== null && row.rows_added === null,
      'another key: which row became which cannot be told',
    ],
    [row.columns_added.length > 0, `only the snapshot after has ${row.columns_added.join(', ')}`],
    [
      row.columns_removed.length > 0,
      `only the snapshot before has ${row.columns_removed.join(', ')}`,
    ],
  ]
  return notes.flatMap(([is, what]) => (is ? `${row.name}: ${what}` : []))
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const

function rowNotes({ change, key, columns }: ChangedRow): string[] {
  const names = Object.entries(key).map(([name, value]) => `${name} ${valueText(value)}`)
  const head = `${SIGNS[change]} ${names.join(', ')}`
  if (change !== 'changed') return [head]
  const changes = columns.map(
    ({ name, before, after }) => `    ${name}: ${valueText(before)} → ${valueText(after)}`,
  )
  return [head, ...changes]
}

function valueText(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}
