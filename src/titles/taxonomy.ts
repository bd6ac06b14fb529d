/**
 * The taxonomy of titles: which levels and functions there are, and the word lists of config/titles/ that say how titles are
 * read. Lists are data; what they mean together is said by the readers (levels.ts, functions.ts, understand.ts).
 */

import { z } from 'zod'
import { readYaml } from './yaml-file.ts'

/** Levels from least to most senior. */
export const LEVELS = [
  'intern',
  'entry',
  'mid',
  'senior',
  'lead',
  'manager',
  'director',
  'vp',
  'cxo',
] as const
export type KnownLevel = (typeof LEVELS)[number]
/** A level, or `unknown` where the title does not say. */
export type Level = KnownLevel | 'unknown'

/** The fields of work; `other` where a title is understood but names none of them. */
export const FUNCTIONS = [
  'engineering',
  'product',
  'design',
  'data',
  'it',
  'marketing',
  'sales',
  'customer_success',
  'finance',
  'hr',
  'legal',
  'operations',
  'supply_chain',
  'research',
  'education',
  'healthcare',
  'administration',
  'consulting',
  'general_management',
  'other',
] as const
export type JobFunction = (typeof FUNCTIONS)[number]

/** Reads one file of config/titles/. */
export function readTaxonomy<T>(name: string, schema: z.ZodType<T>): T {
  return readYaml(`config/titles/${name}`, schema)
}

// Long lists of words are written as one text over as many lines as it takes.
/** Words or phrases, separated by commas. */
export const wordList = z.string().transform((text, context): string[] => {
  const words = text.split(',').map((word) => word.trim().replace(/\s+/g, ' '))
  if (words.includes('')) {
    context.addIssue({ code: 'custom', message: 'there is an empty word between two commas' })
  }
  return words
})

/** Members of a schema that are all of one kind. */
export function each<K extends string, T extends z.ZodType>(kind: T, ...names: readonly K[]) {
  return Object.fromEntries(names.map((name) => [name, kind])) as Record<K, T>
}

/** Lists by name, as sets. */
export function setsOf<K extends string>(lists: Readonly<Record<K, readonly string[]>>) {
  const entries = Object.entries<readonly string[]>(lists).map(([key, list]) => {
    return [key, new Set(list)]
  })
  return Object.fromEntries(entries) as Record<K, ReadonlySet<string>>
}
