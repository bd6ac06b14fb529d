/** Decisions of people on candidates for transfers (config/transfers.yaml): by pair of organisations, yes or no. */

import { z } from 'zod'
import { readYaml } from '../titles/yaml-file.ts'

const decisionSchema = z.strictObject({
  from: z.string().min(1).describe('organization_id of the organisation that people left.'),
  to: z.string().min(1).describe('organization_id of the organisation that people joined.'),
  is_transfer: z
    .boolean()
    .describe('true: an acquisition, a rename or the like; false: people who changed jobs.'),
  reason: z.string().min(1).optional().describe('The reason, for later readers.'),
})

/** The shape of config/transfers.yaml; config/transfers.schema.json is made from it. */
export const transferDecisionsSchema = z.strictObject({
  transfers: z
    .array(decisionSchema)
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

export type TransferDecision = z.infer<typeof decisionSchema>

export const transferDecisions: readonly TransferDecision[] = readYaml(
  'config/transfers.yaml',
  transferDecisionsSchema,
).transfers
