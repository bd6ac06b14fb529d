/** A title as comparing needs it, each read once. */

import type { Job } from './core.ts'
import type { FunctionWord } from './function-words.ts'
import { Memo, remembered } from './memo.ts'
import { tellsOfAnotherTime } from './present.ts'
import { withoutServed } from './served.ts'
import { understandWords, type UnderstoodTitle } from './understand.ts'
import { readWork } from './work.ts'
import { isFiller, splitTitle } from './words.ts'

/** A title as comparing needs it. */
export interface ReadTitle {
  readonly understood: UnderstoodTitle
  readonly job: Job
  /** What names the field of work, and how strongly. */
  readonly function: FunctionWord | null
  /** Whether it tells of a role that somebody no longer has or does not have yet. */
  readonly isOfAnotherTime: boolean
  /** Every word as written, in order. */
  readonly inOrder: readonly string[]
  /** Every meaningful word as written, sorted. */
  readonly words: readonly string[]
  /** Every meaningful word in English, sorted; a head of something is its manager. */
  readonly english: readonly string[]
}

// Comparing goes over millions of pairs of few titles, and reading one takes five times as long as comparing two that are
// read. Of twice as many at most, 160,000 took 120 MB.
const MOST_READ_TITLES = 150_000
const readTitles = remembered((ladder) => {
  const memo = new Memo<ReadTitle>(MOST_READ_TITLES)
  return (title: string) => memo.recall(title, () => readAnew(title, ladder))
})

/** Reads a title by the ladder of an organisation; remembers a bounded number of titles of each ladder. */
export function readTitle(title: string, ladder: string): ReadTitle {
  return readTitles(ladder)(title)
}

function readAnew(title: string, ladder: string): ReadTitle {
  const parts = splitTitle(title)
  const inOrder = parts.flat()
  const own = withoutServed(parts)
  const work = readWork(own)
  return {
    understood: understandWords(own, work, ladder),
    job: work.job,
    function: work.mention,
    isOfAnotherTime: tellsOfAnotherTime(parts),
    inOrder,
    words: meaningful(inOrder),
    // "Leiter Einkauf" is "Purchasing Manager" as often as "Head of Purchasing".
    english: meaningful(work.english.flat().map((word) => (word === 'head' ? 'manager' : word))),
  }
}

function meaningful(words: readonly string[]): string[] {
  return [...new Set(words.filter((word) => !isFiller(word)))].toSorted()
}
