/** The words that made-up people and organisations are put together from: config/simulator/world.yaml. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { packageRoot } from '../support/assets.ts'

/** The languages that titles and names come in. */
export type Language = 'en' | 'de' | 'fr' | 'es' | 'pt'

/** Rungs, lowest first; a rung is a list of spellings that mean the same. */
export type Ladder = readonly (readonly string[])[]

/** A country of the made-up world. */
export interface Country {
  readonly code: string
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
  /** Second jobs that are held beside a main one. */
  readonly side_titles: readonly string[]
  readonly ladders: readonly Ladder[]
}

interface WorldWords {
  readonly countries: readonly Country[]
  readonly organizations: { readonly beginnings: string; readonly trades: string }
  readonly title_additions: readonly string[]
  readonly languages: Readonly<Record<Language, LanguageWords>>
}

const file = join(packageRoot, 'config', 'simulator', 'world.yaml')
const world = parse(readFileSync(file, 'utf8')) as WorldWords
const list = (text: string): readonly string[] => text.split(' ')
const byLanguage = <T>(of: (words: LanguageWords) => T): Readonly<Record<Language, T>> => {
  const { en, de, fr, es, pt } = world.languages
  return { en: of(en), de: of(de), fr: of(fr), es: of(es), pt: of(pt) }
}

export const COUNTRIES = world.countries
export const BEGINNINGS = list(world.organizations.beginnings)
export const TRADES = list(world.organizations.trades)
export const TITLE_ADDITIONS = world.title_additions
export const NAMES = byLanguage((words) => ({
  feminine: list(words.feminine),
  masculine: list(words.masculine),
  family: list(words.family),
}))
export const LADDERS = byLanguage((words) => words.ladders)
export const SIDE_TITLES = byLanguage((words) => words.side_titles)
export const AT_WORD = byLanguage((words) => words.at)
