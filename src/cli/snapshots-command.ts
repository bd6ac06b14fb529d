/** `snapshots`: what a destination holds, which snapshot readers see, and what each brought. */

import { existsSync } from 'node:fs'
import { s3EndpointFrom } from '../config.ts'
import { objectsOf, type Manifest } from '../publish/manifest.ts'
import { openStore } from '../publish/store/open-store.ts'
import { listSnapshots, readCurrent } from '../publish/read-snapshot.ts'
import { neverPublished } from '../publish/gc/retention.ts'
import { readSnapshotTarget, type SnapshotTarget } from '../run/job.ts'
import { ConfigError, EXIT, type ExitCode } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import type { Context } from './context.ts'
import { table, type Column } from './report.ts'
import { bytesText, countText } from './text.ts'

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
  const bytes = bytesOfAll(manifests)
  const snapshots = manifests.toReversed().map((one) => snapshotRow(one, target.to, currentId))
  const id: Column<SnapshotRow> = [
    '  snapshot',
    (row) => `${row.is_current ? '→ ' : '  '}${row.snapshot_id}`,
    'id',
  ]
  context.output.report({
    title:
      snapshots.length === 0
        ? `nothing was published to ${target.to} yet`
        : `${target.to}: ${countText(snapshots.length, 'snapshot')}, ${bytesText(bytes)} together`,
    sections: [
      table<SnapshotRow>('snapshots', snapshots, [
        id,
        ['created (UTC)', 'created_at', 'instant'],
        ['rows', 'rows', 'number'],
        ['bytes', 'bytes', 'bytes'],
        ['new', 'new_bytes', 'bytes'],
      ]),
      table<SnapshotRow>(null, snapshots, [
        id,
        ['files', 'files', 'number'],
        ['checks', ({ checks }) => checks?.passed, 'number'],
        ['organisations', ({ coverage }) => coverage.organizations, 'number'],
        ['covered to (UTC)', ({ coverage }) => coverage.covered_to.max, 'instant'],
      ]),
    ],
    notes:
      snapshots.length === 0
        ? []
        : [
            '',
            currentId === null
              ? 'none of them is what readers see: there is no latest.json'
              : '→ what readers see; the address of another: DESTINATION/snapshots/SNAPSHOT',
          ],
    values: { destination: target.to, current: currentId, bytes },
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

type SnapshotRow = ReturnType<typeof snapshotRow>

function snapshotRow(manifest: Manifest, destination: string, currentId: string | null) {
  const { snapshot_id: id, sequence, created_at, run_id, new_bytes, checks, coverage } = manifest
  return {
    snapshot_id: id,
    url: `${destination.replace(/\/$/, '')}/snapshots/${id}`,
    is_current: id === currentId,
    sequence,
    created_at,
    run_id,
    tables: manifest.tables.length,
    rows: sum(manifest.tables.map(({ rows }) => rows)),
    files: objectsOf(manifest).length,
    bytes: sum(manifest.tables.map(({ bytes }) => bytes)),
    new_bytes,
    checks,
    coverage,
  }
}

/** What the store holds for all of them: files that several snapshots share count once. */
function bytesOfAll(manifests: readonly Manifest[]): number {
  const bytes = new Map(manifests.flatMap(objectsOf).map((object) => [object.key, object.bytes]))
  return sum([...bytes.values()])
}
