/** Words of scripts that set no spaces between them: 営業部長 → 営業, 部長. */

import { kept } from './kept.ts'
import { translations } from './languages.ts'
import { once, remembered } from './memo.ts'

const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/u

const made = kept('segments', () =>
  translations().flatMap(({ words: [only = '', ...others] }) =>
    others.length === 0 && UNSPACED.test(only) ? [only] : [],
  ),
)
const known = once(() => new Set(made()))
const longestKnown = once(() => Math.max(...made().map(({ length }) => length)))

/** The known words that `word` is written of, the longest first, and what stands between them. */
export const segmented = remembered((word: string): readonly string[] => {
  if (!UNSPACED.test(word) || known().has(word)) return [word]
  const segments: string[] = []
  let unknown = ''
  for (let at = 0; at < word.length;) {
    const found = knownAt(word, at)
    if (found === null) {
      unknown += word[at] ?? ''
      at += 1
      continue
    }
    if (unknown !== '') segments.push(unknown)
    unknown = ''
    segments.push(found)
    at += found.length
  }
  return unknown === '' ? segments : [...segments, unknown]
})

function knownAt(word: string, at: number): string | null {
  for (let length = Math.min(longestKnown(), word.length - at); length > 0; length -= 1) {
    const part = word.slice(at, at + length)
    if (known().has(part)) return part
  }
  return null
}
