/** One job posting: the job, since when it is posted, and whether it is open. */

import { z } from 'zod'
import { ONE_THING, exactly, flag, reading, type Endpoint } from './endpoint.ts'

const DETAILS_CREDITS = 1
const TEAM_CREDITS = 1

// The forms that the service accepts: an id, the address of the posting, or of a search that shows it.
const ID_FORMS = [
  /^(\d{1,20})$/,
  /\/jobs\/view\/(?:[^/?#]*-)?(\d{1,20})\/?(?:[?#]|$)/,
  /[?&]currentJobId=(\d{1,20})(?:&|#|$)/,
]

/** The id from any of these forms, so that one posting is one request. */
const jobId = z.string().transform((text, context) => {
  const id = ID_FORMS.map((form) => form.exec(text.trim())?.[1]).find(
    (found) => found !== undefined,
  )
  if (id !== undefined) return id
  context.addIssue('expected the id or the address of a job posting')
  return z.NEVER
})

const schema = z.looseObject({
  data: z.looseObject({ job_posting_id: z.string(), hiring_team: z.unknown().optional() }),
})

export const jobDetails: Endpoint = {
  name: 'job-details',
  path: '/api/v1/jobs/detail',
  subject: 'job_id',
  request: z.strictObject({ job_id: jobId, include_hiring_team: flag.optional() }),
  pages: null,
  statuses: [404],
  handles: ['username'],

  price: ({ include_hiring_team: team }) => ({
    least: DETAILS_CREDITS,
    most: DETAILS_CREDITS + (team === true ? TEAM_CREDITS : 0),
  }),

  // The documentation does not say whether credit_used includes the section, or credit_addon is added to it. The ledger
  // accepts both.
  read: reading(
    { schema, absent: exactly(0), otherwise: 'it has no posting in data' },
    ({ data: { hiring_team: team } }, { request }) => {
      const { least, most } = jobDetails.price(request)
      return { ...ONE_THING, price: { least, most: team === undefined ? least : most } }
    },
  ),
}
