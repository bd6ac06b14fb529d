/**
 * In which field somebody works: read from the English words of a title. Which words say what is data
 * (config/titles/functions.yaml); this file only says which of several counts.
 */

import type { EnglishTitle } from './english.ts'
import { functionWords, type FunctionWord, type Strength } from './function-words.ts'
import { isNumeral } from './numerals.ts'
import { generalJobs } from './roles.ts'

interface Mention {
  readonly word: FunctionWord
  /** How many words such as "and" or "for" stand before it in its part. */
  readonly conjunct: number
  readonly isGeneralJob: boolean
}

/** What of a title names the field of work, or null where nothing does. */
export function readFunction(title: EnglishTitle): FunctionWord | null {
  let hint: FunctionWord | null = null
  let general: FunctionWord | null = null
  for (const words of title.parts) {
    const mentions = mentionsOf(words, title.language)
    const named = firstNamed(mentions, title.language)
    // A field that a later part names goes before a hint, and a hint before what a general job alone says.
    if (named !== null && mentions.some(({ word }) => isField(word))) return named
    hint ??= named
    general ??= mentions[0]?.word ?? null
  }
  return hint ?? general
}

function isField({ strength }: FunctionWord): boolean {
  return strength === 'job' || strength === 'field'
}

const GRADE_OR_JOB = 'assistant'

/** "Assistant Director" is a director's grade; alone, as the last word or before a numeral it is a job. */
function isGrade(words: readonly string[], at: number, language: string): boolean {
  const next = words[at + 1]
  if (words[at] !== GRADE_OR_JOB || next === undefined) return false
  return language === 'en' && next !== 'and' && !isNumeral(next)
}

function mentionsOf(words: readonly string[], language: string): Mention[] {
  const mentions: Mention[] = []
  let conjunct = 0
  for (let at = 0; at < words.length;) {
    const found = functionWords.longestAt(words, at)
    if (found === null || (found.length === 1 && isGrade(words, at, language))) {
      if (beginsAnother(words[at] ?? '', at)) conjunct += 1
      at += 1
      continue
    }
    const isGeneralJob = found.length === 1 && generalJobs.has(words[at] ?? '')
    mentions.push({ word: found.value, conjunct, isGeneralJob })
    at += found.length
  }
  return mentions
}

// "Sales Director for Insurance" sells: what follows such a word is where, not what.
const BEGINS_WHERE = new Set(['in', 'for', 'at', 'on', 'with', 'within'])

function beginsAnother(word: string, at: number): boolean {
  return word === 'and' || (at > 0 && BEGINS_WHERE.has(word))
}

/**
 * Of what a part names, what is named first. Within one noun phrase a job goes before a field and a field before a hint; of two
 * fields English means the last ("software sales"), other languages the first.
 */
function firstNamed(mentions: readonly Mention[], language: string): FunctionWord | null {
  let best: Mention | null = null
  for (const mention of mentions) {
    if (mention.word.strength === 'default') continue
    if (best === null) best = mention
    else if (mention.conjunct !== best.conjunct) break
    else if (isBetter(mention, best, language)) best = mention
  }
  return best?.word ?? null
}

const ORDER: readonly Strength[] = ['default', 'hint', 'field', 'job']

function isBetter(later: Mention, best: Mention, language: string): boolean {
  const { strength } = later.word
  if (strength !== best.word.strength) {
    return ORDER.indexOf(strength) > ORDER.indexOf(best.word.strength)
  }
  // "Nurse Recruiter" recruits, but "IT Support Engineer" is told by what stands before the general word.
  if (strength === 'job') return best.isGeneralJob || !later.isGeneralJob
  return language === 'en'
}
