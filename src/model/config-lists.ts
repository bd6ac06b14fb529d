/** Reads the lists of config/, or of the user's project, that computed models hold. */

import { z } from 'zod'
import { ownList, readYaml } from '../titles/yaml-file.ts'

const text = z.string().min(1)
const day = z.iso.date('expected a day such as 2018-12-11').optional()
const ALWAYS = { from: '', to: '9999-12-31' }

const memberSchema = z
  .strictObject({
    organization: text.describe('Its organization_id.'),
    kind: z
      .enum(['main', 'alias', 'rename', 'acquisition', 'spin-off'])
      .describe(
        'main: what the group is called after; alias: the same company under another id; rename: what it was called before or is called now; acquisition: bought; spin-off: became independent.',
      ),
    from: day.describe('First day in the group, such as that of an acquisition; absent: always.'),
    to: day.describe('Last day in the group, such as that of a spin-off or a sale; absent: still.'),
  })
  .refine(({ from = ALWAYS.from, to = ALWAYS.to }) => from <= to, {
    path: ['to'],
    message: 'it is before `from`',
  })

const groupSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,40}$/, 'expected lower-case letters, digits, - and _')
    .describe('Name of the group, as in organization_groups.'),
  members: z.array(memberSchema).min(1).describe('Its organisations.'),
})

/** Which organisations belong together, and when: people who go from one to another then do not change jobs. */
export const organizationGroupsSchema = z.strictObject({
  groups: z
    .array(groupSchema)
    .superRefine((all, context) => {
      const names = new Set<string>()
      const before = new Map<string, { group: string; from: string; to: string }[]>()
      for (const [index, { name, members }] of all.entries()) {
        const refuse = (path: (string | number)[], message: string) =>
          context.addIssue({ code: 'custom', path: [index, ...path], message })
        if (names.has(name)) refuse(['name'], 'there are two groups of that name')
        names.add(name)
        for (const [place, member] of members.entries()) {
          const { organization, from = ALWAYS.from, to = ALWAYS.to } = member
          const others = before.get(organization) ?? []
          before.set(organization, [...others, { group: name, from, to }])
          const path = ['members', place, 'organization']
          if (others.some(({ group }) => group === name))
            refuse(path, `${organization} is in this group already`)
          else if (others.some((other) => other.from <= to && from <= other.to))
            refuse(path, `${organization} is in another group at that time`)
        }
      }
    })
    .default([])
    .describe('Groups of organisations.'),
})

const pseudoKindSchema = z.strictObject({
  kind: z
    .enum(['self_employed', 'hidden', 'none'])
    .describe(
      'self_employed: works for no one else; hidden: an employer whose name is withheld; none: no employer.',
    ),
  reason: text.describe('Why these names are not organisations.'),
  names: z.array(text).min(1).describe('Whole names; [a|b|] stands for one of a, b and nothing.'),
})

/** Names that are not employers: Self-employed, Stealth Startup, Career Break. */
export const pseudoEmployersSchema = z.strictObject({
  employers: z
    .array(pseudoKindSchema)
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

/** Every name, each once, in the form of the macro `plain_name`, by which names of organisations match. */
export function pseudoEmployersOf({ employers }: z.infer<typeof pseudoEmployersSchema>) {
  const kindOf = new Map(
    employers.flatMap(({ kind, names }) =>
      names.flatMap(spellingsOf).map((name) => [name, kind] as const),
    ),
  )
  return [...kindOf].map(([name, kind]) => ({ name, kind }))
}

function spellingsOf(written: string): string[] {
  const [, before = '', inside, after = ''] = /^([^[]*)\[([^\]]*)\](.*)$/.exec(written) ?? []
  if (inside !== undefined)
    return inside.split('|').flatMap((one) => spellingsOf(`${before}${one}${after}`))
  const bare = written.toLowerCase()
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(bare)
    ? [bare.replaceAll(/\s+/g, '')]
    : [bare.replaceAll(/\s+/g, ' ').trim()]
}

/** Manual decisions on candidates for transfers: yes or no for a pair of organisations. */
export const transferDecisionsSchema = z.strictObject({
  transfers: z
    .array(
      z.strictObject({
        from: text.describe('organization_id of the organisation that people left.'),
        to: text.describe('organization_id of the organisation that people joined.'),
        is_transfer: z
          .boolean()
          .describe('true: an acquisition, a rename or the like; false: people who changed jobs.'),
        reason: text.optional().describe('The reason, for later readers.'),
      }),
    )
    .superRefine((all, context) => {
      const decided = new Set<string>()
      for (const [index, { from, to }] of all.entries()) {
        const refuse = (key: string, message: string) =>
          context.addIssue({ code: 'custom', path: [index, key], message })
        if (from === to) refuse('to', `${to} is the one that was left`)
        const pair = JSON.stringify([from, to])
        if (decided.has(pair)) refuse('from', `${from} to ${to} was decided before`)
        decided.add(pair)
      }
    })
    .default([])
    .describe('Decisions, one for each pair of organisations.'),
})

const groupsList = ownList('config/organization-groups.yaml', organizationGroupsSchema)
const transfersList = ownList('config/transfers.yaml', transferDecisionsSchema)

export const organizationGroups = () => groupsList().groups
export const transferDecisions = () => transfersList().transfers
export const pseudoEmployers = pseudoEmployersOf(
  readYaml('config/pseudo-employers.yaml', pseudoEmployersSchema),
)
