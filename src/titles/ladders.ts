/**
 * Ladders of single organisations (config/ladders.yaml): titles that mean something else there than elsewhere. A ladder knows
 * whole titles only; grades such as "senior" belong into a separate rung.
 */

import { z } from 'zod'
import { kept } from './kept.ts'
import type { ReadLevel } from './levels.ts'
import { standingOf } from './lexicon.ts'
import { LEVELS } from './taxonomy.ts'
import { splitTitle, type Parts } from './words.ts'
import { ownList, readYaml } from './yaml-file.ts'

const FILE = 'config/ladders.yaml'

const rungSchema = z.strictObject({
  title: z
    .string()
    .refine((title) => splitTitle(title).length > 0, 'there is no word in it')
    .describe('The words that decide, next to each other in a title.'),
  level: z.enum(LEVELS).describe('What they mean at these organisations.'),
  rank: z
    .int()
    .min(0)
    .max(99)
    .optional()
    .describe('0 to 99, orders titles; absent takes the usual rank of the level.'),
  management: z
    .boolean()
    .optional()
    .describe('Whether the title manages people; absent takes what is usual for the level.'),
})

const ladderSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,40}$/, 'expected lower-case letters, digits, - and _')
    .refine((name) => name !== 'standard', 'the name standard is taken')
    .describe('Name of the ladder; a title read by it names the rule ladder:<name>.'),
  organizations: z
    .array(z.string().min(1))
    .default([])
    .describe('The organization_id of each organisation that uses the ladder.'),
  rungs: z.array(rungSchema).min(1).describe('The first rung whose words a title holds decides.'),
})

/** The shape of config/ladders.yaml; config/ladders.schema.json is made from it. */
export const laddersSchema = z.strictObject({
  ladders: z
    .array(ladderSchema)
    .superRefine((all, context) => {
      for (const [index, { name, organizations }] of all.entries()) {
        const before = all.slice(0, index)
        const refuse = (key: string, message: string) => {
          context.addIssue({ code: 'custom', path: [index, key], message })
        }
        if (before.some((other) => other.name === name)) {
          refuse('name', 'there are two ladders of that name')
        }
        for (const organization of organizations) {
          if (before.some((other) => other.organizations.includes(organization))) {
            refuse('organizations', `${organization} has a ladder already`)
          }
        }
      }
    })
    .default([])
    .describe('Ladders of single organisations.'),
})

export type Ladder = z.infer<typeof ladderSchema>

const shipped = kept('ladders', () => readYaml(FILE, laddersSchema))
const list = ownList(FILE, laddersSchema, shipped)

export const ladders = (): readonly Ladder[] => list().ladders

/**
 * Reads titles, as `splitTitle` gives them, by the ladder of a name; null where the ladder does not exist or does not
 * name them. The rule is `ladder:<name>`.
 */
export function ladderReader(of: readonly Ladder[]) {
  const rungsByLadder = new Map(
    of.map(({ name, rungs }) => [
      name,
      rungs.map(({ title, level, rank, management }) => ({
        words: textOf(splitTitle(title)),
        reading: { ...standingOf(level, rank, management), rule: `ladder:${name}` },
      })),
    ]),
  )
  return (ladder: string, parts: Parts): ReadLevel | null => {
    const text = textOf(parts)
    const rung = rungsByLadder.get(ladder)?.find(({ words }) => text.includes(words))
    return rung?.reading ?? null
  }
}

let last:
  { readonly of: readonly Ladder[]; readonly read: ReturnType<typeof ladderReader> } | undefined

/** As {@link ladderReader}, by the ladders of the project. */
export const readByLadder: ReturnType<typeof ladderReader> = (ladder, parts) => {
  const of = ladders()
  if (last?.of !== of) last = { of, read: ladderReader(of) }
  return last.read(ladder, parts)
}

function textOf(parts: Parts): string {
  return ` ${parts.flat().join(' ')} `
}
