/**
 * Sets of row numbers as bytes: the RoaringBitmapArray of the Delta protocol, which is a magic number and a 64-bit Roaring
 * bitmap in its portable format, with array and bitmap containers. Pure.
 * See the Delta protocol, "Deletion Vector Format", and the RoaringFormatSpec.
 */

const MAGIC = 1_681_511_377
const BUCKET_SIZE = 2 ** 32
const CONTAINER_SIZE = 2 ** 16
const COOKIE = 12_346
/** A container of more values than this is a bitmap, as the format demands. */
const LARGEST_ARRAY = 4_096
const BITMAP_BYTES = CONTAINER_SIZE / 8

/**
 * The bytes of a set of row numbers: whole, 0 or more, below 2^53, each larger than the one before.
 * @throws RangeError for anything else
 */
export function encodePositions(positions: readonly number[]): Buffer {
  let last = -1
  for (const position of positions) {
    if (!Number.isSafeInteger(position) || position <= last) {
      throw new RangeError(`row ${position} after row ${last}: rows are whole and ascending`)
    }
    last = position
  }
  const head = Buffer.alloc(12)
  head.writeUInt32LE(MAGIC, 0)
  const buckets = groupBy(positions, BUCKET_SIZE)
  head.writeUInt32LE(buckets.length, 4)
  const parts: Buffer[] = [head]
  for (const { key, rest } of buckets) {
    const keyBytes = Buffer.alloc(4)
    keyBytes.writeUInt32LE(key)
    parts.push(keyBytes, encodeBucket(rest))
  }
  return Buffer.concat(parts)
}

interface Group {
  readonly key: number
  /** What is left of the values without their key. */
  readonly rest: readonly number[]
}

// The values are ascending, so those of one key stand together.
function groupBy(values: readonly number[], size: number): Group[] {
  const groups: { key: number; rest: number[] }[] = []
  for (const value of values) {
    const key = Math.floor(value / size)
    const group = groups.at(-1)
    if (group?.key === key) group.rest.push(value % size)
    else groups.push({ key, rest: [value % size] })
  }
  return groups
}

function encodeBucket(values: readonly number[]): Buffer {
  const containers = groupBy(values, CONTAINER_SIZE)
  const head = Buffer.alloc(8 + containers.length * 8)
  head.writeUInt32LE(COOKIE, 0)
  head.writeUInt32LE(containers.length, 4)
  const bodies = containers.map(({ rest }) => encodeContainer(rest))
  let offset = head.length
  containers.forEach(({ key, rest }, index) => {
    head.writeUInt16LE(key, 8 + index * 4)
    head.writeUInt16LE(rest.length - 1, 10 + index * 4)
    head.writeUInt32LE(offset, 8 + containers.length * 4 + index * 4)
    offset += bodies[index]?.length ?? 0
  })
  return Buffer.concat([head, ...bodies])
}

function encodeContainer(values: readonly number[]): Buffer {
  if (values.length <= LARGEST_ARRAY) {
    const body = Buffer.alloc(values.length * 2)
    values.forEach((value, index) => body.writeUInt16LE(value, index * 2))
    return body
  }
  const body = Buffer.alloc(BITMAP_BYTES)
  for (const value of values) {
    const at = value >> 3
    body.writeUInt8(body.readUInt8(at) | (1 << (value & 7)), at)
  }
  return body
}
