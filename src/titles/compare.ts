/** Two titles of one person at one organisation, one after the other → what kind of change it was. */

import { lexicon } from './lexicon.ts'
import { understandTitle } from './understand.ts'
import { meaningfulWords } from './words.ts'

/** Clearly up, clearly down, another role at about the same level, the same job in other words, or not known. */
export type TitleChange = 'promotion' | 'demotion' | 'lateral' | 'retitle' | 'unclassified'

/** Compares two titles; abstains with `unclassified` when either is not understood. */
export function compareTitles(previous: string, current: string): TitleChange {
  const before = meaningfulWords(previous)
  const after = meaningfulWords(current)
  if (before.join(' ') === after.join(' ')) return 'retitle'
  const previousRank = understandTitle(previous).rank
  const currentRank = understandTitle(current).rank
  if (previousRank === null || currentRank === null) return 'unclassified'
  const rise = currentRank - previousRank
  if (rise >= lexicon.clearStep) return 'promotion'
  if (rise <= -lexicon.clearStep) return 'demotion'
  // A team, region or product that was added or removed leaves the words of one title within the other.
  const isWithin = (a: readonly string[], b: readonly string[]) =>
    a.every((word) => b.includes(word))
  return isWithin(before, after) || isWithin(after, before) ? 'retitle' : 'lateral'
}
