/** Nearly valid inputs: those of a corpus, changed at random. The same seed gives the same inputs. */

import { pick, type Random } from '../../src/simulator/random.ts'

/** Larger than a journal segment of these tests, but small enough for a quick reader. */
export const LARGEST_INPUT = 128 * 1024

const NUMBERS = [
  '0 -1 00 1e400 -1e308 9007199254740993 2147483648 4294967296 99999999999 0x10 .5 1. NaN Infinity',
].flatMap((text) => text.split(' '))
// Characters that end, open, reverse, hide or combine, and bytes that are not UTF-8.
const ODDITIES = [
  ['\0', '\n', '\r\n', '\t', ' ', '\u0085', '\u2028', '\u202e', '\u200d', '\ufeff', '\ufffd'],
  ['"', "'", '`', '\\', '/', '//', '../', ',', ';', ':', '- ', '#', '&a ', '*a', '%', '<<: '],
  ['é', 'e\u0301', 'İ', 'ß', 'ﬀ', '\u{1d5a8}', '\u{1f9d1}\u200d\u{1f52c}', '\u0301'.repeat(40)],
  ['null', 'true', '{}', '[]', '__proto__', 'constructor', '\u001b[2J', '=1+1', 'a'.repeat(600)],
]
  .flat()
  .map((text) => Buffer.from(text))
const NO_TEXT = ['ff', 'c0af', 'eda080', 'f8888080', 'fffe', 'feff'].map((hex) =>
  Buffer.from(hex, 'hex'),
)
const NESTING = ['[', '{"a":', '(', '- ', '{', '"', '<a>', '[a,'].map((text) => Buffer.from(text))

type Change = (input: Buffer, random: Random) => Buffer

const upTo = (random: Random, end: number) => Math.floor(random() * (end + 1))
/** Half of the lengths are short. */
const length = (random: Random, most: number) =>
  upTo(random, random() < 0.5 ? Math.min(most, 8) : most)
const replaced = (input: Buffer, at: number, gone: number, ...put: readonly Uint8Array[]) =>
  Buffer.concat([input.subarray(0, at), ...put, input.subarray(at + gone)])

function flip(input: Buffer, random: Random): Buffer {
  const bits = 1 + upTo(random, 3)
  const changed = Buffer.from(input)
  for (let bit = 0; bit < bits && changed.length > 0; bit += 1) {
    const at = upTo(random, changed.length - 1)
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << upTo(random, 7)), at)
  }
  return changed
}

const cut: Change = (input, random) => input.subarray(0, upTo(random, input.length))
const drop: Change = (input, random) => {
  const at = upTo(random, input.length)
  return replaced(input, at, length(random, input.length - at))
}
const repeat: Change = (input, random) => {
  const at = upTo(random, input.length)
  const part = input.subarray(at, at + length(random, input.length - at))
  const times = random() < 0.1 ? upTo(random, 2_000) : 1 + upTo(random, 3)
  const most = Math.floor(LARGEST_INPUT / Math.max(1, part.length))
  return replaced(input, at, 0, ...Array.from({ length: Math.min(times, most) }, () => part))
}
const insert: Change = (input, random) => {
  const put = pick(random, random() < 0.8 ? ODDITIES : NO_TEXT)
  return replaced(input, upTo(random, input.length), random() < 0.5 ? put.length : 0, put)
}
const nest: Change = (input, random) => {
  const deep = random() < 0.2 ? 20_000 : 1 + upTo(random, 200)
  const put = pick(random, NESTING)
  return replaced(input, upTo(random, input.length), 0, Buffer.alloc(deep * put.length, put))
}
/** Replaces a number with another one. */
const renumber: Change = (input, random) => {
  const numbers = [...input.toString('latin1').matchAll(/\d+/g)]
  if (numbers.length === 0) return input
  const { index, 0: number } = pick(random, numbers)
  const near = String(Number(number) + upTo(random, 4) - 2)
  const put = random() < 0.5 ? near : pick(random, NUMBERS)
  return replaced(input, index, number.length, Buffer.from(put))
}

/** An input of the corpus with 1 to 5 changes, including words of `dictionary` and parts of other inputs. */
export function mutated(
  random: Random,
  corpus: readonly Buffer[],
  dictionary: readonly string[],
): Buffer {
  const splice: Change = (input) => {
    const other = pick(random, corpus)
    const at = upTo(random, other.length)
    const part = other.subarray(at, at + length(random, other.length - at))
    const from = upTo(random, input.length)
    return replaced(input, from, random() < 0.5 ? input.length - from : 0, part)
  }
  const word: Change = (input) => {
    const at = upTo(random, input.length)
    return replaced(input, at, random() < 0.3 ? 8 : 0, Buffer.from(pick(random, dictionary)))
  }
  const changes = [flip, cut, drop, repeat, insert, nest, renumber, renumber, splice, word, word]
  let input = pick(random, corpus)
  const times = random() < 0.5 ? 1 : 1 + upTo(random, 4)
  for (let change = 0; change < times; change += 1) input = pick(random, changes)(input, random)
  return Buffer.from(input.subarray(0, LARGEST_INPUT))
}
