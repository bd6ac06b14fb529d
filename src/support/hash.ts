/** Bytes and texts by their hash. */

import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** The SHA-256 of bytes, or of a text in UTF-8, as 64 hexadecimal digits. */
export function sha256Hex(content: Uint8Array | string): string {
  return hash('sha256', content)
}

/** The CRC-32 of bytes and texts, one after another, as 8 hexadecimal digits. */
export function crc32Hex(...parts: readonly (Uint8Array | string)[]): string {
  const sum = parts.reduce((before, part) => crc32(part, before), 0)
  return sum.toString(16).padStart(8, '0')
}
