/** One opening: it is listed some weeks before somebody joins, and closes then. */

import { z } from 'zod'
import { isoInstant } from '../../support/clock.ts'
import { BadRequest } from '../search-request.ts'
import type { ServedAnswer, ServedEndpoint } from './endpoint.ts'
import type { ServedPosting } from './world.ts'

const schema = z
  .looseObject({
    job_id: z.string().regex(/^\d+$/).optional(),
    url: z.string().optional(),
    include_hiring_team: z.boolean().default(false),
  })
  .transform(({ job_id: id, url, ...asked }) => ({
    ...asked,
    id: id ?? /(?:\/jobs\/view\/(?:[^/?#]*-)?|currentJobId=)(\d+)/.exec(url ?? '')?.[1],
  }))

export const jobDetails: ServedEndpoint = {
  path: '/api/v1/jobs/detail',
  answer(request, world) {
    const asked = schema.safeParse(request).data
    if (asked?.id === undefined) throw new BadRequest('send job_id, or a url with the id of a job')
    const posting = world.posting(asked.id)
    if (posting === null) return absent()
    const team = asked.include_hiring_team ? { hiring_team: { members: [], total: 0 } } : {}
    const addon = asked.include_hiring_team ? 1 : 0
    return {
      items: 1,
      credits: 1 + addon,
      organizationId: posting.organization.tracked.organization_id,
      body: {
        success: true,
        message: 'ok',
        data: { ...details(posting), ...team },
        credit_addon: addon,
      },
    }
  },
}

export function postingUrl(id: string): string {
  return `https://network.example/jobs/view/${id}`
}

function absent(): ServedAnswer {
  const message = 'the posting does not exist or was removed'
  return { status: 404, body: { success: false, message, data: null }, credits: 0, items: 0 }
}

function details({ id, title, organization, listedAt, closedAt }: ServedPosting) {
  const { tracked, number, people } = organization
  const listed = isoInstant(listedAt)
  return {
    title,
    job_posting_id: id,
    job_url: postingUrl(id),
    description: `${tracked.name ?? ''} looks for somebody as ${title}.`,
    employment_status: 'Full-time',
    experience_level: 'Mid-Senior level',
    listed_at: listed,
    original_listed_at: listed,
    closed_at: closedAt === null ? null : isoInstant(closedAt),
    is_reposted: false,
    job_state: closedAt === null ? 'LISTED' : 'CLOSED',
    total_applies: people,
    company_info: {
      name: tracked.name,
      universal_name: tracked.slug,
      url: tracked.network_url,
      company_id: String(1_000 + number),
      staff_count: people,
    },
  }
}
