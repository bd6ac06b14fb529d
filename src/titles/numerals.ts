/** Steps of a ladder written as numerals: II, 3, L5, IC4, "Level 2". */

import { remembered } from './memo.ts'

const ROMAN = new Map([
  ['i', 1],
  ['ii', 2],
  ['iii', 3],
  ['iv', 4],
  ['v', 5],
  ['vi', 6],
  ['vii', 7],
])
const DIGIT = /^[1-7]$/
const LETTER_AND_DIGITS = /^(l|ic|e|p|t|g|m|sde|swe)(\d{1,2})$/
const STEP_WORDS = new Set([
  'level',
  'grade',
  'lvl',
  'class',
  'stufe',
  'niveau',
  'nivel',
  'livello',
  'band',
  'tier',
  'step',
  'cat',
])
const SAY_NO_GRADE = new Set(['tier', 'band', 'class', 'cat', 'step'])

/** Whether a word can be a step of a ladder. */
export const isNumeral: (word: string) => boolean = remembered(
  (word) =>
    ROMAN.has(word) || DIGIT.test(word) || LETTER_AND_DIGITS.test(word) || STEP_WORDS.has(word),
)

// Ladders of letters, by the meaning that most companies give them: L5, E5, IC3 and P3 are senior.
const STEPS_OF_LETTERS: Readonly<Record<string, readonly string[]>> = {
  l: ['one', 'two', 'two', 'two', 'three', 'lead', 'principal', 'principal'],
  e: ['one', 'two', 'one', 'two', 'three', 'lead', 'principal', 'principal'],
  ic: ['one', 'two', 'three', 'four', 'lead', 'principal', 'principal'],
  p: ['one', 'two', 'three', 'four', 'lead', 'principal', 'principal'],
  t: ['one', 'two', 'three', 'four', 'lead', 'principal', 'principal'],
  sde: ['one', 'two', 'three'],
  swe: ['one', 'two', 'three'],
}
const STEPS = ['one', 'two', 'three', 'four', 'five', 'five', 'five']

/** Whether a grade is a step from the third on. */
export function isHighStep(grade: string): boolean {
  return grade.startsWith('numeral') && grade !== 'numeralone' && grade !== 'numeraltwo'
}

/** The name of the grade that the numeral at `at` stands for; null where it is none. */
export function gradeOfNumeral(words: readonly string[], at: number): string | null {
  const word = words[at] ?? ''
  // A part that begins with a numeral is a step only if it is nothing else: ", L5", but not "3 Month Contract".
  if (at === 0 && !words.every(isNumeral)) return null
  const before = words[at - 1] ?? ''
  if (SAY_NO_GRADE.has(before)) return null
  const letters = LETTER_AND_DIGITS.exec(word)
  if (letters !== null) {
    const step = STEPS_OF_LETTERS[letters[1] ?? '']?.[Number(letters[2]) - 1]
    return step === undefined ? null : `numeral${step}`
  }
  if (!isNumeral(word)) return null
  const value = ROMAN.get(word) ?? (DIGIT.test(word) ? Number(word) : null)
  if (value === null) return null
  // "I" is "and" or "in" in other languages: it counts only as the last word.
  const isLast = words.slice(at + 1).every(isNumeral)
  return isLast || (value > 1 && ROMAN.has(word) && value !== 5)
    ? `numeral${STEPS[value - 1]}`
    : null
}
