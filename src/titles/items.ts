/** The words of one part of a title as phrases with a meaning, and the grades among them. Says nothing about the level yet. */

import { remembered } from './kept.ts'
import {
  endsLikeProfession,
  phrases,
  professionByEnding,
  gradeOfNumeral,
  isNumeral,
  type Grade,
  type Head,
  type Meaning,
} from './lexicon.ts'
import type { Found, Place } from './phrase-book.ts'
import { baseForms } from './words.ts'

export type Item = Found<Meaning>

/** The head that a phrase is, or that a grade is where no other follows. */
export function headOf(meaning: Meaning | null): Head | null {
  if (meaning?.kind === 'head') return meaning
  return meaning?.kind === 'grade' ? meaning.alone : null
}

/** Whether a person is named, or a grade that can stand for one. */
export function hasHead(items: readonly Item[]): boolean {
  return items.some(({ value }) => headOf(value)?.isField === false)
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

function isGradeWithin(word: string): boolean {
  const meaning = phrases.find([word])
  return meaning?.kind === 'grade' && GRADES_WITHIN.has(meaning.grade.name)
}

/** The phrases of a part; where none of them is a role, a word that ends like a profession may be one. */
export function readItems(words: readonly string[], counts: Place<Meaning>['counts']): Item[] {
  const place: Place<Meaning> = { endsBefore: (all, at) => endsRole(all[at] ?? ''), counts }
  const items: Item[] = []
  for (let at = 0; at < words.length; at = items.at(-1)?.end ?? words.length) {
    const found = phrases.longest(words, at, place)
    items.push(found.value === null ? (findByForm(words, at, place) ?? found) : found)
  }
  return hasHead(items) ? items : withUnknownHead(items, words)
}

/** A phrase that asks for the end may end before a link, an "and" or a numeral. */
const endsRole = remembered((word) => {
  const meaning = phrases.find([word])
  return isNumeral(word) || meaning?.kind === 'link' || isAnd(meaning)
})

function isAnd(meaning: Meaning | null): boolean {
  return meaning?.kind === 'and'
}

/** A feminine or plural form, or umlauts written as two letters. */
function findByForm(words: readonly string[], at: number, place: Place<Meaning>): Item | undefined {
  return knownForms(words[at] ?? '')
    .map((form) => phrases.longest(words.with(at, form), at, place))
    .find(({ value }) => value !== null && value.kind !== 'link' && !isAnd(value))
}

const knownForms = remembered((word) =>
  isNumeral(word) ? [] : baseForms(word).filter((form) => phrases.knows(form)),
)

/** Where a part has no known head, a word in the head's place may end like a profession. */
function withUnknownHead(items: Item[], words: readonly string[]): Item[] {
  const link = items.findIndex(({ value }, index) => index > 0 && value?.kind === 'link')
  const noun = items
    .slice(0, link < 0 ? items.length : link)
    .filter(({ value, at }) => value?.kind !== 'grade' && !isNumeral(words[at] ?? ''))
  const unknown = (place: keyof typeof endsLikeProfession) => (item: Item | undefined) =>
    item !== undefined && item.value === null && endings(words[item.at] ?? '')[place]
  const head =
    items.findLast(unknown('anywhere')) ??
    [noun.at(-1)].find(unknown('asLastWord')) ??
    [noun[0]].find(unknown('asFirstWord'))
  return items.map((item) => (item === head ? { ...item, value: professionByEnding } : item))
}

const endings = remembered((word) => {
  const forms = [word, ...baseForms(word)]
  return {
    anywhere: forms.some(endsLikeProfession.anywhere),
    asLastWord: forms.some(endsLikeProfession.asLastWord),
    asFirstWord: forms.some(endsLikeProfession.asFirstWord),
  }
})

/** The words between "and"s: each is a role or a part of a name. */
export function groupsOf(items: readonly Item[]): Item[][] {
  const groups: Item[][] = [[]]
  for (const item of items) {
    if (isAnd(item.value)) groups.push([])
    else groups.at(-1)?.push(item)
  }
  return groups.filter((group) => group.length > 0)
}

/** "(Interim)", "Senior Level", but not "Sekundarstufe I". */
export function isOnlyGrades(items: readonly Item[], words: readonly string[]): boolean {
  return items.every(
    ({ value, at }) => value?.kind === 'grade' || (value === null && isNumeral(words[at] ?? '')),
  )
}

/**
 * The grades among items. At a post they count before it and right after it or at the end: "Gerente Senior de
 * Pesquerías", but not in "Director Senior Programs".
 */
export function gradesIn(
  items: readonly Item[],
  words: readonly string[],
  post?: { readonly head: Item; readonly last: number },
): Grade[] {
  return items.flatMap((item) => {
    const { at, end } = item
    const isFar = post && at > post.head.at && at !== post.head.end && end !== post.last
    return isFar ? [] : (gradeOf(item, words) ?? [])
  })
}

/** The grades at the end of what a role is about: "Analista de Sistemas Senior". */
export function trailingGrades(topic: readonly Item[], words: readonly string[]): Grade[] {
  const last = topic.findLastIndex(
    (item) =>
      gradeOf(item, words) === null ||
      (item.value?.kind === 'grade' && item.value.alone?.isDependent === true),
  )
  return topic.slice(last + 1).flatMap((item) => gradeOf(item, words) ?? [])
}

function gradeOf({ value, at }: Item, words: readonly string[]): Grade | null {
  if (value?.kind === 'grade') return value.grade
  return value?.kind === 'head' ? null : gradeOfNumeral(words, at)
}
