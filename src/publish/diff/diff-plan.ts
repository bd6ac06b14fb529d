/**
 * Which files of two snapshots have to be read to know what changed in a table. Pure. Parts with the same fingerprint hold
 * the same rows; a file that is in both, with the same rows deleted, holds the same rows in both; and of a file in both with
 * other rows deleted only those matter that are deleted in one of them.
 */

import type { Manifest, ManifestFile, ManifestTable } from '../manifest.ts'

/** One table in one of the two snapshots. */
export interface TableSide {
  readonly table: ManifestTable
  readonly versions: Manifest['versions']
}

/** A file to read, on one side. */
export interface FileToRead {
  readonly file: ManifestFile
  /** Only the rows that the other side has deleted; else all that count. */
  readonly isInBoth: boolean
}

/** Whether both have the same columns of the same types; only then equal files or fingerprints mean equal rows. */
export function hasSameSchema(a: ManifestTable, b: ManifestTable): boolean {
  const told = ({ schema }: ManifestTable) =>
    schema.map(({ name, type }) => `${name} ${type}`).join()
  return told(a) === told(b)
}

/** What has to be read of `side` to compare it with `other`. */
export function filesToRead(side: TableSide, other: TableSide): FileToRead[] {
  const { table } = side
  if (!hasSameSchema(table, other.table)) {
    return table.files.map((file) => ({ file, isInBoth: false }))
  }
  const equalParts = partsWithEqualRows(side, other)
  const others = new Map(other.table.files.map((file) => [file.sha256, file]))
  const hasSameList = table.deletion_vector?.sha256 === other.table.deletion_vector?.sha256
  return table.files
    .filter((file) => !equalParts.has(file.partition))
    .flatMap((file): FileToRead[] => {
      const known = others.get(file.sha256)
      if (known === undefined) return [{ file, isInBoth: false }]
      return hasSameList || known.deletes === 0 ? [] : [{ file, isInBoth: true }]
    })
}

function partsWithEqualRows(side: TableSide, other: TableSide): ReadonlySet<string> {
  // The hash of a row may differ between versions of the engine.
  if (side.versions.duckdb !== other.versions.duckdb) return new Set()
  const others = new Map(other.table.partitions.map((part) => [part.name, part]))
  const equal = side.table.partitions.filter(({ name, rows, fingerprint }) => {
    const known = others.get(name)
    return fingerprint !== null && known?.fingerprint === fingerprint && known.rows === rows
  })
  return new Set(equal.map(({ name }) => name))
}

/** Bytes of the objects of a table that the other side does not have. */
export function bytesOnlyIn(table: ManifestTable | undefined, other: ManifestTable | undefined) {
  const objects = (of: ManifestTable | undefined) => [
    ...(of?.files ?? []),
    ...(of?.deletion_vector ? [of.deletion_vector] : []),
  ]
  const known = new Set(objects(other).map(({ sha256 }) => sha256))
  return objects(table)
    .filter(({ sha256 }) => !known.has(sha256))
    .reduce((sum, { bytes }) => sum + bytes, 0)
}
