/**
 * Sets of row numbers as bytes: the RoaringBitmapArray of the Delta protocol, which is a magic number and a 64-bit Roaring
 * bitmap in its portable format. Written with array and bitmap containers, read with run containers, too. Pure.
 * See the Delta protocol, "Deletion Vector Format", and the RoaringFormatSpec.
 */

const MAGIC = 1_681_511_377
const BUCKET_SIZE = 2 ** 32
const CONTAINER_SIZE = 2 ** 16
const COOKIE = 12_346
const COOKIE_WITH_RUNS = 12_347
/** A container of more values than this is a bitmap, as the format demands. */
const LARGEST_ARRAY = 4_096
const BITMAP_BYTES = CONTAINER_SIZE / 8
/** With runs, offsets are written from this many containers on. */
const OFFSETS_FROM = 4

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

/**
 * The row numbers in `bytes`, ascending.
 * @throws RangeError when the bytes are no such set, or end too early
 */
export function decodePositions(bytes: Uint8Array): number[] {
  const reader = new Reader(bytes)
  if (reader.uint32() !== MAGIC) throw new RangeError('it does not begin with the magic number')
  const buckets = reader.uint32()
  if (reader.uint32() !== 0) throw new RangeError('it says that it has over 2^32 buckets')
  const positions: number[] = []
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    decodeBucket(reader, reader.uint32() * BUCKET_SIZE, positions)
  }
  return positions
}

function decodeBucket(reader: Reader, base: number, into: number[]): void {
  const cookie = reader.uint32()
  const hasRuns = (cookie & 0xffff) === COOKIE_WITH_RUNS
  if (!hasRuns && cookie !== COOKIE) throw new RangeError(`${cookie} is no cookie of a bitmap`)
  const count = hasRuns ? (cookie >>> 16) + 1 : reader.uint32()
  if (count > CONTAINER_SIZE) throw new RangeError(`a bitmap has no ${count} containers`)
  const runFlags = hasRuns ? reader.take(Math.ceil(count / 8)) : Buffer.alloc(0)
  const containers = Array.from({ length: count }, (_, index) => ({
    base: base + reader.uint16() * CONTAINER_SIZE,
    size: reader.uint16() + 1,
    isRun: ((runFlags[index >> 3] ?? 0) & (1 << (index & 7))) !== 0,
  }))
  // The containers follow in order, so their offsets are not needed.
  if (!hasRuns || count >= OFFSETS_FROM) reader.take(count * 4)
  for (const container of containers) {
    if (container.isRun) decodeRuns(reader, container.base, into)
    else if (container.size > LARGEST_ARRAY) decodeBitmap(reader, container.base, into)
    else for (let n = 0; n < container.size; n += 1) into.push(container.base + reader.uint16())
  }
}

function decodeRuns(reader: Reader, base: number, into: number[]): void {
  const runs = reader.uint16()
  for (let run = 0; run < runs; run += 1) {
    const start = reader.uint16()
    const last = start + reader.uint16()
    for (let value = start; value <= last; value += 1) into.push(base + value)
  }
}

function decodeBitmap(reader: Reader, base: number, into: number[]): void {
  reader.take(BITMAP_BYTES).forEach((byte, at) => {
    for (let bit = 0; bit < 8; bit += 1) {
      if ((byte & (1 << bit)) !== 0) into.push(base + at * 8 + bit)
    }
  })
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  take(count: number): Buffer {
    const end = this.#at + count
    if (end > this.#bytes.length) throw new RangeError(`it ends after ${this.#bytes.length} bytes`)
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  uint16(): number {
    return this.take(2).readUInt16LE()
  }

  uint32(): number {
    return this.take(4).readUInt32LE()
  }
}
