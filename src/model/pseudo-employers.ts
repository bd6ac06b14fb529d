/**
 * Names that are not employers (config/pseudo-employers.yaml): Self-employed, Stealth Startup, Career Break. The macro
 * `plain_name` decides which names of organisations match; this file brings the list into the same form.
 */

import { z } from 'zod'
import { readYaml } from '../titles/yaml-file.ts'

const PSEUDO_KINDS = ['self_employed', 'hidden', 'none'] as const

const kindSchema = z.strictObject({
  kind: z
    .enum(PSEUDO_KINDS)
    .describe(
      'self_employed: works for no one else; hidden: an employer whose name is withheld; none: no employer.',
    ),
  reason: z.string().min(1).describe('Why these names are not organisations.'),
  names: z
    .array(z.string().min(1))
    .min(1)
    .describe('Whole names; [a|b|] stands for one of a, b and nothing.'),
})

/** The shape of config/pseudo-employers.yaml; config/pseudo-employers.schema.json is made from it. */
export const pseudoEmployersSchema = z.strictObject({
  employers: z
    .array(kindSchema)
    .superRefine((all, context) => {
      const kinds = new Map<string, string>()
      for (const [index, { kind, names }] of all.entries()) {
        for (const [place, written] of names.entries()) {
          const path = [index, 'names', place]
          const refuse = (message: string) =>
            context.addIssue({ code: 'custom', path, message: `${written}: ${message}` })
          if (!/^(?:[^[\]|]|\[[^[\]]+\])+$/.test(written)) refuse('brackets do not match')
          for (const name of spellingsOf(written)) {
            if (name === '') refuse('it can be empty')
            if ((kinds.get(name) ?? kind) !== kind) refuse(`${name} has another kind already`)
            kinds.set(name, kind)
          }
        }
      }
    })
    .default([])
    .describe('Names that people write in place of an employer.'),
})

export interface PseudoEmployer {
  readonly name: string
  readonly kind: string
}

/** Every name, each once. */
export function pseudoEmployersOf({
  employers,
}: z.infer<typeof pseudoEmployersSchema>): readonly PseudoEmployer[] {
  const kindOf = new Map(
    employers.flatMap(({ kind, names }) =>
      names.flatMap(spellingsOf).map((name) => [name, kind] as const),
    ),
  )
  return [...kindOf].map(([name, kind]) => ({ name, kind }))
}

export const pseudoEmployers = pseudoEmployersOf(
  readYaml('config/pseudo-employers.yaml', pseudoEmployersSchema),
)

/** All names that brackets stand for, in the form of `plain_name`. */
function spellingsOf(written: string): string[] {
  const [, before = '', inside, after = ''] = /^([^[]*)\[([^\]]*)\](.*)$/.exec(written) ?? []
  if (inside === undefined) return [plain(written)]
  return inside.split('|').flatMap((one) => spellingsOf(`${before}${one}${after}`))
}

function plain(name: string): string {
  const bare = name.toLowerCase()
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(bare)
    ? bare.replaceAll(/\s+/g, '')
    : bare.replaceAll(/\s+/g, ' ').trim()
}
