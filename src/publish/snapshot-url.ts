/** The address of a snapshot on the command line, taken apart. Pure. */

/** Where a snapshot is. */
export interface SnapshotUrl {
  /** Folder or `s3://bucket/prefix`. */
  readonly destination: string
  /** Null: the one that readers see. */
  readonly snapshotId: string | null
}

const SNAPSHOT_URL = /^(.+)\/snapshots\/([0-9A-Z]{26})\/?$/

/** Takes `<destination>` or `<destination>/snapshots/<snapshot id>` apart. */
export function splitSnapshotUrl(url: string): SnapshotUrl {
  const [, destination = url, snapshotId = null] = SNAPSHOT_URL.exec(url) ?? []
  return { destination, snapshotId }
}
