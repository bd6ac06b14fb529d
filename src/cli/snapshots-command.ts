/** `snapshots`: what a destination holds, which snapshot readers see, and what each brought. */

import { existsSync } from 'node:fs'
import { s3EndpointFrom } from '../config.ts'
import { objectsOf, type Manifest } from '../publish/manifest.ts'
import { openStore } from '../publish/store/open-store.ts'
import { listSnapshots, readCurrent } from '../publish/read-snapshot.ts'
import { neverPublished } from '../publish/sweep/sweep-plan.ts'
import { readSnapshotTarget, type SnapshotTarget } from '../run/job.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import type { Context } from './context.ts'
import { bytesText, countText, minuteText, numberText, tableText, wrapText } from './text.ts'

/** Options of `snapshots`. */
export interface SnapshotsOptions {
  /** Whose destination it is where none is named, and how its bucket is reached. */
  readonly pipeline: string
}

/**
 * `snapshots`: lists the snapshots of a destination, the newest first.
 * @param destination folder or s3:// address; absent: that of the pipeline
 * @throws ConfigError when there is none
 * @throws PublishError when the store or a manifest cannot be read
 */
export async function snapshotsCommand(
  context: Context,
  destination: string | undefined,
  { pipeline }: SnapshotsOptions,
): Promise<ExitCode> {
  const overrides = destination === undefined ? {} : { snapshotTo: destination }
  const target = readSnapshotTarget(pipeline, overrides, context.directory.root)
  if (target === null) {
    throw new ConfigError(`pipeline ${pipeline} has no snapshot destination`, {
      hint: 'Name a folder or an s3:// address: jobtide snapshots DESTINATION.',
    })
  }
  const { manifests, currentId } = await readTarget(context, target)
  const newestFirst = manifests.toReversed()
  context.output.text(
    newestFirst.length === 0
      ? `nothing was published to ${target.to} yet`
      : textOf(target.to, newestFirst, currentId, context.output.columns),
  )
  context.output.document({
    destination: target.to,
    current: currentId,
    bytes: bytesOfAll(manifests),
    snapshots: newestFirst.map((manifest) => documentOf(manifest, target.to, currentId)),
  })
  return EXIT.done
}

interface Listing {
  /** Oldest first. */
  readonly manifests: readonly Manifest[]
  /** Null where the pointer is not there. */
  readonly currentId: string | null
}

async function readTarget(context: Context, { to, s3 }: SnapshotTarget): Promise<Listing> {
  const nothing: Listing = { manifests: [], currentId: null }
  if (!to.startsWith('s3://') && !existsSync(to)) return nothing
  const { clock, environment } = context
  const s3Endpoint = s3EndpointFrom(environment)
  const store = await openStore(to, { clock, s3, s3Endpoint, access: 'read' })
  const current = await readCurrent(store)
  const manifests = await listSnapshots(store)
  const currentId = current?.pointer.snapshot_id ?? null
  if (currentId === null) return { manifests, currentId }
  const never = neverPublished(manifests, currentId)
  return { manifests: manifests.filter(({ snapshot_id: id }) => !never.has(id)), currentId }
}

const POINTED = '→ '
const INDENT = '  '

function textOf(
  destination: string,
  manifests: readonly Manifest[],
  currentId: string | null,
  columns: number,
): string {
  const table = tableText(
    [`${INDENT}snapshot`, 'created (UTC)', 'rows', 'bytes', 'new'],
    manifests.map((manifest) => [
      `${manifest.snapshot_id === currentId ? POINTED : INDENT}${manifest.snapshot_id}`,
      minuteText(Date.parse(manifest.created_at)),
      numberText(rowsOf(manifest)),
      bytesText(bytesOf(manifest)),
      bytesText(manifest.new_bytes),
    ]),
    // An id that is cut is of no use.
    { width: Number.POSITIVE_INFINITY, numeric: [false, false, true, true, true] },
  )
  const [head = '', ...rows] = table.split('\n')
  const lines = rows.flatMap((row, index) => {
    const manifest = manifests[index]
    return manifest === undefined ? [row] : [row, detailText(manifest, columns)]
  })
  const total = `${countText(manifests.length, 'snapshot')}, ${bytesText(bytesOfAll(manifests))} together`
  return [
    `${destination}: ${total}`,
    '',
    head,
    ...lines,
    '',
    currentId === null
      ? 'none of them is what readers see: there is no latest.json'
      : `${POINTED}what readers see; the address of another: DESTINATION/snapshots/SNAPSHOT`,
  ].join('\n')
}

function detailText(manifest: Manifest, columns: number): string {
  const { checks, coverage } = manifest
  const until = coverage.covered_to.max
  const parts = [
    countText(objectsOf(manifest).length, 'file'),
    checks === null ? 'not checked by a build' : `${countText(checks.passed, 'check')} passed`,
    `${countText(coverage.organizations, 'organisation')} covered${until === null ? '' : ` up to ${minuteText(Date.parse(until))}`}`,
  ]
  return wrapText(parts.join(', '), columns, `${INDENT}${INDENT}`)
}

function documentOf(manifest: Manifest, destination: string, currentId: string | null) {
  const { snapshot_id: id, sequence, created_at, run_id, new_bytes, checks, coverage } = manifest
  return {
    snapshot_id: id,
    url: `${destination.replace(/\/$/, '')}/snapshots/${id}`,
    is_current: id === currentId,
    sequence,
    created_at,
    run_id,
    tables: manifest.tables.length,
    rows: rowsOf(manifest),
    files: objectsOf(manifest).length,
    bytes: bytesOf(manifest),
    new_bytes,
    checks,
    coverage,
  }
}

function rowsOf({ tables }: Manifest): number {
  return sum(tables.map(({ rows }) => rows))
}

function bytesOf({ tables }: Manifest): number {
  return sum(tables.map(({ bytes }) => bytes))
}

/** What the store holds for all of them: files that several snapshots share count once. */
function bytesOfAll(manifests: readonly Manifest[]): number {
  const bytes = new Map(manifests.flatMap(objectsOf).map((object) => [object.key, object.bytes]))
  return sum([...bytes.values()])
}
