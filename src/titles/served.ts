/**
 * Whom an assistant assists. Behind an assistant, a secretary or a chief of staff the bare name of a high post is somebody
 * else's: "Executive Assistant, CEO", "Assistenz (Vorstand)".
 */

import { phrases, rankRanges, servingPhrases, type Meaning, type Standing } from './lexicon.ts'
import type { Place } from './level-phrases.ts'
import { remembered } from './memo.ts'

/** The parts of a title without those that only name whom the first one serves. */
export function withoutServed(
  parts: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  const [first = [], ...others] = parts
  if (others.length === 0 || !isServing(first)) return parts
  return [first, ...others.filter((words) => !namesServed(words))]
}

/**
 * Whether a part names somebody who serves another: "Senior Executive Assistant", "Chief of Staff". A single word such as
 * "secretary" must be all there is but for a grade: a corporate secretary serves nobody.
 */
function isServing(words: readonly string[]): boolean {
  return phrasesByLastWord(words.at(-1) ?? '').some((phrase) => {
    const from = words.length - phrase.length
    if (from < 0 || phrase.some((word, index) => words[from + index] !== word)) return false
    return phrase.length > 1 || from === 0 || (from === 1 && isSeniority(words))
  })
}

const phrasesByLastWord = remembered((word: string) =>
  servingPhrases.filter((phrase) => phrase.at(-1) === word),
)

function isSeniority([word = '']: readonly string[]): boolean {
  const meaning = phrases.find([word], 0, ANYWHERE)?.value
  return meaning?.kind === 'grade' && !meaning.alone?.isDependent
}

const SAYS_WHOM = new Set(['supporting', 'support', 'to', 'for', 'the'])

function namesServed(words: readonly string[]): boolean {
  if (words[0] === 'supporting') return true
  const from = words.findIndex((word) => !SAYS_WHOM.has(word))
  let isNamed = false
  for (let at = from; at >= 0 && at < words.length;) {
    const found = phrases.find(words, at, ANYWHERE)
    if (found === null || !isOfHighPost(found.value)) return false
    isNamed ||= found.value.kind === 'head'
    at += found.length
  }
  return isNamed
}

/** A high post, a grade of it, or what joins two of them. */
function isOfHighPost(meaning: Meaning): boolean {
  if (meaning.kind === 'head') return directorAndUp(meaning.standing)
  return meaning.kind === 'grade' || meaning.kind === 'and'
}

/** Whether a standing is a director's or higher. */
function directorAndUp({ rank: at }: Standing): boolean {
  return at >= rankRanges.director.lowest
}

const ANYWHERE: Place<Meaning> = {
  endsBefore: (words, at) => at === words.length || words[at] === 'and',
  counts: (meaning) => meaning.kind !== 'head' || meaning.with === null,
}
