/** The word lists of config/titles.json, read and checked once, on import. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { packageRoot } from '../support/assets.ts'

/** Levels from least to most senior; `unknown` where the title does not say. */
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
export type Level = KnownLevel | 'unknown'

const standing = z.strictObject({
  level: z.enum(LEVELS),
  rank: z.int().min(0).max(99),
  management: z.boolean(),
})
const words = z.array(z.string().min(1))

const lexiconSchema = z.strictObject({
  about: z.string(),
  clearStep: z.int().min(1),
  contributor: standing,
  abbreviations: z.record(z.string(), z.string()),
  posts: z.array(standing.extend({ phrases: words })),
  fixed: z.array(standing.extend({ phrases: words })),
  grades: z.strictObject({
    senior: words,
    assistant: words,
    associate: words,
    deputy: words,
    lead: words,
    staff: words,
    principal: words,
    first: words,
    middle: words,
    third: words,
  }),
  staffLadder: words,
  professions: words,
  fillers: words,
})

/** Where a post stands. */
export type Standing = z.infer<typeof standing>
export type Lexicon = z.infer<typeof lexiconSchema>
export type Grade = keyof Lexicon['grades']

/** The word lists that ship with Jobtide. */
export const lexicon: Lexicon = lexiconSchema.parse(
  JSON.parse(readFileSync(join(packageRoot, 'config', 'titles.json'), 'utf8')),
)
