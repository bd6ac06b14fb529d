/** What a publish is told, and what it tells. */

import type { Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Manifest, ManifestTable, NotKept, SnapshotTotals } from './manifest.ts'
import type { CurrentSnapshot } from './read-snapshot.ts'
import type { LossChoices } from './refuse-loss.ts'
import type { Step } from './scratch.ts'
import type { ObjectStore } from './store/object-store.ts'

export interface PublishChoices extends LossChoices {
  /** Writes every file again, whatever builds say of changes. Default: false. */
  readonly compact?: boolean
  /** Lets tables and columns go, and types change. Default: false, then such a snapshot is refused. */
  readonly acceptSchemaChange?: boolean
}

/** Tables that were made elsewhere. Their files are in the store, and may be several for a partition. */
export interface PrebuiltTables {
  /** A partition with the same fingerprint, which is not null, as in the snapshot before keeps its files. */
  readonly tables: ReadonlyMap<string, { readonly table: ManifestTable }>
  /** The snapshot that they go on from; another one in its place is not replaced. */
  readonly current: CurrentSnapshot | null
  readonly spark: Manifest['spark']
  /** Checks that passed there. */
  readonly checks: number
}

export interface PublishOptions extends PublishChoices {
  readonly warehouse: Warehouse
  /** Of the tables those that are not exported from the warehouse. */
  readonly made?: PrebuiltTables
  /** What goes into the snapshot, in this order. */
  readonly tables: readonly TableDefinition[]
  readonly store: ObjectStore
  /** A folder of the publisher's own inside the data folder: emptied before, removed after. */
  readonly scratchFolder: string
  readonly clock: Clock
  /** ULID of the new snapshot; never used before. */
  readonly snapshotId: string
  /** The run that publishes; null for a publish by itself. */
  readonly runId: string | null
  /** The journal that the warehouse is made from, a ULID. */
  readonly journalId: string
  /** What was erased on purpose: fewer rows are no loss then. */
  readonly notKept: NotKept
  /** The MACs of the suppression list and of those before it. */
  readonly lists: readonly string[]
  readonly version: string
  readonly logger: Logger
  readonly onProgress?: (step: PublishStep) => void
  /** Called once readers see a new snapshot, before anything else can fail. */
  readonly onPublished?: (report: PublishReport & { readonly snapshotId: string }) => Promise<void>
  /** Whether `current/` is kept there. Default: true. */
  readonly hasCurrent?: boolean
  /** Tables with more rows are split by year. Default: SPLIT_ABOVE_ROWS of export.ts. */
  readonly splitAboveRows?: number
  /** Stops between two tables or files; readers keep the previous snapshot. */
  readonly signal?: AbortSignal
}

/** A finished step: a table written to scratch, or a file that is now in the store. */
export interface PublishStep extends Step {
  readonly phase: 'export' | 'upload'
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
