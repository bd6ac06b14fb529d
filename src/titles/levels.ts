/**
 * How senior a title is. Which words mean what is data (lexicon.ts); this file says how they combine: the parts of a title are
 * roles, a role has one head ("director", "engineer") and grades ("senior", "II") that move it, and of several roles the highest
 * counts. Reads words, never guesses: without a known head or grade there is no answer.
 */

import {
  aloneGrades,
  gradedRole,
  isPost,
  unnamedContributor,
  type ReadLevel,
  type Role,
} from './grading.ts'
import {
  endsBefore,
  gradesIn,
  groupsOf,
  hasHead,
  headOf,
  isLink,
  isOnlyGrades,
  readItems,
  trailingGrades,
  wordsInOrder,
  type Item,
} from './items.ts'
import type { Place } from './level-phrases.ts'
import { phrases, teamWords, type Grade, type Head, type Meaning } from './lexicon.ts'
import { presentParts } from './present.ts'

interface ReadPart {
  readonly roles: readonly Role[]
  /** Grades of a part without a role: "(Interim)", "Senior". */
  readonly detachedGrades: readonly Grade[]
}

/** The level of a title, from its parts; null where it does not say. */
export function readLevel(title: readonly (readonly string[])[]): ReadLevel | null {
  const parts = presentParts(title)
  const place: Place<Meaning> = {
    endsBefore,
    counts: (meaning) =>
      meaning.kind !== 'head' || meaning.with === null || holdsOne(parts, meaning.with),
  }
  const read: ReadPart[] = []
  for (const words of parts) {
    const main = read.find(({ roles }) => roles.length > 0) ?? null
    read.push(readPart(words, main, place))
  }
  const [first, ...others] = withoutFields(read.flatMap(({ roles }) => roles))
  const detached = read.flatMap(({ detachedGrades }) => detachedGrades)
  // Of "Former VP, Marketing" only the field is of today.
  if (parts !== title && first?.head.isField === true) return null
  if (first === undefined) return detached.length > 0 ? aloneGrades(detached, parts) : null
  const roles = [
    detached.length > 0
      ? gradedRole(first.head, [...first.grades, ...detached], parts.flat())
      : first,
    ...others,
  ]
  const role = learnerOf(roles) ?? highestOf(roles)
  return role === undefined ? null : { ...role.standing, rule: role.rule }
}

function holdsOne(parts: readonly (readonly string[])[], wanted: readonly string[]): boolean {
  const text = ` ${parts.flat().join(' ')} `
  return wanted.some((phrase) => text.includes(phrase))
}

/** A field of work is a role only where no person is named: "Marketing", but not in "Junior Developer, Marketing". */
function withoutFields(roles: readonly Role[]): readonly Role[] {
  const people = roles.filter(({ head }) => !head.isField)
  return people.length > 0 ? people : roles
}

function highestOf(roles: readonly Role[]): Role | undefined {
  return roles.reduce<Role | undefined>(
    (best, role) => (best === undefined || role.standing.rank > best.standing.rank ? role : best),
    undefined,
  )
}

/** "Marketing Manager (Intern)": who learns is no manager yet; "Manager, Intern Team" is one. */
function learnerOf(roles: readonly Role[]): Role | undefined {
  const hasPost = roles.some(({ standing, head }) => isPost(standing) && head.learner === null)
  return roles.find(
    (role, index) => role.head.learner !== null && (!hasPost || role.isWhole || index === 0),
  )
}

// ——— one part ———

/** @param main the part before it that names the first role; null where none does */
function readPart(part: readonly string[], main: ReadPart | null, place: Place<Meaning>): ReadPart {
  const words = wordsInOrder(part)
  const isFirst = main === null
  const found = readItems(words, place)
  const items = isFirst ? found : withoutStrayPosts(found, words, main.roles)
  // "Office of the Counselor" beside a role is where it is; alone it may still name the role.
  const linkAt = items.findIndex(
    ({ meaning }, index) =>
      meaning?.kind === 'link' && index > 0 && (!isFirst || hasHead(items.slice(0, index))),
  )
  const own = linkAt < 0 ? items : items.slice(0, linkAt)
  const topic = linkAt < 0 ? [] : items.slice(linkAt)
  const trailing = trailingGrades(topic, words)
  const roles: Role[] = []
  const detachedGrades: Grade[] = []
  let carried: readonly Grade[] = []
  for (const group of groupsOf(own)) {
    const role = readGroup(group, words, { carried, trailing })
    if (role !== null) {
      roles.push({ ...role, isWhole: group.length === items.length })
      carried = role.grades
    } else {
      const grades = gradesIn(group, words)
      detachedGrades.push(...grades)
      carried = grades
    }
  }
  roles.push(...postsAfterAnd(topic, words))
  if (roles.length > 0) return { roles, detachedGrades: [] }
  return { roles, detachedGrades: isFirst || isOnlyGrades(items, words) ? detachedGrades : [] }
}

/**
 * After a role, an English post that describes another word is nobody's: "Product Owner, CEO Dashboard", "Engineer, Partners".
 * After a manager only that of an office or a team is none: "Business Manager, COO Office".
 */
function withoutStrayPosts(
  items: readonly Item[],
  words: readonly string[],
  roles: readonly Role[],
): readonly Item[] {
  const isContributor = roles.every(
    ({ head, standing }) => head.isEnglish && !isPost(head.standing) && !isPost(standing),
  )
  return items.map((item, index) => {
    const { meaning, at, end } = item
    if (meaning?.kind !== 'head' || !isPost(meaning.standing) || !meaning.isEnglish) return item
    const isOfTeam = teamWords.has(words[end] ?? '')
    const isNamed = isFollowed(items.slice(index + 1), words) && !isLink(words[end - 1] ?? '')
    const isStray = isContributor && (isNamed || isMany(words, at, end))
    return isOfTeam || isStray ? { ...item, meaning: null } : item
  })
}

/** Whether words of a name follow: "Director Compensation", but not "Director of Sales" or "Director II". */
function isFollowed(after: readonly Item[], words: readonly string[]): boolean {
  const [next] = after
  if (next === undefined || next.meaning?.kind === 'link' || next.meaning?.kind === 'and')
    return false
  return !isOnlyGrades(after, words)
}

function isMany(words: readonly string[], at: number, end: number): boolean {
  const word = words[at] ?? ''
  return end === at + 1 && word.endsWith('s') && phrases.knows(word.slice(0, -1))
}

/** "VP of Sales and General Manager": after a topic an "and" may bring another post, as its last word. */
function postsAfterAnd(topic: readonly Item[], words: readonly string[]): Role[] {
  return groupsOf(topic)
    .slice(1)
    .flatMap((group) => {
      const last = group.at(-1)
      const head = last?.meaning?.kind === 'head' ? last.meaning : null
      if (head === null || last === undefined || !isPost(head.standing) || last.end < words.length)
        return []
      return [gradedRole(head, gradesIn(group, words))]
    })
}

// ——— one role ———

interface Surroundings {
  /** Grades of the role before it: "Senior Writer and Editor". */
  readonly carried: readonly Grade[]
  /** Grades after what the role is about: "Analista de Sistemas Senior". */
  readonly trailing: readonly Grade[]
}

function readGroup(
  group: readonly Item[],
  words: readonly string[],
  { carried, trailing }: Surroundings,
): Role | null {
  const chosen = chooseHead(group)
  if (chosen === null) return null
  const { item } = chosen
  // A grade that stands for a contributor is a grade of somebody unnamed: "Senior Office Assistant".
  const isUnnamed = item.meaning?.kind === 'grade' && !isPost(chosen.head.standing)
  const head = isUnnamed ? unnamedContributor : chosen.head
  const own = gradesIn(
    isUnnamed ? group : group.filter((each) => each !== item),
    words,
    isPost(head.standing) ? { head: item, last: group.at(-1)?.end ?? 0 } : undefined,
  )
  const grades = [...own, ...trailing]
  const isContributor = !isPost(head.standing)
  return gradedRole(head, isContributor && grades.length === 0 ? carried : grades, words)
}

interface ChosenHead {
  readonly item: Item
  readonly head: Head
}

function chooseHead(group: readonly Item[]): ChosenHead | null {
  const heads = group.flatMap((item) =>
    item.meaning?.kind === 'head' ? [{ item, head: item.meaning }] : [],
  )
  const people = heads.filter(({ head }) => !head.isField)
  // A field is the head only where nobody else is: "Marketing", but not in "Marketing Lead" or "General Manager Production".
  const certain = people.length > 0 || headAlone(group) !== null ? people : heads
  const last = certain.at(-1)
  if (last === undefined) return headAlone(group)
  const assistant = assistantAfter(last.item, group)
  if (assistant !== null) return assistant
  if (last.head.isDependent) return last
  const learner = certain.find(({ head }) => head.learner === 'decides')
  if (learner !== undefined) return learner
  const candidates = certain.filter((_, index) => !isPartOfName(certain, index, group))
  const posts = candidates.filter(({ head }) => isPost(head.standing))
  if (posts.length > 0) return highest(posts)
  const intern = candidates.find(({ head }) => head.learner !== null)
  return intern ?? highest(candidates) ?? last
}

/** "Nurse Assistant", "Manager Assistant": who assists as the last word is the head. */
function assistantAfter(last: Item, group: readonly Item[]): ChosenHead | null {
  const item = group.findLast(
    ({ meaning, at }) => at > last.at && meaning?.kind === 'grade' && meaning.alone?.isDependent,
  )
  const head = item === undefined ? null : headOf(item.meaning)
  return item === undefined || head === null ? null : { item, head }
}

/** "CEO Office Manager": words between two heads make the first one a part of the second's name. */
function isPartOfName(
  heads: readonly ChosenHead[],
  index: number,
  group: readonly Item[],
): boolean {
  const own = heads[index]
  const next = heads[index + 1]
  if (own === undefined || next === undefined || !own.head.isAttributive) return false
  return next.item.at > own.item.end && heads.at(-1)?.item === group.at(-1)
}

function highest<T extends { readonly head: Head }>(heads: readonly T[]): T | null {
  return heads.reduce<T | null>(
    (best, each) =>
      best === null || each.head.standing.rank >= best.head.standing.rank ? each : best,
    null,
  )
}

/** "Design Lead", "Assistant Marketing": a grade is the head where no other word is. */
function headAlone(group: readonly Item[]): ChosenHead | null {
  const grades = group.flatMap((item) => {
    const head = headOf(item.meaning)
    return head === null || item.meaning?.kind !== 'grade' ? [] : [{ item, head }]
  })
  return highest(grades)
}
