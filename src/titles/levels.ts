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
  gradesIn,
  groupsOf,
  hasHead,
  headOf,
  isOnlyGrades,
  readItems,
  trailingGrades,
  wordsInOrder,
  type Item,
} from './items.ts'
import type { Grade, Head, Meaning } from './lexicon.ts'
import { presentParts } from './own-parts.ts'
import type { Place } from './phrase-book.ts'
import type { Parts } from './words.ts'

interface ReadPart {
  readonly roles: readonly Role[]
  /** Grades of a part without a role: "(Interim)", "Senior". */
  readonly detachedGrades: readonly Grade[]
}

/** The level of a title, from its parts; null where it does not say. */
export function readLevel(title: Parts): ReadLevel | null {
  const parts = presentParts(title)
  const text = ` ${parts.flat().join(' ')} `
  const counts = (meaning: Meaning) =>
    meaning.kind !== 'head' || (meaning.with?.some((phrase) => text.includes(phrase)) ?? true)
  const read: ReadPart[] = []
  for (const words of parts) {
    const isFirst = read.every(({ roles }) => roles.length === 0)
    read.push(readPart(words, isFirst, counts))
  }
  const [first, ...others] = withoutFields(read.flatMap(({ roles }) => roles))
  const detached = read.flatMap(({ detachedGrades }) => detachedGrades)
  // Of "Former VP, Marketing" only the field is of today.
  if (parts !== title && first?.head.isField === true) return null
  if (first === undefined) return detached.length > 0 ? aloneGrades(detached, parts) : null
  const main =
    detached.length > 0
      ? gradedRole(first.head, [...first.grades, ...detached], parts.flat())
      : first
  const role = learnerOf([main, ...others]) ?? highest([main, ...others])
  return { ...role.standing, rule: role.rule }
}

/** A field of work is a role only where no person is named: "Marketing", but not in "Junior Developer, Marketing". */
function withoutFields(roles: readonly Role[]): readonly Role[] {
  const people = roles.filter(({ head }) => !head.isField)
  return people.length > 0 ? people : roles
}

function highest(roles: readonly [Role, ...Role[]]): Role {
  return roles.reduce((best, each) => (each.standing.rank > best.standing.rank ? each : best))
}

/** "Marketing Manager (Intern)": who learns is no manager yet; "Manager, Intern Team" is one. */
function learnerOf(roles: readonly Role[]): Role | undefined {
  const hasPost = roles.some(({ standing, head }) => isPost(standing) && head.learner === null)
  return roles.find(
    (role, index) => role.head.learner !== null && (!hasPost || role.isWhole || index === 0),
  )
}

/** @param isFirst whether no part before it names a role */
function readPart(
  part: readonly string[],
  isFirst: boolean,
  counts: Place<Meaning>['counts'],
): ReadPart {
  const words = wordsInOrder(part)
  const items = readItems(words, counts)
  // "Office of the Counselor" beside a role is where it is; alone it may still name the role.
  const linkAt = items.findIndex(
    ({ value }, index) =>
      value?.kind === 'link' && index > 0 && (!isFirst || hasHead(items.slice(0, index))),
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
      carried = gradesIn(group, words)
      detachedGrades.push(...carried)
    }
  }
  const post = postAfterAnd(topic, words)
  if (post !== null) roles.push(post)
  const areGrades = roles.length === 0 && (isFirst || isOnlyGrades(items, words))
  return { roles, detachedGrades: areGrades ? detachedGrades : [] }
}

/** "VP of Sales and General Manager": after a topic an "and" may bring another post, as its last word. */
function postAfterAnd(topic: readonly Item[], words: readonly string[]): Role | null {
  const group = groupsOf(topic).slice(1).at(-1) ?? []
  const head = group.at(-1)?.value
  return head?.kind === 'head' && isPost(head.standing)
    ? gradedRole(head, gradesIn(group, words), [])
    : null
}

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
  const isOfPost = isPost(chosen.head.standing)
  // A grade that stands for a contributor is a grade of somebody unnamed: "Senior Office Assistant".
  const isUnnamed = item.value?.kind === 'grade' && !isOfPost
  const own = gradesIn(
    isUnnamed ? group : group.filter((each) => each !== item),
    words,
    isOfPost ? { head: item, last: group.at(-1)?.end ?? 0 } : undefined,
  )
  const grades = [...own, ...trailing]
  return gradedRole(
    isUnnamed ? unnamedContributor : chosen.head,
    !isOfPost && grades.length === 0 ? carried : grades,
    words,
  )
}

interface ChosenHead {
  readonly item: Item
  readonly head: Head
}

function chooseHead(group: readonly Item[]): ChosenHead | null {
  const heads = group.flatMap((item) =>
    item.value?.kind === 'head' ? [{ item, head: item.value }] : [],
  )
  const people = heads.filter(({ head }) => !head.isField)
  const alone = headAlone(group)
  // A field is the head only where nobody else is: "Marketing", but not in "Marketing Lead" or "General Manager Production".
  const certain = people.length > 0 || alone !== null ? people : heads
  const last = certain.at(-1)
  if (last === undefined) return alone
  // "Nurse Assistant", "Manager Assistant": who assists as the last word is the head.
  const dependent = group.findLast(
    (item) => item.at >= last.item.at && headOf(item.value)?.isDependent === true,
  )
  const dependentHead = dependent && headOf(dependent.value)
  if (dependent && dependentHead) return { item: dependent, head: dependentHead }
  const learner = certain.find(({ head }) => head.learner === 'decides')
  if (learner !== undefined) return learner
  const posts = certain.filter(({ head }) => isPost(head.standing))
  const intern = certain.find(({ head }) => head.learner !== null)
  return posts.length > 0 ? lastHighest(posts) : (intern ?? lastHighest(certain))
}

function lastHighest(heads: readonly ChosenHead[]): ChosenHead | null {
  const [best] = heads.toReversed().toSorted((a, b) => b.head.standing.rank - a.head.standing.rank)
  return best ?? null
}

/** "Design Lead", "Assistant Marketing": a grade is the head where no other word is. */
function headAlone(group: readonly Item[]): ChosenHead | null {
  return lastHighest(
    group.flatMap((item) => {
      const head = item.value?.kind === 'grade' ? headOf(item.value) : null
      return head === null ? [] : [{ item, head }]
    }),
  )
}
