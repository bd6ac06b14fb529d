/** The people, organisations and deals of a simulated world, made from the words in config/simulator/world.yaml. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { packageRoot } from '../support/assets.ts'
import type { TrackedOrganization } from './events.ts'
import {
  hexId,
  logNormal,
  mixSeeds,
  pick,
  seededRandom,
  weightedPlace,
  type Random,
} from './random.ts'

type Language = 'en' | 'de' | 'fr' | 'es' | 'pt'
type Titles = readonly string[]
type Ladder = readonly Titles[]

interface Country {
  readonly language: Language
  /** Share of organisations at home here; the shares add up to 100. */
  readonly share: number
  readonly legal_forms: readonly string[]
}

interface LanguageWords {
  /** How a headline joins title and organisation. */
  readonly at: string
  /** Given and family names, separated by spaces. */
  readonly feminine: string
  readonly masculine: string
  readonly family: string
  /** Second jobs held in addition to a main one. */
  readonly side_titles: Titles
  readonly ladders: readonly Ladder[]
}

/** The posts at the top that one person holds at a time. */
export type Office = 'ceo' | 'cfo' | 'cto'
/** What may follow an office. */
type Afterwards = 'chair' | 'board' | 'contributor'

interface WorldWords {
  readonly countries: readonly Country[]
  readonly organizations: Readonly<Record<'beginnings' | 'trades', string>>
  readonly title_additions: Titles
  /** `interim`: the prefix of an office held until a successor comes. */
  readonly executives: Readonly<Record<'interim' | Afterwards, Titles>> & {
    readonly offices: Readonly<Record<Office, Titles>>
  }
  readonly languages: Readonly<Record<Language, LanguageWords>>
}

const file = join(packageRoot, 'config', 'simulator', 'world.yaml')
const words = parse(readFileSync(file, 'utf8')) as WorldWords

export function pickWord(random: Random, text: string): string {
  return pick(random, text.split(' '))
}

/** An addition by which a title is rewritten without a change of rank. */
export function pickAddition(random: Random): string {
  return pick(random, words.title_additions)
}

export interface MadeUpOrganization {
  readonly tracked: TrackedOrganization & { readonly name: string }
  readonly home: Country
  /** People who work there: 5 to 50,000; none before a deal created it. */
  readonly size: number
}

const SMALLEST = 5
const LARGEST = 50_000
// Chosen: half of the organisations have fewer than 180 people, one in a hundred more than about 9,000.
const MEDIAN_SIZE = 180
const SIZE_SIGMA = 1.7

/** `count` organisations; the first ones are the same for every count. */
export function makeUpOrganizations(seed: number, count: number): MadeUpOrganization[] {
  const slugs = new Set<string>()
  const shares = words.countries.map(({ share }) => share)
  return Array.from({ length: count }, (_, number) => {
    const random = seededRandom(mixSeeds(seed, number, 1))
    const home = words.countries[weightedPlace(random, shares)] as Country
    const size = Math.round(logNormal(random, MEDIAN_SIZE, SIZE_SIGMA))
    const organization_id = `org_${hexId(random, 16)}`
    let name = makeUpName(random, home)
    // Thousands of organisations use up the names; like the network, a number tells slugs apart.
    let slug = slugFor(name)
    for (let i = 2; slugs.has(slug); i += 1) {
      name = makeUpName(random, home)
      slug = i > 5 ? `${slugFor(name)}-${i}` : slugFor(name)
    }
    slugs.add(slug)
    const tracked = trackedAs(organization_id, name, slug)
    return { tracked, home, size: Math.min(LARGEST, Math.max(SMALLEST, size)) }
  })
}

/** The name of an organisation that was another one, or part of one, before. */
function makeUpSuccessor(
  random: Random,
  { tracked, ...organization }: MadeUpOrganization,
  { tracked: before, home }: MadeUpOrganization,
  kind: 'rename' | 'spin_off',
): MadeUpOrganization {
  const [beginning = '', trade = ''] = before.name.split(' ')
  const others = words.organizations.trades.split(' ').filter((other) => other !== trade)
  const name =
    kind === 'rename' ? `${beginning} ${trade} Group` : `${beginning} ${pick(random, others)}`
  // Another organisation can have the name already.
  const slug = `${slugFor(name)}-${tracked.organization_id.slice(-4)}`
  return { ...organization, tracked: trackedAs(tracked.organization_id, name, slug), home }
}

function trackedAs(organization_id: string, name: string, slug: string) {
  return { organization_id, name, slug, network_url: `https://network.example/company/${slug}` }
}

function makeUpName(random: Random, { legal_forms: forms }: Country): string {
  const { beginnings, trades } = words.organizations
  const hasForm = random() < 0.5 && forms.length > 0
  const name = `${pickWord(random, beginnings)} ${pickWord(random, trades)}`
  return hasForm ? `${name} ${pick(random, forms)}` : name
}

/** A name in a URL: lower case, no accents, words joined by hyphens. */
function slugFor(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '')
}

export interface MadeUpPerson {
  readonly profileId: string
  readonly handle: string
  readonly firstName: string
  readonly lastName: string
  readonly isFeminine: boolean
  /** Those of the language of their titles and headline. */
  readonly words: LanguageWords
  /** Whether they give exact days; most people give months. */
  readonly givesDays: boolean
}

const ABROAD = 0.15
const ENGLISH_TITLES_ELSEWHERE = 0.25
const GIVES_DAYS = 0.12

/** A person who first works for an organisation in `home`. */
export function makeUpPerson(random: Random, home: Country): MadeUpPerson {
  const { language } = random() < ABROAD ? pick(random, words.countries) : home
  const isFeminine = random() < 0.48
  const names = words.languages[language]
  const firstName = pickWord(random, isFeminine ? names.feminine : names.masculine)
  const lastName = pickWord(random, names.family)
  const profileId = `per_${hexId(random, 20)}`
  const handle = `${slugFor(`${firstName} ${lastName}`)}-${hexId(random, 6)}`
  const isEnglish = random() < ENGLISH_TITLES_ELSEWHERE
  // One draw is unused: without it every seed would give a world other than the documented one.
  random()
  const givesDays = random() < GIVES_DAYS
  const inTitles = isEnglish ? words.languages.en : names
  return { profileId, handle, firstName, lastName, isFeminine, words: inTitles, givesDays }
}

export interface Rank {
  readonly ladder: Ladder
  readonly rung: number
}

// Chosen: many begin in the middle of the ladder, few at the top.
const RUNG_SHARES = [0.18, 0.32, 0.25, 0.12, 0.08, 0.04, 0.01]

export function firstRank(random: Random, person: MadeUpPerson): Rank {
  const rung = weightedPlace(random, RUNG_SHARES)
  return { ladder: pick(random, person.words.ladders), rung }
}

/** Next to the top: directors and heads of a field. */
export function directorRank(random: Random, person: MadeUpPerson): Rank {
  return { ladder: pick(random, person.words.ladders), rung: RUNG_SHARES.length - 2 }
}

/** One rung higher; undefined at the top. */
export function promoted({ ladder, rung }: Rank): Rank | undefined {
  return rung + 1 < ladder.length ? { ladder, rung: rung + 1 } : undefined
}

export function sideways(random: Random, person: MadeUpPerson, rank: Rank): Rank {
  const others = person.words.ladders.filter((ladder) => ladder !== rank.ladder)
  return { ladder: pick(random, others), rung: rank.rung }
}

/** One of the spellings of a rank's title, in the form for the person. */
export function titleOf(random: Random, person: MadeUpPerson, { ladder, rung }: Rank): string {
  return formFor(person, pick(random, ladder[rung] ?? []))
}

export function sideTitle(random: Random, person: MadeUpPerson): string {
  return formFor(person, pick(random, person.words.side_titles))
}

/** One of the titles of an office, or of what follows it. */
export function executiveTitle(
  random: Random,
  person: MadeUpPerson,
  what: Office | Afterwards,
): string {
  const { offices, ...others } = words.executives
  const titles = { ...offices, ...others }
  return formFor(person, pick(random, titles[what]))
}

export function interimTitle(random: Random, person: MadeUpPerson, office: Office): string {
  return `${pick(random, words.executives.interim)} ${executiveTitle(random, person, office)}`
}

export function secondProfile(random: Random, person: MadeUpPerson): MadeUpPerson {
  const handle = `${slugFor(`${person.firstName} ${person.lastName}`)}-${hexId(random, 6)}`
  return { ...person, profileId: `per_${hexId(random, 20)}`, handle }
}

/** Titles are stored as `masculine|feminine` where the two differ. */
function formFor(person: MadeUpPerson, title: string): string {
  const [masculine = title, feminine = masculine] = title.split('|')
  return person.isFeminine ? feminine : masculine
}

/**
 * Deals: an organisation is bought by another, gets a new name and id, or splits off a part as a new organisation.
 * Its people leave the one and join the other on the same day, without having changed jobs.
 */
export type DealKind = 'acquisition' | 'rename' | 'spin_off'

export interface Deal {
  readonly kind: DealKind
  readonly from: number
  readonly to: number
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  /** Share of the people who go along, 0 to 1. */
  readonly share: number
}

// One organisation in this many is bought; of two neighbours the second is the new id of the first, or a part of it.
const PLACES = {
  acquisition: { every: 20, at: 8, share: 0.85 },
  rename: { every: 30, at: 12, share: 1 },
  spin_off: { every: 30, at: 25, share: 0.3 },
} as const

// Bought organisations are small, but large enough to be noticed.
const FEWEST = 100
const MOST = 400

function kindOf(number: number): DealKind | undefined {
  const kinds = Object.keys(PLACES) as DealKind[]
  return kinds.find((kind) => number % PLACES[kind].every === PLACES[kind].at)
}

/** The same organisations, with the names and sizes that deals need. */
export function withDeals(
  seed: number,
  organizations: readonly MadeUpOrganization[],
): MadeUpOrganization[] {
  return organizations.map((organization, number) => {
    const size = Math.min(MOST, Math.max(FEWEST, organization.size))
    const kind = kindOf(number)
    if (kind === 'acquisition') return { ...organization, size }
    const before = organizations[number - 1]
    if (kind !== undefined && before !== undefined) {
      const random = seededRandom(mixSeeds(seed, number, 6))
      // It has no people before the deal.
      return { ...makeUpSuccessor(random, organization, before, kind), size: 0 }
    }
    const next = kindOf(number + 1)
    if (next === 'rename') return { ...organization, size }
    return next === 'spin_off' ? { ...organization, size: MOST } : organization
  })
}

/** The deals of a world, by the organisation that people leave; each has at most one. */
export function dealsOf(
  options: Readonly<Record<'seed' | 'organizations' | 'startAt' | 'endAt', number>>,
): ReadonlyMap<number, Deal> {
  const { seed, organizations, startAt, endAt } = options
  const numbers = Array.from({ length: organizations }, (_, number) => number)
  const buyers = numbers.filter((number) => ![number, number + 1].some(kindOf))
  const deals = numbers.flatMap((number): Deal[] => {
    const kind = kindOf(number)
    if (kind === undefined) return []
    const random = seededRandom(mixSeeds(seed, number, 7))
    const at = startAt + (0.25 + 0.6 * random()) * (endAt - startAt)
    const { share } = PLACES[kind]
    if (kind === 'acquisition') return [{ kind, from: number, to: pick(random, buyers), at, share }]
    return [{ kind, from: number - 1, to: number, at, share }]
  })
  return new Map(deals.map((deal) => [deal.from, deal]))
}

/** When an organisation ends; never for one that only splits. */
export function closingOf(deal: Deal | undefined): number {
  return deal === undefined || deal.kind === 'spin_off' ? Infinity : deal.at
}
