/** `snapshots`: lists the snapshots of a destination, and the one that readers see. */

import { existsSync } from 'node:fs'
import { isOfThisFormat, objectsOf, totalsOf, type StoredManifest } from '../publish/manifest.ts'
import { isFolderAddress, openStore } from '../publish/store/open-store.ts'
import { listSnapshots, readCurrent } from '../publish/read-snapshot.ts'
import { neverPublished } from '../publish/retention.ts'
import { readSnapshotTarget } from '../run/job.ts'
import { ConfigError } from '../support/errors.ts'
import { countText, sum } from '../support/numbers.ts'
import type { Context } from './context.ts'
import { table, type Report } from './report.ts'
import { bytesText } from './text.ts'
import { storeOptionsFor, type VerifyOptions } from './proof-commands.ts'

/** `snapshots`: lists the snapshots of a destination, the newest first. */
export async function snapshotsCommand(
  context: Context,
  destination: string | undefined,
  { pipeline }: VerifyOptions,
): Promise<Report> {
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
    checks: isOfThisFormat(manifest) ? manifest.checks : null,
    coverage: manifest.coverage,
  }))
  const marked =
    currentId === null
      ? 'readers see none of them: there is no latest.json'
      : '→ what readers see; the address of another: DESTINATION/snapshots/SNAPSHOT'
  return {
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
  }
}

/** The manifests of a destination, oldest first, and which one readers see: null where the pointer is not there. */
async function readTarget(
  context: Context,
  to: string,
  pipeline: string,
): Promise<{ readonly manifests: readonly StoredManifest[]; readonly currentId: string | null }> {
  if (isFolderAddress(to) && !existsSync(to)) return { manifests: [], currentId: null }
  const store = await openStore(to, storeOptionsFor(context, to, { pipeline }))
  const current = await readCurrent(store)
  const manifests = await listSnapshots(store)
  const currentId = current?.pointer.snapshot_id ?? null
  const never = currentId === null ? new Set() : neverPublished(manifests, currentId)
  return { manifests: manifests.filter(({ snapshot_id: id }) => !never.has(id)), currentId }
}
