/** Run and snapshot ids: ULIDs (github.com/ulid/spec), 26 characters that sort by the time they were made. */

import { randomBytes } from 'node:crypto'

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARACTERS = 10

/**
 * 48 bits of `epochMs` (milliseconds since 1970 UTC), then 80 random bits. Two of the same millisecond sort in no
 * particular order.
 * @param random 16 bytes, 5 bits of each are used; tests pass fixed ones
 */
export function newUlid(epochMs: number, random: Uint8Array = randomBytes(16)): string {
  let time = ''
  for (let rest = epochMs, i = 0; i < TIME_CHARACTERS; i += 1, rest = Math.floor(rest / 32))
    time = CROCKFORD.charAt(rest % 32) + time
  return time + Array.from(random, (byte) => CROCKFORD.charAt(byte % 32)).join('')
}

/** When a ULID was created, milliseconds since 1970 UTC; NaN for a text that does not begin like one. */
export function ulidTime(ulid: string): number {
  if (!/^[0-9A-HJKMNP-TV-Z]{10}/.test(ulid)) return Number.NaN
  let time = 0
  for (const character of ulid.slice(0, TIME_CHARACTERS))
    time = time * 32 + CROCKFORD.indexOf(character)
  return time
}
