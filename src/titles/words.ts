/** A title as written → plain words: lower case, no accents, no gender marks, abbreviations spelled out. */

import { lexicon } from './lexicon.ts'

// (m/w/d), (H/F), (f/m/x): letters between slashes. Leiter_in, Leiter:in, Leiter*in, Leiter/in, developpeur·euse.
const GENDER_LETTERS = /\(?\b[mwfhdx]\s*\/\s*[mwfhdx](?:\s*\/\s*[mwfhdx])?\b\)?/g
const GENDER_ENDING =
  /(?<=[a-z])[_:*·/](?:in|innen|e|es|euse|rice|ne)\b|(?<=[a-z])\((?:in|e|euse|rice|ne)\)/g
// Whom somebody assists and where somebody works say nothing about the post: "Assistant to the CEO", "Engineer at X".
const REST_ABOUT_OTHERS = /\s(?:to|at|@|chez|bei)\s.*$|@.*$/
const PART_BORDER = /[,;|()[\]–—]|\s[-/]\s/
const WORD_BORDER = /[^a-z0-9]+/

/** The parts of a title that stand between commas, dashes or brackets, each as words. */
export function splitTitle(title: string): string[][] {
  return plain(title)
    .replace(REST_ABOUT_OTHERS, '')
    .split(PART_BORDER)
    .map(wordsOf)
    .filter((words) => words.length > 0)
}

/** Every word of a title that carries meaning, sorted, each once: two spellings of one title give the same list. */
export function meaningfulWords(title: string): string[] {
  const words = splitTitle(title).flat()
  return [...new Set(words.filter((word) => !lexicon.fillers.includes(word)))].toSorted()
}

function plain(title: string): string {
  return title
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(GENDER_LETTERS, ' ')
    .replace(GENDER_ENDING, '')
}

function wordsOf(part: string): string[] {
  return part
    .split(WORD_BORDER)
    .filter((word) => word !== '')
    .flatMap((word) => lexicon.abbreviations[word]?.split(' ') ?? [word])
}
