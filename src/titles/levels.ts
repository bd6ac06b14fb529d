/**
 * How senior a title is. Which words mean what is data (lexicon.ts); this file says how they combine: the parts of a title are
 * roles, a role has one head ("director", "engineer") and grades ("senior", "II") that move it, and of several roles the highest
 * counts. Reads words, never guesses: without a known head or grade there is no answer.
 */

import { presentParts } from './end-marker.ts'
import { remembered } from './kept.ts'
import {
  endsLikeProfession,
  gradeOfNumeral,
  isHighStep,
  isNumeral,
  phrases,
  plainProfession,
  professionByEnding,
  rankRanges,
  staffLadder,
  standingOf,
  type Grade,
  type Head,
  type Meaning,
  type Standing,
} from './lexicon.ts'
import { splitAt, type Found, type Place } from './phrase-book.ts'
import { baseForms, type Parts } from './words.ts'

/** The seniority that a title states, and the rule that decided. */
export interface ReadLevel extends Standing {
  readonly rule: string
}

interface Role {
  readonly head: Head
  readonly standing: Standing
  readonly rule: string
  /** The grades that stand at the role, for a later role of the same part. */
  readonly grades: readonly Grade[]
  /** Whether the part says nothing else. */
  readonly isWhole: boolean
}

/** Whether a standing is itself a post: manager and up. */
function isPost({ level }: Standing): boolean {
  return rankRanges[level].lowest >= rankRanges.manager.lowest
}

/** The contributor whom only a grade names: "Design Lead", "Office Assistant". */
const unnamedContributor: Head = { ...plainProfession, rule: 'grade_alone' }

/**
 * A role with its grades applied.
 * @param words the words of the role: "staff" is a grade only with some professions
 */
function gradedRole(head: Head, grades: readonly Grade[], words: readonly string[]): Role {
  const isOnStaffLadder = words.some((_, at) => staffLadder.find(words, at) !== null)
  const effective = grades.filter(({ name }) => name !== 'staff' || isOnStaffLadder)
  const graded = isPost(head.standing)
    ? gradedPost(head.standing, effective)
    : gradedContributor(head.standing, effective)
  const isMoved = graded.level !== head.standing.level || graded.rank !== head.standing.rank
  const kind = isPost(head.standing) ? 'grade_of_post' : ruleOfContributor(head, effective)
  return {
    head,
    standing: graded,
    rule: isMoved ? kind : head.isField ? 'field' : head.rule,
    grades: effective,
    isWhole: false,
  }
}

function ruleOfContributor(head: Head, grades: readonly Grade[]): string {
  // Ladders disagree from the third step on: of "Analyst III" less is known than of "Senior Analyst".
  const said = grades.filter(({ contributor }) => contributor !== null)
  if (said.length > 0 && said.every(({ name }) => isHighStep(name))) return 'high_step'
  return head === unnamedContributor ? head.rule : 'grade_of_profession'
}

function gradedPost(post: Standing, grades: readonly Grade[]): Standing {
  if (post.level === 'manager' && grades.some(({ makesEntryOfPosts }) => makesEntryOfPosts)) {
    return standingOf('entry', 11)
  }
  const shifts = [...new Set(grades)].reduce(
    (sum, grade) => sum + (grade.postOf[post.level] ?? grade.post),
    0,
  )
  return shiftInside(post, shifts)
}

const INSIDE_LEVEL_STEP = 3

function gradedContributor(standing: Standing, grades: readonly Grade[]): Standing {
  const moves = grades.flatMap(({ contributor }) => contributor ?? [])
  const [top] = moves.toSorted((a, b) => b.rank - a.rank)
  if (top === undefined || standing.level === 'intern') return standing
  // Team leads stay what they are: "senior" and "lead" lift them, other grades lower them.
  if (standing.management)
    return shiftInside(standing, top.rank < rankRanges.senior.lowest ? -2 : 2)
  if (top.level === 'lead' || standing.level === 'lead' || standing.level === 'senior') {
    const isSenior = grades.some(({ name }) => name === 'senior')
    return gradedExpert(standing, top, isSenior)
  }
  // A junior associate stands below an associate, a junior assistant below an assistant.
  const steps = new Set([standing, ...moves].filter(({ level }) => level === 'entry'))
  const [lowest] = [...steps].toSorted((a, b) => a.rank - b.rank)
  return top.level === 'entry' && steps.size > 1 && lowest ? shiftInside(lowest, -2) : top
}

/** Architects and other leading experts: "Senior Staff" stands above "Staff", a junior architect is a beginner. */
function gradedExpert(base: Standing, moves: Standing, isSenior: boolean): Standing {
  if (moves.level === 'lead') {
    const rank = base.level === 'lead' && base.rank > moves.rank - 1 ? base.rank + 2 : moves.rank
    return shiftInside({ ...moves, rank }, isSenior ? INSIDE_LEVEL_STEP - 1 : 0)
  }
  if (moves.level === 'senior') return shiftInside(base, INSIDE_LEVEL_STEP)
  return moves.level === 'entry' ? moves : base
}

function shiftInside(standing: Standing, by: number): Standing {
  const { lowest, highest } = rankRanges[standing.level]
  return { ...standing, rank: Math.max(lowest, Math.min(highest, standing.rank + by)) }
}

/** "Sr. UX", "Nutrition II": a grade with unknown words gives the level of a contributor. */
function aloneGrades(grades: readonly Grade[], parts: Parts): ReadLevel | null {
  // "October 1" is not a title: the first step of a ladder is read only with a known role.
  const isSaid = grades.some(
    ({ contributor, name }) => contributor !== null && name !== 'staff' && name !== 'numeralone',
  )
  if (!isSaid || parts.flat().length < 2) return null
  return { ...gradedContributor(plainProfession.standing, grades), rule: 'grade_alone' }
}

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

/** "Marketing Manager (Intern)": a learner is not a manager yet; "Manager, Intern Team" is one. */
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
  // "Office of the Counselor" with a role is a place; alone it may still name the role.
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
    const role = readGroup(group, words, carried, trailing)
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

/**
 * @param carried grades of the role before it: "Senior Writer and Editor"
 * @param trailing grades after what the role is about: "Analista de Sistemas Senior"
 */
function readGroup(
  group: readonly Item[],
  words: readonly string[],
  carried: readonly Grade[],
  trailing: readonly Grade[],
): Role | null {
  const chosen = chooseHead(group)
  if (chosen === null) return null
  const { item } = chosen
  const isOfPost = isPost(chosen.head.standing)
  // A grade that stands for a contributor is the grade of an unnamed person: "Senior Office Assistant".
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
  // A field is the head only without another one: "Marketing", but not in "Marketing Lead" or "General Manager
  // Production".
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

// The words of one part as phrases with a meaning, and the grades among them.

type Item = Found<Meaning>

/** The head that a phrase is, or that a grade is where no other follows. */
function headOf(meaning: Meaning | null): Head | null {
  if (meaning?.kind === 'head') return meaning
  return meaning?.kind === 'grade' ? meaning.alone : null
}

/** Whether a person is named, or a grade that can stand for one. */
function hasHead(items: readonly Item[]): boolean {
  return items.some(({ value }) => headOf(value)?.isField === false)
}

const OF = new Set(['of', 'de', 'd', 'da', 'do', 'del', 'des', 'du', 'di'])
const GRADES_WITHIN = new Set(['senior', 'junior', 'middle'])

// "Assistentin Vertriebsleitung": in German the person comes first, and then whom she assists; "Assistent Manager" is English.
const ASSISTS = /^assisten(?:z|tin)$/
const ASSISTED = /(?:leitung|fuhrung|leiters|leiterin)$/

function assistsLeader([first = '', second = '', ...others]: readonly string[]): boolean {
  if (ASSISTS.test(first)) return second !== ''
  return first === 'assistent' && [second, ...others].some((word) => ASSISTED.test(word))
}

/** The words of a part as the lists hold them: "Gerente Senior de Contas" → "senior gerente de contas". */
function wordsInOrder(words: readonly string[]): readonly string[] {
  if (assistsLeader(words)) return [words[0] ?? '', 'der', ...words.slice(1)]
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
function readItems(words: readonly string[], counts: Place<Meaning>['counts']): Item[] {
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
  const unknown =
    (place: keyof ReturnType<typeof endsLikeProfession>) => (item: Item | undefined) =>
      item?.value === null && endsLikeProfession(words[item.at] ?? '')[place]
  const head =
    items.findLast(unknown('anywhere')) ??
    [noun.at(-1)].find(unknown('asLastWord')) ??
    [noun[0]].find(unknown('asFirstWord'))
  return items.map((item) => (item === head ? { ...item, value: professionByEnding } : item))
}

/** The words between "and"s: each is a role or a part of a name. */
function groupsOf(items: readonly Item[]): Item[][] {
  return splitAt(items, ({ value }) => isAnd(value))
}

/** "(Interim)", "Senior Level", but not "Sekundarstufe I". */
function isOnlyGrades(items: readonly Item[], words: readonly string[]): boolean {
  return items.every(
    ({ value, at }) => value?.kind === 'grade' || (value === null && isNumeral(words[at] ?? '')),
  )
}

/**
 * The grades among items. At a post they count before it and right after it or at the end: "Gerente Senior de
 * Pesquerías", but not in "Director Senior Programs".
 */
function gradesIn(
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
function trailingGrades(topic: readonly Item[], words: readonly string[]): Grade[] {
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
