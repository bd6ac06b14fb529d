/**
 * Groups of organisations (config/organization-groups.yaml): which of them belong together, and from when to when.
 * People who go from one member to another at that time do not change jobs: their moves are transfers.
 */

import { z } from 'zod'
import { readYaml } from '../titles/yaml-file.ts'

/** How an organisation belongs to its group. */
export const MEMBER_KINDS = ['main', 'alias', 'rename', 'acquisition', 'spin-off'] as const

const day = z.iso.date()

const memberSchema = z
  .strictObject({
    organization: z.string().min(1).describe('Its organization_id.'),
    kind: z
      .enum(MEMBER_KINDS)
      .describe(
        'main: what the group is called after; alias: the same company under another id; rename: what it was called before or is called now; acquisition: bought; spin-off: became independent.',
      ),
    from: day
      .optional()
      .describe('First day in the group, such as that of an acquisition; absent: always.'),
    to: day
      .optional()
      .describe('Last day in the group, such as that of a spin-off or a sale; absent: still.'),
  })
  .refine(({ from = '', to = '9999-12-31' }) => from <= to, {
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

/** The shape of config/organization-groups.yaml; config/organization-groups.schema.json is made from it. */
export const organizationGroupsSchema = z.strictObject({
  groups: z
    .array(groupSchema)
    .superRefine((all, context) => {
      const before = new Map<string, { group: string; from: string; to: string }[]>()
      for (const [index, { name, members }] of all.entries()) {
        if (all.slice(0, index).some((other) => other.name === name)) {
          const path = [index, 'name']
          context.addIssue({ code: 'custom', path, message: 'there are two groups of that name' })
        }
        for (const [place, { organization, from = '', to = '9999-12-31' }] of members.entries()) {
          const others = before.get(organization) ?? []
          before.set(organization, [...others, { group: name, from, to }])
          const path = [index, 'members', place, 'organization']
          const refuse = (message: string) => {
            context.addIssue({ code: 'custom', path, message: `${organization} ${message}` })
          }
          if (others.some(({ group }) => group === name)) refuse('is in this group already')
          else if (others.some((other) => other.from <= to && from <= other.to))
            refuse('is in another group at that time')
        }
      }
    })
    .default([])
    .describe('Groups of organisations.'),
})

export type OrganizationGroup = z.infer<typeof groupSchema>

export const organizationGroups: readonly OrganizationGroup[] = readYaml(
  'config/organization-groups.yaml',
  organizationGroupsSchema,
).groups
