/** Texts that try to control a terminal, and a search for what would. */

import fc from 'fast-check'

/** Characters that a terminal obeys or hides, except line breaks: no output may contain them. */
const OBEYED =
  /[^\P{Cc}\n]|\p{Bidi_Control}|\p{Default_Ignorable_Code_Point}|[\u2028\u2029]|\p{Zl}/u

/** The first character that a terminal would act on or hide, with its context; null for none. */
export function obeyedIn(text: string): string | null {
  const at = text.search(OBEYED)
  return at === -1 ? null : JSON.stringify(text.slice(Math.max(0, at - 40), at + 20))
}

const PARTS = [
  '\u001b[2J',
  '\u001b]0;title\u0007',
  '\u001b]8;;http://x.example\u001b\\',
  '\u009b31m',
  '\u0000',
  '\b\b',
  '\r',
  '\n',
  '\njobtide: forged\n  → rm -rf /',
  '\u007f',
  '\u0085',
  '\u2028',
  '\u061c',
  '\u200e',
  '\u202e',
  '\u2066',
  '\u2069',
  '\u200b',
  '\u200c',
  '\u200d',
  '\u2060',
  '\ufeff',
  '\u00ad',
  '\ufe0f',
  '\u{e0041}',
  '=HYPERLINK("http://x.example")',
]

/** One character of each kind. */
export const HOSTILE = `Ann${PARTS.join('a')}Bee`

/** The same without control characters, which ids may contain. */
export const HOSTILE_ID = HOSTILE.replaceAll(/[\p{Cc}\s,"]/gu, '')

/** Random texts of this kind, with plain words in between. */
export const hostileText = fc.string({
  unit: fc.oneof(fc.constantFrom(...PARTS), fc.constantFrom('Ann', ' ', 'Zoë', '"', '\\')),
  maxLength: 12,
})
