/** Z85 (ZeroMQ RFC 32): four bytes as five characters that are safe in JSON. Pure. */

const ALPHABET =
  '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#'
const VALUES: ReadonlyMap<string, number> = new Map(
  Array.from(ALPHABET, (character, value) => [character, value]),
)
const BYTES = 4
const CHARACTERS = 5
const BASE = 85
const LARGEST_WORD = 0xffff_ffff

/** The text of `bytes`, filled up with zeros to a multiple of four as the Delta protocol's writers do. */
export function encodeZ85(bytes: Uint8Array): string {
  const words = Math.ceil(bytes.length / BYTES)
  const padded = Buffer.alloc(words * BYTES)
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

/**
 * The first `length` bytes of `text`.
 * @throws RangeError when the text is no Z85, or shorter than that
 */
export function decodeZ85(text: string, length: number): Buffer {
  if (text.length % CHARACTERS !== 0) {
    throw new RangeError(`a Z85 text has a multiple of 5 characters, this one has ${text.length}`)
  }
  const bytes = Buffer.alloc((text.length / CHARACTERS) * BYTES)
  if (length > bytes.length) {
    throw new RangeError(`the Z85 text holds ${bytes.length} bytes where ${length} are expected`)
  }
  for (let word = 0; word * CHARACTERS < text.length; word += 1) {
    let value = 0
    for (const character of text.slice(word * CHARACTERS, (word + 1) * CHARACTERS)) {
      const digit = VALUES.get(character)
      if (digit === undefined) {
        throw new RangeError(`${JSON.stringify(character)} is no character of Z85`)
      }
      value = value * BASE + digit
    }
    if (value > LARGEST_WORD) throw new RangeError('five characters of Z85 are over 32 bits')
    bytes.writeUInt32BE(value, word * BYTES)
  }
  return bytes.subarray(0, length)
}
