/** The words of one part of a title as phrases with a meaning, and the grades among them. Says nothing about the level yet. */

import {
  endsLikeProfession,
  gradeNamed,
  phrases,
  professionByEnding,
  type Grade,
  type Head,
  type Meaning,
} from './lexicon.ts'
import { ANYWHERE, type FoundPhrase, type Place } from './level-phrases.ts'
import { remembered } from './memo.ts'
import { gradeOfNumeral, isNumeral } from './numerals.ts'
import { baseForms } from './word-forms.ts'

/** A phrase of a part: what it means, the words it takes. */
export interface Item {
  readonly meaning: Meaning | null
  readonly at: number
  readonly end: number
}

/** Whether a person is named, or a grade that can stand for one. */
export function hasHead(items: readonly Item[]): boolean {
  return items.some(({ meaning }) => headOf(meaning)?.isField === false)
}

/** The head that a phrase is, or that a grade is where no other follows. */
export function headOf(meaning: Meaning | null): Head | null {
  if (meaning?.kind === 'head') return meaning
  return meaning?.kind === 'grade' ? meaning.alone : null
}

/** The phrases of a part; where none of them is a role, a word that ends like a profession may be one. */
export function readItems(words: readonly string[], place: Place<Meaning>): Item[] {
  const items = scan(words, place)
  return hasHead(items) ? items : withUnknownHead(items, words)
}

const OF = new Set(['of', 'de', 'd', 'da', 'do', 'del', 'des', 'du', 'di'])
const GRADES_WITHIN = new Set(['senior', 'junior', 'middle'])

/** The words of a part as the lists hold them: "Gerente Senior de Contas" → "senior gerente de contas". */
export function wordsInOrder(words: readonly string[]): readonly string[] {
  const at = words.findIndex(
    (word, index) => index > 0 && OF.has(words[index + 1] ?? '') && isGradeWithin(word),
  )
  const grade = words[at]
  return grade === undefined ? words : [grade, ...words.slice(0, at), ...words.slice(at + 1)]
}

const isGradeWithin = remembered((word) => {
  const meaning = phrases.find([word], 0, ANYWHERE)?.value
  return meaning?.kind === 'grade' && GRADES_WITHIN.has(meaning.grade.name)
})

function scan(words: readonly string[], place: Place<Meaning>): Item[] {
  const items: Item[] = []
  for (let at = 0; at < words.length;) {
    const found = phrases.find(words, at, place) ?? findByForm(words, at, place)
    const end = at + (found?.length ?? 1)
    items.push({ meaning: found?.value ?? null, at, end })
    at = end
  }
  return items
}

/** A feminine or plural form, or umlauts written as two letters. */
function findByForm(
  words: readonly string[],
  at: number,
  place: Place<Meaning>,
): FoundPhrase<Meaning> | null {
  for (const form of knownForms(words[at] ?? '')) {
    const found = phrases.find(words.with(at, form), at, place)
    if (found !== null && found.value.kind !== 'link' && found.value.kind !== 'and') return found
  }
  return null
}

const knownForms = remembered((word) =>
  isNumeral(word) ? [] : baseForms(word).filter((form) => phrases.knows(form)),
)

/** Where a part has no known head, a word in the head's place may end like a profession. */
function withUnknownHead(items: Item[], words: readonly string[]): Item[] {
  const isUnknown = (item: Item) => item.meaning === null
  const wordOf = (item: Item) => words[item.at] ?? ''
  const noun = items
    .slice(0, firstLink(items))
    .filter(({ meaning, at }) => meaning?.kind !== 'grade' && !isNumeral(words[at] ?? ''))
  const last = noun.at(-1)
  const first = noun[0]
  const head =
    items.findLast((item) => isUnknown(item) && endings(wordOf(item)).anywhere) ??
    [last].find((item) => item && isUnknown(item) && endings(wordOf(item)).asLastWord) ??
    [first].find((item) => item && isUnknown(item) && endings(wordOf(item)).asFirstWord)
  return head === undefined
    ? items
    : items.map((item) => (item === head ? { ...item, meaning: professionByEnding } : item))
}

const endings = remembered((word) => {
  const forms = baseForms(word, true)
  return {
    anywhere: forms.some(endsLikeProfession.anywhere),
    asLastWord: forms.some(endsLikeProfession.asLastWord),
    asFirstWord: forms.some(endsLikeProfession.asFirstWord),
  }
})

function firstLink(items: readonly Item[]): number {
  const at = items.findIndex(({ meaning }, index) => index > 0 && meaning?.kind === 'link')
  return at < 0 ? items.length : at
}

/** What stands between "and"s: each is a role or a part of a name. */
export function groupsOf(items: readonly Item[]): Item[][] {
  const groups: Item[][] = [[]]
  for (const item of items) {
    if (item.meaning?.kind === 'and') groups.push([])
    else groups.at(-1)?.push(item)
  }
  return groups.filter((group) => group.length > 0)
}

/** A phrase that asks for the end may end before a link, an "and" or a numeral. */
export function endsBefore(words: readonly string[], at: number): boolean {
  const word = words[at]
  return word === undefined || endsRole(word)
}

const endsRole = remembered((word) => {
  if (isNumeral(word)) return true
  const kind = phrases.find([word], 0, ANYWHERE)?.value.kind
  return kind === 'link' || kind === 'and'
})

/** Whether what the role is about follows a word: "of", "for". */
export const isLink: (word: string) => boolean = remembered(
  (word) => phrases.find([word], 0, ANYWHERE)?.value.kind === 'link',
)

/** "(Interim)", "Senior Level", but not "Sekundarstufe I". */
export function isOnlyGrades(items: readonly Item[], words: readonly string[]): boolean {
  return items.every(
    ({ meaning, at }) =>
      meaning?.kind === 'grade' || (meaning === null && isNumeral(words[at] ?? '')),
  )
}

/**
 * The grades among items. At a post they count before it and right behind it or at the end: "Gerente Senior de Pesquerías",
 * but not in "Director Senior Programs".
 */
export function gradesIn(
  items: readonly Item[],
  words: readonly string[],
  post?: { readonly head: Item; readonly last: number },
): Grade[] {
  return items.flatMap(({ meaning, at, end }) => {
    if (post !== undefined && at > post.head.at && at !== post.head.end && end !== post.last) {
      return []
    }
    if (meaning?.kind === 'grade') return [meaning.grade]
    if (meaning?.kind === 'head') return []
    const numeral = gradeOfNumeral(words, at)
    return numeral === null ? [] : [gradeNamed(numeral)]
  })
}

/** The grades at the end of what a role is about: "Analista de Sistemas Senior". */
export function trailingGrades(topic: readonly Item[], words: readonly string[]): Grade[] {
  const grades: Grade[] = []
  for (const item of topic.toReversed()) {
    if (item.meaning?.kind === 'grade' && item.meaning.alone?.isDependent !== true) {
      grades.push(item.meaning.grade)
      continue
    }
    const numeral = item.meaning?.kind === 'head' ? null : gradeOfNumeral(words, item.at)
    if (numeral === null) break
    grades.push(gradeNamed(numeral))
  }
  return grades
}
