/** Z85 (ZeroMQ RFC 32): four bytes as five characters that are safe in JSON. Pure. */

const ALPHABET =
  '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#'
const BYTES = 4
const CHARACTERS = 5
const BASE = 85

/** The text of `bytes`, filled up with zeros to a multiple of four as the Delta protocol's writers do. */
export function encodeZ85(bytes: Uint8Array): string {
  const padded = Buffer.alloc(Math.ceil(bytes.length / BYTES) * BYTES)
  padded.set(bytes)
  const text: string[] = []
  for (let at = 0; at < padded.length; at += BYTES) {
    const word = padded.readUInt32BE(at)
    for (let power = CHARACTERS - 1; power >= 0; power -= 1) {
      text.push(ALPHABET[Math.floor(word / BASE ** power) % BASE] ?? '')
    }
  }
  return text.join('')
}
