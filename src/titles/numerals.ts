/** Steps of a ladder written as numerals (config/titles/levels.yaml): II, 3, L5, IC4, "Level 2". */

import { gradeNamed, numerals, type Grade } from './lexicon.ts'

const { roman, steps, letters } = numerals
const DIGIT = /^[1-7]$/
const names = [...Object.keys(letters), ...numerals.letters_without_steps]
const LETTERS_AND_DIGITS = new RegExp(`^(${names.join('|')})(\\d{1,2})$`)
const wordsWithoutSteps = new Set(numerals.words_without_steps)
const plain = new Set([...roman, ...numerals.words, ...wordsWithoutSteps])

export function isNumeral(word: string): boolean {
  return plain.has(word) || DIGIT.test(word) || LETTERS_AND_DIGITS.test(word)
}

/** "II" as "2"; any other word as it is. */
export function asDigit(word: string): string {
  const value = roman.indexOf(word) + 1
  return value > 0 ? String(value) : word
}

/** Whether a grade is a step from the third on. */
export function isHighStep(grade: string): boolean {
  return grade.startsWith('numeral') && grade !== 'numeralone' && grade !== 'numeraltwo'
}

/** The grade that the numeral at `at` stands for; null where it is none. */
export function gradeOfNumeral(words: readonly string[], at: number): Grade | null {
  const word = words[at] ?? ''
  if (!isNumeral(word) || wordsWithoutSteps.has(words[at - 1] ?? '')) return null
  const [, letter = '', digits] = LETTERS_AND_DIGITS.exec(word) ?? []
  // A part that begins with a plain numeral is a step only if it is nothing else: ", 2", but not "3 Month Contract".
  if (digits === undefined && at === 0 && !words.every(isNumeral)) return null
  if (digits !== undefined) return gradeOfStep(letters[letter]?.[Number(digits) - 1])
  const value = DIGIT.test(word) ? Number(word) : roman.indexOf(word) + 1
  // "I" is "and" or "in" in other languages, and "V" may be any letter: they count only as the last word.
  const isLast = words.slice(at + 1).every(isNumeral)
  const isClear = roman.includes(word) && word.length > 1
  return value > 0 && (isLast || isClear) ? gradeOfStep(steps[value - 1]) : null
}

/** Where on which ladder a title says that it stands: 5 of `ic`, 6 of `band`. */
export interface Step {
  readonly ladder: string
  readonly value: number
}

/** The step that the words of a title name, whether or not it says a level; null where they name none. */
export function stepNamed(words: readonly string[]): Step | null {
  for (const [at, word] of words.entries()) {
    const [, letter, digits = word] = LETTERS_AND_DIGITS.exec(word) ?? []
    const ladder = letter ?? words[at - 1] ?? ''
    const isStep = letter !== undefined || numerals.ladders.includes(ladder)
    if (isStep && /^\d{1,2}$/.test(digits)) return { ladder, value: Number(digits) }
  }
  return null
}

function gradeOfStep(step: string | undefined): Grade | null {
  return step === undefined ? null : gradeNamed(`numeral${step}`)
}
