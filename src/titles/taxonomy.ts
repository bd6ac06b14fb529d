/**
 * The taxonomy of titles: which levels and functions there are, and the word lists of config/titles/ that say how titles are
 * read. Lists are data; what they mean together is said by the readers (levels.ts, functions.ts, core.ts).
 */

import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { packageRoot } from '../support/assets.ts'
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

/** 12 hex digits that change whenever labels may: over every file of the taxonomy and the version of the package. */
export const taxonomyVersion: string = hashOfTaxonomy()

function hashOfTaxonomy(): string {
  const manifest = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')))
  const folder = join(packageRoot, 'config', 'titles')
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  const hash = createHash('sha256').update(manifest.version)
  for (const name of [...names.toSorted(), '../ladders.yaml']) {
    hash.update('\0').update(readFileSync(join(folder, name)))
  }
  return hash.digest('hex').slice(0, 12)
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
