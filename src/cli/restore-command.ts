/** `restore`: makes a warehouse in the data directory from a published snapshot. */

import { readProject } from '../model/project.ts'
import { columnsOf, commentOn } from '../model/tables.ts'
import type { ManifestTable } from '../publish/manifest.ts'
import {
  proveSnapshot,
  refuseExisting,
  restoreSnapshot,
  type RestoreReport,
} from '../publish/restore.ts'
import { splitSnapshotUrl } from '../publish/snapshot-url.ts'
import { openStore } from '../publish/store/open-store.ts'
import { leaveOutErased } from '../run/forget/rebuild.ts'
import { acquireLock } from '../run/lock.ts'
import { EXIT, type ExitCode } from '../support/errors.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { runWorld, type Context } from './context.ts'
import { temporaryFolder } from './temporary-folder.ts'
import type { Report } from './report.ts'
import { countText } from './text.ts'
import { storeOptionsFor, type VerifyOptions } from './verify-command.ts'

/**
 * `restore`: proves the snapshot first, and makes nothing of one that `verify` would not prove.
 * @param url a destination, or `<destination>/snapshots/<snapshot id>`
 * @throws ConfigError when there is a warehouse already
 * @throws DamagedSnapshotError when the snapshot is not proved
 */
export async function restoreCommand(
  context: Context,
  url: string,
  options: VerifyOptions,
): Promise<ExitCode> {
  const { output, clock, directory, progress, stop: signal } = context
  const { destination, snapshotId } = splitSnapshotUrl(url)
  const store = await openStore(destination, storeOptionsFor(context, url, options))
  refuseExisting(directory.warehouse)
  const snapshot = await proveSnapshot({
    store,
    snapshotId,
    scratchFolder: temporaryFolder('verify'),
    signal,
    onProgress: (step) => progress.show({ stage: 'verify', ...step }),
  }).finally(() => progress.stop())
  const { created_at: createdAt } = snapshot.manifest
  const lock = await acquireLock(directory.root, { command: 'restore', clock })
  try {
    let erased = 0
    const report = await restoreSnapshot({
      snapshot,
      path: directory.warehouse,
      scratchFolder: temporaryFolder('restore'),
      describe: describeAsBuilt,
      beforeUse: async (path) => {
        erased = await leaveOutErased(runWorld(context), path)
      },
      signal,
      onProgress: (step) => progress.show({ stage: 'restore', ...step }),
    })
    progress.stop()
    output.report(restoredReport(report, createdAt, erased))
    return EXIT.done
  } finally {
    progress.stop()
    lock.release()
  }
}

/** Comments on the restored tables that this version makes itself, as its build does. */
export async function describeAsBuilt(
  warehouse: Warehouse,
  tables: readonly ManifestTable[],
): Promise<void> {
  const restored = new Set(tables.map(({ name }) => name))
  const { nodes } = await readProject(warehouse)
  for (const node of nodes.filter(({ name }) => restored.has(name))) {
    const columns = await columnsOf(warehouse, node.name)
    if (columns.toSorted().join() !== [...node.definition.columns.keys()].toSorted().join())
      continue
    // A restore makes tables only, also of what a build makes a view.
    await commentOn(warehouse, node.kind === 'view' ? { ...node, kind: 'table' } : node)
  }
}

const NOT_IN_IT =
  'Not in it: journal, ledger and coverage, and how often and when last an event was seen. Where the journal is left, `jobtide load` adds what it holds; `jobtide build` makes the tables again.'

function restoredReport(restored: RestoreReport, createdAt: string, erasedPeople: number): Report {
  const { snapshotId, path, tables, rows, isCompared } = restored
  const proof = isCompared
    ? 'all of them the rows that were published'
    : 'counted, not compared: another version of DuckDB published them'
  const erased = `${countText(erasedPeople, 'person', 'people')} erased since it was published: left out again, and the tables built again without them`
  return {
    title: `restored: ${path} from snapshot ${snapshotId} of ${createdAt}`,
    notes: [
      `${countText(tables.length, 'table')}, ${countText(rows, 'row')}: ${proof}`,
      NOT_IN_IT,
      ...(erasedPeople === 0 ? [] : [erased]),
    ],
    values: {
      snapshot_id: snapshotId,
      created_at: createdAt,
      warehouse: path,
      rows,
      tables,
      is_compared: isCompared,
      not_restored: ['journal', 'ledger', 'coverage'],
      erased_people: erasedPeople,
    },
  }
}
