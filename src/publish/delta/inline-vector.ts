/**
 * Deletion vectors as the Delta log holds them: inline, so that no further object is needed. The rows are a
 * RoaringBitmapArray in Z85; see the protocol's "Deletion Vector Format", the RoaringFormatSpec and ZeroMQ's RFC 32.
 */

import { quotePath } from '../../warehouse/sql-text.ts'
import { PublishError } from '../errors.ts'
import type { ManifestTable } from '../manifest.ts'
import type { DeletionVector } from './actions.ts'
import { withLocalFile, type DeltaLogSource } from './local-file.ts'

const MAGIC = 1_681_511_377
const COOKIE = 12_346
const MOST_ROWS = 2 ** 32
const CONTAINER_SIZE = 2 ** 16
/** A container of more values than this is a bitmap, as the format demands. */
const LARGEST_ARRAY = 4_096
const Z85 = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#'

/**
 * Reads the deletion vector of a table: key of the data file → the rows of it that are deleted.
 * @throws PublishError when it is not there, or holds other rows than the manifest says
 */
export async function readDeletionVectors(
  source: DeltaLogSource,
  { files, deletion_vector: stored }: ManifestTable,
): Promise<ReadonlyMap<string, DeletionVector>> {
  const vectors = new Map<string, DeletionVector>()
  if (stored === null) return vectors
  await withLocalFile(source, stored.key, async (path) => {
    // One file at a time, so that memory holds the numbers of one.
    for (const { key, sha256, rows, deletes } of files.filter((file) => file.deletes > 0)) {
      const [row] = await source.warehouse.all<{ positions: number[] | null }>(
        `select list(cast(position as double) order by position) as positions
         from read_parquet(${quotePath(path)}) where file = $1`,
        [sha256],
      )
      const positions = row?.positions ?? []
      if (positions.length !== deletes || (positions.at(-1) ?? 0) >= rows) {
        throw new PublishError(
          `${source.store.urlOf(stored.key)} does not name ${deletes} rows of ${key}`,
        )
      }
      vectors.set(key, deletionVectorOf(positions))
    }
  })
  return vectors
}

/** The deletion vector of `positions`: row numbers from 0, ascending, at least one. */
export function deletionVectorOf(positions: readonly number[]): DeletionVector {
  const bytes = encodePositions(positions)
  return {
    storageType: 'i',
    pathOrInlineDv: encodeZ85(bytes),
    sizeInBytes: bytes.length,
    cardinality: positions.length,
  }
}

/** The bytes of a set of row numbers: whole, 0 or more, below 2^32, each larger than the one before. */
export function encodePositions(positions: readonly number[]): Buffer {
  const containers: { key: number; values: number[] }[] = []
  let last = -1
  for (const position of positions) {
    if (!Number.isInteger(position) || position <= last || position >= MOST_ROWS) {
      throw new RangeError(`row ${position} after row ${last}: rows are whole and ascending`)
    }
    last = position
    const key = Math.floor(position / CONTAINER_SIZE)
    if (containers.at(-1)?.key !== key) containers.push({ key, values: [] })
    containers.at(-1)?.values.push(position % CONTAINER_SIZE)
  }
  // One bitmap of 32 bits, that of the rows whose high half is 0.
  const head = Buffer.alloc(16)
  head.writeUInt32LE(MAGIC, 0)
  head.writeUInt32LE(1, 4)
  const index = Buffer.alloc(8 + containers.length * 8)
  index.writeUInt32LE(COOKIE, 0)
  index.writeUInt32LE(containers.length, 4)
  const bodies: Buffer[] = []
  let offset = index.length
  for (const [at, { key, values }] of containers.entries()) {
    const body = encodeContainer(values)
    index.writeUInt16LE(key, 8 + at * 4)
    index.writeUInt16LE(values.length - 1, 10 + at * 4)
    index.writeUInt32LE(offset, 8 + (containers.length + at) * 4)
    bodies.push(body)
    offset += body.length
  }
  return Buffer.concat([head, index, ...bodies])
}

function encodeContainer(values: readonly number[]): Buffer {
  if (values.length <= LARGEST_ARRAY) {
    const body = Buffer.alloc(values.length * 2)
    values.forEach((value, index) => body.writeUInt16LE(value, index * 2))
    return body
  }
  const body = Buffer.alloc(CONTAINER_SIZE / 8)
  for (const value of values) {
    const at = value >> 3
    body.writeUInt8(body.readUInt8(at) | (1 << (value & 7)), at)
  }
  return body
}

/** Four bytes as five characters that are safe in JSON; filled up with zeros as the protocol's writers do. */
export function encodeZ85(bytes: Uint8Array): string {
  const padded = Buffer.alloc(Math.ceil(bytes.length / 4) * 4)
  padded.set(bytes)
  let text = ''
  for (let at = 0; at < padded.length; at += 4) {
    const word = padded.readUInt32BE(at)
    for (let power = 4; power >= 0; power -= 1) text += Z85[Math.floor(word / 85 ** power) % 85]
  }
  return text
}
