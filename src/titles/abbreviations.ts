/**
 * Spells out short forms (config/titles/abbreviations.yaml), using the words next to them where they mean two things:
 * "Sr. Eng." is an engineer, "VP Eng" is of engineering.
 */

import { z } from 'zod'
import { kept } from './kept.ts'
import { readTaxonomy, wordList } from './taxonomy.ts'

const lists = kept('abbreviations', () => {
  const text = z.string().transform((all) => all.split(' ').filter((word) => word !== ''))
  const byNeighbour = z.record(z.string(), z.record(z.string().min(1), wordList))
  return readTaxonomy(
    'abbreviations.yaml',
    z.strictObject({
      always: z.record(z.string().min(1), text),
      field_or_person: z.record(z.string(), wordList),
      after: byNeighbour,
      before: byNeighbour,
      last: z.record(z.string(), text),
      letters: z.record(z.string(), wordList),
    }),
  )
})()

type Words = readonly string[]

/** The meanings of short forms of one word, by the deciding neighbour; a neighbour `*` is any word. */
interface Short {
  readonly always: Words | null
  readonly field: Words | null
  readonly person: Words | null
  readonly after: ReadonlyMap<string, Words>
  readonly before: ReadonlyMap<string, Words>
}

const shortForms = new Map<string, Short>()

const { always, field_or_person: either, after, before, last } = lists
for (const short of [always, either, after, before, last].flatMap((list) => Object.keys(list))) {
  const [field = null, person = null] = (either[short] ?? []).map((one) => one.split(' '))
  shortForms.set(short, {
    always: always[short] ?? null,
    field,
    person: person ?? last[short] ?? null,
    after: byNeighbour(after[short]),
    before: byNeighbour(before[short]),
  })
}

function byNeighbour(meanings: Readonly<Record<string, Words>> = {}): ReadonlyMap<string, Words> {
  return new Map(
    Object.entries(meanings).flatMap(([meaning, words]) =>
      words.map((word) => [word, meaning.split(' ')] as const),
    ),
  )
}

// Who holds a post leads a field: "VP, Eng".
const POSTS = new Set(
  'director manager head president officer supervisor superintendent dean leader minister'.split(
    ' ',
  ),
)
const LEADS_TO_A_FIELD = new Set(['of', 'for', 'in'])
// "de fin d'études"
const SHORTEST_NEXT = 4
const STEP = /^(?:i{1,3}|iv|v|[1-7]|[lep]\d|ic\d|senior|junior)$/

/**
 * The words of one part of a title, its short forms spelled out.
 * @param spell what else a word may be: a compound with a grade
 * @param isOfPost whether an earlier part names a post
 */
export function spelledOut(
  words: Words,
  spell: (word: string) => Words,
  isOfPost: boolean,
): string[] {
  const spelled: string[] = []
  for (const [at, word] of words.entries()) {
    const short = shortForms.get(word)
    spelled.push(
      ...(short === undefined
        ? spell(word)
        : (meaningOf(short, words, at, spelled, isOfPost) ?? [word])),
    )
  }
  return spelled
}

function meaningOf(
  short: Short,
  words: Words,
  at: number,
  spelled: Words,
  isOfPost: boolean,
): Words | null {
  const previous = spelled.at(-1) ?? ''
  const byPrevious = short.after.get(previous) ?? short.after.get(words[at - 1] ?? '')
  if (byPrevious !== undefined) return byPrevious
  const rest = words.slice(at + 1)
  const isLast = rest.every((word) => STEP.test(word))
  if (!isLast && short.before.size > 0) {
    const [next = ''] = rest
    const long = shortForms.get(next)?.always?.[0] ?? next
    const isAny = next.length >= SHORTEST_NEXT || shortForms.has(next)
    const byNext =
      short.before.get(next) ??
      short.before.get(long) ??
      (isAny ? short.before.get('*') : undefined)
    if (byNext !== undefined) return byNext
  }
  const isBehindPost = LEADS_TO_A_FIELD.has(previous) || POSTS.has(previous)
  const isOfField = isOfPost || isBehindPost || namesPost(spelled)
  if (isLast && !isOfField && short.person !== null) return short.person
  // "VP, Fin.", but not "CFO, Acme Corp".
  const isField = isBehindPost || (isOfPost && at === 0)
  return short.field ?? short.always ?? (isField ? short.before.get('*') : undefined) ?? null
}

/** Whether words name a post, so that a short form in a later part is its field. */
export function namesPost(words: Words): boolean {
  return words.some((word) => POSTS.has(word))
}

const LETTERS = new Map(
  Object.entries(lists.letters).flatMap(([letters, phrases]) =>
    phrases.map((phrase) => [phrase, letters] as const),
  ),
)
const WRITTEN_OUT = new RegExp(
  `\\b(?:${[...LETTERS.keys()].join('|').replaceAll(' and ', ' (?:and|&) ')})\\b`,
  'g',
)

/** "Research and Development", "R and D" as the one word R&D. */
export function withLetters(text: string): string {
  return text.replace(WRITTEN_OUT, (phrase) => LETTERS.get(phrase.replace('&', 'and')) ?? phrase)
}

// Each name with its sign.
const NAMED = new Map(
  `amp& lt< gt> quot" apos' ndash– mdash— bull• middot· hellip… lsquo‘ rsquo’ ldquo“ rdquo” laquo« raquo» szligß aeligæ
   oeligœ oslashø sol/ comma, lpar( rpar) vert| period. shy ordf ordm`
    .split(/\s+/)
    .map((one) => [/^[a-z]+/.exec(one)?.[0] ?? '', one.replace(/^[a-z]+/, '')] as const),
)
for (const name of ['nbsp', 'reg', 'trade', 'copy']) NAMED.set(name, ' ')
const ENTITY = /&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]+));/gi
// &eacute; &uuml; &Ccedil;
const ACCENTED = /^([a-z])(?:acute|grave|circ|uml|tilde|cedil|ring|slash|caron)$/i
const HIGHEST_SIGN = 0x10_ff_ff

/** A title as it was before it was put into a page: `&amp;` → `&`, `&#39;` → `'`; also what was put into one twice. */
export function withoutEntities(title: string): string {
  if (!title.includes('&') || !title.includes(';')) return title
  const once = decoded(title)
  return once === title ? title : decoded(once)
}

function decoded(title: string): string {
  return title.replace(ENTITY, (all, hex?: string, digits?: string, name?: string) => {
    if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? ACCENTED.exec(name)?.[1] ?? all
    const sign = hex === undefined ? Number(digits) : Number.parseInt(hex, 16)
    return sign > 0 && sign <= HIGHEST_SIGN ? String.fromCodePoint(sign) : all
  })
}
