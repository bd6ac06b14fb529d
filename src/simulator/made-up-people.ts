/** The people of a made-up world: who they are and how their titles are spelled. */

import { slugFor } from './made-up-organizations.ts'
import {
  COUNTRIES,
  LADDERS,
  NAMES,
  SIDE_TITLES,
  TITLE_ADDITIONS,
  type Country,
  type Ladder,
  type Language,
} from './made-up-words.ts'
import { hexId, pick, type Random } from './random.ts'

/** A person, as far as it does not change from one job to the next. */
export interface MadeUpPerson {
  readonly profileId: string
  readonly handle: string
  readonly firstName: string
  readonly lastName: string
  readonly isFeminine: boolean
  /** The language of their titles and headline. */
  readonly language: Language
  /** Whether they give exact days; most people give months. */
  readonly givesDays: boolean
}

const ABROAD = 0.15
const ENGLISH_TITLES_ELSEWHERE = 0.25
const GIVES_DAYS = 0.12

/** Someone who works, at first, for an organisation at home in `home`. */
export function makeUpPerson(random: Random, home: Country): MadeUpPerson {
  const country = random() < ABROAD ? pick(random, COUNTRIES) : home
  const isFeminine = random() < 0.48
  const names = NAMES[country.language]
  const firstName = pick(random, isFeminine ? names.feminine : names.masculine)
  const lastName = pick(random, names.family)
  const profileId = `per_${hexId(random, 20)}`
  const handle = `${slugFor(`${firstName} ${lastName}`)}-${hexId(random, 6)}`
  const language = random() < ENGLISH_TITLES_ELSEWHERE ? 'en' : country.language
  // One draw is not used: without it every seed would make another world than the documented one.
  random()
  const givesDays = random() < GIVES_DAYS
  return { profileId, handle, firstName, lastName, isFeminine, language, givesDays }
}

/** A rank: which ladder of the person's language, and how high on it. */
export interface Rank {
  readonly ladder: Ladder
  readonly rung: number
}

// Chosen: many begin in the middle of the ladder, few at the top.
const RUNG_SHARES = [0.18, 0.32, 0.25, 0.12, 0.08, 0.04, 0.01]

/** Where someone stands when the world first sees them. */
export function firstRank(random: Random, person: MadeUpPerson): Rank {
  let left = random()
  const rung = RUNG_SHARES.findIndex((share) => (left -= share) < 0)
  return { ladder: pick(random, LADDERS[person.language]), rung: Math.max(0, rung) }
}

/** One rung higher; undefined at the top. */
export function promoted({ ladder, rung }: Rank): Rank | undefined {
  return rung + 1 < ladder.length ? { ladder, rung: rung + 1 } : undefined
}

/** A peer in another line of work. */
export function sideways(random: Random, person: MadeUpPerson, rank: Rank): Rank {
  const others = LADDERS[person.language].filter((ladder) => ladder !== rank.ladder)
  return { ladder: pick(random, others), rung: rank.rung }
}

/** One of the spellings of a rank's title, in the form for the person. */
export function titleOf(random: Random, person: MadeUpPerson, { ladder, rung }: Rank): string {
  return formFor(person, pick(random, ladder[rung] ?? []))
}

/** The title of a second job. */
export function sideTitle(random: Random, person: MadeUpPerson): string {
  return formFor(person, pick(random, SIDE_TITLES[person.language]))
}

/** Another wording of the same rank that is not `current`. */
export function retitled(
  random: Random,
  person: MadeUpPerson,
  rank: Rank,
  current: string,
): string {
  const bare = titleOf(random, person, rank)
  return bare === current ? `${bare}, ${pick(random, TITLE_ADDITIONS)}` : bare
}

/** Titles are stored as `masculine|feminine` where the two differ. */
function formFor(person: MadeUpPerson, title: string): string {
  const [masculine = title, feminine = masculine] = title.split('|')
  return person.isFeminine ? feminine : masculine
}
