/** One job posting: what is sought, since when, and whether it is open. */

import { z } from 'zod'
import { NOT_THERE, failedAnswer, flag, type Endpoint } from './endpoint.ts'

const DETAILS_CREDITS = 1
const TEAM_CREDITS = 1

const FREE = { least: 0, most: 0 }

const GONE = 404

// As the service takes them: the id, the address of the posting, and that of a search which shows it.
const ID_FORMS = [
  /^(\d{1,20})$/,
  /\/jobs\/view\/(?:[^/?#]*-)?(\d{1,20})\/?(?:[?#]|$)/,
  /[?&]currentJobId=(\d{1,20})(?:&|#|$)/,
]

/** The id in any of its forms, so that one posting is one request. */
const jobId = z.string().transform((text, context) => {
  const id = ID_FORMS.map((form) => form.exec(text.trim())?.[1]).find(
    (found) => found !== undefined,
  )
  if (id !== undefined) return id
  context.addIssue('expected the id or the address of a job posting')
  return z.NEVER
})

const foundSchema = z.looseObject({
  data: z.looseObject({ job_posting_id: z.string(), hiring_team: z.unknown().optional() }),
  credit_used: z.unknown().optional(),
})

export const jobDetails: Endpoint = {
  name: 'job-details',
  path: '/api/v1/jobs/detail',
  subject: 'job_id',
  request: z.strictObject({ job_id: jobId, include_hiring_team: flag.optional() }),
  pages: null,
  statuses: [GONE],
  handles: ['username'],

  price: ({ include_hiring_team: team }) => ({
    least: DETAILS_CREDITS,
    most: DETAILS_CREDITS + (team === true ? TEAM_CREDITS : 0),
  }),

  read: (json, { status, request }) => {
    if (status === GONE) return NOT_THERE
    const found = foundSchema.safeParse(json)
    if (!found.success) return failedAnswer(json, FREE) ?? 'it has no posting in data'
    const { data, credit_used: creditsSent } = found.data
    const hasTeam = request['include_hiring_team'] === true && data.hiring_team !== undefined
    // Whether credit_used counts the section, or credit_addon beside it, is not documented: the ledger takes either.
    const price = { least: DETAILS_CREDITS, most: DETAILS_CREDITS + (hasTeam ? TEAM_CREDITS : 0) }
    return { outcome: 'found', items: 1, next: null, creditsSent, price }
  },
}
